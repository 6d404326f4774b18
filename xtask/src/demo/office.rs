//! The demo's office: its folder, its configuration, and the commands of `chancery` that work on it.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::read::Record;
use crate::paths::Paths;
use crate::stop::Stop;

/// Where the demo's signing secret is given to the office. Not `CHANCERY_…`: those are settings.
const SIGNING_SECRET_ENV: &str = "DEMO_SLACK_SIGNING_SECRET";
/// Where the demo's bot token is given to the office.
const BOT_TOKEN_ENV: &str = "DEMO_SLACK_BOT_TOKEN";
/// The secrets of the demo's emulator, known to everyone who reads this: they open nothing else.
pub const SIGNING_SECRET: &str = "demo-signing-secret-of-no-workspace";
/// See [`SIGNING_SECRET`].
pub const BOT_TOKEN: &str = "xoxb-demo-token-of-no-workspace";

/// Where the office and what it talks to can be reached.
#[derive(Debug, Clone)]
pub struct Origins {
    /// The office itself.
    pub office: String,
    /// The demo's site.
    pub site: String,
    /// The emulator; without one there is no Slack.
    pub emulator: Option<String>,
}

/// An office that can be started and looked into.
#[derive(Debug)]
pub struct Office {
    /// The `chancery` program.
    pub program: PathBuf,
    /// Its folder: configuration, record, logs.
    pub folder: PathBuf,
    /// Its configuration.
    pub config: PathBuf,
    /// Where it answers.
    pub origin: String,
    /// Held while this demo lives: a second one would sweep its folder away.
    _only_one: File,
}

impl Office {
    /// Lays out a new office in `<target>/demo`; what an earlier demo left there goes away.
    ///
    /// # Errors
    /// When the folder cannot be written, or another demo runs in it.
    pub fn lay_out(paths: &Paths, program: PathBuf, origins: &Origins) -> Result<Self, Stop> {
        let folder = paths.target.join("demo");
        let about = |e| Stop::because(folder.display(), e);
        let only_one = lock(&paths.target.join("demo.lock"))?;
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(about)?;
        }
        fs::create_dir_all(&folder).map_err(about)?;
        let template_path = paths.root.join("demo/chancery.toml.in");
        let template =
            fs::read_to_string(&template_path).map_err(|e| Stop::because(template_path.display(), e))?;
        let config = folder.join("chancery.toml");
        fs::write(&config, fill(&template, paths, origins))
            .map_err(|e| Stop::because(config.display(), e))?;
        Ok(Self { program, folder, config, origin: origins.office.clone(), _only_one: only_one })
    }

    /// A command of this office. It sees no setting of the surrounding environment, so that the demo is the
    /// same on every machine.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("CHANCERY_") && name != "CHANCERY_LOG" {
                command.env_remove(&name);
            }
        }
        command.args(args).arg("--config").arg(&self.config).current_dir(&self.folder);
        command.env(SIGNING_SECRET_ENV, SIGNING_SECRET).env(BOT_TOKEN_ENV, BOT_TOKEN);
        // What it prints goes to a file, and its end to the screen: colours would be noise in both.
        command.env("NO_COLOR", "1");
        command
    }

    /// The same command as a person types it.
    pub fn typed(&self, args: &str) -> String {
        format!("{} {args} --config {}", self.program.display(), self.config.display())
    }

    /// The whole record, read while the office runs.
    ///
    /// # Errors
    /// When `chancery record show` fails.
    pub fn record(&self) -> Result<Record, Stop> {
        let lines = self.answer(&["record", "show", "--json"]).map_err(Stop::new)?;
        Record::parse(&lines)
    }

    /// What `chancery record verify` says, as an error when it does not pass.
    pub fn verify(&self) -> Result<String, String> {
        self.answer(&["record", "verify"]).map(|said| said.trim().to_owned())
    }

    fn answer(&self, args: &[&str]) -> Result<String, String> {
        let shown = args.join(" ");
        let output = self
            .command(args)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("`chancery {shown}` did not start: {e}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        Err(format!("`chancery {shown}` ended with {}: {}", output.status, said.join("\n").trim()))
    }
}

