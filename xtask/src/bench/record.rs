//! Measures the record: builds its bench program, runs it on the disk that is built on, and shows the figures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::figures::{Figures, checks, shown};
use crate::paths::Paths;
use crate::prepare;
use crate::progress::stage;
use crate::stop::Stop;

/// How long the history is without `--events`.
const EVENTS: u64 = 1_000_000;
/// And with `--quick`.
const EVENTS_QUICK: u64 = 20_000;
/// The shortest history that fills more than one page of everything.
const EVENTS_MIN: u64 = 1_000;

/// What the record costs beside its disk and its database: appends, many callers, long histories, memory.
///
/// On a machine that does nothing else. A million events take some minutes and two gigabytes beside the build.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// A short history, for a first look.
    #[arg(long, conflicts_with = "events")]
    quick: bool,
    /// How many events the history has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(EVENTS_MIN..))]
    events: Option<u64>,
    /// On PostgreSQL and not on SQLite; a server is started for it unless the environment names one.
    #[arg(long)]
    postgres: bool,
    /// The figures as JSON and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

impl Options {
    fn events(&self) -> u64 {
        self.events.unwrap_or(if self.quick { EVENTS_QUICK } else { EVENTS })
    }
}

/// Measures.
///
/// # Errors
/// When the bench program does not build, fails, or gives no figures.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    if options.json {
        println!("{}", measure(&build(&paths)?, &paths, options)?.trim());
        return Ok(());
    }
    let program = stage("build", || build(&paths))?;
    let told = stage("measure", || measure(&program, &paths, options))?;
    let figures: Figures = serde_json::from_str(&told)
        .map_err(|e| Stop::because("what the bench program said are no figures", e))?;
    println!("{}", shown(&figures, &checks(&figures)));
    Ok(())
}

fn build(paths: &Paths) -> Result<PathBuf, Stop> {
    let output = prepare::cargo(paths)
        .args(["build", "--release", "--package", "record", "--bench", "record"])
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| Stop::because("cargo did not start", e))?;
    if !output.status.success() {
        return Err(Stop::new("the bench of `record` does not compile: see above"));
    }
    prepare::program_in(&String::from_utf8_lossy(&output.stdout), "record")
        .ok_or_else(|| Stop::new("cargo built the bench of `record` and did not say where it is"))
}

/// Runs the bench program; says what it says.
fn measure(program: &Path, paths: &Paths, options: &Options) -> Result<String, Stop> {
    let folder = paths.target.join("bench");
    let order = json!({
        "folder": folder, "events": options.events(), "postgres": options.postgres, "step": null,
    });
    let output = Command::new(program)
        .arg(order.to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| Stop::because("the bench of `record` did not start", e))?;
    if !output.status.success() {
        return Err(Stop::new(format!("the bench of `record` ended with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
