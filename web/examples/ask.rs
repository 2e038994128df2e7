//! Answers as the page does, without a browser: `cargo run --release --example ask -- QUESTION.json`. Prints one line of JSON for each subject: `about`,
//! `answer`, and the shortest time of several, ms.

use std::time::Instant;

use serde_json::{Value, json};

/// How often each question is asked.
const TIMES: usize = 5;

/// Reads the question and prints the answers.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("expected the file of a question")?;
    let mut question: Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    for about in ["proof", "heaviest", "plan"] {
        question["about"] = json!(about);
        let (mut ms, mut answer) = (f64::INFINITY, Value::Null);
        for _ in 0..TIMES {
            let begun = Instant::now();
            let told = surelift_web::answer(&question.to_string());
            ms = ms.min(begun.elapsed().as_secs_f64() * 1e3);
            answer = serde_json::from_str(&told)?;
        }
        println!("{}", json!({ "about": about, "ms": ms, "answer": answer }));
    }
    Ok(())
}
