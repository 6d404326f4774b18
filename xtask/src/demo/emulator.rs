//! The Slack emulator: a program that others wrote, so that the demo is not only our own reading of Slack.
//!
//! `local-slack` comes from npm, pinned by version and digest in `demo/emulator/`. It runs on this machine
//! only, needs no network once installed, and shows its channels on a page. What it does not do (retries,
//! limits, streams, checks of membership) the demo does not claim.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;

use super::story::{ALICE, APP, BOB, BOT, Channel, GENERAL, RANDOM, TEAM, User};
use crate::paths::Paths;
use crate::stop::Stop;

/// The npm package; its version stands in `demo/emulator/package.json`.
const PACKAGE: &str = "local-slack-linux-x64";
/// How long the emulator may take for one answer. It answers a message only after the office answered the
/// event, and Slack gives that three seconds for each of two events.
const ANSWER_MS_MAX: u64 = 15_000;

/// Why there is no emulator, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent(pub String);

/// Finds the emulator's program, and installs it when it is not there.
///
/// # Errors
/// [`Absent`] says exactly what is missing and how to get it.
pub fn find(paths: &Paths) -> Result<PathBuf, Absent> {
    if (OS, ARCH) != ("linux", "x86_64") {
        return Err(Absent(format!(
            "the Slack emulator runs on Linux on x86-64 only, and this is {OS} on {ARCH}"
        )));
    }
    let pinned = paths.root.join("demo/emulator");
    let folder = paths.target.join("emulator");
    let package = folder.join("node_modules").join(PACKAGE);
    let program = package.join("bin/local-slack");
    if !is_installed(&pinned, &package) {
        install(&pinned, &folder)?;
    }
    println!("   {PACKAGE} is in {}", package.display());
    Ok(program)
}

fn is_installed(pinned: &Path, package: &Path) -> bool {
    let wanted = read_json(&pinned.join("package.json"));
    let wanted = wanted.as_ref().and_then(|json| json.get("dependencies")?.get(PACKAGE));
    let found = read_json(&package.join("package.json"));
    wanted.is_some() && wanted == found.as_ref().and_then(|json| json.get("version"))
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn install(pinned: &Path, folder: &Path) -> Result<(), Absent> {
    if !Command::new("npm").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Err(Absent(
            "the Slack emulator comes from npm, and `npm` is not there: install Node.js 20 or newer \
             (Debian: sudo apt-get install nodejs npm; others: https://nodejs.org)"
                .to_owned(),
        ));
    }
    println!("   installing {PACKAGE} into {} (90 MB, once)", folder.display());
    let copied = fs::create_dir_all(folder).and_then(|()| {
        ["package.json", "package-lock.json"]
            .iter()
            .try_for_each(|name| fs::copy(pinned.join(name), folder.join(name)).map(|_| ()))
    });
    copied
        .map_err(|e| Absent(format!("the Slack emulator cannot be installed: {}: {e}", folder.display())))?;
    // `ci` takes the very digest of the lock file; the package's own scripts are not run.
    let status = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(folder)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Absent(format!("npm could not install the Slack emulator ({status}): see above"))),
        Err(e) => Err(Absent(format!("npm did not start: {e}"))),
    }
}

/// What the emulator is told of the workspace, as JSON, which is YAML too.
pub fn config(requests_to: &str, signing_secret: &str, bot_token: &str) -> String {
    let user = |user: &User| {
        json!({ "id": user.id, "name": user.name, "real_name": user.real_name,
                "email": format!("{}@example.com", user.name) })
    };
    let channel = |channel: &Channel, member: &User| json!({ "id": channel.id, "name": channel.name, "members": [member.id, BOT.id] });
    let config = json!({
        "workspace": { "name": "Chancery demo", "domain": "chancery-demo", "teamId": TEAM },
        "app": {
            "appId": APP, "botUserId": BOT.id, "botName": BOT.name, "botToken": bot_token,
            "appToken": "xapp-demo-unused", "signingSecret": signing_secret,
            "mode": "events", "requestUrl": requests_to,
        },
        "users": [user(&ALICE), user(&BOB)],
        "channels": [channel(&GENERAL, &ALICE), channel(&RANDOM, &BOB)],
    });
    format!("{config:#}\n")
}

