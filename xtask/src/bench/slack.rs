//! Measures how soon Slack gets its 200: the real program under a steady load, and again while it is killed and started
//! anew in the middle of it.
//!
//! A delivery counts from the moment it should leave, not from when there was room for it, so a host that stalls is seen.
//! What got a 200 is looked for on the record afterwards: what is not there is lost.

mod load;
mod side;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::paths::Paths;
use crate::prepare;
use crate::progress::stage;
use crate::stop::Stop;
use load::{Load, Outcome};

/// The most that 99 of 100 acknowledgements may take, in milliseconds. Slack waits for 3,000.
const P99_MS_MAX: f64 = 200.0;
/// Deliveries a second.
const RATE: u32 = 200;
/// How long each of the two runs lasts, in seconds.
const SECONDS: u32 = 30;
/// How long a host may take to listen, in seconds.
const START_S_MAX: u64 = 60;
/// How long it may take to classify what is left, in seconds.
const REST_S_MAX: u64 = 300;
/// The signing secret; it opens nothing else.
const SECRET: &str = "bench-signing-secret-of-no-workspace";

/// How soon Slack gets its 200, at 200 deliveries a second, and what is lost when the host is killed meanwhile.
///
/// Nine of ten deliveries are messages that address nobody; one of a hundred mentions the office and is answered; one of
/// ten comes a second time. On a machine that does nothing else.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Deliveries a second.
    #[arg(long, default_value_t = RATE, value_parser = clap::value_parser!(u32).range(1..=2_000))]
    rate: u32,
    /// How long each run lasts, in seconds.
    #[arg(long, default_value_t = SECONDS, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: u32,
    /// The program as tests build it, not the optimised one: it is there sooner and is slower.
    #[arg(long)]
    debug: bool,
}

/// Measures.
///
/// # Errors
/// When the program does not build or start, or something is lost: that is a fault and not a figure.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    stage("guests", prepare::guests)?;
    let program = stage("build", || program(&paths, options.debug))?;
    let folder = paths.target.join("bench").join("slack");
    let side = side::Side::start()?;
    let office = Office::lay_out(&paths, program, folder, &side.origin)?;
    let mut acknowledged = BTreeSet::new();
    let load = Load { rate: options.rate, seconds: options.seconds, secret: SECRET, first: 0 };
    let steady = stage("steady", || {
        let host = office.serve()?;
        let outcome = load.run(&host.origin, || Ok(None))?;
        host.kill();
        Ok(outcome)
    })?;
    acknowledged.extend(steady.acknowledged.iter().cloned());
    let half = Duration::from_secs(u64::from(options.seconds) / 2);
    let cut = stage("killed", || {
        let mut host = office.serve()?;
        let (began, mut killed) = (Instant::now(), false);
        let origin = host.origin.clone();
        let load = Load { first: steady.sent, ..load };
        let outcome = load.run(&origin, || {
            if killed || began.elapsed() < half {
                return Ok(None);
            }
            killed = true;
            host.end();
            host = office.serve()?;
            Ok(Some(host.origin.clone()))
        })?;
        host.rest(&office)?;
        host.kill();
        Ok(outcome)
    })?;
    acknowledged.extend(cut.acknowledged.iter().cloned());
    let recorded = stage("record", || office.recorded())?;
    let lost = acknowledged.iter().filter(|id| !recorded.contains(*id)).count();
    println!("{}", shown("steady", &steady));
    println!("{}", shown("killed in the middle and started anew", &cut));
    println!("{} deliveries with a 200, {} on the record, lost={lost}", acknowledged.len(), recorded.len());
    let met = if steady.ms(0.99) <= P99_MS_MAX { "met" } else { "NOT met" };
    println!("p99 of a steady load: at most {P99_MS_MAX} ms: {met}");
    if lost > 0 {
        return Err(Stop::new(format!("{lost} deliveries got a 200 and are not on the record")));
    }
    Ok(())
}

fn shown(name: &str, outcome: &Outcome) -> String {
    format!(
        "{name}: {} sent, p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, longest {:.1} ms; {} tries without an answer, each made again",
        outcome.sent,
        outcome.ms(0.5),
        outcome.ms(0.9),
        outcome.ms(0.99),
        outcome.ms(1.0),
        outcome.failed
    )
}

/// The program, built.
fn program(paths: &Paths, debug: bool) -> Result<PathBuf, Stop> {
    if debug {
        return prepare::host(paths);
    }
    let output = prepare::cargo(paths)
        .args(["build", "--release", "--package", "app", "--bin", "chancery"])
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| Stop::because("cargo did not start", e))?;
    if !output.status.success() {
        return Err(Stop::new("`chancery` does not compile: see above"));
    }
    prepare::program_in(&String::from_utf8_lossy(&output.stdout), "chancery")
        .ok_or_else(|| Stop::new("cargo built `chancery` and did not say where it is"))
}

/// An office of its own in a folder.
struct Office {
    program: PathBuf,
    folder: PathBuf,
}

