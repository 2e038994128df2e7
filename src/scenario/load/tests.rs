use super::*;

#[test]
fn explore() {
    let s = Scenario::load("scenarios/dumbbell_c_8lb.toml");
    println!("{:?}", s.as_ref().err().map(|e| e.to_string()));
}