/// The emulator's control API: what people do in the workspace, and what stands there.
#[derive(Debug, Clone)]
pub struct Control {
    origin: String,
    agent: Agent,
}

impl Control {
    /// Of the emulator at `origin`.
    pub fn new(origin: String) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(Duration::from_millis(ANSWER_MS_MAX)))
            .http_status_as_error(false)
            .build();
        Self { origin, agent: config.into() }
    }

    /// Whether it answers yet.
    pub fn answers(&self) -> bool {
        self.get("state").is_ok()
    }

    /// Lets `user` say `text` in `channel`, and returns the message's timestamp. Comes back only after the
    /// office took the events.
    pub fn say(&self, user: &User, channel: &Channel, text: &str) -> Result<String, Stop> {
        let body = json!({ "channel": channel.id, "user": user.id, "text": text }).to_string();
        let sent = self
            .agent
            .post(format!("{}/_control/message", self.origin))
            .header("content-type", "application/json")
            .send(body);
        let answer = self.read("message", sent)?;
        let ts = answer.pointer("/message/ts").and_then(Value::as_str).map(str::to_owned);
        ts.ok_or_else(|| Stop::new(format!("the emulator did not take a message: {answer}")))
    }

    /// The messages that stand in `channel`, threads included.
    pub fn messages(&self, channel: &Channel) -> Result<Vec<Value>, Stop> {
        self.list(&format!("messages/{}", channel.id), "/messages")
    }

    /// The arguments of every `method` that the office called.
    pub fn calls(&self, method: &str) -> Result<Vec<Value>, Stop> {
        let log = self.list("log", "/log")?;
        let of_method = |entry: &&Value| {
            entry.get("kind").is_some_and(|kind| kind == "web_api")
                && entry.get("summary").is_some_and(|summary| summary == method)
        };
        Ok(log.iter().filter(of_method).filter_map(|entry| entry.get("detail").cloned()).collect())
    }

    fn list(&self, path: &str, pointer: &str) -> Result<Vec<Value>, Stop> {
        let answer = self.get(path)?;
        let list = answer.pointer(pointer).and_then(Value::as_array).cloned();
        list.ok_or_else(|| Stop::new(format!("the emulator's answer to `{path}` has no list: {answer}")))
    }

    fn get(&self, path: &str) -> Result<Value, Stop> {
        let sent = self.agent.get(format!("{}/_control/{path}", self.origin)).call();
        self.read(path, sent)
    }

    fn read(
        &self,
        path: &str,
        sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Value, Stop> {
        let about =
            |e: &dyn std::fmt::Display| Stop::because(format_args!("{}/_control/{path}", self.origin), e);
        let mut response = sent.map_err(|e| about(&e))?;
        let text = response.body_mut().read_to_string().map_err(|e| about(&e))?;
        serde_json::from_str(&text).map_err(|e| about(&e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emulator_knows_who_is_in_which_channel() {
        let text = config("http://127.0.0.1:4900/slack/events", "secret", "xoxb-1");
        let config: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(config["channels"][0]["members"], json!([ALICE.id, BOT.id]));
        assert_eq!(config["channels"][1]["members"], json!([BOB.id, BOT.id]));
        assert_eq!(config["app"]["requestUrl"], "http://127.0.0.1:4900/slack/events");
    }

    #[test]
    fn another_version_than_the_pinned_one_is_not_installed() {
        let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("../demo/emulator");
        let package = tempfile::tempdir().unwrap();
        assert!(!is_installed(&pinned, package.path()));
        fs::write(package.path().join("package.json"), r#"{"version":"0.0.1"}"#).unwrap();
        assert!(!is_installed(&pinned, package.path()));
        let lock = read_json(&pinned.join("package-lock.json")).unwrap();
        let locked = &lock["packages"][format!("node_modules/{PACKAGE}")];
        fs::write(package.path().join("package.json"), json!({ "version": locked["version"] }).to_string())
            .unwrap();
        assert!(is_installed(&pinned, package.path()), "package.json and its lock name one version");
        assert!(locked["integrity"].as_str().unwrap().starts_with("sha512-"));
    }
}
