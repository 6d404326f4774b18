//! Python: componentize-py from PyPI puts the source and an interpreter into one component.

use std::process::Command;

use super::{Absent, Work, built, from_pypi, python_in};
use crate::stop::Stop;

pub(super) fn tools(work: &Work) -> Result<(), Absent> {
    from_pypi(work)
}

pub(super) fn build(work: &Work) -> Result<Vec<u8>, Stop> {
    let output = work.folder.join("tool.wasm");
    let mut program = Command::new(python_in(work).with_file_name("componentize-py"));
    program.arg("-d").arg(&work.wit).args(["-w", "tool", "componentize", "-p"]);
    program.arg(&work.sources).args(["app", "-o"]).arg(&output).env("PYTHONDONTWRITEBYTECODE", "1");
    built(&mut program, &output)
}
