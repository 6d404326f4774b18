//! What another set would change: in its policies, and in what it allows.
//!
//! Always holds: exit code 3 when something is newly allowed, so that a script can stop. Deliberately absent: proof;
//! what is found is found by asking, and how much was asked is printed.

use super::past::{Past, decided};
use super::{DiffArgs, apply, folder, sets};
use crate::config::Config;
use crate::progress;
use crate::show::one_line;
use crate::wire;
use anyhow::{Context, Result};
use event::{Fact, GlobalPosition, SeatCreated};
use fold::seat::{SeatState, Seats};
use fold::{Projection, decode};
use gate::policy::{AnswerDiff, Differs, PolicySet, QUESTIONS_MAX, TextDiff, questions};
use record::Record;
use std::process::ExitCode;
use tokio::sync::watch;

/// Events read at a time.
const PAGE_EVENTS: usize = 500;
/// Requests put between two looks at the progress.
const CHUNK: usize = 200;
/// Seats whose roles are tried.
const SEATS_MAX: usize = 10_000;
/// The exit code when something is newly allowed.
const ALLOWS_MORE: u8 = 3;

/// Prints what differs between the set in force and another.
///
/// # Errors
/// When either does not load beside the installed plugins, or the record cannot be read.
pub(super) async fn run(config: &Config, args: &DiffArgs) -> Result<ExitCode> {
    let installed = wire::install(config).await?;
    let record = super::read(config).await?;
    let (applied, revoked) = sets::needed(&record).await?;
    let files = match &args.set {
        Some(digits) => sets::named(&sets::history(&record).await?, digits)?.1,
        None => folder::files(args.folder.as_deref().unwrap_or(&config.policies))?,
    };
    let old =
        apply::load(&applied.files, &installed, &revoked).context("the set in force does not load here")?;
    let new = apply::load(&files, &installed, &revoked).context("the other set does not load")?;
    println!("in force  {}", old.digest());
    println!("other     {}", new.digest());
    texts(&old.text_diff(&new));
    let plugins = config.plugins.iter().map(|plugin| plugin.name.clone());
    let mut past = Past::open(record.clone(), plugins).await?;
    let found = compare(&record, &mut past, &old, &new, args.calls).await?;
    answers(&found);
    Ok(if found.newly_allowed > 0 { ExitCode::from(ALLOWS_MORE) } else { ExitCode::SUCCESS })
}

async fn compare(
    record: &Record,
    past: &mut Past,
    old: &PolicySet,
    new: &PolicySet,
    calls: usize,
) -> Result<AnswerDiff> {
    let mut found = AnswerDiff::default();
    found.put_cases(old, new);
    let cases = found.asked;
    let (head, _) = record.head().await?;
    let (tell, told) = watch::channel(0);
    progress::shown(
        "calls of the record",
        head.0,
        &[told],
        put_calls(record, past, old, new, calls, &mut found, tell),
    )
    .await?;
    let past_calls = found.asked - cases;
    let made = questions(old, new, &seats(record).await?, QUESTIONS_MAX);
    let (tell, told) = watch::channel(0);
    let total = made.len() as u64;
    let asking = async {
        for chunk in made.chunks(CHUNK) {
            chunk.iter().for_each(|question| found.put(old, new, question, "made up"));
            tell.send_modify(|count| *count += chunk.len() as u64);
            tokio::task::yield_now().await;
        }
    };
    progress::shown("made-up requests", total, &[told], asking).await;
    println!("asked     {cases} cases, {past_calls} calls of the record, {total} made-up requests");
    Ok(found)
}

/// The calls of the record, newest first, as they would be decided with today's tools.
async fn put_calls(
    record: &Record,
    past: &mut Past,
    old: &PolicySet,
    new: &PolicySet,
    most: usize,
    found: &mut AnswerDiff,
    tell: watch::Sender<u64>,
) -> Result<()> {
    let (head, _) = record.head().await?;
    let (mut end, mut put) = (head.0, 0);
    while end > 0 && put < most {
        let after = end.saturating_sub(PAGE_EVENTS as u64);
        let events = record.read_all(GlobalPosition(after), PAGE_EVENTS.min((end - after) as usize)).await?;
        for event in events.into_iter().rev() {
            let judged =
                matches!(event.fact, Fact::CallAdmitted(_) | Fact::CallDenied(_) | Fact::ApprovalAsked(_));
            if put >= most || !judged || decided(&event.fact).is_none() {
                continue;
            }
            put += 1;
            let from = format!("event {}", event.id);
            // A call whose seat is not on the record any more cannot be put; it is not counted either.
            if let Ok(call) = past.call(event).await {
                found.put(old, new, &call.question, &from);
            }
        }
        end = after;
        tell.send_replace(head.0 - end);
    }
    Ok(())
}

async fn seats(record: &Record) -> Result<Vec<SeatCreated>> {
    let rows = record.ranked(Seats.name(), i64::MIN, SEATS_MAX).await?;
    Ok(rows.iter().filter_map(|(_, row)| decode::<SeatState>(Some(row))).map(|state| state.seat).collect())
}

fn texts(diff: &TextDiff) {
    for (word, outlines) in [("added", &diff.added), ("removed", &diff.removed), ("changed", &diff.changed)] {
        for one in outlines {
            let kind = if one.forbids { "forbid" } else { "permit" };
            println!("{word:<9} {kind} `{}` ({}:{})", one.id, one_line(&one.file), one.line);
        }
    }
    if diff.added.is_empty() && diff.removed.is_empty() && diff.changed.is_empty() {
        println!("no policy differs");
    }
}

fn answers(found: &AnswerDiff) {
    println!("newly allowed: {}, newly denied: {}", found.newly_allowed, found.newly_denied);
    for (word, examples) in [("ALLOWED", &found.allowed), ("DENIED", &found.denied)] {
        for Differs { question, from, old, new } in examples {
            println!("now {word}  {} ({from})", one_line(&question.to_string()));
            println!("  before: {}", one_line(&old.reason));
            println!("  after:  {}", one_line(&new.reason));
        }
    }
}
