//! `cargo xtask demo`: the whole office on a Slack emulator, from nothing, with a story that is checked from
//! the record.
//!
//! It builds what is not built, starts an independent emulator, a small site and `chancery serve`, lets two
//! people speak, and reads back what the record says came of it. Everything stays on this machine: no part of
//! the running demo speaks to any other.

mod check;
mod emulator;
mod office;
mod programs;
mod read;
mod site;
mod story;
mod tell;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use check::Evidence;
use emulator::{Absent, Control};
use office::{BOT_TOKEN, Office, Origins, SIGNING_SECRET};
use programs::Programs;
use site::Site;
use story::{GENERAL, Played, RANDOM};

use crate::paths::Paths;
use crate::prepare;
use crate::progress::stage;
use crate::stop::Stop;

/// The status when the emulator is missing: the story was not played, which is not a pass.
pub const STATUS_NO_EMULATOR: u8 = 3;
/// How long the emulator may take to answer first.
const EMULATOR_READY_MS_MAX: u64 = 30_000;
/// How long the office may take to answer first: at its first start it compiles every guest, and a debug build
/// on a small machine does that slowly.
const OFFICE_READY_MS_MAX: u64 = 180_000;
/// How long one look at the office's health may take.
const HEALTH_MS_MAX: u64 = 2_000;
/// How much of what speaks for a check is shown; what speaks against one is shown whole.
const EVIDENCE_CHARS_MAX: usize = 180;

/// Run the whole office on a Slack emulator, and play a short story in it.
///
/// Builds the guests and `chancery`, installs the emulator from npm when it is not there, then lets alice ask
/// about a page and bob say something else. The story is checked from the record, line by line; then the demo
/// stays up, so that you can go on in the emulator's page, until Ctrl-C. Without npm, or away from Linux on
/// x86-64, you talk to the same office in this terminal.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// End after checking the story: status 0 when all of it holds, 1 when something does not, 3 when there is
    /// no emulator.
    #[arg(long)]
    once: bool,
    /// Port of the emulator's page; a free one by default.
    #[arg(long)]
    port: Option<u16>,
    /// Do without the emulator: talk to the office in this terminal.
    #[arg(long)]
    no_emulator: bool,
}

impl Options {
    /// What `cargo xtask test` runs.
    pub fn once() -> Self {
        Self { once: true, port: None, no_emulator: false }
    }
}

/// Runs the demo.
///
/// # Errors
/// When something is missing, does not start, or a check of the story does not hold.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    let emulator = if options.no_emulator {
        Err(Absent("the demo was asked to do without the Slack emulator (--no-emulator)".to_owned()))
    } else {
        stage("emulator", || Ok(emulator::find(&paths)))?
    };
    if let (true, Err(Absent(why))) = (options.once, &emulator) {
        return Err(Stop {
            message: format!("the story needs the emulator: {why}"),
            status: STATUS_NO_EMULATOR,
        });
    }
    stage("guests", prepare::guests)?;
    let program = stage("chancery", || prepare::host(&paths))?;
    match emulator {
        Ok(emulator) => on_the_emulator(options, &paths, program, &emulator),
        Err(Absent(why)) => in_this_terminal(&paths, program, &why),
    }
}

fn on_the_emulator(options: &Options, paths: &Paths, program: PathBuf, emulator: &Path) -> Result<(), Stop> {
    let site = Site::open(&paths.root.join("demo/site"))?;
    let (for_office, for_emulator) = free_ports(options.port)?;
    let origins = Origins {
        office: format!("http://127.0.0.1:{for_office}"),
        site: site.origin.clone(),
        emulator: Some(format!("http://127.0.0.1:{for_emulator}")),
    };
    let office = Office::lay_out(paths, program, &origins)?;
    let control = Control::new(format!("http://127.0.0.1:{for_emulator}"));
    let mut programs = Programs::none()?;
    stage("start", || {
        start_emulator(&mut programs, emulator, &office, &control, for_emulator)?;
        start_office(&mut programs, &office)
    })?;
    let played = stage("story", || story::play(&mut programs, &control, &office, &site.origin))?;
    let evidence = gather(&office, &control, &site, played)?;
    println!("== the story, from the record");
    tell::story(&evidence.record).iter().for_each(|line| println!("   {line}"));
    println!("== what must hold");
    let failed = report(&check::judge(&evidence));
    if failed > 0 && options.once {
        return Err(Stop::new(format!(
            "{failed} checks of the story do not hold; the office's log: {}",
            log(&office).display()
        )));
    }
    if options.once {
        return Ok(());
    }
    where_to_look(&office, &evidence, for_emulator);
    programs.run_until_interrupted()?;
    println!("stopping");
    if failed > 0 { Err(Stop::new(format!("{failed} checks of the story did not hold"))) } else { Ok(()) }
}

