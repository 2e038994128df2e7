use serde_json::{Value, json};

use super::*;

fn question(about: &str) -> Value {
    serde_json::from_str::<Value>(include_str!("../tests/question.json"))
        .map(|q| with(q, "about", json!(about)))
        .unwrap()
}

fn with(mut question: Value, field: &str, value: Value) -> Value {
    question[field] = value;
    question
}

fn asked(question: &Value) -> Value {
    serde_json::from_str(&answer(&question.to_string())).unwrap()
}

#[test]
fn a_light_payload_is_proven_and_a_heavy_one_refused_by_name() {
    let proven = asked(&question("proof"));
    assert_eq!(proven["proof"]["refusal"], Value::Null, "{proven}");
    let margins = proven["proof"]["margins"].as_array().unwrap();
    assert!(margins.iter().all(|margin| margin["value"].as_f64().is_none_or(|x| x >= 0.0)), "{proven}");
    assert!(proven["proof"]["poses"].as_array().unwrap().len() == POSES);
    let heavy = asked(&with(question("proof"), "mass_kg", json!(40.0)));
    assert!(heavy["proof"]["refusal"].is_string(), "{heavy}");
}

#[test]
fn the_heaviest_is_proven_and_a_tenth_more_is_not() {
    let told = asked(&question("heaviest"));
    let mass = told["heaviest"]["mass_kg"].as_f64().unwrap();
    assert!(mass > 0.5 && mass < 20.0, "{told}");
    for (factor, proven) in [(1.0, true), (1.1, false)] {
        let again = asked(&with(question("proof"), "mass_kg", json!(factor * mass)));
        assert_eq!(again["proof"]["refusal"].is_null(), proven, "{again}");
    }
}

#[test]
fn the_plan_file_is_proven_again_from_what_it_holds() {
    let told = asked(&question("plan"));
    let plan: surelift::plan::Plan = serde_json::from_str(told["plan"]["file"].as_str().unwrap()).unwrap();
    let partition = surelift::certify::Partition::default();
    plan.verify::<surelift::enclose::Counted>(None, partition).unwrap();
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let cases = [
        ("robot", json!("nobody"), "nobody"),
        ("start", json!([0.0]), "start: 1 numbers, expected 7"),
        ("end", json!([null]), "question: "),
        ("duration_s", json!(0.0), "duration_s: 0"),
        ("mass_kg", json!(-1.0), "prior.mass_kg"),
        ("size_m", json!([0.1, 0.0, 0.1]), "prior.size_m"),
        ("more", json!(1), "unknown field `more`"),
    ];
    for (field, value, told) in cases {
        let answer = asked(&with(question("proof"), field, value));
        let reason = answer["fault"]["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(told), "{field}: {answer}");
    }
    assert!(answer("{").contains("fault"));
}

#[test]
fn text_crosses_the_border() {
    let question = question("proof").to_string();
    // SAFETY: room, answer and release as their contracts ask.
    let told = unsafe {
        let room = memory::surelift_room(question.len());
        std::ptr::copy_nonoverlapping(question.as_ptr(), room, question.len());
        let at = memory::surelift_answer(room, question.len());
        let length = u32::from_le_bytes(at.cast::<[u8; 4]>().read()) as usize;
        let told = String::from_utf8(std::slice::from_raw_parts(at.add(4), length).to_vec()).unwrap();
        memory::surelift_release(at);
        told
    };
    assert_eq!(told, answer(&question));
}
