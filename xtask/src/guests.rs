//! `cargo xtask guests`: builds every guest into `<target>/guests/<name>.wasm`, a component with its manifest
//! inside.
//!
//! A guest is a folder of `plugins/` with a `plugin.toml`, or any folder of `tests/guests/`. It is built once
//! by the digest of everything it is made from; a guest that did not change is skipped with a line saying so.

mod component;
mod contract;
mod languages;
mod list;
mod stamp;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;

use crate::paths::Paths;
use crate::stop::Stop;
use crate::toolchain::{Toolchain, Way};
use list::Guest;

/// Build the WebAssembly guests: the plugins, and the guests that tests use.
///
/// Each becomes `<target>/guests/<name>.wasm`, where `<target>` is CARGO_TARGET_DIR, or
/// ~/.cache/chancery/target. A guest is built again only when something it is made from changed.
#[derive(Debug, Default, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// How to get the compiler for wasm32-unknown-unknown, instead of the first way that works.
    #[arg(long, env = "CHANCERY_WASM_BY", value_enum)]
    pub wasm_by: Option<Way>,
    /// Build those in JavaScript, Python and C too, which tests use. Their tools come from npm and PyPI.
    #[arg(long)]
    pub languages: bool,
    /// Build only these, by name.
    pub only: Vec<String>,
}

/// Builds what changed.
///
/// # Errors
/// When there is no compiler, or a guest does not build or breaks its contract.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    let toolchain = Toolchain::find(options.wasm_by, &paths)?;
    let guests = list::guests(&toolchain, &paths)?;
    if let Some(name) = options.only.iter().find(|name| !guests.iter().any(|guest| guest.name == **name)) {
        let names: Vec<&str> = guests.iter().map(|guest| guest.name.as_str()).collect();
        return Err(Stop::new(format!("there is no guest `{name}`; there are {}", names.join(", "))));
    }
    let folder = paths.guests();
    fs::create_dir_all(&folder).map_err(|e| Stop::because(folder.display(), e))?;
    let chosen = |guest: &&Guest| options.only.is_empty() || options.only.contains(&guest.name);
    for guest in guests.iter().filter(chosen) {
        bring_up_to_date(guest, &toolchain, &paths)?;
    }
    if options.languages {
        languages::run(&paths)?;
    }
    println!("guests are in {}", folder.display());
    Ok(())
}

fn bring_up_to_date(guest: &Guest, toolchain: &Toolchain, paths: &Paths) -> Result<(), Stop> {
    let started = Instant::now();
    let wasm = paths.guests().join(format!("{}.wasm", guest.name));
    let stamp = paths.guests().join(format!("{}.stamp", guest.name));
    let digest = stamp::digest(guest, toolchain, &paths.root)?;
    if wasm.is_file() && fs::read_to_string(&stamp).is_ok_and(|old| old == digest) {
        let bytes = fs::metadata(&wasm).map_err(|e| Stop::because(wasm.display(), e))?.len();
        println!("{}", line(&guest.name, bytes, "unchanged"));
        return Ok(());
    }
    let component = build(guest, toolchain, paths)?;
    put(&wasm, &component)?;
    put(&stamp, digest.as_bytes())?;
    let took = format!("built in {:.1} s", started.elapsed().as_secs_f64());
    println!("{}", line(&guest.name, component.len() as u64, &took));
    Ok(())
}

fn build(guest: &Guest, toolchain: &Toolchain, paths: &Paths) -> Result<Vec<u8>, Stop> {
    let about = |e: String| Stop::because(format_args!("guest `{}`", guest.name), e);
    let module_path = compile(guest, toolchain, paths)?;
    let module = fs::read(&module_path).map_err(|e| Stop::because(module_path.display(), e))?;
    let component = component::encode(&module).map_err(about)?;
    let Some(manifest) = &guest.manifest else {
        return Ok(component);
    };
    contract::check_manifest(manifest, guest).map_err(about)?;
    let surface = component::surface(&component).map_err(about)?;
    contract::check_surface(manifest, &surface).map_err(about)?;
    contract::check_no_folder(&component, toolchain.private_folders()).map_err(about)?;
    Ok(component::embed(component, manifest))
}

/// Compiles the module, with cargo's own progress on the screen, and says where it is.
fn compile(guest: &Guest, toolchain: &Toolchain, paths: &Paths) -> Result<PathBuf, Stop> {
    let mut cargo = toolchain.build(paths);
    cargo.args(["--lib", "--message-format", "json-render-diagnostics", "--package", &guest.package]);
    let output =
        cargo.stderr(Stdio::inherit()).output().map_err(|e| Stop::because("cargo did not start", e))?;
    if !output.status.success() {
        return Err(Stop::new(format!("guest `{}` does not compile: see above", guest.name)));
    }
    module_in(&String::from_utf8_lossy(&output.stdout), &guest.package).ok_or_else(|| {
        let message = format!("guest `{}` made no module: its crate-type needs `cdylib`", guest.name);
        Stop::new(message)
    })
}

/// The `.wasm` file of `package` among cargo's messages, one JSON object a line.
fn module_in(messages: &str, package: &str) -> Option<PathBuf> {
    let library = package.replace('-', "_");
    let of_package = |message: &Value| {
        message.pointer("/reason").is_some_and(|r| r == "compiler-artifact")
            && message.pointer("/target/name").and_then(Value::as_str) == Some(library.as_str())
    };
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.filter(of_package).find_map(|message| {
        let files = message.get("filenames")?.as_array()?.clone();
        let file = files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".wasm"))?;
        Some(PathBuf::from(file))
    })
}

/// Writes a file whole or not at all: others may read the folder meanwhile.
fn put(path: &Path, bytes: &[u8]) -> Result<(), Stop> {
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    fs::write(&draft, bytes)
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|e| Stop::because(path.display(), e))
}

fn line(name: &str, bytes: u64, what: &str) -> String {
    format!("{name:<20} {:>6} KiB  {what}", bytes.div_ceil(1_024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_found_among_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"guest"},"filenames":["/t/libguest.rlib"]}"#,
            "\nnot json\n",
            r#"{"reason":"compiler-artifact","target":{"name":"plugin_web"},"filenames":["/t/a.rlib","/t/a.wasm"]}"#,
        );
        assert_eq!(module_in(messages, "plugin-web"), Some(PathBuf::from("/t/a.wasm")));
        assert_eq!(module_in(messages, "guest"), None);
    }

    #[test]
    fn a_line_says_name_size_and_what_was_done() {
        assert_eq!(line("web", 65_537, "unchanged"), "web                      65 KiB  unchanged");
    }
}
