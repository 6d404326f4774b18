//! Signatures as people make them: by the program `minisign`, which is no code of ours.
//!
//! When the program is not to be had a test fails and says what to install: it is never left out.

use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

const PROGRAM: &str = "minisign";

/// A pair of keys in a folder of its own, without a password.
pub struct Keys {
    folder: TempDir,
    /// The public key, as a configuration names it.
    pub public: String,
}

impl Keys {
    /// Makes one.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        minisign(&["-G", "-W", "-f", "-p", &at("key.pub"), "-s", &at("key.sec")]);
        let text = std::fs::read_to_string(folder.path().join("key.pub")).unwrap();
        let public = text.lines().nth(1).unwrap().to_owned();
        Self { folder, public }
    }

    /// The text of the signature of `bytes`.
    pub fn sign(&self, bytes: &[u8]) -> String {
        let path = |name: &str| -> PathBuf { self.folder.path().join(name) };
        std::fs::write(path("file"), bytes).unwrap();
        let shown = |name: &str| path(name).display().to_string();
        minisign(&["-S", "-W", "-s", &shown("key.sec"), "-m", &shown("file"), "-x", &shown("file.minisig")]);
        std::fs::read_to_string(path("file.minisig")).unwrap()
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self::new()
    }
}

fn minisign(arguments: &[&str]) {
    let output = Command::new(PROGRAM).args(arguments).output().unwrap_or_else(|error| {
        panic!("`{PROGRAM}` does not start ({error}): apt-get install minisign (Debian), or see https://jedisct1.github.io/minisign")
    });
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
