//! The digest of everything a guest is made from.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::list::Guest;
use crate::stop::Stop;
use crate::toolchain::Toolchain;

/// The way guests are built. Raise it when that changes, so that every guest is built again.
const RECIPE: &str = "1";

/// A digest, in hexadecimal, that changes whenever the guest might: its sources and those of the crates of
/// this repository it uses, the interfaces, the locked dependencies, the profile, the compiler.
///
/// # Errors
/// When a file cannot be read.
pub fn digest(guest: &Guest, toolchain: &Toolchain, root: &Path) -> Result<String, Stop> {
    let mut files = Vec::new();
    for folder in guest.folders.iter().chain([&root.join("wit")]) {
        collect(folder, &mut files)?;
    }
    files.extend([root.join("Cargo.lock"), root.join("Cargo.toml")]);
    of_files(&toolchain.version, files, root)
}

/// A digest of everything in some folders of the checkout.
///
/// # Errors
/// When a file cannot be read.
pub fn of_folders(folders: &[&Path], root: &Path) -> Result<String, Stop> {
    let mut files = Vec::new();
    for folder in folders {
        collect(folder, &mut files)?;
    }
    of_files("", files, root)
}

fn of_files(version: &str, mut files: Vec<PathBuf>, root: &Path) -> Result<String, Stop> {
    files.sort();
    let mut hasher = Sha256::new();
    add(&mut hasher, RECIPE.as_bytes());
    add(&mut hasher, version.as_bytes());
    for path in files {
        // By its place in the checkout, so that where the checkout lies makes no difference.
        let name = path.strip_prefix(root).unwrap_or(&path);
        add(&mut hasher, name.as_os_str().as_encoded_bytes());
        add(&mut hasher, &fs::read(&path).map_err(|e| Stop::because(path.display(), e))?);
    }
    Ok(hex::encode(hasher.finalize()))
}

/// Length first: no two lists of parts give the same bytes.
fn add(hasher: &mut Sha256, part: &[u8]) {
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Stop> {
    let failed = |e| Stop::because(folder.display(), e);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            // Built files of a cargo that was run without a target folder.
            if entry.file_name() != "target" {
                collect(&path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::tests::toolchain;

    fn checkout() -> (tempfile::TempDir, Guest, Toolchain) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("Cargo.toml", "[workspace]"),
            ("Cargo.lock", "version = 4"),
            ("wit/types/types.wit", "package a:b;"),
            ("plugins/web/src/lib.rs", "fn a() {}"),
            ("plugins/guest/src/lib.rs", "fn b() {}"),
            ("plugins/slack/src/lib.rs", "fn c() {}"),
        ] {
            write(root.path(), path, text);
        }
        let guest = Guest {
            name: "web".to_owned(),
            package: "plugin-web".to_owned(),
            version: "0.1.0".to_owned(),
            manifest: None,
            folders: vec![root.path().join("plugins/web"), root.path().join("plugins/guest")],
        };
        (root, guest, toolchain(Vec::new()))
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_change_of_anything_a_guest_is_made_from_changes_its_digest() {
        let (root, guest, mut toolchain) = checkout();
        let digest = |toolchain: &Toolchain| digest(&guest, toolchain, root.path()).unwrap();
        let mut seen = vec![digest(&toolchain)];
        for path in [
            "Cargo.toml",
            "Cargo.lock",
            "wit/types/types.wit",
            "plugins/web/src/lib.rs",
            "plugins/guest/new.rs",
        ] {
            write(root.path(), path, "changed");
            seen.push(digest(&toolchain));
        }
        toolchain.version.push_str("newer");
        seen.push(digest(&toolchain));
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn a_change_of_another_guest_or_of_built_files_makes_no_difference() {
        let (root, guest, toolchain) = checkout();
        let before = digest(&guest, &toolchain, root.path()).unwrap();
        write(root.path(), "plugins/slack/src/lib.rs", "changed");
        write(root.path(), "plugins/web/target/debug/web.d", "built");
        assert_eq!(digest(&guest, &toolchain, root.path()).unwrap(), before);
    }
}
