//! Where things are: the checkout, and what is built from it.

use std::env;
use std::path::{Path, PathBuf};

use crate::stop::Stop;

/// The folders that tasks work in.
#[derive(Debug, Clone)]
pub struct Paths {
    /// The root of the checkout.
    pub root: PathBuf,
    /// Where cargo builds: `CARGO_TARGET_DIR`, else `$HOME/.cache/chancery/target`. Outside the checkout, so
    /// that several checkouts and the checks share one build of the dependencies.
    pub target: PathBuf,
}

impl Paths {
    /// Finds them from the environment.
    ///
    /// # Errors
    /// When not run inside a checkout, or when there is neither a target folder nor a home.
    pub fn find() -> Result<Self, Stop> {
        // Cargo sets the folder of the running package; a person may also start the program itself.
        let start = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(folder) => PathBuf::from(folder),
            None => env::current_dir().map_err(|e| Stop::because("the current folder", e))?,
        };
        let root = start
            .ancestors()
            .find(|folder| folder.join("xtask/Cargo.toml").is_file())
            .ok_or_else(|| Stop::new("run this inside a checkout of Chancery"))?;
        let target = match (env::var_os("CARGO_TARGET_DIR"), env::var_os("HOME")) {
            (Some(folder), _) => root.join(folder),
            (None, Some(home)) => Path::new(&home).join(".cache/chancery/target"),
            (None, None) => {
                return Err(Stop::new("set CARGO_TARGET_DIR: there is no HOME to put builds under"));
            }
        };
        Ok(Self { root: root.to_owned(), target })
    }

    /// Where finished components lie, as `<name>.wasm`.
    pub fn guests(&self) -> PathBuf {
        self.target.join("guests")
    }
}
