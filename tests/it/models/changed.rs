//! A message that is edited or taken back while a turn works on it, all the way from Slack to what the model is shown.

use super::*;
use event::{Event, Steering};
use tests::provider::Play;
use tests::slack::{message, with_files};

const THREAD: &str = "1700000000.000100";
const API: Api = Api::Messages;

/// A message of `user` in the thread that the question begins.
fn says(id: &str, user: &str, ts: &str, text: &str) -> Value {
    let mut payload = message(id, "C01GEN", user, ts, text);
    payload["event"]["thread_ts"] = THREAD.into();
    payload
}

fn question(text: &str) -> Value {
    message("Ev1", "C01GEN", "U01ALICE", THREAD, &format!("<@U0BOT> {text}"))
}

/// What Slack tells when the text of `said` becomes `now`.
fn edited(id: &str, said: &Value, now: &str, at: &str) -> Value {
    let before = said["event"].clone();
    let mut after = before.clone();
    after["text"] = now.into();
    after["edited"] = json!({ "user": before["user"], "ts": at });
    let mut payload = said.clone();
    payload["event_id"] = id.into();
    payload["event"] = json!({ "type": "message", "subtype": "message_changed", "channel": "C01GEN",
        "channel_type": "channel", "hidden": true, "ts": at, "event_ts": at, "message": after, "previous_message": before });
    payload
}

/// What Slack tells when `said` is taken back: with answers under it, a stone of its own stands there.
fn taken_back(id: &str, said: &Value, has_answers: bool) -> Value {
    let before = said["event"].clone();
    let (ts, at) = (before["ts"].clone(), "1700000900.000100");
    let stone = json!({ "type": "message", "subtype": "tombstone", "user": "USLACKBOT", "hidden": true, "ts": ts,
        "thread_ts": ts, "text": "This message was deleted." });
    let mut payload = said.clone();
    payload["event_id"] = id.into();
    payload["event"] = json!({ "type": "message", "channel": "C01GEN", "channel_type": "channel", "hidden": true,
        "ts": at, "event_ts": at, "previous_message": before });
    let (subtype, key, value) = if has_answers {
        ("message_changed", "message", stone)
    } else {
        ("message_deleted", "deleted_ts", ts)
    };
    payload["event"]["subtype"] = subtype.into();
    payload["event"][key] = value;
    payload
}

fn finishes(text: &str) -> Vec<Play> {
    let finish = json!({"outcome": "answered", "text": text, "sources": []}).to_string();
    API.answer("", Some(("call_1", "finish", &finish)))
}

/// An answer that does not begin before the test lets it.
fn held_back(text: &str) -> Vec<Play> {
    let mut plays = vec![Play::Wait];
    plays.extend(finishes(text));
    plays
}

fn steered(events: &[Event]) -> Vec<(Steering, &str)> {
    let told = events.iter().filter_map(|event| match &event.fact {
        Fact::TurnSteered(body) => Some((body.steering, body.reason.as_str())),
        _ => None,
    });
    told.collect()
}

fn endings(events: &[Event]) -> Vec<TurnEnding> {
    let ended = events.iter().filter_map(|event| match &event.fact {
        Fact::TurnEnded(body) => Some(body.ending),
        _ => None,
    });
    ended.collect()
}

/// An office whose model has been asked the question and has not answered yet.
async fn asked(provider: &Provider, text: &str) -> (Kit, Office) {
    let mut kit = kit(API, provider, "").await;
    kit.slack_more = "live = { progress = \"off\" }\n".to_owned();
    let office = kit.open().await;
    provider.plays(held_back("From the old text."));
    assert_eq!(office.deliver(&question(text)).await, 200);
    office.until("the model is asked", |_| provider.requests().len() == 1).await;
    (kit, office)
}

