//! What people see in Slack while a whole office works: lines that come and go, answers that grow, questions, drills,
//! shortcuts, threads of the assistant view, threads that are gone.

mod asked;

use crate::cards::{count, kit as with_approvals, runs};
use event::{Event, Fact, Steering, Timestamp, TurnEnding};
use fold::effect::recall::FIRST_MS;
use record::{Clock, SystemClock};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tests::office::{deliver, deliver_click};
use tests::slack::live::{Fault, Gone};
use tests::slack::{TEAM, click, message};
use tests::{Host, Kit, Office};

const THREAD: &str = "1700000000.000100";
const OWNER: &str = "U01OWNER";

fn asks(text: &str) -> Value {
    message("Ev1", "C01GEN", "U01ALICE", THREAD, &format!("<@U0BOT> {text}"))
}

/// An office whose model reads a page that takes `ms`, and then finishes so.
async fn slow(ms: u64, finish: &str, live: &str) -> Kit {
    let mut kit = Kit::new().await;
    let url = format!("{}/slow/{ms}", kit.site.origin);
    kit.script = format!(
        "[[rule]]\nwhen = []\n[[rule.step]]\ncall = {{ tool = \"web.fetch\", input = {{ url = \"{url}\" }} }}\n\
         [[rule.step]]\nfinish = {{ {finish} }}\n"
    );
    kit.slack_more = format!("live = {{ {live} }}\n");
    kit
}

/// An answer of four pieces.
fn long() -> String {
    let sentence = |n: usize| format!("{n}. {}end of {n} <!here>.", "word ".repeat(28));
    (1..=12).map(sentence).collect::<Vec<_>>().join("\\n\\n")
}

async fn streaming() -> Kit {
    let mut kit = Kit::new().await;
    kit.script = format!(
        "[[rule]]\nwhen = []\n[[rule.step]]\nfinish = {{ outcome = \"answered\", text = \"{}\" }}\n",
        long()
    );
    kit.slack_more = "live = { stream = \"always\", progress = \"off\" }\n".to_owned();
    kit
}

/// All that a message says.
fn words(message: &Value) -> String {
    let texts =
        message["blocks"].as_array().into_iter().flatten().filter_map(|block| block["text"]["text"].as_str());
    texts.collect::<Vec<_>>().join("\n\n")
}

/// There is one message, and all of the long answer stands in it once.
fn assert_one_whole(kit: &Kit) {
    let standing = kit.slack.standing();
    assert_eq!(standing.len(), 1, "{standing:?}");
    let words = words(&standing[0].1);
    for n in 1..=12 {
        assert_eq!(words.matches(&format!("end of {n} ")).count(), 1, "{n}: {words}");
    }
    assert!(!standing[0].1.to_string().contains("<!"), "{standing:?}");
}

fn tools(events: &[Event], tool: &str) -> usize {
    let of = |event: &&Event| matches!(&event.fact, Fact::EffectIntended(body) if body.tool == tool);
    events.iter().filter(of).count()
}

fn ending(events: &[Event]) -> TurnEnding {
    let ended = events.iter().find_map(|event| match &event.fact {
        Fact::TurnEnded(body) => Some(body.ending),
        _ => None,
    });
    ended.unwrap()
}

/// A clock that runs, and that a test puts forward.
#[derive(Default)]
struct Ahead(AtomicI64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_ms(self.0.load(Ordering::SeqCst))
    }
}

