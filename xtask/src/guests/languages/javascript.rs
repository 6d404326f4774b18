//! JavaScript: componentize-js from npm puts the source and an engine into one component.

use std::fs;
use std::process::Command;

use super::{Absent, Work, built, from_npm, is_installed};
use crate::stop::Stop;

/// The files that say what is installed, by version and digest.
const PINNED: [&str; 3] = ["package.json", "package-lock.json", "build.mjs"];

pub(super) fn tools(work: &Work) -> Result<(), Absent> {
    if is_installed(&work.sources, &work.folder, &PINNED) {
        return Ok(());
    }
    println!("   installing componentize-js into {} (390 MB, once)", work.folder.display());
    for name in PINNED {
        fs::copy(work.sources.join(name), work.folder.join(name))
            .map_err(|e| Absent(format!("{}: {e}", work.folder.display())))?;
    }
    from_npm(&work.folder)
}

pub(super) fn build(work: &Work) -> Result<Vec<u8>, Stop> {
    let output = work.folder.join("tool.wasm");
    let mut node = Command::new("node");
    node.arg("build.mjs").arg(work.sources.join("tool.js")).arg(&work.wit).arg("tool").arg(&output);
    built(node.current_dir(&work.folder), &output)
}
