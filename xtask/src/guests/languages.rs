//! Guests in other languages, for tests: JavaScript, Python and C, each a folder of `tests/guests/` with a
//! `plugin.toml` and the versions of the tools it needs.
//!
//! The tools come from npm and PyPI into `<target>/languages`, and what they build is never committed. What cannot
//! be had is said, here and again by the test that wanted it: `<target>/guests/<name>.absent` holds the reason.

mod c;
mod emulate;
mod javascript;
mod python;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{component, put, stamp};
use crate::paths::Paths;
use crate::stop::Stop;

/// Why a language cannot be built here, for a person: what is missing, and how to get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Absent(pub(super) String);

/// One language.
struct Language {
    /// The folder of `tests/guests/`, and the plugin.
    name: &'static str,
    /// Installs what it needs, if it is not there.
    tools: fn(&Work) -> Result<(), Absent>,
    /// Makes the component.
    build: fn(&Work) -> Result<Vec<u8>, Stop>,
}

const LANGUAGES: [Language; 3] = [
    Language { name: "c", tools: c::tools, build: c::build },
    Language { name: "javascript", tools: javascript::tools, build: javascript::build },
    Language { name: "python", tools: python::tools, build: python::build },
];

/// Where one guest is built.
struct Work {
    /// Its sources.
    sources: PathBuf,
    /// Its tools, and what they leave lying about.
    folder: PathBuf,
    /// The world of tools, as one package with those it needs below `deps/`.
    wit: PathBuf,
}

/// Builds what changed. A language that cannot be had here is told of, and is no error.
///
/// # Errors
/// When a guest does not build although its tools are there.
pub fn run(paths: &Paths) -> Result<(), Stop> {
    let folder = paths.guests();
    fs::create_dir_all(&folder).map_err(|e| Stop::because(folder.display(), e))?;
    let wit = laid_out(paths)?;
    for language in LANGUAGES {
        let work = Work {
            sources: paths.root.join("tests/guests").join(language.name),
            folder: paths.target.join("languages").join(language.name),
            wit: wit.clone(),
        };
        fs::create_dir_all(&work.folder).map_err(|e| Stop::because(work.folder.display(), e))?;
        bring_up_to_date(&language, &work, paths)?;
    }
    emulate::bring(paths)
}

fn bring_up_to_date(language: &Language, work: &Work, paths: &Paths) -> Result<(), Stop> {
    let started = Instant::now();
    let file = |ending: &str| paths.guests().join(format!("{}.{ending}", language.name));
    let (wasm, stamp, absent) = (file("wasm"), file("stamp"), file("absent"));
    let digest = stamp::of_folders(&[&work.sources, &paths.root.join("wit")], &paths.root)?;
    if wasm.is_file() && fs::read_to_string(&stamp).is_ok_and(|old| old == digest) {
        let bytes = fs::metadata(&wasm).map_err(|e| Stop::because(wasm.display(), e))?.len();
        println!("{}", super::line(language.name, bytes, "unchanged"));
        return Ok(());
    }
    if let Err(Absent(reason)) = (language.tools)(work) {
        eprintln!(
            "ABSENT: the guest in {} is not built, and its tests are left out: {reason}",
            language.name
        );
        let _ = fs::remove_file(&wasm);
        return put(&absent, reason.as_bytes());
    }
    let manifest = work.sources.join("plugin.toml");
    let manifest = fs::read_to_string(&manifest).map_err(|e| Stop::because(manifest.display(), e))?;
    let built = component::embed((language.build)(work)?, &manifest);
    put(&wasm, &built)?;
    put(&stamp, digest.as_bytes())?;
    let _ = fs::remove_file(&absent);
    let took = format!("built in {:.1} s", started.elapsed().as_secs_f64());
    println!("{}", super::line(language.name, built.len() as u64, &took));
    Ok(())
}