async fn opened(kit: &Kit) -> (Office, Arc<Ahead>) {
    let clock = Arc::new(Ahead::default());
    let ports = app::Ports { clock: clock.clone(), ..app::Ports::system() };
    (kit.open_with(ports).await, clock)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_works_long_shows_one_line_that_changes_and_goes_when_the_answer_is_there() {
    let finish = "outcome = \"answered\", text = \"It took a while.\"";
    let kit = slow(4_000, finish, "after_ms = 0, every_ms = 1200").await;
    let office = kit.open().await;
    assert_eq!(office.deliver(&asks("look it up")).await, 200);
    office.until_turns_ended(1).await;
    let events = office
        .until("the line was taken away", |events| {
            tools(events, "slack.progress-end") == 1 && kit.slack.calls("chat.delete").len() == 1
        })
        .await;
    assert_eq!(
        (tools(&events, "slack.progress"), tools(&events, "slack.post")),
        (1, 1),
        "one line, one answer"
    );
    let posts = kit.slack.posts();
    let (line, answer) = (&posts[0], &posts[1]);
    assert_eq!((&line["thread_ts"], &answer["thread_ts"]), (&json!(THREAD), &json!(THREAD)));
    assert!(line["text"].as_str().unwrap().starts_with("Working on this"), "{line}");
    assert_eq!(answer["text"], "It took a while.");
    let changes: Vec<String> = kit.slack.updates().iter().map(|update| update["text"].to_string()).collect();
    assert!(
        changes.iter().any(|text| text.contains("web.fetch")) || line.to_string().contains("web.fetch"),
        "{changes:?}"
    );
    assert!(changes.len() <= 4, "it changes when the work does: {changes:?}");
    let standing = kit.slack.standing();
    assert_eq!(standing.len(), 1, "{standing:?}");
    assert_eq!(standing[0].1["text"], "It took a while.");
    // Nothing that anybody wrote stands in it.
    assert!(!posts[0].to_string().contains("look it up") && !posts[0].to_string().contains("slow"), "{line}");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_is_taken_away_from_a_turn_that_ends_without_a_word_and_is_none_where_the_operator_wants_none()
{
    let kit = slow(1_500, "outcome = \"silent\"", "after_ms = 0, every_ms = 1200").await;
    let office = kit.open().await;
    office.deliver(&asks("look it up")).await;
    office.until_turns_ended(1).await;
    office.until("the line is gone", |_| kit.slack.standing().is_empty()).await;
    assert_eq!(kit.slack.posts().len(), 1);
    office.stop().await;
    let kit = slow(1_500, "outcome = \"silent\"", "after_ms = 0, progress = \"off\"").await;
    let office = kit.open().await;
    office.deliver(&asks("look it up")).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!((tools(&events, "slack.progress"), kit.slack.posts().len()), (0, 0));
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asked_nothing_is_shown_nothing() {
    let mut kit = slow(2_000, "outcome = \"silent\"", "after_ms = 0, every_ms = 1200").await;
    let scores = "usefulness = 95, confidence = 95, urgency = 80, noise = 0, interruption_cost = 10, \
                  investigation_value = 20, reaction_fit = 0, answered = false, for_others = false";
    let weighs = format!(
        "[[rule]]\nwhen = [\"weigh\"]\n[[rule.step]]\ncall = {{ tool = \"score\", input = {{ {scores} }} }}\n"
    );
    kit.script = format!("{weighs}{}", kit.script);
    kit.more = "\n[converse]\nmodel = \"scripted/story\"\nmode = \"eager\"\n".to_owned();
    let office = kit.open().await;
    office.deliver(&message("Ev1", "C01GEN", "U01ALICE", THREAD, "how did we deploy last time?")).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!((ending(&events), kit.site.asked().len()), (TurnEnding::Silent, 1), "it looked");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!((kit.slack.posts().len(), kit.slack.called().len()), (0, 0), "and nobody knows");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_slack_asks_to_wait_the_line_waits_and_the_answer_does_not() {
    let finish = "outcome = \"answered\", text = \"It took a while.\"";
    let kit = slow(3_500, finish, "after_ms = 0, every_ms = 1200").await;
    kit.slack.set_faults("chat.update", [Fault::Wait(120)]);
    let office = kit.open().await;
    office.deliver(&asks("look it up")).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(ending(&events), TurnEnding::Answered);
    office.until("the line is gone", |_| kit.slack.standing().len() == 1).await;
    let events = office.events().await;
    assert!(tools(&events, "slack.progress-change") <= 1, "nobody knocks again before its time");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_whose_posting_was_lost_is_found_and_taken_away() {
    let finish = "outcome = \"answered\", text = \"It took a while.\"";
    let kit = slow(1_500, finish, "after_ms = 0, every_ms = 1200").await;
    kit.slack.set_faults("chat.postMessage", [Fault::LoseAnswer]);
    let (office, clock) = opened(&kit).await;
    office.deliver(&asks("look it up")).await;
    office.until_turns_ended(1).await;
    assert_eq!(kit.slack.standing().len(), 2, "the line and the answer");
    clock.0.fetch_add(FIRST_MS, Ordering::SeqCst);
    office.until("the line is gone", |_| kit.slack.standing().len() == 1).await;
    assert_eq!(kit.slack.standing()[0].1["text"], "It took a while.");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_of_a_host_that_was_killed_goes_when_the_turn_ends_at_the_next() {
    let finish = "outcome = \"answered\", text = \"It took a while.\"";
    let mut kit = slow(4_000, finish, "after_ms = 0, every_ms = 1200").await;
    kit.lease_ms = 4_000;
    let config = kit.write();
    let host = Host::serve(&config).await;
    assert_eq!(deliver(&host.url, &asks("look it up")).await, 200);
    let began = std::time::Instant::now();
    while kit.slack.posts().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "no line was shown");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    host.kill();
    let host = Host::serve(&config).await;
    let began = std::time::Instant::now();
    let is_done = || {
        let standing = kit.slack.standing();
        standing.len() == 1 && standing[0].1["text"] == "It took a while."
    };
    while !is_done() {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", kit.slack.standing());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    host.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_grows_is_one_message_and_one_effect() {
    let kit = streaming().await;
    let office = kit.open().await;
    office.deliver(&asks("tell me all")).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(ending(&events), TurnEnding::Answered);
    assert_one_whole(&kit);
    assert_eq!(
        (count(&events, "effect.intended"), count(&events, "effect.sent"), count(&events, "call.admitted")),
        (1, 1, 1 + models(&events)),
        "one decision, one intent, one outcome"
    );
    let first = &kit.slack.calls("chat.startStream")[0];
    assert_eq!(
        (&first["recipient_user_id"], &first["recipient_team_id"]),
        (&json!("U01ALICE"), &json!(TEAM))
    );
    assert!(kit.slack.calls("chat.appendStream").len() >= 2);
    assert_eq!(kit.slack.calls("chat.stopStream").len(), 1);
    office.stop().await;
}

/// The calls of models and of the office's own duties.
fn models(events: &[Event]) -> usize {
    let of = |event: &&Event| matches!(&event.fact, Fact::CallAdmitted(body) if body.tool != "slack.post");
    events.iter().filter(of).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_slack_says_to_a_stream_the_answer_ends_whole_and_once() {
    let not_streaming = Fault::No("message_not_in_streaming_state");
    let cases: [(&str, &str, Vec<Fault>); 7] = [
        ("an older Slack", "chat.startStream", vec![Fault::No("unknown_method")]),
        ("no recipient", "chat.startStream", vec![Fault::No("missing_recipient_team_id")]),
        ("too often", "chat.startStream", vec![Fault::Wait(30)]),
        ("it ends by itself", "chat.appendStream", vec![Fault::None, not_streaming]),
        ("too often meanwhile", "chat.appendStream", vec![Fault::None, Fault::Wait(30)]),
        ("a piece is lost on its way back", "chat.appendStream", vec![Fault::LoseAnswer]),
        ("the end is lost on its way back", "chat.stopStream", vec![Fault::LoseAnswer]),
    ];
    for (what, method, faults) in cases {
        let kit = streaming().await;
        kit.slack.set_faults(method, faults);
        let office = kit.open().await;
        office.deliver(&asks("tell me all")).await;
        let events = office.until_turns_ended(1).await;
        assert_eq!(ending(&events), TurnEnding::Answered, "{what}");
        assert_one_whole(&kit);
        assert_eq!(count(&events, "effect.sent"), 1, "{what}");
        office.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_broke_off_is_brought_to_its_end_in_the_same_message() {
    let kit = streaming().await;
    kit.slack.set_faults("chat.appendStream", [Fault::None, Fault::LoseRequest]);
    kit.slack.set_faults("chat.update", [Fault::LoseRequest]);
    let office = kit.open().await;
    office.deliver(&asks("tell me all")).await;
    let events = office.until("it was completed", |events| tools(events, "slack.complete") == 1).await;
    office.until("all of it stands", |_| words(&kit.slack.standing()[0].1).contains("end of 12")).await;
    assert_one_whole(&kit);
    assert_eq!(tools(&events, "slack.post"), 1);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_whose_beginning_was_lost_is_read_back_and_finished() {
    let kit = streaming().await;
    kit.slack.set_faults("chat.startStream", [Fault::LoseAnswer]);
    let (office, clock) = opened(&kit).await;
    office.deliver(&asks("tell me all")).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(count(&events, "effect.left-unknown"), 1);
    assert!(!words(&kit.slack.standing()[0].1).contains("end of 12"), "only its beginning stands");
    clock.0.fetch_add(FIRST_MS, Ordering::SeqCst);
    office.until("all of it stands", |_| words(&kit.slack.standing()[0].1).contains("end of 12")).await;
    assert_one_whole(&kit);
    let events = office.events().await;
    assert_eq!((tools(&events, "slack.post"), tools(&events, "slack.complete")), (1, 1));
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_the_middle_of_a_stream_it_is_finished_after_the_restart_and_never_said_twice() {
    let mut kit = streaming().await;
    kit.lease_ms = 4_000;
    kit.slack.set_faults("chat.appendStream", [Fault::None, Fault::Slow, Fault::Slow]);
    let config = kit.write();
    let host = Host::serve(&config).await;
    assert_eq!(deliver(&host.url, &asks("tell me all")).await, 200);
    let began = std::time::Instant::now();
    while kit.slack.calls("chat.appendStream").len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", kit.slack.called());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    host.kill();
    kit.slack.set_faults("chat.appendStream", []);
    assert!(!words(&kit.slack.standing()[0].1).contains("end of 12"));
    let host = Host::serve(&config).await;
    let began = std::time::Instant::now();
    while !words(&kit.slack.standing()[0].1).contains("end of 12") {
        assert!(began.elapsed() < Duration::from_secs(90), "{:?}", kit.slack.called());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_one_whole(&kit);
    host.kill();
}

async fn clicks(office: &Office, card: &(String, Value), user: &str, action: &str) {
    let payload = click(card, user, action, |_| {});
    assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drill_that_is_asked_for_in_slack_sends_nothing_and_tells_the_asker_alone_what_it_would_have() {
    let kit = with_approvals().await;
    let office = kit.open().await;
    assert_eq!(office.deliver(&asks("drill: erase it")).await, 200);
    office.until("the call waits", |events| count(events, "approval.asked") == 1).await;
    office.until("its card is shown", |_| kit.slack.cards().len() == 1).await;
    let card = kit.slack.cards().remove(0);
    clicks(&office, &card, OWNER, "approval.yes").await;
    office.until_turns_ended(1).await;
    let events = office.until("the asker is told", |_| kit.slack.whispers().len() == 1).await;
    assert_eq!((runs(&events), tools(&events, "slack.post")), (0, 0), "nothing was done or said");
    assert_eq!(count(&events, "effect.captured"), 2);
    let told = kit.slack.whispers().remove(0);
    assert_eq!((&told["user"], &told["thread_ts"]), (&json!("U01ALICE"), &json!(THREAD)));
    let text = words(&told);
    for part in ["This was a drill", "shredder.erase", "slack.post", "Bob &lt;!channel&gt;"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // What is asked without the word is done.
    let real = message("Ev2", "C01GEN", "U01ALICE", "1700000009.000100", "<@U0BOT> erase it");
    office.deliver(&real).await;
    office.until("the other call waits", |events| count(events, "approval.asked") == 2).await;
    office.stop().await;
}

fn shortcut(callback: &str, user: &str) -> Value {
    json!({"type": "message_action", "callback_id": callback, "trigger_id": "13345224609.738474920.8088930838d88f008e0",
        "action_ts": "1700000500.123456", "team": {"id": TEAM, "domain": "test"},
        "user": {"id": user, "name": "alice", "team_id": TEAM}, "channel": {"id": "C01GEN", "name": "general"},
        "message_ts": THREAD, "response_url": "https://hooks.slack.example/app/T01TEST/1/x",
        "message": {"type": "message", "user": "U02BOB", "ts": THREAD, "text": "hello, the tide turns at six"}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shortcut_on_a_message_is_answered_in_its_thread_in_the_name_of_whoever_used_it() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    let payload = shortcut("chancery.ask", "U01ALICE");
    assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
    // Slack may send it again.
    assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
    let events = office.until_turns_ended(1).await;
    let asked = events.iter().find_map(|event| match &event.fact {
        Fact::MessageReceived(body) => Some(body.clone()),
        _ => None,
    });
    let asked = asked.unwrap();
    assert_eq!(asked.author.principal.unwrap().as_str(), format!("person_slack.{TEAM}.U01ALICE"));
    assert!(asked.text.text().contains("&gt; hello, the tide turns at six"));
    let posts = kit.slack.posts();
    assert_eq!((posts.len(), &posts[0]["thread_ts"]), (1, &json!(THREAD)));
    // One from elsewhere asks nothing.
    let mut outside = shortcut("chancery.ask", "U09ELSE");
    outside["team"]["id"] = json!("T99OTHER");
    outside["action_ts"] = json!("1700000600.000001");
    deliver_click(&office.url, &outside, office.built.now()).await;
    let events = office.until_classified().await;
    assert_eq!(count(&events, "turn.opened"), 1);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drill_may_be_asked_for_with_a_shortcut() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    let payload = shortcut("chancery.drill", "U01ALICE");
    assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
    office.until_turns_ended(1).await;
    office.until("the asker is told", |_| kit.slack.whispers().len() == 1).await;
    assert!(kit.slack.posts().is_empty());
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_to_a_message_that_is_gone_never_stands_in_the_channel() {
    for how in [Gone::Said, Gone::Strays] {
        let mut kit = Kit::new().await;
        kit.slack_more = "live = { progress = \"off\" }\n".to_owned();
        kit.slack.set_gone(THREAD, how);
        let office = kit.open().await;
        office.deliver(&asks("hello")).await;
        let events = office.until_turns_ended(1).await;
        assert_eq!(ending(&events), TurnEnding::Failed, "{how:?}");
        assert_eq!(kit.slack.standing(), [], "{how:?}");
        assert_eq!((count(&events, "effect.failed"), count(&events, "effect.sent")), (1, 0), "{how:?}");
        office.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_taken_back_stops_its_turn_and_nothing_is_said() {
    let finish = "outcome = \"answered\", text = \"It took a while.\"";
    let kit = slow(20_000, finish, "progress = \"off\"").await;
    let office = kit.open().await;
    office.deliver(&asks("look it up")).await;
    office.until("the page is asked for", |_| !kit.site.asked().is_empty()).await;
    let mut deleted = asks("look it up");
    deleted["event_id"] = json!("Ev2");
    deleted["event"] = json!({"type": "message", "subtype": "message_deleted", "channel": "C01GEN",
        "channel_type": "channel", "ts": "1700000003.000100", "event_ts": "1700000003.000100", "deleted_ts": THREAD,
        "previous_message": {"type": "message", "user": "U01ALICE", "ts": THREAD, "text": "<@U0BOT> look it up"}});
    assert_eq!(office.deliver(&deleted).await, 200);
    let began = std::time::Instant::now();
    let events = office.until_turns_ended(1).await;
    assert!(began.elapsed() < Duration::from_secs(15), "the call under way is let go of");
    assert_eq!(ending(&events), TurnEnding::Stopped);
    let steered = events.iter().find_map(|event| match &event.fact {
        Fact::TurnSteered(body) => Some((body.steering, body.reason.clone())),
        _ => None,
    });
    assert_eq!(steered.unwrap(), (Steering::Stop, "taken-back".to_owned()));
    assert!(kit.slack.posts().is_empty());
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_of_the_assistant_view_suggests_shows_a_status_and_gets_a_title() {
    let finish = "outcome = \"silent\"";
    let live = "every_ms = 1200, prompts = [{ title = \"Tides\", message = \"When does the tide turn?\" }]";
    let kit = slow(2_500, finish, live).await;
    let office = kit.open().await;
    let mut started = asks("");
    started["event"] = json!({"type": "assistant_thread_started", "event_ts": "1700000000.000200",
        "assistant_thread": {"user_id": "U01ALICE", "channel_id": "D01ALICE", "thread_ts": THREAD, "context": {}}});
    assert_eq!(office.deliver(&started).await, 200);
    office
        .until("prompts are suggested", |_| {
            kit.slack.calls("assistant.threads.setSuggestedPrompts").len() == 1
        })
        .await;
    let prompts = kit.slack.calls("assistant.threads.setSuggestedPrompts").remove(0);
    assert_eq!((&prompts["channel_id"], &prompts["thread_ts"]), (&json!("D01ALICE"), &json!(THREAD)));
    assert_eq!(prompts["prompts"][0]["title"], "Tides");
    let mut says = message("Ev2", "D01ALICE", "U01ALICE", "1700000001.000100", "when does the tide turn?");
    says["event"]["thread_ts"] = json!(THREAD);
    says["event"]["channel_type"] = json!("im");
    says["event"]["assistant_thread"] = json!({"action_token": "x"});
    assert_eq!(office.deliver(&says).await, 200);
    let events = office.until_turns_ended(1).await;
    let reason = |word: &str| {
        events
            .iter()
            .any(|event| matches!(&event.fact, Fact::DeliveryClassified(body) if body.reason == word))
    };
    assert!(reason("assistant-opened") && reason("assistant-thread"));
    let statuses = || kit.slack.calls("assistant.threads.setStatus");
    office
        .until("the status is taken back", |_| statuses().last().is_some_and(|body| body["status"] == ""))
        .await;
    assert_eq!(statuses()[0]["status"], "is thinking…");
    assert!(
        statuses().iter().any(|body| body["status"].as_str().unwrap().contains("web.fetch")),
        "{:?}",
        statuses()
    );
    office.until("it has a title", |_| kit.slack.calls("assistant.threads.setTitle").len() == 1).await;
    assert_eq!(kit.slack.calls("assistant.threads.setTitle")[0]["title"], "when does the tide turn?");
    assert!(kit.slack.posts().is_empty(), "no line where there is a status");
    office.stop().await;
}