impl Office {
    fn lay_out(paths: &Paths, program: PathBuf, folder: PathBuf, slack: &str) -> Result<Self, Stop> {
        let about = |e| Stop::because(folder.display(), e);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(about)?;
        }
        fs::create_dir_all(&folder).map_err(about)?;
        let text = |path: &Path| toml::Value::String(path.to_string_lossy().into_owned()).to_string();
        let plugin = |name: &str, more: &str| {
            let file = text(&paths.guests().join(format!("{name}.wasm")));
            format!("[[plugin]]\nname = \"{name}\"\nfile = {file}\n{more}")
        };
        let script = text(&paths.root.join("demo/story.toml"));
        let plugins = [
            plugin("terminal", ""),
            plugin("office", ""),
            plugin("scripted", &format!("settings_from = {{ script = {script} }}\n")),
            plugin("web", ""),
            plugin(
                "slack",
                &format!(
                    "settings = {{ api = \"{slack}/api/\" }}\n[[plugin.route]]\nmethods = [\"GET\", \"POST\"]\n\
                     origin = \"{slack}\"\npath_prefix = \"/api/\"\ncredential = \"slack.bot-token\"\n"
                ),
            ),
        ]
        .concat();
        let config = format!(
            "policies = {policies}\nprices = {prices}\n[office]\nname = \"Bench\"\nmodel = \"scripted/story\"\n\
             [record]\nsqlite = \"office.sqlite\"\n[listen]\naddress = \"127.0.0.1:0\"\n[slack]\n\
             signing_secrets = [{{ file = \"secret\" }}]\n[credentials]\n\"slack.bot-token\" = {{ file = \"token\" }}\n\
             [egress]\nloopback = [\"{slack}\"]\n[purse]\nday = \"100.00\"\nmonth = \"100.00\"\n[[seat]]\n\
             name = \"seat_front-desk\"\nrole = \"assistant\"\nholder = \"agent_chancery\"\n\
             grants = [\"slack.post\", \"scripted/story\"]\n[[seat]]\nname = \"seat_system\"\nrole = \"system\"\n\
             holder = \"system_host\"\ngrants = [\"slack.identity\", \"slack.recall\", \"slack.react\", \"slack.emoji\"]\n{plugins}",
            policies = text(&paths.root.join("policies")),
            prices = text(&paths.root.join("policies/prices.toml")),
        );
        for (name, contents) in
            [("secret", SECRET), ("token", "xoxb-of-no-workspace"), ("chancery.toml", &config)]
        {
            fs::write(folder.join(name), contents).map_err(about)?;
        }
        Ok(Self { program, folder })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--config").arg(self.folder.join("chancery.toml"));
        command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .env("NO_COLOR", "1")
            .env("CHANCERY_LOG", "warn");
        command
    }

    /// Starts a host, and waits until it listens.
    fn serve(&self) -> Result<Host, Stop> {
        let about = |e| Stop::because(self.folder.display(), e);
        let out = self.folder.join("serve.out");
        let said = fs::File::create(&out).map_err(about)?;
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join("serve.log"))
            .map_err(about)?;
        let child = self.command(&["serve"]).stdout(said).stderr(log).spawn();
        let mut host =
            Host { child: child.map_err(|e| Stop::because("`chancery serve`", e))?, origin: String::new() };
        let began = Instant::now();
        while began.elapsed().as_secs() < START_S_MAX {
            let text = fs::read_to_string(&out).unwrap_or_default();
            if let Some(origin) = text.lines().find_map(|line| line.strip_prefix("listening on ")) {
                host.origin = origin.to_owned();
                return Ok(host);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Stop::new(format!(
            "`chancery serve` did not listen: see {}",
            self.folder.join("serve.log").display()
        )))
    }

    /// Slack's names of the deliveries on the record.
    fn recorded(&self) -> Result<BTreeSet<String>, Stop> {
        let output = self.command(&["record", "show", "--json"]).output();
        let output = output.map_err(|e| Stop::because("`chancery record show`", e))?;
        if !output.status.success() {
            return Err(Stop::new(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().filter(|line| line.contains("\"delivery.received\""));
        let events = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(events
            .filter_map(|event| Some(event.pointer("/body/external_id")?.as_str()?.to_owned()))
            .collect())
    }
}

/// A running host.
struct Host {
    child: Child,
    origin: String,
}

impl Host {
    /// SIGKILL: no goodbye.
    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn kill(mut self) {
        self.end();
    }

    /// Waits until it has said what each delivery asks.
    fn rest(&self, office: &Office) -> Result<(), Stop> {
        let began = Instant::now();
        while began.elapsed().as_secs() < REST_S_MAX {
            let health = ureq::get(format!("{}/healthz", self.origin)).call();
            let text = health.ok().and_then(|mut answer| answer.body_mut().read_to_string().ok());
            let health: Value = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
            if health.pointer("/converse/lag").and_then(Value::as_u64) == Some(0) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(250));
        }
        Err(Stop::new(format!("it never caught up: see {}", office.folder.join("serve.log").display())))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
    }
}
