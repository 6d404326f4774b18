//! `chancery plugin build`: from a folder with a `plugin.toml` to one component with its manifest inside.
//!
//! Always holds: the tools of the language do the work, as the folder pins them, and nothing is downloaded that the
//! person did not ask for: what is missing is named, with the command that gets it. The component that is written was
//! read back as a plugin.

use super::{store, tell};
use anyhow::{Context, Result, bail, ensure};
use component::{Artifact, Manifest, embed};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use wit_component::ComponentEncoder;

/// What Rust is compiled for: no system underneath, so it imports nothing but what its world names.
const TARGET: &str = "wasm32-unknown-unknown";
/// How a core module begins, and a component: magic number, version, layer.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// Builds the plugin in `folder`.
///
/// # Errors
/// What is missing or wrong, and how to mend it.
pub fn build(folder: &Path, out: Option<&Path>) -> Result<ExitCode> {
    let manifest = folder.join("plugin.toml");
    let text = std::fs::read_to_string(&manifest).with_context(|| {
        format!(
            "`{}` cannot be read: `chancery plugin new NAME` makes a folder that has one",
            manifest.display()
        )
    })?;
    let parsed = Manifest::parse(text.as_bytes()).with_context(|| manifest.display().to_string())?;
    let component = compiled(folder, &parsed.name)?;
    let whole = embed(&component, &text).context("the manifest cannot be put into what was built")?;
    let artifact = Artifact::read(whole)?;
    let out = out.map_or_else(|| folder.join(format!("{}.wasm", parsed.name)), Path::to_path_buf);
    store::write(&out, artifact.bytes())?;
    println!("{}  {}  sha256:{}", out.display(), tell::size(artifact.bytes().len()), artifact.digest);
    println!("chancery plugin inspect {}      says what it asks for", out.display());
    Ok(ExitCode::SUCCESS)
}

/// The component without its manifest.
fn compiled(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let made = if folder.join("Cargo.toml").is_file() {
        rust(folder)?
    } else if folder.join("package.json").is_file() {
        javascript(folder, name)?
    } else if folder.join("app.py").is_file() {
        python(folder, name)?
    } else {
        bail!(
            "`{}` has neither a Cargo.toml (Rust), nor a package.json (JavaScript), nor an app.py (Python): see \
             `chancery plugin new --help`",
            folder.display()
        );
    };
    let bytes = store::read(&made)?;
    if !bytes.starts_with(MODULE) {
        return Ok(bytes);
    }
    ComponentEncoder::default()
        .validate(true)
        .module(&bytes)
        .and_then(|encoder| encoder.encode())
        .context("what was compiled does not make a component")
}

fn rust(folder: &Path) -> Result<PathBuf> {
    let rustc = answer(Command::new("rustc").args(["--print", "sysroot"]));
    let sysroot = rustc.context("there is no Rust: get it from https://rustup.rs, then run this again")?;
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET);
    ensure!(
        libraries.is_dir(),
        "Rust is here without the target {TARGET}: run `rustup target add {TARGET}`, then this again"
    );
    let target = std::path::absolute(folder.join("target"))?;
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--release", "--target", TARGET, "--target-dir"])
        .arg(&target)
        .env("CARGO_ENCODED_RUSTFLAGS", remaps(folder, sysroot.trim()));
    run(folder, &mut cargo)?;
    let built = target.join(TARGET).join("release");
    let mut found: Vec<PathBuf> = std::fs::read_dir(&built)
        .with_context(|| format!("`{}` cannot be read", built.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "wasm"))
        .collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => bail!("cargo built no component: give the crate `[lib] crate-type = [\"cdylib\"]`"),
        (Some(_), false) => {
            bail!("`{}` holds several components: run `cargo clean` there, and this again", built.display())
        }
    }
}

/// Folders of this machine do not stand in a component.
fn remaps(folder: &Path, sysroot: &str) -> OsString {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cargo =
        std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| home.map(|home| home.join(".cargo")));
    let here = std::path::absolute(folder).ok();
    let all = [(here, "/plugin"), (cargo, "/cargo"), (Some(sysroot.into()), "/rust")];
    let flags = all.into_iter().filter_map(|(from, to)| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from?);
        flag.push("=");
        flag.push(to);
        Some(flag)
    });
    flags.collect::<Vec<_>>().join(std::ffi::OsStr::new("\u{1f}"))
}

fn javascript(folder: &Path, name: &str) -> Result<PathBuf> {
    answer(Command::new("node").arg("--version"))
        .context("there is no Node: get version 20 or newer from https://nodejs.org or your system's packages, then run this again")?;
    let tool = folder.join("node_modules/.bin/componentize-js");
    ensure!(
        tool.exists(),
        "componentize-js is not here: run `npm install` in `{}`, then this again",
        folder.display()
    );
    let out = out(folder, name)?;
    let mut node = Command::new(std::path::absolute(&tool)?);
    node.args(["plugin.js", "--wit", "wit", "--world-name", "tool", "--out"]).arg(&out);
    run(folder, &mut node)?;
    Ok(out)
}

fn python(folder: &Path, name: &str) -> Result<PathBuf> {
    let own = std::path::absolute(folder.join(".venv/bin/componentize-py"))?;
    let tool = if own.is_file() { own } else { PathBuf::from("componentize-py") };
    answer(Command::new(&tool).arg("--version")).with_context(|| {
        format!(
            "componentize-py is not here: run `python3 -m venv .venv && .venv/bin/pip install -r requirements.txt` in \
             `{}`, then this again",
            folder.display()
        )
    })?;
    let out = out(folder, name)?;
    let mut command = Command::new(tool);
    command.args(["--wit-path", "wit", "--world", "tool", "componentize", "app", "--output"]).arg(&out);
    run(folder, &mut command)?;
    Ok(out)
}

/// Where a tool of a language writes: a folder that is nobody's but the build's.
fn out(folder: &Path, name: &str) -> Result<PathBuf> {
    let build = std::path::absolute(folder.join("build"))?;
    std::fs::create_dir_all(&build).with_context(|| format!("`{}` cannot be made", build.display()))?;
    Ok(build.join(format!("{name}.wasm")))
}

fn answer(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("`{program}` did not start"))?;
    ensure!(output.status.success(), "`{program}` ended with {}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a tool in the folder, with its output on the screen.
fn run(folder: &Path, command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.current_dir(folder).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("`{program}` did not start"))?;
    ensure!(status.success(), "`{program}` ended with {status}; what it says stands above");
    Ok(())
}