fn texts(kit: &Kit) -> Vec<String> {
    kit.slack.posts().iter().map(|post| post["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_question_in_another_text_is_answered_and_the_old_one_is_not() {
    let provider = Provider::serve().await;
    let (kit, office) = asked(&provider, "how high is the tide in Bergen?").await;
    let said = question("how high is the tide in Bergen?");
    // A capital, and a later delivery of an earlier text are nothing new.
    let slight = edited("Ev2", &said, "<@U0BOT>  How high is the tide in Bergen", "1700000010.000100");
    let other = edited("Ev3", &said, "<@U0BOT> how high is the tide in Bodø?", "1700000030.000100");
    let late = edited("Ev4", &said, "<@U0BOT> how high is the tide in Bergamo?", "1700000020.000100");
    assert_eq!(office.deliver(&slight).await, 200);
    office.until("it is seen", |events| steered(events).len() == 1).await;
    provider.plays(finishes("From the new text."));
    assert_eq!(office.deliver(&other).await, 200);
    assert_eq!(office.deliver(&late).await, 200);
    let events = office.until_turns_ended(1).await;
    assert_eq!(texts(&kit), ["From the new text."]);
    let told = steered(&events);
    assert_eq!(told[..2], [(Steering::Ignore, "edit-slight"), (Steering::Replace, "edit")], "{told:?}");
    assert!(told[2..].iter().all(|told| *told == (Steering::Ignore, "edit-overtaken")), "{told:?}");
    let shown = provider.requests()[1].body.to_string();
    assert!(shown.contains("edited the question and asks for this instead"), "{shown}");
    assert!(
        shown.contains("> @U0BOT how high is the tide in Bodø?") && !shown.contains("Bergamo"),
        "{shown}"
    );
    assert!(shown.contains("@U01ALICE at 20"), "by whom and when: {shown}");
    assert_eq!(endings(&events), [TurnEnding::Answered]);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_that_overtakes_the_one_before_it_is_held_against_what_the_turn_was_told() {
    let provider = Provider::serve().await;
    let (kit, office) = asked(&provider, "how high is the tide in Bergen?").await;
    let said = question("how high is the tide in Bergen?");
    let first = edited("Ev2", &said, "<@U0BOT> stop", "1700000010.000100");
    let mut between = said.clone();
    between["event"]["text"] = "<@U0BOT> stop".into();
    // Beside the edit before it, which has not come, nothing but a capital and a mark.
    let second = edited("Ev3", &between, "<@U0BOT> Stop!", "1700000020.000100");
    assert_eq!(office.deliver(&second).await, 200);
    assert_eq!(office.deliver(&first).await, 200);
    let events = office.until_turns_ended(1).await;
    assert_eq!(endings(&events), [TurnEnding::Stopped], "{:?}", steered(&events));
    assert!(texts(&kit).is_empty(), "{:?}", texts(&kit));
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_into_a_turn_and_edited_since_is_read_before_it_answers() {
    let provider = Provider::serve().await;
    let (kit, office) = asked(&provider, "what does it cost?").await;
    let more = says("Ev2", "U02BOB", "1700000005.000100", "in euros");
    assert_eq!(office.deliver(&more).await, 200);
    assert_eq!(office.deliver(&edited("Ev3", &more, "in francs", "1700000006.000100")).await, 200);
    // A word to nobody becomes one to the turn: thanks, and then a wish.
    let thanks = says("Ev4", "U02BOB", "1700000007.000100", "thanks");
    assert_eq!(office.deliver(&thanks).await, 200);
    assert_eq!(
        office.deliver(&edited("Ev5", &thanks, "thanks, with the tax", "1700000008.000100")).await,
        200
    );
    office.until("all is told", |events| steered(events).len() == 4).await;
    provider.plays(finishes("In francs."));
    provider.go_on();
    let events = office.until_turns_ended(1).await;
    assert_eq!(texts(&kit), ["In francs."]);
    let wanted = [
        (Steering::Append, "said"),
        (Steering::Append, "edit"),
        (Steering::Ignore, "acknowledgement"),
        (Steering::Append, "edit"),
    ];
    assert_eq!(steered(&events), wanted);
    let shown = provider.requests()[1].body.to_string();
    assert!(shown.contains("edited what they had said at 20") && shown.contains("> in francs"), "{shown}");
    assert!(shown.contains("> thanks, with the tax"), "{shown}");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_after_the_turn_opens_none_and_the_next_one_reads_the_new_text() {
    let provider = Provider::serve().await;
    let (kit, office) = asked(&provider, "what is on in May?").await;
    provider.go_on();
    office.until_turns_ended(1).await;
    let said = question("what is on in May?");
    assert_eq!(
        office.deliver(&edited("Ev2", &said, "<@U0BOT> what is on in June?", "1700000010.000100")).await,
        200
    );
    let events = office.until_classified().await;
    assert_eq!(events.iter().filter(|event| event.fact.kind() == "turn.opened").count(), 1);
    assert!(steered(&events).is_empty());
    provider.plays(finishes("Two things."));
    assert_eq!(
        office.deliver(&says("Ev3", "U02BOB", "1700000020.000100", "<@U0BOT> and how many?")).await,
        200
    );
    office.until_turns_ended(2).await;
    let shown = provider.requests()[1].body.to_string();
    assert!(shown.contains("> @U0BOT what is on in June?") && !shown.contains("in May"), "{shown}");
    assert!(shown.contains("@U01ALICE said, edited at 20"), "{shown}");
    assert_eq!(texts(&kit), ["From the old text.", "Two things."]);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_became_a_stop_or_was_taken_back_is_not_answered() {
    let said = question("what does it cost?");
    for (change, told) in [
        (edited("Ev2", &said, "<@U0BOT> never mind", "1700000010.000100"), (Steering::Stop, "stop-word")),
        (taken_back("Ev2", &said, true), (Steering::Stop, "taken-back")),
        (taken_back("Ev2", &said, false), (Steering::Stop, "taken-back")),
    ] {
        let provider = Provider::serve().await;
        let (kit, office) = asked(&provider, "what does it cost?").await;
        assert_eq!(office.deliver(&change).await, 200);
        let events = office.until_turns_ended(1).await;
        assert_eq!((steered(&events), endings(&events)), (vec![told], vec![TurnEnding::Stopped]), "{change}");
        assert!(kit.slack.posts().is_empty());
        office.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_more_was_asked_than_the_question_that_is_gone_that_is_answered() {
    let provider = Provider::serve().await;
    let (kit, office) = asked(&provider, "what does it cost?").await;
    let more = says("Ev2", "U02BOB", "1700000005.000100", "<@U0BOT> and how long does it take?");
    assert_eq!(office.deliver(&more).await, 200);
    office.until("it is told", |events| steered(events).len() == 1).await;
    provider.plays(finishes("A week."));
    assert_eq!(office.deliver(&taken_back("Ev3", &question("what does it cost?"), true)).await, 200);
    let events = office.until_turns_ended(1).await;
    assert_eq!(steered(&events)[1..], [(Steering::Replace, "taken-back")]);
    assert_eq!(texts(&kit), ["A week."]);
    let shown = provider.requests()[1].body.to_string();
    assert!(shown.contains("The question was taken back at 20"), "{shown}");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_changed_or_taken_back_before_its_turn_opens_is_read_as_it_is() {
    let provider = Provider::serve().await;
    let mut kit = kit(API, &provider, "").await;
    kit.slack_more = "live = { progress = \"off\" }\n".to_owned();
    let host = kit.open().await;
    // Nobody holds the seat, so what is asked waits.
    host.stop().await;
    let config = kit.write();
    let vacated = tests::host::run(&config, &["seat", "vacate", "seat_front-desk", "--reason", "away"]);
    assert!(vacated.status.success(), "{}", String::from_utf8_lossy(&vacated.stderr));
    let office = kit.open().await;
    let said = question("what is on in May?");
    let gone = message("Ev5", "C01GEN", "U01ALICE", "1700000100.000100", "<@U0BOT> and in July?");
    assert_eq!(office.deliver(&said).await, 200);
    assert_eq!(
        office.deliver(&edited("Ev2", &said, "<@U0BOT> what is on in June?", "1700000010.000100")).await,
        200
    );
    assert_eq!(office.deliver(&gone).await, 200);
    assert_eq!(office.deliver(&taken_back("Ev6", &gone, false)).await, 200);
    office.until_classified().await;
    office.stop().await;
    let held = tests::host::run(&config, &["seat", "hold", "seat_front-desk", "agent_desk"]);
    assert!(held.status.success(), "{}", String::from_utf8_lossy(&held.stderr));
    provider.answers(|_| finishes("In June."));
    let office = kit.open().await;
    let events = office.until_turns_ended(2).await;
    let mut endings = endings(&events);
    endings.sort_by_key(|ending| format!("{ending:?}"));
    assert_eq!(endings, [TurnEnding::Answered, TurnEnding::Stopped]);
    assert_eq!(texts(&kit), ["In June."]);
    let june = provider.requests().into_iter().map(|request| request.body.to_string());
    let june: Vec<String> = june.filter(|shown| shown.contains("June")).collect();
    assert!(june[0].contains("@U01ALICE asks you, edited at 20") && !june[0].contains("in May"), "{june:?}");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_comes_into_a_running_turn_is_named_read_and_shown() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture of the plan";
    let provider = Provider::serve().await;
    let (kit, office) = asked(&provider, "what is in the plan?").await;
    kit.slack.keep_file("F09PRIVATE", "salaries.txt", "text/plain", b"everybody's", &[]);
    let file = kit.slack.keep_file("F01PLAN", "plan.png", "image/png", PNG, &[]);
    let more = with_files(says("Ev2", "U01ALICE", "1700000005.000100", "this one"), vec![file]);
    assert_eq!(office.deliver(&more).await, 200);
    office.until("it is told", |events| steered(events).len() == 1).await;
    for file in ["F09PRIVATE", "F01PLAN"] {
        provider.plays(API.answer("", Some(("call_2", "slack_file", &json!({ "file": file }).to_string()))));
    }
    provider.plays(finishes("A pier."));
    provider.go_on();
    office.until_turns_ended(1).await;
    assert_eq!(texts(&kit), ["A pier."]);
    let bodies: Vec<String> = provider.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(!bodies[0].contains("slack_file"), "no file, nothing that reads one");
    assert!(
        bodies[1].contains("> F01PLAN (image/png, ") && bodies[1].contains("slack_file"),
        "{}",
        bodies[1]
    );
    assert!(bodies[2].contains("no such file came with the messages"), "{}", bodies[2]);
    assert!(bodies[3].contains("The image that `slack.file` gave follows"), "{}", bodies[3]);
    assert!(!bodies.concat().contains("everybody's"));
    office.stop().await;
}
