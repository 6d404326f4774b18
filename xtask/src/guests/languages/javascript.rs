//! JavaScript: componentize-js from npm puts the source and an engine into one component.

use std::fs;
use std::process::Command;

use super::{Absent, Work, built, said};
use crate::stop::Stop;

/// The files that say what is installed, by version and digest.
const PINNED: [&str; 3] = ["package.json", "package-lock.json", "build.mjs"];

pub(super) fn tools(work: &Work) -> Result<(), Absent> {
    let same = |name: &&str| {
        let read = |folder: &std::path::Path| fs::read(folder.join(name)).ok();
        read(&work.sources) == read(&work.folder)
    };
    if PINNED.iter().all(|name| same(&name)) && work.folder.join("node_modules").is_dir() {
        return Ok(());
    }
    println!("   installing componentize-js into {} (390 MB, once)", work.folder.display());
    for name in PINNED {
        fs::copy(work.sources.join(name), work.folder.join(name))
            .map_err(|e| Absent(format!("{}: {e}", work.folder.display())))?;
    }
    // `ci` takes the very digests of the lock file; the packages' own scripts are not run.
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&work.folder);
    let got = said(&mut npm, "install Node.js 20 or newer with npm (Debian: sudo apt-get install nodejs npm)");
    if got.is_err() {
        // A half of it would be taken for the whole next time.
        let _ = fs::remove_dir_all(work.folder.join("node_modules"));
    }
    got
}

pub(super) fn build(work: &Work) -> Result<Vec<u8>, Stop> {
    let output = work.folder.join("tool.wasm");
    let mut node = Command::new("node");
    node.arg("build.mjs").arg(work.sources.join("tool.js")).arg(&work.wit).arg("tool").arg(&output);
    built(node.current_dir(&work.folder), &output)
}
