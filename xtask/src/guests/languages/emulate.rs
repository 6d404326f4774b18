//! The emulators of GitHub, Google and Linear: a program that others wrote, for the tests of the plugins that speak with
//! them. It comes from npm into `<target>/emulate`, with the Node.js it needs.

use std::env::consts::{ARCH, OS};
use std::fs;

use super::{Absent, from_npm, is_installed};
use crate::guests::put;
use crate::paths::Paths;
use crate::stop::Stop;

/// The files that say what is installed, by version and digest.
const PINNED: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs it, if it is not there. That it cannot be had is told and is no error.
pub(super) fn bring(paths: &Paths) -> Result<(), Stop> {
    let absent = paths.guests().join("emulate.absent");
    match install(paths) {
        Ok(()) => {
            let _ = fs::remove_file(&absent);
            Ok(())
        }
        Err(Absent(reason)) => {
            eprintln!(
                "ABSENT: the emulators are not there, and the tests that speak with them are left out: {reason}"
            );
            put(&absent, reason.as_bytes())
        }
    }
}

fn install(paths: &Paths) -> Result<(), Absent> {
    if (OS, ARCH) != ("linux", "x86_64") {
        return Err(Absent(format!("they come for Linux on x86-64 only, and this is {OS} on {ARCH}")));
    }
    let (pinned, folder) = (paths.root.join("tests/emulate"), paths.target.join("emulate"));
    if is_installed(&pinned, &folder, &PINNED) {
        return Ok(());
    }
    println!("   installing the emulators into {} (200 MB, once)", folder.display());
    let copied = fs::create_dir_all(&folder).and_then(|()| {
        PINNED.iter().try_for_each(|name| fs::copy(pinned.join(name), folder.join(name)).map(|_| ()))
    });
    copied.map_err(|e| Absent(format!("{}: {e}", folder.display())))?;
    from_npm(&folder)
}
