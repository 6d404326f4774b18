//! Effects of a whole office: an answer that was lost, read back; what cannot be read back, said by a person; a drill.

use crate::cards::{asks, count, kit as with_approvals};
use event::{EffectId, Event, Fact, Timestamp, TurnEnding};
use fold::effect::recall::{ABSENT_GRACE_MS, FIRST_MS, RECALLS_MAX};
use fold::effect::{EffectRow, EffectState};
use record::{Clock, SystemClock};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tests::office::deliver_click;
use tests::slack::{Mood, buttons, click, message};
use tests::{Kit, Office};

/// A clock that runs, and that a test puts forward.
#[derive(Default)]
struct Ahead(AtomicI64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_ms(self.0.load(Ordering::SeqCst))
    }
}

impl Ahead {
    fn by(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

async fn opened(kit: &Kit) -> (Office, Arc<Ahead>) {
    let clock = Arc::new(Ahead::default());
    let ports = app::Ports { clock: clock.clone(), ..app::Ports::system() };
    (kit.open_with(ports).await, clock)
}

async fn hello(office: &Office) {
    let payload = message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> hello");
    assert_eq!(office.deliver(&payload).await, 200);
}

/// An office whose one answer went out into this mood, and its effect.
async fn answered_into(kit: &Kit, mood: Mood) -> (Office, Arc<Ahead>, EffectId) {
    kit.slack.set_mood(mood);
    let (office, clock) = opened(kit).await;
    hello(&office).await;
    let events = office.until_turns_ended(1).await;
    kit.slack.set_mood(Mood::Good);
    (office, clock, intended(&events))
}

fn intended(events: &[Event]) -> EffectId {
    let mut found = events.iter().filter_map(|event| match &event.fact {
        Fact::EffectIntended(body) => Some(body.effect.clone()),
        _ => None,
    });
    found.next().unwrap()
}

async fn row(office: &Office, effect: &EffectId) -> EffectRow {
    office.built.gate.effect(effect).await.unwrap().unwrap()
}

fn told(config: &Path, arguments: &[&str]) -> String {
    let output = tests::host::run(config, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_slack_took_and_did_not_confirm_arrives_once_and_is_known_again() {
    let kit = Kit::new().await;
    let (office, clock, effect) = answered_into(&kit, Mood::LoseAnswer).await;
    let config = kit.folder().join("chancery.toml");
    assert_eq!((row(&office, &effect).await.state, kit.slack.posts().len()), (EffectState::Unknown, 1));
    let listed = told(&config, &["effect", "list"]);
    assert!(listed.contains(effect.as_str()) && listed.contains("unknown"), "{listed}");
    clock.by(FIRST_MS);
    let events = office.until("it was read back", |events| count(events, "effect.sent") == 1).await;
    assert_eq!(kit.slack.posts().len(), 1, "exactly one arrived");
    let sent = events.iter().find_map(|event| match &event.fact {
        Fact::EffectSent(body) => Some(body.reference.clone()),
        _ => None,
    });
    let reference = json!({"channel": "C01GEN", "ts": "1700000100.000001", "thread_ts": "1700000000.000100"});
    assert_eq!(sent.unwrap(), reference);
    assert_eq!(told(&config, &["effect", "list"]), "what became of every effect is known\n");
    let turn = events.iter().find_map(|event| match &event.fact {
        Fact::TurnOpened(body) => Some(body.turn.to_string()),
        _ => None,
    });
    let of_turn = told(&config, &["effect", "list", "--turn", &turn.unwrap()]);
    assert!(of_turn.contains(effect.as_str()) && of_turn.contains("sent"), "{of_turn}");
    let shown = told(&config, &["effect", "show", effect.as_str()]);
    for words in
        ["slack.post", "C01GEN", "effect.left-unknown", "effect.recalled", "it is there", "effect.sent"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(told(&config, &["turn", "show"]).contains("effect.recalled"));
    office.stop().await;
}

#[tokio::test]
async fn what_never_arrived_is_failed_only_when_nothing_can_arrive_any_more() {
    let kit = Kit::new().await;
    let (office, clock, effect) = answered_into(&kit, Mood::LoseRequest).await;
    let since = row(&office, &effect).await.recalling.unwrap().since;
    while row(&office, &effect).await.state == EffectState::Unknown {
        let recalling = row(&office, &effect).await.recalling.unwrap();
        clock.by(recalling.next_at.unwrap().since_ms(office.built.now()).max(0) + 1);
        let tries = recalling.tries as usize + 1;
        office.until("it was read back", |events| count(events, "effect.recalled") >= tries).await;
    }
    assert_eq!(row(&office, &effect).await.state, EffectState::Failed);
    assert!(office.built.now().since_ms(since) >= ABSENT_GRACE_MS);
    assert!(kit.slack.posts().is_empty() && kit.slack.looked() >= 3);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_slack_does_not_show_is_asked_of_a_person_whose_word_is_taken() {
    let kit = Kit::new().await;
    let (office, clock, effect) = answered_into(&kit, Mood::LoseAnswer).await;
    kit.slack.set_history_error(Some("missing_scope"));
    for tries in 1..=RECALLS_MAX as usize {
        let next = row(&office, &effect).await.recalling.unwrap().next_at.unwrap();
        clock.by(next.since_ms(office.built.now()).max(0) + 1);
        office.until("it was tried", |events| count(events, "effect.recalled") >= tries).await;
    }
    let events = office.events().await;
    let asked = events.iter().find_map(|event| match &event.fact {
        Fact::RequestAsked(body) => Some(body.clone()),
        _ => None,
    });
    assert_eq!(asked.unwrap().holder.as_str(), "seat_owner");
    let config = kit.folder().join("chancery.toml");
    let listed = told(&config, &["effect", "list"]);
    assert!(listed.contains("a person has to look"), "{listed}");
    let shown = told(&config, &["effect", "show", effect.as_str()]);
    assert!(shown.contains("lacks a scope") && shown.contains("chancery effect settle"), "{shown}");
    let id = effect.as_str();
    let neither = tests::host::run(&config, &["effect", "settle", id, "--saw", "x"]);
    assert!(!neither.status.success(), "it is said which");
    let said = told(&config, &["effect", "settle", id, "--happened", "--saw", "it stands in the thread"]);
    for kind in ["effect.stated", "effect.sent", "request.answered"] {
        assert!(said.contains(kind), "{said}");
    }
    assert_eq!(row(&office, &effect).await.state, EffectState::Sent);
    let again = tests::host::run(&config, &["effect", "settle", id, "--did-not-happen", "--saw", "no"]);
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("it is Sent"));
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drill_wakes_thinks_and_reads_and_sends_nothing() {
    let mut kit = Kit::new().await;
    kit.drill = true;
    let office = kit.open().await;
    let text = format!("<@U0BOT> what does {}/ say?", kit.site.origin);
    let payload = message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", &text);
    assert_eq!(office.deliver(&payload).await, 200);
    let events = office.until_turns_ended(1).await;
    let ending = events.iter().find_map(|event| match &event.fact {
        Fact::TurnEnded(body) => Some(body.ending),
        _ => None,
    });
    assert_eq!(ending, Some(TurnEnding::Answered), "it looks like a success");
    assert!(kit.slack.posts().is_empty(), "nothing arrived");
    let captured: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::EffectCaptured(body) => Some(body),
            _ => None,
        })
        .collect();
    assert_eq!(captured.len(), 1);
    assert!(captured[0].input.json()["text"].as_str().unwrap().contains("The tide turns at six"), "whole");
    assert_eq!((count(&events, "effect.intended"), count(&events, "effect.sent")), (0, 0));
    // The page was read, and the model was paid for.
    assert!(count(&events, "hold.settled") >= 2 && count(&events, "receipt.recorded") >= 1);
    let opened = events.iter().find_map(|event| match &event.fact {
        Fact::TurnOpened(body) => Some(body.clone()),
        _ => None,
    });
    let opened = opened.unwrap();
    assert!(opened.drill);
    let config = kit.folder().join("chancery.toml");
    let listed = told(&config, &["effect", "list", "--turn", opened.turn.as_str()]);
    assert!(listed.contains("captured") && listed.contains("nothing was sent"), "{listed}");
    office.stop().await;
}

/// A drill of one conversation beside an office that works for real.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_in_a_drill_shows_what_would_be_said_and_drills_its_own_turns_alone() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    let config = kit.folder().join("chancery.toml");
    let said = tokio::task::block_in_place(|| {
        let mut chat = Command::new(tests::host::binary())
            .arg("--config")
            .arg(&config)
            .args(["chat", "--drill", "--session", "rehearsal"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        chat.stdin.take().unwrap().write_all(b"hello\n").unwrap();
        chat.wait_with_output().unwrap()
    });
    let (shown, errors) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{shown} {errors}");
    assert!(shown.contains("(a drill) "), "{shown} {errors}");
    hello(&office).await;
    let events = office.until_turns_ended(2).await;
    let opened: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::TurnOpened(body) => Some((body.drill, body.topic.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(opened.iter().map(|(drill, _)| *drill).collect::<Vec<_>>(), [true, false]);
    // Not in the session itself, where it could join a turn that sends.
    assert!(opened[0].1.starts_with("terminal:local:drill-rehearsal:"), "{}", opened[0].1);
    assert_eq!((count(&events, "effect.captured"), kit.slack.posts().len()), (1, 1));
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_whose_posting_was_lost_is_known_again_and_says_how_it_was_decided() {
    let kit = with_approvals().await;
    kit.slack.set_mood(Mood::LoseAnswer);
    let (office, clock) = opened(&kit).await;
    assert_eq!(office.deliver(&asks(1)).await, 200);
    office.until("the card's posting is unknown", |events| count(events, "effect.left-unknown") == 1).await;
    kit.slack.set_mood(Mood::Good);
    // It stands in Slack all the same, and its click counts.
    let card = kit.slack.cards().remove(0);
    let payload = click(&card, "U01OWNER", "approval.yes", |_| {});
    assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
    office.until_turns_ended(1).await;
    assert!(kit.slack.updates().is_empty(), "nobody knows yet where it stands");
    clock.by(FIRST_MS);
    office.until("the card was found", |events| count(events, "effect.recalled") == 1).await;
    let updated = |events: &[Event]| {
        let of = |fact: &Fact| matches!(fact, Fact::EffectIntended(body) if body.tool == "slack.card-update");
        events.iter().any(|event| of(&event.fact)) && !kit.slack.updates().is_empty()
    };
    office.until("the card was changed", updated).await;
    assert_eq!((kit.slack.cards().len(), kit.slack.updates().len()), (1, 1));
    assert_eq!(kit.slack.updates()[0]["ts"], json!(card.0));
    office.stop().await;
}

/// What the owner tries by hand is meant in no turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_meant_outside_a_turn_is_asked_of_the_owner_alone_with_two_answers() {
    let kit = with_approvals().await;
    let (office, clock) = opened(&kit).await;
    let config = kit.folder().join("chancery.toml");
    kit.slack.set_mood(Mood::LoseAnswer);
    let args = json!({"channel": "C01GEN", "text": "It rains."}).to_string();
    let tried = tests::host::run(&config, &["plugin", "call", "slack.post", "--args", &args]);
    assert!(String::from_utf8_lossy(&tried.stderr).contains("its outcome is not known"), "{tried:?}");
    kit.slack.set_mood(Mood::Good);
    kit.slack.set_history_error(Some("missing_scope"));
    let effect = intended(&office.events().await);
    for tries in 1..=RECALLS_MAX as usize {
        let next = row(&office, &effect).await.recalling.unwrap().next_at.unwrap();
        clock.by(next.since_ms(office.built.now()).max(0) + 1);
        office.until("it was tried", |events| count(events, "effect.recalled") >= tries).await;
    }
    office.until("the owner is asked", |_| kit.slack.cards().len() == 1).await;
    let card = kit.slack.cards().remove(0);
    assert_eq!(card.1["channel"], "D01OWNER", "a direct message: nothing says that anybody else may read it");
    let actions: Vec<String> =
        buttons(&card.1).iter().map(|button| button["action_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(actions, ["effect.happened", "effect.absent"], "there is no turn that would say it again");
    assert!(card.1.to_string().contains("It rains."), "{card:?}");
    let payload = click(&card, "U01OWNER", "effect.happened", |_| {});
    assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
    office.until("the card says so", |_| kit.slack.updates().len() == 1).await;
    assert_eq!(row(&office, &effect).await.state, EffectState::Sent);
    assert_eq!(told(&config, &["effect", "list"]), "what became of every effect is known\n");
    office.stop().await;
}
