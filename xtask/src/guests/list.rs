//! Which guests there are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::paths::Paths;
use crate::stop::Stop;
use crate::toolchain::Toolchain;

/// One guest to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// The folder's name, and that of the component.
    pub name: String,
    /// The crate.
    pub package: String,
    /// The crate's version.
    pub version: String,
    /// The text of its `plugin.toml`; a guest of the tests may have none.
    pub manifest: Option<String>,
    /// The folders of this workspace that it is compiled from, its own first.
    pub folders: Vec<PathBuf>,
}

/// What `cargo metadata` says of the workspace, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Workspace {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    path: Option<PathBuf>,
}

/// All guests, by name.
///
/// # Errors
/// When a folder of `tests/guests/` is not in the workspace, or two guests have one name.
pub fn guests(toolchain: &Toolchain, paths: &Paths) -> Result<Vec<Guest>, Stop> {
    let mut packages = packages(toolchain, paths)?;
    // A library of guests (`plugins/guest`) has no manifest and is no guest.
    let plugins =
        folders_in(&paths.root.join("plugins"))?.into_iter().filter(|f| f.join("plugin.toml").is_file());
    let in_tests =
        folders_in(&paths.root.join("tests/guests"))?.into_iter().filter(|f| f.join("Cargo.toml").is_file());
    let mut guests: BTreeMap<String, Guest> = BTreeMap::new();
    for folder in plugins.chain(in_tests) {
        let guest = guest_in(&folder, &mut packages)?;
        if let Some(other) = guests.insert(guest.name.clone(), guest) {
            return Err(Stop::new(format!("two guests are called `{}`: rename one folder", other.name)));
        }
    }
    Ok(guests.into_values().collect())
}

fn packages(toolchain: &Toolchain, paths: &Paths) -> Result<BTreeMap<PathBuf, Package>, Stop> {
    let output = toolchain
        .cargo(paths)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .map_err(|e| Stop::because("cargo did not start", e))?;
    if !output.status.success() {
        return Err(Stop::because("cargo metadata", String::from_utf8_lossy(&output.stderr)));
    }
    let workspace: Workspace =
        serde_json::from_slice(&output.stdout).map_err(|e| Stop::because("cargo metadata", e))?;
    let by_folder = |package: Package| Some((package.manifest_path.parent()?.to_owned(), package));
    Ok(workspace.packages.into_iter().filter_map(by_folder).collect())
}

fn guest_in(folder: &Path, packages: &mut BTreeMap<PathBuf, Package>) -> Result<Guest, Stop> {
    let folders = made_from(folder, packages);
    let package = packages.get(folder).ok_or_else(|| {
        let member = folder.display();
        Stop::new(format!("{member} is not in the workspace: name it under `members` in the root Cargo.toml"))
    })?;
    let manifest_path = folder.join("plugin.toml");
    let manifest = match manifest_path.is_file() {
        true => {
            Some(fs::read_to_string(&manifest_path).map_err(|e| Stop::because(manifest_path.display(), e))?)
        }
        false => None,
    };
    Ok(Guest {
        name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        package: package.name.clone(),
        version: package.version.clone(),
        manifest,
        folders,
    })
}

/// `folder`, and every folder of the workspace that its crate depends on, through any number of steps.
fn made_from(folder: &Path, packages: &BTreeMap<PathBuf, Package>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::from([folder.to_owned()]);
    let mut folders = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(package) = folders.get(next).and_then(|folder| packages.get(folder)) {
        for path in package.dependencies.iter().filter_map(|dependency| dependency.path.as_ref()) {
            if seen.insert(path.clone()) {
                folders.push(path.clone());
            }
        }
        next += 1;
    }
    folders
}

/// The folders directly in `parent`, by name; none when there is no such parent.
fn folders_in(parent: &Path) -> Result<Vec<PathBuf>, Stop> {
    if !parent.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(parent).map_err(|e| Stop::because(parent.display(), e))?;
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|e| e.path())).filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, dependencies: &[&str]) -> (PathBuf, Package) {
        let dependency = |path: &&str| Dependency { path: Some(PathBuf::from(*path)) };
        let package = Package {
            name: folder.replace('/', "-"),
            version: "0.1.0".to_owned(),
            manifest_path: Path::new(folder).join("Cargo.toml"),
            dependencies: dependencies.iter().map(dependency).chain([Dependency { path: None }]).collect(),
        };
        (folder.into(), package)
    }

    #[test]
    fn a_guest_is_made_from_what_it_depends_on_through_any_number_of_steps() {
        let packages = BTreeMap::from([
            package("a", &["b"]),
            package("b", &["c", "a"]),
            package("c", &[]),
            package("d", &["a"]),
        ]);
        assert_eq!(made_from(Path::new("a"), &packages), ["a", "b", "c"].map(PathBuf::from));
    }

    #[test]
    fn a_folder_outside_the_workspace_stops_with_what_to_do() {
        let stop = guest_in(Path::new("tests/guests/stray"), &mut BTreeMap::new()).unwrap_err();
        assert!(stop.message.contains("`members`"), "{}", stop.message);
    }
}
