//! A compiler for `wasm32-unknown-unknown`, got in one of three ways.
//!
//! In order: the target is installed; `rustup` adds it; on Debian, the distribution's compiler builds the
//! standard library from source. When none works the message says why each did not, and what to install.
//! No other compiler is needed: no guest has C in it.

mod debian;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::paths::Paths;
use crate::stop::Stop;

/// What guests are compiled for: no system underneath, so they import nothing but what their world names.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// How the compiler was got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// The target is there already.
    Installed,
    /// `rustup target add` brings it.
    Rustup,
    /// Debian's `rustc-web`, with the standard library built from source.
    Debian,
}

const WAYS: [Way; 3] = [Way::Installed, Way::Rustup, Way::Debian];

/// A compiler that can build guests.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// How it was got.
    pub way: Way,
    /// What `rustc -vV` says of it.
    pub version: String,
    cargo: PathBuf,
    /// Set for every cargo that builds guests.
    env: Vec<(&'static str, OsString)>,
    /// Arguments of `cargo build` besides target and profile.
    args: Vec<&'static str>,
    /// Folders of this machine that the compiler would otherwise write into panics, and what stands for
    /// them. `rustc` takes the last that fits.
    remaps: Vec<(PathBuf, &'static str)>,
}

impl Toolchain {
    /// Tries the three ways in order, or only the one asked for. May run `rustup` and `apt-get`.
    ///
    /// # Errors
    /// When no way works: why each did not, and what to install.
    pub fn find(forced: Option<Way>, paths: &Paths) -> Result<Self, Stop> {
        let mut reasons = Vec::new();
        for way in WAYS.into_iter().filter(|way| forced.is_none_or(|f| f == *way)) {
            let found = match way {
                Way::Installed => installed(way),
                Way::Rustup => add_with_rustup().and_then(|()| installed(way)),
                Way::Debian => debian::find(),
            };
            match found {
                Ok(mut toolchain) => {
                    toolchain.remaps.extend(folders_of(paths));
                    return Ok(toolchain);
                }
                Err(reason) => reasons.push((way, reason)),
            }
        }
        Err(Stop::new(explain(&reasons)))
    }

    /// A cargo of this toolchain, in the checkout, that builds where `paths` says.
    pub fn cargo(&self, paths: &Paths) -> Command {
        let mut command = Command::new(&self.cargo);
        // Two compilers in one folder would undo each other's work.
        let target = match self.way {
            Way::Debian => paths.target.join("debian"),
            Way::Installed | Way::Rustup => paths.target.clone(),
        };
        command.current_dir(&paths.root).env("CARGO_TARGET_DIR", target).stdin(Stdio::null());
        if self.way == Way::Debian {
            // Set by the cargo that started this program, for its own compiler.
            for name in ["LD_LIBRARY_PATH", "RUSTUP_TOOLCHAIN", "CARGO", "RUSTC_WRAPPER"] {
                command.env_remove(name);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// `cargo build` for the target with the guest profile. Flags of the environment do not reach guests: the
    /// same sources and compiler give the same component.
    pub fn build(&self, paths: &Paths) -> Command {
        let mut command = self.cargo(paths);
        let flags: Vec<OsString> = self.remaps.iter().map(|(from, to)| remap_flag(from, to)).collect();
        command
            .args(["build", "--profile", "guest", "--target", TARGET])
            .args(&self.args)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join(OsString::from("\u{1f}").as_os_str()));
        command
    }

    /// Folders that must not be named in a component.
    pub fn private_folders(&self) -> impl Iterator<Item = &Path> {
        self.remaps.iter().map(|(folder, _)| folder.as_path())
    }
}

fn installed(way: Way) -> Result<Toolchain, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = PathBuf::from(answer(Command::new(&rustc).args(["--print", "sysroot"]))?.trim());
    let libraries = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    if !libraries.is_dir() {
        return Err(format!("`{TARGET}` is not among the targets of `{}`", sysroot.display()));
    }
    Ok(Toolchain {
        way,
        version: answer(Command::new(&rustc).arg("-vV"))?,
        cargo: env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into(),
        env: Vec::new(),
        args: Vec::new(),
        remaps: vec![(sysroot, "/rust")],
    })
}

fn add_with_rustup() -> Result<(), String> {
    answer(Command::new("rustup").arg("--version"))?;
    println!("adding the target {TARGET} with rustup");
    run(Command::new("rustup").args(["target", "add", TARGET]))
}

fn folders_of(paths: &Paths) -> Vec<(PathBuf, &'static str)> {
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home);
    let mut folders = vec![(paths.root.clone(), "/chancery"), (paths.target.clone(), "/target")];
    folders.extend(cargo_home.map(|folder| (folder, "/cargo")));
    folders
}

fn remap_flag(from: &Path, to: &str) -> OsString {
    let mut flag = OsString::from("--remap-path-prefix=");
    flag.push(from);
    flag.push("=");
    flag.push(to);
    flag
}

/// What a command prints, or why it could not say.
fn answer(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|e| format!("`{program}` did not start: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{program}` ended with {}: {}", output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command with its output on the screen.
fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let status = command.stdin(Stdio::null()).status().map_err(|e| format!("{shown} did not start: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} ended with {status}")) }
}

/// What to say when no way worked.
fn explain(reasons: &[(Way, String)]) -> String {
    let mut text = format!("guests need a compiler for {TARGET}, and none was found:\n");
    for (way, reason) in reasons {
        let name = match way {
            Way::Installed => "installed",
            Way::Rustup => "rustup",
            Way::Debian => "Debian",
        };
        text.push_str(&format!("  {name}: {reason}\n"));
    }
    text.push_str("Do one of these, then run the command again:\n");
    text.push_str(&format!("  rustup target add {TARGET}          (rustup: https://rustup.rs)\n"));
    text.push_str(&format!("  sudo apt-get install {}    (Debian)", debian::PACKAGES.join(" ")));
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A toolchain that is never started.
    pub(crate) fn toolchain(remaps: Vec<(PathBuf, &'static str)>) -> Toolchain {
        Toolchain {
            way: Way::Installed,
            version: "rustc 1.95.0".to_owned(),
            cargo: "cargo".into(),
            env: Vec::new(),
            args: Vec::new(),
            remaps,
        }
    }

    #[test]
    fn when_no_way_works_the_message_says_why_and_what_to_install() {
        let reasons = [(Way::Rustup, "`rustup` did not start".to_owned())];
        let text = explain(&reasons);
        assert!(text.contains("rustup: `rustup` did not start"), "{text}");
        assert!(text.contains("rustup target add wasm32-unknown-unknown"), "{text}");
        assert!(text.contains("apt-get install rustc-web cargo-web rust-web-src lld"), "{text}");
    }

    #[test]
    fn flags_for_the_compiler_keep_folders_with_spaces_whole() {
        let toolchain = toolchain(vec![("/home/a b".into(), "/home"), ("/work".into(), "/chancery")]);
        let paths = Paths { root: "/work".into(), target: "/target".into() };
        let command = toolchain.build(&paths);
        let (_, flags) = command.get_envs().find(|(name, _)| *name == "CARGO_ENCODED_RUSTFLAGS").unwrap();
        let flags: Vec<&str> = flags.unwrap().to_str().unwrap().split('\u{1f}').collect();
        assert_eq!(flags, ["--remap-path-prefix=/home/a b=/home", "--remap-path-prefix=/work=/chancery"]);
    }
}
