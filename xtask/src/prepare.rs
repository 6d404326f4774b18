//! What the demo and the tests both need before they start: the guests, and the `chancery` program.
//!
//! Every cargo that is started from here builds into the same folder, so that one build of the dependencies
//! serves all of them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, ffi::OsString};

use clap::Parser;
use serde_json::Value;

use crate::guests;
use crate::paths::Paths;
use crate::stop::Stop;

/// The options of `cargo xtask guests` as the environment sets them.
#[derive(Parser)]
struct FromEnvironment {
    #[command(flatten)]
    guests: guests::Options,
}

/// Builds every guest that changed.
///
/// # Errors
/// When there is no compiler for guests, or one does not build.
pub fn guests() -> Result<(), Stop> {
    let options = FromEnvironment::try_parse_from(["guests"])
        .map_err(|e| Stop::because("CHANCERY_WASM_BY", e.to_string().trim_end()))?;
    guests::run(&options.guests)
}

/// Builds every guest that changed, those in other languages too.
///
/// # Errors
/// As [`guests`]; not when a language cannot be had, which is said.
pub fn all_guests() -> Result<(), Stop> {
    let options = FromEnvironment::try_parse_from(["guests", "--languages"])
        .map_err(|e| Stop::because("CHANCERY_WASM_BY", e.to_string().trim_end()))?;
    guests::run(&options.guests)
}

/// A cargo that works in the checkout and builds where `paths` says.
pub fn cargo(paths: &Paths) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.current_dir(&paths.root).env("CARGO_TARGET_DIR", &paths.target).stdin(Stdio::null());
    cargo
}

/// Builds `chancery`, with cargo's own progress on the screen, and says where it is.
///
/// # Errors
/// When it does not compile.
pub fn host(paths: &Paths) -> Result<PathBuf, Stop> {
    let output = cargo(paths)
        .args([
            "build",
            "--package",
            "app",
            "--bin",
            "chancery",
            "--message-format",
            "json-render-diagnostics",
        ])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| Stop::because("cargo did not start", e))?;
    if !output.status.success() {
        return Err(Stop::new("`chancery` does not compile: see above"));
    }
    program_in(&String::from_utf8_lossy(&output.stdout), "chancery")
        .ok_or_else(|| Stop::new("cargo built `chancery` and did not say where it is"))
}

/// The program `name` among cargo's messages, one JSON object a line.
pub fn program_in(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages
        .filter(|message| message.pointer("/target/name").and_then(Value::as_str) == Some(name))
        .find_map(|message| message.get("executable").and_then(Value::as_str).map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"app"},"executable":null}"#,
            "\nnot json\n",
            r#"{"reason":"compiler-artifact","target":{"name":"chancery"},"executable":"/t/debug/chancery"}"#,
        );
        assert_eq!(program_in(messages, "chancery"), Some(PathBuf::from("/t/debug/chancery")));
        assert_eq!(program_in(messages, "xtask"), None);
    }

    #[test]
    fn the_options_of_guests_are_read_from_the_environment_alone() {
        assert!(FromEnvironment::try_parse_from(["guests"]).unwrap().guests.only.is_empty());
    }
}
