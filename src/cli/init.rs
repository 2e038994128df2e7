//! `surelift robot init`: a robot TOML for a maker's URDF.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Failure, say};
use crate::robot::first_move::FirstMove;
use crate::robot::propose::propose;
use crate::robot::{self, Arm};

/// Write a robot TOML for a maker's URDF, with every guess marked as one
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  surelift robot init panda.urdf --out my_panda\n  \
                        surelift robot init ur5.urdf --package-path ~/ros/src\n\n\
                        The TOML holds guesses of friction, transmission inertia, sensors, uncertainty and gains; capsules around all collision\n\
                        shapes, meshes included; the pairs of capsules that overlap at rest, to be ignored; and inertias in place of those that no body can\n\
                        have. It loads as it is. A scenario beside it, first_move.toml, moves all joints; none is written where there is one.\n\
                        Nothing that is proven with a guess holds for your arm: replace them, then run: surelift robot tune\n\n\
                        Exit codes: 0 written, 2 the URDF cannot be used or the file exists.")]
pub struct InitArgs {
    /// The URDF
    #[arg(value_name = "FILE.urdf")]
    pub urdf: PathBuf,
    /// Folder for the TOML; that of the URDF if left out
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A folder that holds the packages of meshes (package://NAME/...), or is one; may be given several times
    #[arg(long, value_name = "DIR")]
    pub package_path: Vec<PathBuf>,
}

/// Writes the TOML; gives the exit code.
///
/// # Errors
/// Bad input if the URDF makes no arm, or if the file exists.
pub fn run(args: &InitArgs) -> Result<u8, Failure> {
    let cannot = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::Input(format!("`{}` cannot be written: {error}", path.display()))
    };
    if args.urdf.extension().is_none_or(|extension| extension != "urdf") {
        let found = args.urdf.display();
        return Err(Failure::Input(format!("`{found}`: expected a file whose name ends in .urdf")));
    }
    let beside = args.urdf.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = args.out.clone().unwrap_or_else(|| beside.unwrap_or(Path::new(".")).to_path_buf());
    let stem = args.urdf.file_stem().unwrap_or_default();
    let target = folder.join(stem).with_extension("toml");
    if target.exists() {
        return Err(cannot(&target, &"it exists; expected another folder (--out), or the file removed"));
    }
    // Read once before anything is made.
    propose(&args.urdf, &folder, &args.package_path).map_err(|error| Failure::input(&error))?;
    fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    let proposal =
        propose(&args.urdf, &folder, &args.package_path).map_err(|error| Failure::input(&error))?;
    let mut new = stem.to_owned();
    new.push(format!(".{}.new.toml", std::process::id()));
    let new = folder.join(new);
    let put = || {
        fs::write(&new, &proposal.text).map_err(|error| cannot(&new, &error))?;
        robot::load(&new).map_err(|error| Failure::input(&error))?;
        fs::rename(&new, &target).map_err(|error| cannot(&target, &error))
    };
    put().inspect_err(|_| {
        // What is left of a failed attempt is nobody's.
        let _ = fs::remove_file(&new);
    })?;
    let arm = &proposal.arm;
    let at = target.display();
    let mut text = format!(
        "{at}: {} joints, {} capsules, {} pairs of them proposed to be ignored\n",
        arm.dof(),
        arm.shapes().len(),
        proposal.ignored
    );
    if arm.shapes().is_empty() {
        text += "  the URDF has no collision shapes, so nothing is proven about what the arm touches: add [[capsules]]\n";
    }
    if !proposal.held.is_empty() {
        text += &format!("  held still, as joints of a gripper: {}\n", proposal.held.join(", "));
    }
    text += &format!("  guesses are marked in the file; look at them, then at: surelift robot {at}\n");
    let motion = folder.join(FIRST_MOVE);
    if motion.exists() {
        return say(&text).map(|()| 0);
    }
    // The arm as the file has it: with pairs ignored.
    let arm = robot::load(&target).map_err(|error| Failure::input(&error))?;
    let found = FirstMove::of(&arm);
    fs::write(&motion, scenario(&arm, &target, &found)).map_err(|error| cannot(&motion, &error))?;
    text += &format!(
        "{}: a first motion, a guess too; its gains are found by: surelift robot tune {at} --scenario {0} --write\n",
        motion.display()
    );
    say(&text)?;
    Ok(0)
}