/// Takes the lock file at `path`; the system gives it back when the process ends, however it ends.
fn lock(path: &Path) -> Result<File, Stop> {
    let file = File::create(path).map_err(|e| Stop::because(path.display(), e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(Stop::new(
            "another `cargo xtask demo` runs with this target folder: end it with Ctrl-C first",
        )),
        Err(fs::TryLockError::Error(e)) => Err(Stop::because(path.display(), e)),
    }
}

/// The configuration: the template with its places filled. Parts between `#[slack` and `#slack]` stay only
/// when there is an emulator.
fn fill(template: &str, paths: &Paths, origins: &Origins) -> String {
    let mut text = String::new();
    let mut kept = true;
    for line in template.lines() {
        match line.trim() {
            "#[slack" => kept = origins.emulator.is_some(),
            "#slack]" => kept = true,
            _ if kept => text.extend([line, "\n"]),
            _ => {}
        }
    }
    let of_root = |path: &str| path_value(&paths.root.join(path));
    let guest = |name: &str| path_value(&paths.guests().join(name));
    let emulator = origins.emulator.as_deref().unwrap_or_default();
    let places = [
        ("@address@", value(origins.office.trim_start_matches("http://"))),
        ("@policies@", of_root("policies")),
        ("@prices@", of_root("policies/prices.toml")),
        ("@story@", of_root("demo/story.toml")),
        ("@guard_credentials@", guest("guard-credentials.wasm")),
        ("@office@", guest("office.wasm")),
        ("@scripted@", guest("scripted.wasm")),
        ("@slack@", guest("slack.wasm")),
        ("@terminal@", guest("terminal.wasm")),
        ("@web@", guest("web.wasm")),
        ("@site@", value(&origins.site)),
        ("@emulator@", value(emulator)),
        ("@api@", value(&format!("{emulator}/api/"))),
        ("@signing_secret_env@", value(SIGNING_SECRET_ENV)),
        ("@bot_token_env@", value(BOT_TOKEN_ENV)),
    ];
    places.iter().fold(text, |text, (place, value)| text.replace(place, value))
}

/// `text` as a TOML string, with its quotes.
fn value(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn path_value(path: &Path) -> String {
    value(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = include_str!("../../../demo/chancery.toml.in");

    fn filled(emulator: Option<&str>) -> (String, toml::Table) {
        let paths = Paths { root: "/a \"b\"".into(), target: "/t".into() };
        let origins = Origins {
            office: "http://127.0.0.1:1".to_owned(),
            site: "http://127.0.0.1:2".to_owned(),
            emulator: emulator.map(str::to_owned),
        };
        let text = fill(TEMPLATE, &paths, &origins);
        let table = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
        (text, table)
    }

    #[test]
    fn the_template_fills_to_toml_with_no_place_left_empty() {
        let (text, table) = filled(Some("http://127.0.0.1:3"));
        assert!(!text.contains('@'), "{text}");
        assert_eq!(table["policies"].as_str(), Some("/a \"b\"/policies"));
        assert_eq!(table["listen"]["address"].as_str(), Some("127.0.0.1:1"));
        let loopback = table["egress"]["loopback"].as_array().unwrap();
        assert_eq!(loopback.len(), 2, "exactly the site and the emulator");
        assert!(!text.contains(BOT_TOKEN) && !text.contains(SIGNING_SECRET), "secrets are references");
    }

    #[test]
    fn a_second_demo_does_not_sweep_the_first_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("demo.lock");
        let first = lock(&path).unwrap();
        assert!(lock(&path).unwrap_err().to_string().contains("another `cargo xtask demo` runs"));
        drop(first);
        lock(&path).unwrap();
    }

    #[test]
    fn without_an_emulator_there_is_no_slack_to_reach() {
        let (text, table) = filled(None);
        assert!(table.get("slack").is_none() && table.get("credentials").is_none(), "{text}");
        assert_eq!(table["egress"]["loopback"].as_array().unwrap().len(), 1);
    }
}
