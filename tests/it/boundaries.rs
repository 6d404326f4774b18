//! SIGKILL at every event boundary of a turn that pays for a model and posts its answer. The boundaries are counted
//! and gone through one by one: the record takes the first so many events and not one more, the host comes as far as
//! it can without it, and is killed there. So whatever it did outside that it could not write down has happened.
//! Whatever the boundary: exactly one post arrives, every hold has one end, nothing is charged twice.

use event::{Event, Fact, GlobalPosition, HoldId};
use record::Record;
use sqlx::{Connection, SqliteConnection};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use tests::office::deliver;
use tests::slack::message;
use tests::{Host, Kit};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

/// How long the record may take to say something: far longer than a busy machine needs.
const WAIT: Duration = Duration::from_secs(180);
/// Boundaries that are gone through at the same time: most of their time they wait for a lease to end.
const AT_ONCE: usize = 4;
/// What the host logs when the record does not take a commit.
pub const NOT_TAKEN: &str = "a commit failed";

pub async fn events(kit: &Kit) -> Vec<Event> {
    let record = Record::open_sqlite_read_only(&kit.folder().join("office.sqlite")).await.unwrap();
    record.read_all(GlobalPosition(0), 10_000).await.unwrap()
}

pub fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

/// Says something to the record's file beside the host.
pub async fn say(folder: &Path, sql: String) {
    let url = format!("sqlite://{}", folder.join("office.sqlite").display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// Lets the record take no event beyond this place.
pub async fn full_at(folder: &Path, place: usize) {
    let sql = format!(
        "create trigger full before insert on event when new.global_position > {place} \
         begin select raise(abort, 'no room for this event'); end"
    );
    say(folder, sql).await;
}

pub async fn until(kit: &Kit, what: &str, enough: impl Fn(&[Event]) -> bool) -> Vec<Event> {
    let began = Instant::now();
    loop {
        let events = events(kit).await;
        if enough(&events) {
            return events;
        }
        let told: Vec<String> = events.iter().map(app::show::line).collect();
        assert!(began.elapsed() < WAIT, "the record never said: {what}\n{}", told.join("\n"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub async fn asked(host: &Host) -> u16 {
    let payload = message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> hello");
    deliver(&host.url, &payload).await
}

pub async fn hears(log: &mut UnboundedReceiver<String>, words: &str) {
    let heard = async {
        while let Some(line) = log.recv().await {
            if line.contains(words) {
                return;
            }
        }
        panic!("the host ended before it logged `{words}`");
    };
    tokio::time::timeout(WAIT, heard).await.unwrap_or_else(|_| panic!("the host never logged `{words}`"));
}

async fn kit() -> Kit {
    let mut kit = Kit::new().await;
    kit.lease_ms = 3_000;
    kit
}

/// The end of every commit of one turn, as the number of its last event behind the start.
async fn boundaries() -> Vec<usize> {
    let kit = kit().await;
    let host = Host::serve(&kit.write()).await;
    let base = events(&kit).await.len();
    assert_eq!(asked(&host).await, 200);
    let all = until(&kit, "the turn ended", |events| count(events, "turn.ended") == 1).await;
    host.kill();
    // 0: nothing of the turn is taken, not even the delivery.
    ends_of_commits(&all, base)
}

/// Behind which events of `all` a commit may have ended, as their number behind `base`, the last of all among them.
///
/// Events of one commit have one time, so a change of time is the end of one. Where two commits share a millisecond the
/// boundary between two streams, and that behind a step, is gone through as well: within a commit it comes to the same as
/// the one before it. Not so behind the end of a hold: a record that takes that and not the step it paid for is told what
/// was paid by itself, which no kill brings about.
pub fn ends_of_commits(all: &[Event], base: usize) -> Vec<usize> {
    let may_end = |pair: &[Event]| {
        let kind = pair[0].fact.kind();
        let between = pair[0].stream != pair[1].stream || kind == "step.ended";
        let ends_hold = matches!(kind, "hold.settled" | "hold.released" | "hold.left-unknown");
        pair[0].at != pair[1].at || (between && !ends_hold)
    };
    let pairs = all.windows(2).enumerate().skip(base.saturating_sub(1));
    let ends = pairs.filter(|(_, pair)| may_end(pair)).map(|(n, _)| n + 1 - base);
    ends.chain([all.len() - base]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_every_event_boundary_it_posts_once_and_charges_once() {
    let boundaries = boundaries().await;
    assert!(boundaries.len() >= 10, "{boundaries:?}");
    let mut running = JoinSet::new();
    let mut seen = BTreeMap::new();
    for (n, place) in boundaries.iter().copied().enumerate() {
        if n >= AT_ONCE {
            let (place, last) = running.join_next().await.unwrap().unwrap();
            seen.insert(place, last);
        }
        running.spawn(killed_at(place));
    }
    while let Some(ended) = running.join_next().await {
        let (place, last) = ended.unwrap();
        seen.insert(place, last);
    }
    // Killed while the money was held, while the post was under way, and after it.
    let last: Vec<&str> = seen.values().map(String::as_str).collect();
    for kind in ["turn.opened", "step.started", "hold.started", "effect.intended", "turn.ended"] {
        assert!(last.contains(&kind), "{kind} was never the last event: {seen:?}");
    }
}

/// What stood last on the record when the host was killed behind this many events.
async fn killed_at(place: usize) -> (usize, String) {
    let kit = kit().await;
    let (killed, events) = killed_behind(&kit, place).await;
    let last = killed.last().unwrap().fact.kind().to_owned();
    assert_eq!(kit.slack.posts().len(), 1, "after {last}");
    assert_eq!((count(&events, "turn.opened"), count(&events, "message.received")), (1, 1), "after {last}");
    every_hold_ended_once(&events, &last);
    let verified = tests::host::run(&kit.write(), &["record", "verify"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    (place, last)
}

/// Kills a host behind this many events of the turn that it is asked for: the record then, and the record once a host
/// after it has brought the turn to its end.
pub async fn killed_behind(kit: &Kit, place: usize) -> (Vec<Event>, Vec<Event>) {
    let config = kit.write();
    let (host, mut log) = Host::serve_heard(&config).await;
    let base = events(kit).await.len();
    full_at(kit.folder(), base + place).await;
    asked(&host).await;
    let whole = || async { count(&events(kit).await, "turn.ended") == 1 };
    tokio::select! {
        () = hears(&mut log, NOT_TAKEN) => {}
        () = async { while !whole().await { tokio::time::sleep(Duration::from_millis(50)).await } } => {}
    }
    host.kill();
    let killed = events(kit).await;
    say(kit.folder(), "drop trigger full".to_owned()).await;
    let host = Host::serve(&config).await;
    // Slack sends again what got no 200.
    assert_eq!(asked(&host).await, 200);
    let settled = |events: &[Event]| count(events, "turn.ended") == 1 && count(events, "effect.sent") == 1;
    let all = until(kit, "the turn ended and its effect is known", settled).await;
    host.kill();
    (killed, all)
}

fn every_hold_ended_once(events: &[Event], last: &str) {
    let mut ends: BTreeMap<HoldId, usize> = BTreeMap::new();
    for event in events {
        match &event.fact {
            Fact::HoldTaken(taken) => *ends.entry(taken.hold.clone()).or_default() += 0,
            Fact::HoldSettled(end) => *ends.entry(end.hold.clone()).or_default() += 1,
            Fact::HoldReleased(end) => *ends.entry(end.hold.clone()).or_default() += 1,
            Fact::HoldLeftUnknown(end) => *ends.entry(end.hold.clone()).or_default() += 1,
            _ => {}
        }
    }
    assert!(!ends.is_empty() && ends.values().all(|ends| *ends == 1), "after {last}: {ends:?}");
    // An answer that was charged is kept with its charge: it is not bought again.
    assert_eq!(count(events, "hold.settled"), 1, "the answer is charged once, after {last}");
}
