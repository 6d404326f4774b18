//! A turn with three tool calls, one that waits for a person and changes something outside, and an answer, whose host is
//! killed between any two of its events: what the next host makes of it is what the first would have made.
//!
//! What a host leaves behind when it is killed is the events that were committed, so each boundary is made by taking in
//! the journal up to it: exactly the record that such a host would have left.

use crate::cards::{count, kit};
use event::{Event, Fact, Origin, PrincipalId, StepOutcome, TurnEnding, TurnId};
use gate::Answer;
use record::{Journal, Record, SystemClock};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use tests::slack::message;
use tests::{Kit, Office};
use tokio::sync::watch;

const OWNER: &str = "person_slack.T01TEST.U01OWNER";

/// Reads two pages, erases one, and says so.
const SCRIPT: &str = r#"
[[rule]]
when = []
[[rule.step]]
call = { tool = "web.fetch", input = { url = "{{url}}" } }
[[rule.step]]
call = { tool = "web.fetch", input = { url = "{{url}}" } }
[[rule.step]]
call = { tool = "shredder.erase", input = { page = "p" } }
[[rule.step]]
finish = { outcome = "answered", text = "read {{result.1.title}} and erased {{result.3.page}}" }
"#;

async fn says_yes(office: &Office) {
    let events = office
        .until("the call waits or the turn has ended", |events| {
            count(events, "approval.asked") > 0 || count(events, "turn.ended") > 0
        })
        .await;
    let asked = events.iter().find_map(|event| match &event.fact {
        Fact::ApprovalAsked(asked) => Some(asked.approval.clone()),
        _ => None,
    });
    if count(&events, "approval.given") == 0
        && let Some(approval) = asked
    {
        let owner = PrincipalId::parse(OWNER).unwrap();
        office.built.gate.answer(&approval, &owner, Answer::Yes).await.unwrap();
    }
}

/// The turn's own events and those of its calls, stream by stream, without the tries that never ended, and without what
/// differs from one run to another: numbers of tries, ids, positions and times.
fn story(events: &[Event], turn: &TurnId) -> BTreeMap<String, Vec<(&'static str, Value)>> {
    let ended: BTreeSet<(u32, u32)> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::StepEnded(body) if body.turn == *turn => Some((body.step, body.attempt)),
            _ => None,
        })
        .collect();
    // A try that sent its effect counts though another try says how the step ended.
    let sent: BTreeSet<(u32, u32)> = events
        .iter()
        .filter(|event| matches!(event.fact, Fact::EffectSent(_)))
        .filter_map(|event| match origin_of(events, &event.fact) {
            Some(Origin::Step { step, attempt, .. }) => Some((step, attempt)),
            _ => None,
        })
        .collect();
    let mut story: BTreeMap<String, Vec<(&'static str, Value)>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.stream.as_str().contains(turn.as_str())) {
        let attempt = match &event.fact {
            Fact::StepStarted(body) => Some((body.step, body.attempt)),
            fact if fact.kind().starts_with("approval.") => None,
            fact => serde_json::from_value::<Origin>(fact.body()["origin"].clone())
                .ok()
                .or_else(|| origin_of(events, fact))
                .and_then(|origin| match origin {
                    Origin::Step { step, attempt, .. } => Some((step, attempt)),
                    _ => None,
                }),
        };
        let starts = matches!(event.fact, Fact::StepStarted(_));
        let counts = |attempt| ended.contains(&attempt) || (!starts && sent.contains(&attempt));
        if attempt.is_some_and(|attempt| !counts(attempt)) {
            continue;
        }
        let mut body = event.fact.shown_body();
        forget(&mut body);
        story.entry(event.stream.to_string()).or_default().push((event.fact.kind(), body));
    }
    story
}

/// Where a fact that names only its hold or effect comes from.
fn origin_of(events: &[Event], fact: &Fact) -> Option<Origin> {
    let body = fact.body();
    let names = |other: &&Event| {
        let other = other.fact.body();
        other.get("origin").is_some()
            && ["hold", "effect"].iter().any(|key| body.get(key).is_some() && body.get(key) == other.get(key))
    };
    events
        .iter()
        .find(names)
        .and_then(|event| serde_json::from_value(event.fact.body()["origin"].clone()).ok())
}

