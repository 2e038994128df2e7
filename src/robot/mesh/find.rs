//! Where the mesh files of a URDF are: paths as ROS writes them.

use std::path::{Path, PathBuf};

/// What names a package in a path.
const PACKAGE: [&str; 2] = ["package://", "model://"];

/// Where to look for the packages of a URDF.
#[derive(Debug, Clone, Default)]
pub(in crate::robot) struct Places {
    /// Folder of the URDF.
    pub near: PathBuf,
    /// Folders that hold packages, or are one: what a person names, in that order.
    pub named: Vec<PathBuf>,
}

/// A file, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::robot) enum Found {
    /// Where the URDF says.
    Stated(PathBuf),
    /// Where it may be: nobody says that it is of that package.
    Guessed {
        /// The file.
        path: PathBuf,
        /// What is guessed, in words.
        guess: String,
    },
}

impl Places {
    /// The file that `reference` means in the URDF.
    ///
    /// `package://NAME/REST` is looked for in every folder of [`Places::folders`], as `NAME/REST`, as `share/NAME/REST`, and as `REST` where the
    /// folder itself is called NAME. Where none has it, `REST` is looked for in the folders that a person names, beside the URDF and one folder above it: so lie
    /// the files of a package that was copied under another name. That is a guess. Any other path is relative to the URDF.
    ///
    /// # Errors
    /// Where it was looked for, and how to name the right folder.
    pub fn find(&self, reference: &str) -> Result<Found, String> {
        let Some(rest) = PACKAGE.iter().find_map(|scheme| reference.strip_prefix(scheme)) else {
            let path = self.near.join(reference.strip_prefix("file://").unwrap_or(reference));
            let missing = || format!("`{}` does not exist", path.display());
            return if path.is_file() { Ok(Found::Stated(path)) } else { Err(missing()) };
        };
        let (package, inside) = rest.split_once('/').unwrap_or((rest, ""));
        let folders = self.folders();
        for folder in &folders {
            let itself = folder.file_name().is_some_and(|name| name == package).then(|| folder.join(inside));
            let within = [folder.join(rest), folder.join("share").join(rest)];
            if let Some(found) = itself.into_iter().chain(within).find(|path| path.is_file()) {
                return Ok(Found::Stated(found));
            }
        }
        // Only then: another package may have a file of the same name.
        let near = self.absolute();
        let copied = self.named.iter().map(PathBuf::as_path).chain(near.ancestors().take(2));
        if let Some(path) = copied.map(|folder| folder.join(inside)).find(|path| path.is_file()) {
            let guess = format!(
                "mesh `{reference}` is taken from `{}`, as no folder is called `{package}`",
                path.display()
            );
            return Ok(Found::Guessed { path, guess });
        }
        let tried: Vec<String> = folders.iter().map(|folder| format!("`{}`", folder.display())).collect();
        let tried = tried.join(", ");
        Err(format!(
            "no such file in the package `{package}`; looked in {tried}, and for `{inside}` beside the URDF; name the folder that holds the package: --package-path, `package_path` in \
             the robot TOML, or the environment's ROS_PACKAGE_PATH"
        ))
    }

    /// Folders named by a person, then those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, then that of the URDF and all above it.
    fn folders(&self) -> Vec<PathBuf> {
        let of = |variable: &str| std::env::var_os(variable).unwrap_or_default();
        let environment: Vec<PathBuf> = ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"]
            .iter()
            .flat_map(|variable| std::env::split_paths(&of(variable)).collect::<Vec<_>>())
            .filter(|folder| !folder.as_os_str().is_empty())
            .collect();
        let near = self.absolute();
        let above = near.ancestors().map(Path::to_path_buf);
        self.named.iter().cloned().chain(environment).chain(above).collect()
    }

    /// The URDF's folder from the root on, so that it has folders above it.
    fn absolute(&self) -> PathBuf {
        std::path::absolute(&self.near).unwrap_or_else(|_| self.near.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is found by a guess, which names both.
    fn guessed(places: &Places, reference: &str) -> PathBuf {
        let Found::Guessed { path, guess } = places.find(reference).unwrap() else {
            panic!("{reference}: stated")
        };
        assert!(guess.contains(reference) && guess.contains(&path.display().to_string()), "{guess}");
        path
    }

    #[test]
    fn packages_are_found_above_beside_and_where_a_person_says() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "mesh").unwrap();
            path
        };
        let (above, installed, own) = (
            at("arm_description/meshes/a.stl"),
            at("install/share/hand/b.stl"),
            at("arm_description/urdf/c.stl"),
        );
        let near = root.path().join("arm_description/urdf");
        let plain = Places { near: near.clone(), named: vec![] };
        // The folder above is the package; so is one beside it.
        assert_eq!(plain.find("package://arm_description/meshes/a.stl").unwrap(), Found::Stated(above));
        assert_eq!(plain.find("c.stl").unwrap(), Found::Stated(own.clone()));
        assert_eq!(plain.find(&format!("file://{}", own.display())).unwrap(), Found::Stated(own));
        let missing = plain.find("package://hand/b.stl").unwrap_err();
        for word in ["`hand`", "--package-path", "ROS_PACKAGE_PATH", "urdf`"] {
            assert!(missing.contains(word), "{missing}");
        }
        let told = Places { near, named: vec![root.path().join("install")] };
        assert_eq!(told.find("package://hand/b.stl").unwrap(), Found::Stated(installed));
        // Who names the package itself need not call it by its name.
        let renamed = at("elsewhere/meshes/e.stl");
        let told = Places { named: vec![root.path().join("elsewhere"), root.path().join("other")], ..told };
        assert_eq!(guessed(&told, "package://hand/meshes/e.stl"), renamed);
        // But a package of that name comes first, wherever it is named.
        let by_name = at("other/hand/meshes/e.stl");
        assert_eq!(told.find("package://hand/meshes/e.stl").unwrap(), Found::Stated(by_name));
        assert!(told.find("d.stl").unwrap_err().contains("d.stl` does not exist"));
        assert!(told.find("package://").is_err());
    }

    #[test]
    fn a_package_that_was_copied_under_another_name_is_found_beside_the_urdf() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let reference = "package://arm_description/meshes/a.stl";
        let far = write("meshes/a.stl", "two folders above");
        let places = Places { near: root.path().join("mine/urdf"), named: vec![] };
        assert!(places.find(reference).unwrap_err().contains("`meshes/a.stl` beside the URDF"), "{far:?}");
        let above = write("mine/meshes/a.stl", "one folder above");
        assert_eq!(guessed(&places, reference), above);
        let beside = write("mine/urdf/meshes/a.stl", "beside");
        assert_eq!(guessed(&places, reference), beside);
        // The package by its name comes first, wherever it is above.
        let named = write("arm_description/meshes/a.stl", "by name");
        assert_eq!(places.find(reference).unwrap(), Found::Stated(named));
    }
}
