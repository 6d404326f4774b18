//! `chancery policy`: what is in force, what would be, and why the gate decides as it does.
//!
//! What is in force stands in the record; a folder is where a set comes from and where it is exported to. No rule
//! stands here: the gate says what a set is and decides, and the record says who may change it.

pub mod apply;
mod diff;
pub mod folder;
mod past;
mod replay;
pub mod sets;
mod why;

pub(crate) use replay::replay;

use crate::config::Config;
use crate::seat::ActArgs;
use crate::show::{one_line, short};
use crate::table::table;
use crate::wire::{self, Installed};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use event::{Digest, Fact, PolicyApplied, PolicyText};
use fold::setting;
use gate::Catalogue;
use gate::policy::{PolicyError, PolicySet, outlines, run_cases};
use record::Record;
use std::path::PathBuf;
use std::process::ExitCode;

/// Why the first set is there.
const FIRST_REASON: &str = "the first set, from the folder of the configuration";

/// Look at the policies, change them, and ask why.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Parse and strictly validate the policy files against the tools that are installed.
    Check,
    /// Check them, then run the cases in `cases/ALLOW` and `cases/DENY`.
    Test,
    /// List the sets that were applied and proposed, and the permits that were revoked, oldest first.
    List,
    /// Print the policies of a set.
    Show {
        /// The set, by the first digits of its digest; the one in force when absent.
        #[arg(long, value_name = "DIGEST")]
        set: Option<String>,
    },
    /// Write a set into a new folder: policies and cases.
    Export {
        /// The folder; it must be empty or not there.
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
        /// The set, by the first digits of its digest; the one in force when absent.
        #[arg(long, value_name = "DIGEST")]
        set: Option<String>,
    },
    /// Say what another set would change: its policies, and what it newly allows and denies.
    ///
    /// Found by putting to both sets their cases, the calls of the record and requests that are made up. Exits 3
    /// when something is newly allowed.
    Diff(DiffArgs),
    /// Put a set in force, if it loads here and the set it was made from is still in force.
    Apply(ApplyArgs),
    /// Propose a set, for a seat that may apply it.
    Propose {
        /// Where it stands; the folder of the configuration when absent.
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Claim that it only narrows; that is checked.
        #[arg(long)]
        corrective: bool,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// Take a permit out of every set, now and applied later.
    Revoke {
        /// The policy's `@id`.
        policy: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// Say why a call was decided as it was, or how one would be. Runs nothing.
    Why(WhyArgs),
}

/// What to compare with the set in force.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// A folder; that of the configuration when absent.
    #[arg(long, value_name = "DIR", conflicts_with = "set")]
    pub folder: Option<PathBuf>,
    /// A set of the record, by the first digits of its digest.
    #[arg(long, value_name = "DIGEST")]
    pub set: Option<String>,
    /// How many calls of the record are put, newest first.
    #[arg(long, default_value_t = 2_000, value_name = "COUNT")]
    pub calls: usize,
}

/// What to apply.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Where the set stands; the folder of the configuration when absent.
    #[arg(long, value_name = "DIR", conflicts_with = "proposal")]
    pub folder: Option<PathBuf>,
    /// The proposal to apply, by the first digits of its digest.
    #[arg(long, value_name = "DIGEST")]
    pub proposal: Option<String>,
    /// Why; a proposal brings its own.
    #[arg(long, value_name = "TEXT", required_unless_present = "proposal")]
    pub reason: Option<String>,
    /// Apply only if it allows nothing new; that is checked.
    #[arg(long)]
    pub corrective: bool,
    /// In which seat.
    #[command(flatten)]
    pub act: ActArgs,
}

