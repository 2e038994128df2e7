use std::path::{Path, PathBuf};

use crate::inertia::pseudo::check_physical;
use crate::robot::error::RobotError;
use crate::robot::propose::propose;
use crate::robot::{Arm, load, load_lenient, load_model};

/// Faults as makers' files have them: a base with an inertia and no mass, a dummy link that has the same, and an inertia that breaks the triangle
/// inequality by 1 %.
const MAKERS: &str = r#"<robot name="makers">
  <link name="base"><inertial><mass value="0"/><inertia ixx="0.05" iyy="0.06" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="upper"><inertial><origin xyz="0.15 0 0" rpy="0.3 0 0"/><mass value="3"/><inertia ixx="0.001" iyy="0.03" izz="0.0313" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.2 0 0"/><geometry><box size="0.2 0.06 0.06"/></geometry></collision></link>
  <link name="marker"><inertial><mass value="0"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.1 0 0"/><mass value="1"/><inertia ixx="0.001" iyy="0.004" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.15 0 0"/><geometry><box size="0.15 0.05 0.05"/></geometry></collision></link>
  <joint name="one" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="40" velocity="2"/></joint>
  <joint name="seam" type="fixed"><parent link="upper"/><child link="marker"/></joint>
  <joint name="two" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.35 0 0"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="20" velocity="2"/></joint>
</robot>
"#;

/// The moving link's inertia as the URDF has it.
const IMPOSSIBLE: &str = r#"<inertia ixx="0.001" iyy="0.03" izz="0.0313" ixy="0" ixz="0" iyz="0"/>"#;

fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let urdf = folder.path().join("makers.urdf");
    std::fs::write(&urdf, text).unwrap();
    (folder, urdf)
}

fn with_toml(urdf: &Path, text: &str) -> Result<Arm, RobotError> {
    let toml = urdf.with_extension("toml");
    std::fs::write(&toml, text).unwrap();
    load(&toml)
}

#[test]
fn a_urdf_alone_is_mended_and_says_so() {
    let (_folder, urdf) = written(MAKERS);
    let model = load_model(&urdf).unwrap();
    let arm = load(&urdf).unwrap();
    assert_eq!(arm.joints, model.joints);
    for (link, words) in [
        ("base", ["mass 0 kg", "never moves"]),
        ("upper", ["triangle", "nearest that a body can have"]),
        ("marker", ["mass 0 kg", "[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]"]),
    ] {
        let of = |guess: &&String| guess.starts_with(&format!("link `{link}`"));
        let guess = model.guesses.iter().find(of).unwrap_or_else(|| panic!("{:?}", model.guesses));
        assert!(words.iter().all(|word| guess.contains(word)), "{guess}");
        assert!(arm.trusted().iter().any(|trusted| trusted.contains(guess)), "{:?}", arm.trusted());
    }
    assert_eq!(model.guesses.len(), 3);
    // The body exists; its mass and centre are the maker's, its inertia is off by no more than what was wrong.
    let (mended, stated) = (&model.joints[0].inertia, load_lenient(&urdf).unwrap().0.joints[0].inertia);
    check_physical(mended).unwrap();
    assert!(check_physical(&stated).is_err());
    assert_eq!(mended[..4], stated[..4]);
    let off = mended.iter().zip(&stated).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off > 1e-5 && off < 3.5e-4, "{off}");
    // What is possible stays as it is.
    let (_other, fine) = written(&MAKERS.replace("izz=\"0.0313\"", "izz=\"0.0309\""));
    assert_eq!(load_model(&fine).unwrap().guesses.len(), 2);
}

#[test]
fn what_is_proposed_states_the_mended_inertia_as_a_guess() {
    let (folder, urdf) = written(MAKERS);
    let text = propose(&urdf, folder.path(), &[]).unwrap().text;
    let at = text.find("[links.\"upper\"]").unwrap_or_else(|| panic!("{text}"));
    let before = text[..at].trim_end().lines().last().unwrap();
    assert!(before.starts_with("# Guess") && before.contains("triangle"), "{before}");
    assert!(text.contains("[links.\"marker\"]") && !text.contains("[links.\"base\"]"), "{text}");
    assert!(text.contains("# `base`: mass 0 kg but a non-zero inertia"), "{text}");
    let arm = with_toml(&urdf, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(arm.joints[0].inertia, load_model(&urdf).unwrap().joints[0].inertia);
    // Without the key it is refused, with the figures that would do.
    let end = at + text[at..].find("\n\n").unwrap();
    let error = with_toml(&urdf, &(text[..at].to_owned() + &text[end..])).unwrap_err().to_string();
    for word in ["makers.urdf", "link `upper`", "triangle", "inertia_kg_m2 = [", "[links.\"upper\"]"] {
        assert!(error.contains(word), "{word} in {error}");
    }
    // With a person's figures it is taken at its word.
    let own = text.replacen(&text[at..end], "[links.upper]\nmass_kg = 2.5\ncenter_m = [0.1, 0.0, 0.0]\ninertia_kg_m2 = [0.001, 0.0, 0.0, 0.02, 0.0, 0.02]", 1);
    let own = with_toml(&urdf, &own).unwrap();
    assert_eq!(own.joints[0].inertia[..4], [2.5, 0.25, 0.0, 0.0]);
    assert!((own.joints[0].inertia[9] - (0.02 + 2.5 * 0.01)).abs() < 1e-15);
}

#[test]
fn what_nobody_can_guess_is_refused() {
    let (_folder, urdf) = written(&MAKERS.replace("mass value=\"3\"", "mass value=\"-3\""));
    for error in [load(&urdf).unwrap_err(), load_model(&urdf).unwrap_err()] {
        assert!(
            error.to_string().contains("mass -3 kg") && error.to_string().contains("link `upper`"),
            "{error}"
        );
    }
    let (folder, urdf) = written(MAKERS);
    let text = propose(&urdf, folder.path(), &[]).unwrap().text;
    let at = text.find("[links.\"marker\"]").unwrap();
    for (links, words) in [
        ("[links.uper]\nmass_kg = 1.0\n\n", ["links.uper", "no link of that name"]),
        ("[links.fore]\nmass_kg = nan\n\n", ["links.fore.mass_kg", "NaN"]),
        ("[links.fore]\ncenter_m = [0.0, inf, 0.0]\n\n", ["links.fore.center_m", "inf"]),
        ("[links.fore]\ninertia_kg_m2 = [0.0, 0.0, 0.0]\n\n", ["length 3", "length 6"]),
        (
            "[links.fore]\ninertia_kg_m2 = [nan, 0.0, 0.0, 0.0, 0.0, 0.0]\n\n",
            ["links.fore.inertia_kg_m2", "NaN"],
        ),
        ("[links.fore]\ninertia_kg_m2 = [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]\n\n", ["link `fore`", "triangle"]),
        ("[links.fore]\nmass_kg = -1.0\n\n", ["link `fore`", "mass -1 kg"]),
        ("[links.fore]\nweight = 1.0\n\n", ["unknown field", "weight"]),
    ] {
        let error =
            with_toml(&urdf, &format!("{}{links}{}", &text[..at], &text[at..])).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{words:?} in {error}");
    }
    assert!(MAKERS.contains(IMPOSSIBLE));
}
