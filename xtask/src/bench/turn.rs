//! Measures a durable step of a turn beside the same steps kept by LangGraph's SQLite checkpointer and by DBOS on SQLite,
//! on one disk and in turns within one run.
//!
//! The others come from PyPI, into a virtual environment in the build folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::paths::Paths;
use crate::prepare;
use crate::progress::stage;
use crate::stop::Stop;

/// A step of ours beside one of the faster of the others, at most.
const SHARE_MAX: f64 = 0.5;
/// How often each is measured: a busy moment falls on all of them.
const ROUNDS: usize = 5;
/// Turns in each measurement.
const TURNS: &str = "3";
/// What is measured beside ours, in the versions it was last measured with.
const WANTED: [&str; 3] = ["langgraph==1.2.24", "langgraph-checkpoint-sqlite==3.1.2", "dbos==3.4.0"];
/// What a person does who has no Python.
const HINT: &str = "install Python 3.10 or newer with `venv` (Debian: sudo apt-get install python3 python3-venv), and let PyPI be reached";

/// What a durable step of a turn costs beside one of LangGraph and of DBOS, on SQLite.
///
/// A turn of twenty tool steps, each wanted by a model that answers from a script. On a machine that does nothing else.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The figures as JSON, one object a line, and nothing else on standard output.
    #[arg(long)]
    json: bool,
}

/// What one measurement says.
#[derive(Debug, Deserialize)]
struct Figures {
    name: String,
    /// Durable steps of a turn.
    steps: u32,
    /// Microseconds of a step, turn by turn.
    step_us: Vec<f64>,
    /// Bytes that the database grew by, for each step, once its log was written back.
    bytes_per_step: u64,
}

/// Measures.
///
/// # Errors
/// When something does not build or is not there, or a measurement fails or gives no figures.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    let program = stage("build", || program(&paths))?;
    let python = stage("others", || python(&paths))?;
    let mut said = Vec::new();
    for _ in 0..ROUNDS {
        let folder = paths.target.join("bench").join("turn");
        said.push(stage("measure", || ours(&program, &folder))?);
        for peer in ["langgraph", "dbos"] {
            said.push(stage("measure", || theirs(&paths, &python, peer, &folder))?);
        }
    }
    if options.json {
        said.iter().for_each(|line| println!("{}", line.trim()));
        return Ok(());
    }
    let read: Result<Vec<Figures>, _> = said.iter().map(|line| serde_json::from_str(line)).collect();
    let read = read.map_err(|e| Stop::because("what was measured are no figures", e))?;
    println!("{}", shown(&read)?);
    Ok(())
}

/// The bench program, built.
fn program(paths: &Paths) -> Result<PathBuf, Stop> {
    let output = prepare::cargo(paths)
        .args(["bench", "--package", "turn", "--bench", "turn", "--no-run"])
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| Stop::because("cargo did not start", e))?;
    if !output.status.success() {
        return Err(Stop::new("the bench `turn` does not compile: see above"));
    }
    prepare::program_in(&String::from_utf8_lossy(&output.stdout), "turn")
        .ok_or_else(|| Stop::new("cargo built the bench `turn` and did not say where it is"))
}

/// A Python that has the others, made when it is not there.
fn python(paths: &Paths) -> Result<PathBuf, Stop> {
    let folder = paths.target.join("bench").join("peers");
    let python = folder.join("bin/python");
    let has = |package: &str| {
        let named = package.split("==").next().unwrap_or(package);
        let asked = Command::new(&python).args(["-m", "pip", "show", "--quiet", named]).status();
        asked.is_ok_and(|status| status.success())
    };
    if !WANTED.iter().all(|package| has(package)) {
        said(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let install =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
        said(Command::new(&python).args(install).args(WANTED))?;
    }
    Ok(python)
}

fn ours(program: &Path, folder: &Path) -> Result<String, Stop> {
    super::said(Command::new(program).arg(folder).arg(TURNS), "the bench `turn`")
}

fn theirs(paths: &Paths, python: &Path, peer: &str, folder: &Path) -> Result<String, Stop> {
    let database = folder.join(peer);
    // Whatever an earlier run left would be read, and grown.
    if database.exists() {
        std::fs::remove_dir_all(&database).map_err(|e| Stop::because("an earlier measurement", e))?;
    }
    let script = paths.root.join("xtask/src/bench/turn/peers.py");
    said(Command::new(python).arg(script).arg(peer).arg(database).arg(TURNS))
}

/// What a command of Python's prints.
fn said(command: &mut Command) -> Result<String, Stop> {
    let name = format!("`{}`", command.get_program().to_string_lossy());
    super::said(command, &name).map_err(|stop| Stop { message: format!("{}; {HINT}", stop.message), ..stop })
}

/// The median over all turns, in microseconds.
fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The medians beside each other, and whether the target is met.
fn shown(figures: &[Figures]) -> Result<String, Stop> {
    let mut text = format!("{:<12} {:>12} {:>12} {:>8}\n", "", "a step", "bytes", "steps");
    let mut medians = Vec::new();
    for name in ["chancery", "langgraph", "dbos"] {
        let own: Vec<&Figures> = figures.iter().filter(|figure| figure.name == name).collect();
        let mut times: Vec<f64> = own.iter().flat_map(|figure| figure.step_us.iter().copied()).collect();
        let Some(first) = own.first().filter(|_| !times.is_empty()) else {
            return Err(Stop::new(format!("no figures of `{name}`")));
        };
        let step_us = median(&mut times);
        // Writing to a string cannot fail.
        _ = writeln!(text, "{name:<12} {step_us:>9.0} us {:>12} {:>8}", first.bytes_per_step, first.steps);
        medians.push(step_us);
    }
    let [ours, langgraph, dbos] = medians[..] else { return Err(Stop::new("figures are missing")) };
    let share = ours / langgraph.min(dbos);
    let word = if share <= SHARE_MAX { "met" } else { "NOT met" };
    _ = writeln!(text, "a step beside the faster of the others: {share:.2}, at most {SHARE_MAX}: {word}");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Figures, shown};

    fn figures(name: &str, step_us: &[f64]) -> Figures {
        Figures { name: name.to_owned(), steps: 41, step_us: step_us.to_vec(), bytes_per_step: 100 }
    }

    #[test]
    fn a_step_is_compared_with_the_faster_of_the_others() {
        let mut all = vec![figures("chancery", &[900.0, 400.0, 500.0]), figures("langgraph", &[1_000.0])];
        assert!(shown(&all).is_err(), "a figure that is missing is no target met");
        all.push(figures("dbos", &[2_000.0]));
        let text = shown(&all).unwrap();
        assert!(text.contains("others: 0.50, at most 0.5: met"), "{text}");
        all.push(figures("dbos", &[600.0, 600.0]));
        assert!(shown(&all).unwrap().contains("0.83, at most 0.5: NOT met"));
    }
}