/// Which call to explain.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// A call of the past: `turn_…/3`, its stream `call-turn_…/3`, or the event (`evt_…`) that told it.
    #[arg(value_name = "CALL", required_unless_present = "tool", conflicts_with_all = ["tool", "seat"])]
    pub call: Option<String>,
    /// The tool of a call nobody makes; `infer` is written as the model's name.
    #[arg(long, value_name = "TOOL", requires = "seat")]
    pub tool: Option<String>,
    /// The seat that would make it.
    #[arg(long, value_name = "SEAT")]
    pub seat: Option<String>,
    /// Its arguments, as JSON.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub input: String,
    /// As if a person had said yes to it.
    #[arg(long)]
    pub approved: bool,
    /// As if what the seat has read were of this integrity.
    #[arg(long, value_name = "WORD", default_value = "unknown", value_parser = ["trusted", "untrusted", "unknown"])]
    pub integrity: String,
    /// As if it were made with the account of this person.
    #[arg(long, value_name = "PERSON", value_parser = event::PrincipalId::parse)]
    pub account_of: Option<event::PrincipalId>,
    /// As a duty of the host and no step of a turn.
    #[arg(long)]
    pub duty: bool,
}

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: PolicyCommand) -> Result<ExitCode> {
    match command {
        PolicyCommand::Check => return check(config, false).await,
        PolicyCommand::Test => return check(config, true).await,
        PolicyCommand::List => print!("{}", list(&read(config).await?).await?),
        PolicyCommand::Show { set } => print!("{}", show(&read(config).await?, set.as_deref()).await?),
        PolicyCommand::Export { to, set } => {
            let (digest, files) = files_of(&read(config).await?, set.as_deref()).await?;
            folder::write(&to, &files)?;
            println!("{} files of the set {} are in {}", files.len(), digest.short(), to.display());
        }
        PolicyCommand::Diff(args) => return diff::run(config, &args).await,
        PolicyCommand::Apply(args) => {
            let ApplyArgs { folder, proposal, reason, corrective, act } = args;
            let reason = reason.unwrap_or_default();
            apply::apply(config, apply::Wish { folder, proposal, reason, corrective, as_seat: act.as_seat })
                .await?;
        }
        PolicyCommand::Propose { folder, reason, corrective, act } => {
            let wish = apply::Wish { folder, proposal: None, reason, corrective, as_seat: act.as_seat };
            apply::propose(config, wish).await?;
        }
        PolicyCommand::Revoke { policy, reason, act } => {
            apply::revoke(config, policy, reason, act.as_seat).await?;
        }
        PolicyCommand::Why(args) => print!("{}", why::run(config, &args).await?),
    }
    Ok(ExitCode::SUCCESS)
}

async fn read(config: &Config) -> Result<Record> {
    config.record.open_read_only().await
}

async fn files_of(record: &Record, set: Option<&str>) -> Result<(Digest, Vec<PolicyText>)> {
    match set {
        Some(digits) => sets::named(&sets::history(record).await?, digits),
        None => sets::needed(record).await.map(|(applied, _)| (applied.digest, applied.files)),
    }
}

/// The changes of the policies, a line each.
///
/// # Errors
/// When the record cannot be read.
pub async fn list(record: &Record) -> Result<String> {
    let now = sets::in_force(record).await?.map(|(applied, _)| applied.digest);
    let history = sets::history(record).await?;
    let newest =
        history.iter().rev().find(|event| matches!(event.fact, Fact::PolicyApplied(_))).map(|e| e.id.clone());
    let rows: Vec<Vec<String>> = history
        .iter()
        .map(|event| {
            let by = event.actor.seat.as_ref().map_or(event.actor.principal.to_string(), ToString::to_string);
            let (what, subject, reason) = match &event.fact {
                Fact::PolicyApplied(body) => {
                    let stands = newest.as_ref() == Some(&event.id) && now.as_ref() == Some(&body.digest);
                    let corrective = if body.corrective { " as a correction" } else { "" };
                    let what = format!("{}{corrective}", if stands { "in force" } else { "applied" });
                    (what, body.digest.short().to_owned(), body.reason.clone())
                }
                Fact::PolicyProposed(body) => {
                    let open = now.as_ref() == Some(&body.base);
                    let what = if open { "proposed" } else { "proposed, its base has moved" };
                    (what.to_owned(), body.digest.short().to_owned(), body.reason.clone())
                }
                Fact::PolicyRevoked(body) => ("revoked".to_owned(), body.policy.clone(), body.reason.clone()),
                other => (other.kind().to_owned(), String::new(), String::new()),
            };
            vec![subject, what, event.at.to_string(), by, reason]
        })
        .collect();
    if rows.is_empty() {
        return Ok("the record has no policy set yet\n".to_owned());
    }
    Ok(table(&["SET", "", "WHEN", "BY", "REASON"], &rows))
}

/// A set as text: its policies with file and line, and what was revoked of it.
///
/// # Errors
/// When there is no such set.
pub async fn show(record: &Record, set: Option<&str>) -> Result<String> {
    let (digest, files) = files_of(record, set).await?;
    let (_, revoked) = sets::needed(record).await?;
    let cases = files.iter().filter(|file| file.name.starts_with("cases/")).count();
    let mut text = format!("set {digest}, {} cases\n", cases);
    for id in apply::revoked_of(&files, &revoked) {
        text.push_str(&format!("`{id}` is revoked and not evaluated\n"));
    }
    let all = outlines(&files).unwrap_or_default();
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|one| {
            let word = if one.forbids { "forbid" } else { "permit" };
            let reason = one.reason.clone().unwrap_or_default();
            vec![one.id.clone(), word.to_owned(), format!("{}:{}", one.file, one.line), reason]
        })
        .collect();
    text.push_str(&table(&["POLICY", "", "PLACE", "REASON"], &rows));
    for file in files.iter().filter(|file| !file.name.starts_with("cases/")) {
        text.push_str(&format!("\n// {}\n{}", short(&file.name), printable(&file.text)));
    }
    Ok(text)
}

