//! SIGKILL to the real program, and what the next start makes of the record it left.

use event::{Event, Fact, GlobalPosition};
use record::Record;
use std::path::Path;
use std::time::Duration;
use tests::office::deliver;
use tests::slack::{Mood, message};
use tests::{Host, Kit};

/// Tries to kill before the turn opened: the office is quick, and a busy machine may be slow to kill.
const TRIES_MAX: usize = 25;

async fn record(folder: &Path) -> Vec<Event> {
    let record = Record::open_sqlite_read_only(&folder.join("office.sqlite")).await.unwrap();
    record.read_all(GlobalPosition(0), 5_000).await.unwrap()
}

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

async fn until_turns_ended(folder: &Path, turns: usize) -> Vec<Event> {
    for _ in 0..1_200 {
        let events = record(folder).await;
        if count(&events, "turn.ended") >= turns {
            return events;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!(
        "the turn never ended:\n{}",
        record(folder).await.iter().map(app::show::line).collect::<Vec<_>>().join("\n")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_the_200_and_before_the_turn_it_answers_once_after_the_restart() {
    let mut kit = Kit::new().await;
    kit.lease_ms = 4_000;
    let config = kit.write();
    for n in 1..=TRIES_MAX {
        let host = Host::serve(&config).await;
        let ts = format!("17000000{n:02}.000100");
        let payload = message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &ts, "<@U0BOT> hello");
        assert_eq!(deliver(&host.url, &payload).await, 200);
        host.kill();
        let killed = record(kit.folder()).await;
        let received = count(&killed, "message.received");
        assert_eq!(received, n, "what got its 200 is on the record");
        let before_the_turn = count(&killed, "turn.opened") < n;
        // Slack knows nothing of the 200 it may not have read, and sends again; the office starts anew.
        let host = Host::serve(&config).await;
        assert_eq!(deliver(&host.url, &payload).await, 200);
        let events = until_turns_ended(kit.folder(), n).await;
        assert_eq!(count(&events, "message.received"), n);
        assert_eq!(count(&events, "turn.opened"), n);
        host.kill();
        let replies = kit.slack.posts().iter().filter(|post| post["thread_ts"] == ts.as_str()).count();
        if before_the_turn {
            assert_eq!(replies, 1);
            return;
        }
        assert!(replies <= 1, "never twice");
    }
    panic!("in {TRIES_MAX} tries the turn was always open before the kill arrived");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_slack_takes_the_message_it_never_sends_twice() {
    let mut kit = Kit::new().await;
    kit.lease_ms = 4_000;
    kit.slack.set_mood(Mood::Slow);
    let config = kit.write();
    let host = Host::serve(&config).await;
    let payload = message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> hello");
    assert_eq!(deliver(&host.url, &payload).await, 200);
    for _ in 0..600 {
        if count(&record(kit.folder()).await, "effect.intended") == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // The request may have left or not; nobody will know.
    tokio::time::sleep(Duration::from_millis(300)).await;
    host.kill();
    kit.slack.set_mood(Mood::Good);
    let intended = record(kit.folder()).await;
    assert_eq!((count(&intended, "effect.intended"), count(&intended, "effect.sent")), (1, 0));
    let office = Host::serve(&config).await;
    // The dead process held the lease; its turn is taken up when that has ended.
    let events = until_turns_ended_within(kit.folder(), Duration::from_secs(60)).await;
    assert_eq!(count(&events, "effect.left-unknown"), 1);
    assert_eq!(count(&events, "effect.sent"), 0);
    let sent = kit.slack.posts().len();
    assert!(sent <= 1, "{sent} messages arrived");
    // The model was not asked again: its answer stands on the record.
    let asked = events.iter().filter(|event| matches!(&event.fact, Fact::HoldTaken(_))).count();
    assert_eq!(asked, 1);
    office.kill();
    let verified = tests::host::run(&config, &["record", "verify"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

async fn until_turns_ended_within(folder: &Path, limit: Duration) -> Vec<Event> {
    let began = std::time::Instant::now();
    loop {
        let events = record(folder).await;
        if count(&events, "turn.ended") >= 1 {
            return events;
        }
        assert!(began.elapsed() < limit, "the turn never ended");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
