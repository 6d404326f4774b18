//! `cargo xtask test`: everything that must hold, in the order in which a mistake is cheapest to find.
//!
//! One stage after another with its time; the first that does not pass ends the run. Nothing is retried: a test
//! that passes the second time is broken.

mod postgres;
mod runner;

use std::process::Command;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::paths::Paths;
use crate::progress::{seconds, stage};
use crate::stop::Stop;
use crate::{apt, demo, prepare};

/// Check everything: formatting, guests, tests, lints, licences, and the demo's story.
///
/// Does all of its own set-up, or says exactly what to install. Tests run under cargo-nextest when it is
/// installed, else under `cargo test`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Run only these stages.
    #[arg(long, value_delimiter = ',', value_name = "STAGE")]
    only: Vec<Stage>,
    /// Leave these stages out.
    #[arg(long, value_delimiter = ',', value_name = "STAGE")]
    skip: Vec<Stage>,
    /// Given to the test runner as they are, such as a filter.
    #[arg(last = true)]
    args: Vec<String>,
}

/// The stages, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// `cargo fmt --all --check`.
    Fmt,
    /// Builds the guests: plugins, and those that tests use.
    Guests,
    /// Builds `chancery`.
    Build,
    /// Finds or installs cvc5, with which the tests prove what can be proved of the policies; left out when it
    /// cannot be had, and then nothing is proved.
    Solver,
    /// Runs every test of the workspace.
    Tests,
    /// `cargo clippy` with every warning an error.
    Clippy,
    /// `cargo deny`: licences, bans, advisories; left out when it is not installed.
    Deny,
    /// `cargo xtask demo --once`.
    Demo,
}

/// How a stage came out when nothing stopped it.
enum Outcome {
    Passed,
    /// The runner's own closing line.
    Tested(String),
    /// Why it was left out.
    Skipped(&'static str),
}

/// Runs the stages.
///
/// # Errors
/// At the first stage that does not pass.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    let began = Instant::now();
    let mut ended: Vec<(&'static str, Duration, Outcome)> = Vec::new();
    for stage_of in chosen(options) {
        let started = Instant::now();
        let outcome = stage(stage_of.name(), || stage_of.run(&paths, &options.args)).map_err(|stop| {
            Stop { message: format!("{} did not pass: {}", stage_of.name(), stop.message), ..stop }
        })?;
        ended.push((stage_of.name(), started.elapsed(), outcome));
    }
    println!("== all of it: {}", seconds(began.elapsed()));
    for (name, time, outcome) in &ended {
        let how = match outcome {
            Outcome::Skipped(why) => format!("skipped: {why}"),
            Outcome::Passed | Outcome::Tested(_) => "passed".to_owned(),
        };
        println!("   {name:<7} {:>12}  {how}", seconds(*time));
    }
    // Last of all what the test runner itself said, so that the count is its own and not ours.
    for (_, _, outcome) in &ended {
        if let Outcome::Tested(line) = outcome {
            println!("{line}");
        }
    }
    Ok(())
}

fn chosen(options: &Options) -> Vec<Stage> {
    let all = Stage::value_variants().iter().copied();
    all.filter(|stage| options.only.is_empty() || options.only.contains(stage))
        .filter(|stage| !options.skip.contains(stage))
        .collect()
}

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Guests => "guests",
            Self::Build => "build",
            Self::Solver => "solver",
            Self::Tests => "tests",
            Self::Clippy => "clippy",
            Self::Deny => "deny",
            Self::Demo => "demo",
        }
    }

    fn run(self, paths: &Paths, args: &[String]) -> Result<Outcome, Stop> {
        let passed = |()| Outcome::Passed;
        match self {
            Self::Fmt => pass(prepare::cargo(paths).args(["fmt", "--all", "--check"])).map(passed),
            Self::Guests => prepare::all_guests().map(passed),
            Self::Build => prepare::host(paths).map(|_| Outcome::Passed),
            Self::Solver => Ok(solver()),
            Self::Tests => {
                programs();
                runner::run(paths, args).map(Outcome::Tested)
            }
            Self::Clippy => {
                let lint = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
                pass(prepare::cargo(paths).args(lint)).map(passed)
            }
            Self::Deny => deny(paths),
            Self::Demo => demo::run(&demo::Options::once()).map(passed),
        }
    }
}

fn solver() -> Outcome {
    let solver = std::env::var_os("CVC5").unwrap_or_else(|| "cvc5".into());
    let is_there = || is_there(Command::new(&solver).arg("--version"));
    if is_there() || (apt::is_here() && apt::install(&["cvc5"]).is_ok() && is_there()) {
        Outcome::Passed
    } else {
        Outcome::Skipped("nothing is proved: no cvc5 (https://cvc5.github.io), and CVC5 names none")
    }
}

/// Installs what tests stand against where that is possible: the registry that plugins are pulled from, the program
/// that signs them, and Python for libraries of vendors. Without them these tests fail, and say what to install.
fn programs() {
    // `venv` of Debian comes without `ensurepip`, which is what a new environment needs.
    let asked: [(&str, &[&str], &str); 3] = [
        ("docker-registry", &["--version"], "docker-registry"),
        ("minisign", &["-v"], "minisign"),
        ("python3", &["-c", "import venv, ensurepip"], "python3-venv"),
    ];
    for (program, arguments, package) in asked {
        if !is_there(Command::new(program).args(arguments)) && apt::is_here() {
            let _ = apt::install(&[package]);
        }
    }
}

fn deny(paths: &Paths) -> Result<Outcome, Stop> {
    if !is_there(prepare::cargo(paths).args(["deny", "--version"])) {
        return Ok(Outcome::Skipped("cargo-deny is not installed (cargo install --locked cargo-deny)"));
    }
    pass(prepare::cargo(paths).args(["deny", "--config", ".config/deny.toml", "check"]))
        .map(|()| Outcome::Passed)
}

/// Runs `command` with its output on the screen.
fn pass(command: &mut Command) -> Result<(), Stop> {
    let shown = shown(command);
    let status = command.status().map_err(|e| Stop::because(format_args!("`{shown}` did not start"), e))?;
    if status.success() { Ok(()) } else { Err(Stop::new(format!("`{shown}` ended with {status}"))) }
}

/// Whether `command` runs at all.
fn is_there(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The command as one types it.
fn shown(command: &Command) -> String {
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    format!("cargo {}", args.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(only: &[Stage], skip: &[Stage]) -> Options {
        Options { only: only.to_vec(), skip: skip.to_vec(), args: Vec::new() }
    }

    #[test]
    fn stages_keep_their_order_and_can_be_chosen() {
        assert_eq!(chosen(&options(&[], &[])), Stage::value_variants());
        assert_eq!(chosen(&options(&[Stage::Demo, Stage::Fmt], &[])), [Stage::Fmt, Stage::Demo]);
        assert_eq!(chosen(&options(&[Stage::Fmt, Stage::Deny], &[Stage::Deny])), [Stage::Fmt]);
    }

    #[test]
    fn a_stage_is_called_what_its_option_is_called() {
        for stage in Stage::value_variants() {
            assert_eq!(stage.to_possible_value().unwrap().get_name(), stage.name());
        }
    }
}
