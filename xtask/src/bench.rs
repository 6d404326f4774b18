//! `cargo xtask bench`: what a part costs beside what it stands on, and which targets that meets.
//!
//! A measurement is no test: targets that are not met are said, and the status is 0. It builds with optimisation, and
//! only what it measures.

mod figures;
mod gate;
mod plugin;
mod purse;
mod record;
mod slack;
mod turn;

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use clap::Subcommand;
use serde::de::DeserializeOwned;

use crate::paths::Paths;
use crate::prepare;
use crate::stop::Stop;

/// Measure a part and compare it with its targets.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(subcommand)]
    part: Part,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
enum Part {
    Gate(gate::Options),
    Plugin(plugin::Options),
    Purse(purse::Options),
    Record(record::Options),
    Slack(slack::Options),
    Turn(turn::Options),
}

/// Measures.
///
/// # Errors
/// When the part does not build or its measurement fails; never because a target is not met.
pub fn run(options: &Options) -> Result<(), Stop> {
    match &options.part {
        Part::Gate(options) => gate::run(options),
        Part::Plugin(options) => plugin::run(options),
        Part::Purse(options) => purse::run(options),
        Part::Record(options) => record::run(options),
        Part::Slack(options) => slack::run(options),
        Part::Turn(options) => turn::run(options),
    }
}

/// Builds the bench `name` of `gate`, runs it with `arguments`, and gives what it said.
fn gates(paths: &Paths, name: &str, arguments: &[&OsStr]) -> Result<String, Stop> {
    let mut cargo = prepare::cargo(paths);
    cargo.args(["bench", "--package", "gate", "--bench", name, "--"]).args(arguments);
    said(&mut cargo, &format!("the bench `{name}`"))
}

/// Runs `command`, which is `what`, its progress on the screen, and gives what it said.
fn said(command: &mut Command, what: &str) -> Result<String, Stop> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| Stop::because(format_args!("{what} did not start"), e))?;
    if !output.status.success() {
        return Err(Stop::new(format!("{what} ended with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The figures in what was said, one a line.
fn read<T: DeserializeOwned>(told: &str) -> Result<Vec<T>, Stop> {
    let figures: Result<Vec<T>, _> = told.lines().map(serde_json::from_str).collect();
    figures.map_err(|e| Stop::because("what was said are no figures", e))
}