fn forget(body: &mut Value) {
    // A request says how long people have waited, so its size differs, and with it what is held and charged.
    const DIFFERS: [&str; 23] = [
        "silent_ms",
        "tokens",
        "amount",
        "held",
        "worst",
        "charged",
        "usage",
        "sha256",
        "ts",
        "attempt",
        "receipts",
        "receipt",
        "hold",
        "sources",
        "request",
        "content",
        "read_at",
        "expires_at",
        "at",
        "asked_as",
        "cause",
        "revision",
        "seconds",
    ];
    match body {
        Value::Object(fields) => {
            fields.retain(|key, _| !DIFFERS.contains(&key.as_str()));
            fields.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}

/// The record that a host leaves which is killed after the event at `end`.
async fn cut(journal: &Path, kit: &Kit, end: usize) {
    let lines = std::fs::read_to_string(journal.join("000000000001.jsonl")).unwrap();
    let kept: Vec<&str> = lines.lines().take(end).collect();
    let chain: Value = serde_json::from_str(kept.last().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("000000000001.jsonl"), kept.join("\n") + "\n").unwrap();
    std::fs::write(folder.path().join("head"), format!("{end}:{}\n", chain["chain"].as_str().unwrap()))
        .unwrap();
    for name in ["office.sqlite", "office.sqlite-wal", "office.sqlite-shm"] {
        let _ = std::fs::remove_file(kit.folder().join(name));
    }
    let record =
        Record::open_sqlite(&kit.folder().join("office.sqlite"), Arc::new(SystemClock)).await.unwrap();
    record.restore(folder.path(), &watch::Sender::new(0), watch::Sender::new(0)).await.unwrap();
    record.ended().await;
}

fn ending(events: &[Event]) -> TurnEnding {
    let ended = events.iter().find_map(|event| match &event.fact {
        Fact::TurnEnded(ended) => Some(ended.ending),
        _ => None,
    });
    ended.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_any_two_events_a_turn_comes_to_what_it_would_have_come_to() {
    let mut kit = kit().await;
    kit.script = SCRIPT.to_owned();
    let office = kit.open().await;
    let asks = format!("<@U0BOT> read <{}/> and erase it", kit.site.origin);
    assert_eq!(office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000001.000100", &asks)).await, 200);
    says_yes(&office).await;
    let whole = office.until_turns_ended(1).await;
    let journal = kit.folder().join("journal");
    Journal::open(&journal, &office.built.record)
        .await
        .unwrap()
        .catch_up(&office.built.record, |_| {})
        .await
        .unwrap();
    office.stop().await;
    let turn = whole
        .iter()
        .find_map(|event| match &event.fact {
            Fact::TurnOpened(opened) => Some(opened.turn.clone()),
            _ => None,
        })
        .unwrap();
    assert_eq!(ending(&whole), TurnEnding::Answered);
    let told = story(&whole, &turn);
    let first = whole.iter().position(|event| event.fact.kind() == "turn.opened").unwrap() + 1;
    let last = whole.iter().position(|event| event.fact.kind() == "turn.ended").unwrap();
    assert!(last - first > 40, "{} events", last - first);
    let (mut same, mut unknown) = (0, 0);
    for end in first..=last {
        // Events of one commit have one time: nobody dies between them.
        if whole[end - 1].at == whole[end].at {
            continue;
        }
        cut(&journal, &kit, end).await;
        let office = kit.open().await;
        says_yes(&office).await;
        let events = office.until_turns_ended(1).await;
        office.stop().await;
        let kept = &events[..end];
        let open = kept.iter().any(|event| is_open(event, kept));
        if open {
            // It may have happened, and nobody knows: it is not tried again.
            unknown += 1;
            assert_eq!(count(&events, "effect.left-unknown"), 1, "after {end}");
        } else {
            same += 1;
            let now = story(&events, &turn);
            for (stream, facts) in &told {
                assert_eq!(now.get(stream), Some(facts), "after {end}, {}", whole[end - 1].fact.kind());
            }
            assert_eq!(now.len(), told.len());
        }
        once(&events, end);
    }
    assert!(same >= 8 && unknown >= 2, "{same} {unknown}");
}

/// Whether `event` intends an effect of which nothing more was known by the end of `kept`.
fn is_open(event: &Event, kept: &[Event]) -> bool {
    let Fact::EffectIntended(intended) = &event.fact else { return false };
    if intended.origin.turn().is_none() {
        return false;
    }
    !kept.iter().any(|other| match &other.fact {
        Fact::EffectSent(body) => body.effect == intended.effect,
        Fact::EffectFailed(body) => body.effect == intended.effect,
        Fact::EffectLeftUnknown(body) => body.effect == intended.effect,
        _ => false,
    })
}

/// Each effect was intended once, each hold ended once, and no ended step ran again.
fn once(events: &[Event], end: usize) {
    let mut effects = BTreeSet::new();
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let mut steps = BTreeSet::new();
    for event in events {
        match &event.fact {
            Fact::EffectIntended(body) => assert!(effects.insert(body.effect.clone()), "after {end}"),
            Fact::HoldTaken(body) => *ends.entry(body.hold.to_string()).or_default() += 0,
            Fact::HoldSettled(body) => *ends.entry(body.hold.to_string()).or_default() += 1,
            Fact::HoldReleased(body) => *ends.entry(body.hold.to_string()).or_default() += 1,
            Fact::HoldLeftUnknown(body) => *ends.entry(body.hold.to_string()).or_default() += 1,
            Fact::StepStarted(body) => {
                assert!(!steps.contains(&body.step), "after {end}: step {} ran again", body.step)
            }
            Fact::StepEnded(body) => {
                assert_ne!(body.outcome, StepOutcome::Refused, "after {end}");
                steps.insert(body.step);
            }
            _ => {}
        }
    }
    assert!(ends.values().all(|ended| *ended == 1), "after {end}: {ends:?}");
}
