//! The robots that ship with the crate: their files are part of the program, so that a name is enough anywhere.

use std::io;
use std::path::{Path, PathBuf};

use super::error::RobotError;

/// Folder of the files in the program; no such folder exists on a disk.
const FOLDER: &str = "<surelift>";

/// Name, robot TOML and URDF of one robot; a robot that extends another has no URDF of its own.
struct Shipped {
    name: &'static str,
    toml: &'static str,
    urdf: Option<&'static str>,
}

macro_rules! shipped {
    ($($name:literal),*; extending: $($other:literal),*) => {
        &[$(Shipped {
            name: $name,
            toml: include_str!(concat!("../../robots/", $name, ".toml")),
            urdf: Some(include_str!(concat!("../../robots/", $name, ".urdf"))),
        },)* $(Shipped {
            name: $other,
            toml: include_str!(concat!("../../robots/", $other, ".toml")),
            urdf: None,
        }),*]
    };
}

/// All of them, by name.
const ROBOTS: &[Shipped] = shipped![
    "anymal_b",
    "anymal_gen3",
    "b1",
    "b1_leg",
    "b1_z1",
    "digit",
    "double_pendulum",
    "go1",
    "hector",
    "kinova_gen3",
    "kinova_gen3_2f85",
    "panda",
    "series_leg",
    "talos_reduced",
    "ur5e",
    "z1";
    extending: "kinova_gen3_2f85_elastic", "kinova_gen3_2f85_late", "kinova_gen3_2f85_measured",
    "z1_500hz", "z1_gripping"
];

/// Names of the robots that ship, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&'static str> = ROBOTS.iter().map(|robot| robot.name).collect();
    names.sort_unstable();
    names.into_iter()
}

/// Where the robot TOML of that name is, if it ships.
pub(super) fn find(name: &Path) -> Option<PathBuf> {
    let robot = ROBOTS.iter().find(|robot| Path::new(robot.name) == name)?;
    Some(Path::new(FOLDER).join(robot.name).with_extension("toml"))
}

/// The text of a file, in the program or on the disk.
pub(super) fn text(path: &Path) -> io::Result<String> {
    let in_program = path.strip_prefix(FOLDER).ok().and_then(|file| {
        let robot = ROBOTS.iter().find(|robot| Path::new(robot.name) == file.with_extension(""))?;
        match file.extension()?.to_str()? {
            "toml" => Some(robot.toml),
            "urdf" => robot.urdf,
            _ => None,
        }
    });
    in_program.map_or_else(|| std::fs::read_to_string(path), |text| Ok(text.to_owned()))
}

/// [`text`], with the file in the error.
pub(super) fn read(path: &Path) -> Result<String, RobotError> {
    text(path).map_err(|source| RobotError::Read { path: path.to_path_buf(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_robot_of_the_folder_ships() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("robots");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "toml"))
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        there.sort();
        assert_eq!(there, names().collect::<Vec<_>>());
    }

    #[test]
    fn files_in_the_program_are_read_by_their_path() {
        let toml = find(Path::new("z1")).unwrap();
        assert!(read(&toml).unwrap().contains("urdf = \"z1.urdf\""));
        assert!(read(&toml.with_extension("urdf")).unwrap().contains("<robot name=\"z1\">"));
        assert!(find(Path::new("z2")).is_none());
        let missing = read(Path::new("<surelift>/z2.urdf")).unwrap_err().to_string();
        assert!(missing.contains("z2.urdf"), "{missing}");
    }
}