/// Checks the policy files of the configuration, and runs their cases when `cases` says so.
async fn check(config: &Config, cases: bool) -> Result<ExitCode> {
    let installed = wire::install(config).await?;
    let files = folder::files(&config.policies)?;
    let set = match PolicySet::valid(&files, &installed.plugins.named(), &installed.plugins.models()) {
        Ok(set) => set,
        Err(PolicyError::Texts(problems)) => {
            for problem in problems {
                println!("{problem}");
            }
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(error.into()),
    };
    let policies = files.iter().filter(|file| file.name.ends_with(".cedar")).count();
    println!("{} policies in {policies} files are valid: set {}", set.outlines().len(), set.digest());
    for omitted in set.omitted() {
        println!("note: policies do not see {} of `{}`: {}", omitted.pointer, omitted.tool, omitted.why);
    }
    if !cases {
        return Ok(ExitCode::SUCCESS);
    }
    let results = run_cases(&set, set.cases());
    for result in &results {
        let word = if result.passed { "ok " } else { "NOT" };
        println!("{word}  {}  {}", result.name, result.decision.reason);
    }
    let failed = results.iter().filter(|result| !result.passed).count();
    println!("{} passed, {failed} failed", results.len() - failed);
    Ok(if failed == 0 && !results.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a start does about policies: the folder becomes the first set of a record without one; later the record
/// stands, and where the folder differs that is said.
///
/// # Errors
/// When the first set does not load, or the record cannot be read.
pub async fn first(
    config: &Config,
    record: &Record,
    installed: &Installed,
) -> Result<Option<crate::seed::Wanted>> {
    let Some((applied, _)) = sets::in_force(record).await? else {
        let files = folder::files(&config.policies)?;
        let digest = first_digest(config, installed, &files)?;
        let fact = PolicyApplied {
            digest,
            files,
            base: None,
            reason: FIRST_REASON.to_owned(),
            corrective: false,
            by: None,
        };
        return Ok(Some(crate::seed::Wanted::new(setting::POLICY.to_owned(), "policy", "office", fact)));
    };
    if let Some(difference) = difference(config, &applied.digest) {
        tracing::warn!("{difference}");
    }
    Ok(None)
}

fn first_digest(config: &Config, installed: &Installed, files: &[PolicyText]) -> Result<Digest> {
    let set = apply::load(files, installed, &std::collections::BTreeSet::new())
        .with_context(|| format!("the policies in `{}` do not load", config.policies.display()))?;
    Ok(set.digest().clone())
}

/// Where the folder of the configuration is another set than the one in force.
#[must_use]
pub fn difference(config: &Config, in_force: &Digest) -> Option<String> {
    let folder = config.policies.display();
    let digest = match folder::files(&config.policies) {
        Ok(files) => gate::policy::digest(&files),
        Err(error) => return Some(format!("{error:#}; the record's set {} is in force", in_force.short())),
    };
    (digest != *in_force).then(|| {
        format!(
            "the policies in `{folder}` are the set {}, and {} is in force, as the record says: see `chancery policy \
             diff`, and apply them with `chancery policy apply --reason …`",
            digest.short(),
            in_force.short()
        )
    })
}

/// What `doctor` says about policies.
///
/// # Errors
/// Why the office would not start with them.
pub async fn examine(config: &Config, installed: &Installed) -> Result<String> {
    let known = match config.record.open_read_only().await {
        Ok(record) => sets::in_force(&record).await?,
        Err(_) => None,
    };
    let Some((applied, revoked)) = known else {
        let files = folder::files(&config.policies)?;
        let digest = first_digest(config, installed, &files)?;
        return Ok(format!("{} files load and their cases hold (set {})", files.len(), digest.short()));
    };
    let set = apply::load(&applied.files, installed, &revoked);
    let set = set.with_context(|| {
        format!(
            "the set {} in force does not load beside these plugins: apply one that does, or give back the tools it names",
            applied.digest.short()
        )
    })?;
    let mut text = format!("the set {} in force loads and its cases hold", set.digest().short());
    if let Some(difference) = difference(config, &applied.digest) {
        text.push_str(&format!("; warning: {difference}"));
    }
    Ok(text)
}

/// Text of several lines, each safe to print.
fn printable(text: &str) -> String {
    text.lines().map(|line| one_line(line) + "\n").collect()
}

/// JSON that was typed.
fn typed(text: &str) -> Result<serde_json::Value> {
    let value: serde_json::Value =
        serde_json::from_str(text).with_context(|| format!("`{}` is not JSON", text.escape_debug()))?;
    if !value.is_object() {
        bail!(
            "the arguments of a call are one JSON object, such as {{\"url\": \"https://docs.example.com/\"}}"
        );
    }
    Ok(value)
}
