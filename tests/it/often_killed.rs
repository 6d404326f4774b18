//! SIGKILL at many moments of many turns. Whatever the moment: nothing that got its 200 is lost, nothing is
//! posted twice, no hold stays open, and the record holds together.

use event::{Event, Fact, GlobalPosition, HoldId};
use record::Record;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tests::office::deliver;
use tests::slack::message;
use tests::{Host, Kit};

/// How long after the last delivery each host is killed, in milliseconds: before, in and after a turn, which
/// takes a tenth of a second when nothing else runs.
const KILLED_AFTER_MS: [u64; 8] = [0, 15, 30, 60, 90, 140, 250, 450];
/// Messages a host gets before it is killed.
const MESSAGES: usize = 3;

async fn record(folder: &Path) -> Vec<Event> {
    let record = Record::open_sqlite_read_only(&folder.join("office.sqlite")).await.unwrap();
    record.read_all(GlobalPosition(0), 10_000).await.unwrap()
}

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

/// Sends everything; what gets no 200 is kept for the next host, as Slack keeps it.
async fn send(host: &Host, pending: &mut Vec<Value>) {
    let mut left = Vec::new();
    for payload in pending.drain(..) {
        if deliver(&host.url, &payload).await != 200 {
            left.push(payload);
        }
    }
    *pending = left;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_it_loses_nothing_and_posts_nothing_twice() {
    let mut kit = Kit::new().await;
    kit.lease_ms = 3_000;
    let config = kit.write();
    let mut pending = Vec::new();
    let mut asked = 0;
    for after_ms in KILLED_AFTER_MS {
        let host = Host::serve(&config).await;
        for _ in 0..MESSAGES {
            asked += 1;
            let text = if asked % 2 == 0 {
                "<@U0BOT> hello".to_owned()
            } else {
                format!("<@U0BOT> what does {}/ say?", kit.site.origin)
            };
            let ts = format!("17000001{asked:02}.000100");
            pending.push(message(&format!("Ev{asked}"), "C01GEN", "U01ALICE", &ts, &text));
        }
        send(&host, &mut pending).await;
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        host.kill();
    }
    let host = Host::serve(&config).await;
    send(&host, &mut pending).await;
    assert!(pending.is_empty());
    let began = std::time::Instant::now();
    while count(&record(kit.folder()).await, "turn.ended") < asked {
        assert!(began.elapsed() < Duration::from_secs(90), "a turn never ended");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    host.kill();
    let events = record(kit.folder()).await;
    for kind in ["message.received", "turn.opened", "turn.ended"] {
        assert_eq!(count(&events, kind), asked, "{kind}");
    }
    posted_at_most_once(&kit, &events);
    every_hold_ended_once(&events);
    for arguments in [&["record", "verify"][..], &["turn", "show"]] {
        let output = tests::host::run(&config, arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn posted_at_most_once(kit: &Kit, events: &[Event]) {
    let mut threads = BTreeSet::new();
    for post in kit.slack.posts() {
        assert!(threads.insert(post["thread_ts"].to_string()), "posted twice: {post}");
    }
    // Whatever was not posted is on the record as not known, never as sent.
    let sent = count(events, "effect.sent");
    let unknown = count(events, "effect.left-unknown");
    assert!(
        sent <= threads.len() && threads.len() <= sent + unknown,
        "{sent} sent, {unknown} unknown, {} posted",
        threads.len()
    );
}

fn every_hold_ended_once(events: &[Event]) {
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
    assert!(!ends.is_empty() && ends.values().all(|ends| *ends == 1), "{ends:?}");
}
