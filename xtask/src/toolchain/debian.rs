//! The third way: Debian's own compiler, recent enough as `rustc-web`, with the standard library from source.
//!
//! Debian ships no library for `wasm32-unknown-unknown`, so cargo builds it (`-Z build-std`, which the stable
//! compiler allows under `RUSTC_BOOTSTRAP`). This takes about two minutes, once.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Toolchain, Way, answer};

/// What has to be installed.
pub(super) const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];

const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
/// Linkers for WebAssembly, by preference: the first is of the compiler's own age.
const LINKERS: [&str; 2] = ["/usr/bin/rust-lld", "/usr/bin/wasm-ld"];

pub(super) fn find() -> Result<Toolchain, String> {
    if !Path::new("/etc/debian_version").is_file() {
        return Err("this is not Debian".to_owned());
    }
    let (sources, linker) = match parts() {
        Ok(parts) => parts,
        Err(_) => {
            crate::apt::install(&PACKAGES)?;
            parts()?
        }
    };
    Ok(Toolchain {
        way: Way::Debian,
        version: answer(Command::new(RUSTC).arg("-vV"))?,
        cargo: CARGO.into(),
        env: vec![
            ("RUSTC", RUSTC.into()),
            ("RUSTC_BOOTSTRAP", "1".into()),
            ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker.into()),
        ],
        args: vec!["-Z", "build-std=std,panic_abort"],
        remaps: sources.into_iter().map(|folder| (folder, "/rust")).collect(),
    })
}

/// The source of the standard library by all its names, and the linker.
fn parts() -> Result<(Vec<PathBuf>, &'static str), String> {
    let missing = |what: &str| format!("{what} is missing (packages {})", PACKAGES.join(" "));
    if !Path::new(CARGO).is_file() {
        return Err(missing(CARGO));
    }
    let sysroot = answer(Command::new(RUSTC).args(["--print", "sysroot"])).map_err(|_| missing(RUSTC))?;
    let sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust");
    if !sources.join("library/std").is_dir() {
        return Err(missing("the source of the standard library"));
    }
    // A link in Debian, and the compiler may name either end of it.
    let behind = sources.canonicalize().map_err(|e| format!("`{}`: {e}", sources.display()))?;
    let linker =
        LINKERS.into_iter().find(|path| Path::new(path).is_file()).ok_or_else(|| missing("a linker"))?;
    Ok((vec![sources, behind], linker))
}