/// File of the first motion.
const FIRST_MOVE: &str = "first_move.toml";

/// A scenario for a first motion.
fn scenario(arm: &Arm, robot: &Path, found: &FirstMove) -> String {
    let robot = robot.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let range: Vec<f64> = found.start.iter().zip(&found.goal).map(|(a, b)| (b - a).abs()).collect();
    let room = match found.clearance_m {
        room if room.is_finite() => {
            format!("; the nearest two of its own shapes are {:.0} mm apart on the way", 1e3 * room)
        }
        _ => String::new(),
    };
    format!(
        "# Guess: a motion of all joints of {}{room}. Made by `surelift robot init`.\n\
         # Nothing stands around: no table, no floor, no wall. Add them as [[obstacles]] before a real arm moves.\n\
         schema = 1\nname = \"first_move\"\ndescription = \"From one configuration to another.\"\nrobot = {}\n\
         start_rad = {:?}\ngoal_rad = {:?}\n\n[carry]\nrange_rad = {:?}  # how far one plan may go\n",
        arm.name,
        toml::Value::String(robot),
        found.start,
        found.goal,
        range.iter().map(|x| (x * 1e3).round() / 1e3).collect::<Vec<f64>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_once_and_is_a_robot() {
        let folder = tempfile::tempdir().unwrap();
        let urdf = folder.path().join("ur5e.urdf");
        fs::copy("robots/ur5e.urdf", &urdf).unwrap();
        let out = folder.path().join("mine");
        let args = InitArgs { urdf: urdf.clone(), out: Some(out.clone()), package_path: vec![] };
        assert_eq!(run(&args).unwrap(), 0);
        let written = fs::read_to_string(out.join("ur5e.toml")).unwrap();
        assert!(written.contains("# guess") && written.contains("../ur5e.urdf"), "{written}");
        assert_eq!(robot::load(out.join("ur5e.toml")).unwrap().dof(), 6);
        // It is the person's from then on.
        let refused = run(&args).unwrap_err();
        assert!(
            refused.code() == 2 && refused.to_string().contains("ur5e.toml` cannot be written: it exists"),
            "{refused}"
        );
        assert_eq!(fs::read_to_string(out.join("ur5e.toml")).unwrap(), written);
        let mut files: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, ["first_move.toml", "ur5e.toml"]);
        let motion = crate::scenario::Scenario::load(out.join("first_move.toml")).unwrap();
        assert_eq!(motion.split().0.start.len(), 6);
    }

    #[test]
    fn nothing_is_written_for_what_is_no_arm() {
        let folder = tempfile::tempdir().unwrap();
        let urdf = folder.path().join("bad.urdf");
        let out = folder.path().join("mine");
        let of = |urdf: &Path| InitArgs { urdf: urdf.into(), out: Some(out.clone()), package_path: vec![] };
        for (text, words) in
            [("<robot", "URDF"), ("<robot name=\"r\"><link name=\"a\"/></robot>", "no revolute")]
        {
            fs::write(&urdf, text).unwrap();
            let refused = run(&of(&urdf)).unwrap_err();
            assert!(refused.code() == 2 && refused.to_string().contains(words), "{refused}");
        }
        assert!(run(&of(Path::new("nowhere.urdf"))).unwrap_err().to_string().contains("nowhere.urdf"));
        assert!(run(&of(Path::new("arm.toml"))).unwrap_err().to_string().contains(".urdf"));
        assert!(!out.exists());
    }
}