/// The world of tools as other languages' tools read it: one package, and beside it those it refers to.
fn laid_out(paths: &Paths) -> Result<PathBuf, Stop> {
    let to = paths.target.join("languages/wit");
    let copy = |from: &str, into: &str| {
        let (from, into) = (paths.root.join("wit").join(from), to.join(into));
        into.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(&from, &into)).map(|_| ())
    };
    [
        ("tool/tool.wit", "tool.wit"),
        ("types/types.wit", "deps/types/types.wit"),
        ("host/host.wit", "deps/host/host.wit"),
    ]
    .into_iter()
    .try_for_each(|(from, into)| copy(from, into))
    .map_err(|e| Stop::because(to.display(), e))?;
    Ok(to)
}

/// Installs what a `package-lock.json` names, by version and digest, without running anything that came with it.
fn from_npm(folder: &Path) -> Result<(), Absent> {
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(folder);
    let got =
        said(&mut npm, "install Node.js 20 or newer with npm (Debian: sudo apt-get install nodejs npm)");
    if got.is_err() {
        // A half of it would be taken for the whole next time.
        let _ = fs::remove_dir_all(folder.join("node_modules"));
    }
    got
}

/// Whether `names` are the same in both folders, and what they name is installed.
fn is_installed(pinned: &Path, folder: &Path, names: &[&str]) -> bool {
    let same = |name: &&str| fs::read(pinned.join(name)).ok() == fs::read(folder.join(name)).ok();
    names.iter().all(same) && folder.join("node_modules").is_dir()
}

/// Installs the packages of `requirements.txt` in an environment of Python's own, once.
fn from_pypi(work: &Work) -> Result<(), Absent> {
    let wanted = work.sources.join("requirements.txt");
    let (python, done) = (python_in(work), work.folder.join("installed.txt"));
    let text = fs::read_to_string(&wanted).map_err(|e| Absent(format!("{}: {e}", wanted.display())))?;
    if python.is_file() && fs::read_to_string(&done).is_ok_and(|old| old == text) {
        return Ok(());
    }
    println!("   installing {} into {}", text.lines().last().unwrap_or_default(), work.folder.display());
    let hint = "install Python 3.10 or newer with `venv` (Debian: sudo apt-get install python3 python3-venv)";
    said(Command::new("python3").args(["-m", "venv"]).arg(work.folder.join("venv")), hint)?;
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
        "-r",
    ]);
    said(pip.arg(&wanted), "PyPI was not reached, or has nothing for this kind of machine")?;
    fs::write(&done, text).map_err(|e| Absent(format!("{}: {e}", done.display())))
}

fn python_in(work: &Work) -> PathBuf {
    work.folder.join("venv/bin/python")
}

/// Runs a command that gets tools; its own words are on the screen.
fn said(command: &mut Command, hint: &str) -> Result<(), Absent> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Absent(format!("`{program}` ended with {status}: {hint}"))),
        Err(e) => Err(Absent(format!("`{program}` did not start ({e}): {hint}"))),
    }
}

/// Runs a command that builds, and reads what it made.
fn built(command: &mut Command, output: &Path) -> Result<Vec<u8>, Stop> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.map_err(|e| Stop::because(format_args!("`{program}` did not start"), e))?;
    if !status.success() {
        return Err(Stop::new(format!("`{program}` did not make `{}`: {status}", output.display())));
    }
    fs::read(output).map_err(|e| Stop::because(output.display(), e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_said_with_what_to_do() {
        let absent = said(&mut Command::new("no-such-program-anywhere"), "install it").unwrap_err();
        assert!(
            absent.0.contains("`no-such-program-anywhere` did not start") && absent.0.ends_with("install it")
        );
        assert!(said(&mut Command::new("false"), "install it").unwrap_err().0.contains("ended with"));
    }

    #[test]
    fn the_world_is_laid_out_with_what_it_needs() {
        let target = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let wit = laid_out(&Paths { root, target: target.path().to_owned() }).unwrap();
        let sources = c::bindings(&wit).unwrap();
        assert!(sources.iter().any(|(name, _)| name == "tool.h"));
    }
}