/// Two ports that are free now. They are held together for a moment so that they differ.
fn free_ports(emulator: Option<u16>) -> Result<(u16, u16), Stop> {
    let take = |port: u16| {
        let listener = TcpListener::bind(("127.0.0.1", port));
        let taken = listener.and_then(|l| l.local_addr().map(|address| (l, address.port())));
        taken.map_err(|e| Stop::because(format_args!("port {port} of this machine"), e))
    };
    let (_kept, emulator) = take(emulator.unwrap_or(0))?;
    let (_also_kept, office) = take(0)?;
    Ok((office, emulator))
}

fn start_emulator(
    programs: &mut Programs,
    program: &Path,
    office: &Office,
    control: &Control,
    port: u16,
) -> Result<(), Stop> {
    let config = office.folder.join("emulator.json");
    let text = emulator::config(&format!("{}/slack/events", office.origin), SIGNING_SECRET, BOT_TOKEN);
    fs::write(&config, text).map_err(|e| Stop::because(config.display(), e))?;
    let mut command = Command::new(program);
    command.arg("--config").arg(&config).args(["--port", &port.to_string(), "--base-host", "127.0.0.1"]);
    command.arg("--files-dir").arg(office.folder.join("files"));
    programs.start("local-slack", &mut command, office.folder.join("emulator.log"))?;
    let limit = Duration::from_millis(EMULATOR_READY_MS_MAX);
    programs.wait_for("the emulator's first answer", limit, || Ok(control.answers().then_some(())))?;
    println!("   local-slack answers on port {port}");
    Ok(())
}

fn start_office(programs: &mut Programs, office: &Office) -> Result<(), Stop> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_millis(HEALTH_MS_MAX)))
        .build()
        .into();
    let health = format!("{}/healthz", office.origin);
    programs.start("chancery serve", &mut office.command(&["serve"]), log(office))?;
    let limit = Duration::from_millis(OFFICE_READY_MS_MAX);
    programs.wait_for("the office's first answer", limit, || {
        Ok(agent.get(&health).call().is_ok().then_some(()))
    })?;
    println!("   chancery answers on {}", office.origin);
    Ok(())
}

fn log(office: &Office) -> PathBuf {
    office.folder.join("chancery.log")
}

fn gather(office: &Office, control: &Control, site: &Site, played: Played) -> Result<Evidence, Stop> {
    Ok(Evidence {
        played,
        record: office.record()?,
        verified: office.verify(),
        site: site.origin.clone(),
        served: site.served(),
        general: control.messages(&GENERAL)?,
        random: control.messages(&RANDOM)?,
        posts: control.calls("chat.postMessage")?,
        secrets: vec![SIGNING_SECRET.to_owned(), BOT_TOKEN.to_owned()],
        log: fs::read_to_string(log(office)).unwrap_or_default(),
    })
}

/// Prints each check on a line; says how many do not hold.
fn report(checks: &[check::Check]) -> usize {
    for (says, outcome) in checks {
        match outcome {
            Ok(evidence) => println!("   ok   {says}\n          {}", tell::cut(evidence, EVIDENCE_CHARS_MAX)),
            Err(found) => println!("   NOT  {says}\n          found: {}", tell::shown(found)),
        }
    }
    checks.iter().filter(|(_, outcome)| outcome.is_err()).count()
}

fn where_to_look(office: &Office, evidence: &Evidence, port: u16) {
    let turn = evidence.record.of("turn.opened").map(|event| read::text(event, "/body/turn")).next();
    println!("== where to look");
    println!(
        "   the workspace: http://localhost:{port}/   (mention @{} in #{})",
        story::BOT.name,
        GENERAL.name
    );
    println!("   the pages:     {}/ and {}/tides.html", evidence.site, evidence.site);
    println!("   the record:    {}", office.typed("record show"));
    println!("   the turn:      {}", office.typed(&format!("turn show {}", turn.unwrap_or_default())));
    println!("   the log:       {}", log(office).display());
    println!("The emulator listens on every address of this machine. Ctrl-C stops everything.");
}

/// The fallback: the same office, without Slack, under the hands of whoever typed the command.
fn in_this_terminal(paths: &Paths, program: PathBuf, why: &str) -> Result<(), Stop> {
    println!("{why}.\nYou talk to the same office in this terminal instead.");
    let site = Site::open(&paths.root.join("demo/site"))?;
    let (for_office, _) = free_ports(None)?;
    let office = format!("http://127.0.0.1:{for_office}");
    let origins = Origins { office, site: site.origin.clone(), emulator: None };
    let office = Office::lay_out(paths, program, &origins)?;
    println!("Ask, for example: what does {}/ say?", site.origin);
    println!("Afterwards: {}", office.typed("record show"));
    // Ctrl-C reaches `chat` too, which ends by itself; this process only waits for it.
    let _deaf = Programs::none()?;
    let status =
        office.command(&["chat"]).status().map_err(|e| Stop::because("`chancery chat` did not start", e))?;
    if status.success() { Ok(()) } else { Err(Stop::new(format!("`chancery chat` ended with {status}"))) }
}
