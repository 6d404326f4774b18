//! What waits for a person's yes, in Slack: the card in the thread, the click, the one run, and the card that says how
//! it was decided; through expiry, races, strangers and kills.

use event::{Event, Fact, GlobalPosition, PrincipalId, Timestamp, TurnEnding};
use record::{Clock, Record, SystemClock};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tests::office::{deliver, deliver_click, guests, repository};
use tests::slack::{Mood, buttons, click, message};
use tests::{Host, Kit, Office};

/// The owner's user, and somebody else's.
const OWNER: &str = "U01OWNER";
const SECOND: &str = "U02OWNER";
const STRANGER: &str = "U03ELSE";

/// An office whose model wants to erase a page, which a policy of the test lets it once a person says yes.
pub async fn kit() -> Kit {
    let mut kit = Kit::new().await;
    kit.owner = format!("person_slack.T01TEST.{OWNER}");
    kit.script = r#"
[[rule]]
when = []
[[rule.step]]
call = { tool = "shredder.erase", input = { page = "Bob <!channel>" } }
[[rule.step]]
finish = { outcome = "answered", text = "erased: {{result.1.page}}; not: {{result.1.reason}}" }
"#
    .to_owned();
    let policies = kit.folder().join("policies");
    std::fs::create_dir(&policies).unwrap();
    for entry in std::fs::read_dir(repository().join("policies")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "cedar") {
            std::fs::copy(&path, policies.join(path.file_name().unwrap())).unwrap();
        }
    }
    let erases = r#"@id("assistant-erases")
@reason("an assistant of this test erases")
permit (principal in Role::"assistant", action == Action::"shredder.erase", resource);
"#;
    std::fs::write(policies.join("test.cedar"), erases).unwrap();
    kit.policies = policies;
    kit.more = format!(
        "[[plugin]]\nname = \"shredder\"\nfile = \"{}\"\n[[seat]]\nname = \"seat_second\"\nrole = \"owner\"\nholder = \"person_slack.T01TEST.{SECOND}\"\n",
        guests().join("shredder.wasm").display()
    );
    kit
}

pub fn asks(n: usize) -> Value {
    let ts = format!("17000000{n:02}.000100");
    message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &ts, "<@U0BOT> erase it")
}

pub fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

/// How often the tool began.
pub fn runs(events: &[Event]) -> usize {
    let runs =
        |event: &&Event| matches!(&event.fact, Fact::EffectIntended(body) if body.tool == "shredder.erase");
    events.iter().filter(runs).count()
}

fn sent(events: &[Event], tool: &str) -> usize {
    let of = |id: &event::EffectId| {
        events.iter().any(|event| matches!(&event.fact, Fact::EffectIntended(body) if body.effect == *id && body.tool == tool))
    };
    events.iter().filter(|event| matches!(&event.fact, Fact::EffectSent(body) if of(&body.effect))).count()
}

/// An office in which one call waits, with its card.
async fn waiting(kit: &Kit) -> (Office, (String, Value)) {
    let office = kit.open().await;
    assert_eq!(office.deliver(&asks(1)).await, 200);
    office.until("the card is shown", |events| sent(events, "slack.card") == 1).await;
    (office, kit.slack.cards().remove(0))
}

async fn clicks(office: &Office, card: &(String, Value), user: &str, action: &str) {
    let payload = click(card, user, action, |_| {});
    assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
}

async fn updated(office: &Office, times: usize) -> Vec<Event> {
    office.until("the card was changed", |events| sent(events, "slack.card-update") >= times).await
}

fn answer(kit: &Kit) -> String {
    let posts = kit.slack.posts();
    let answers: Vec<&Value> = posts.iter().filter(|post| buttons(post).is_empty()).collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers[0]["text"].as_str().unwrap().to_owned()
}

/// What the card says instead of its buttons, newest last.
fn states(kit: &Kit) -> Vec<String> {
    let updates = kit.slack.updates();
    assert!(updates.iter().all(|update| buttons(update).is_empty()));
    updates.iter().map(|update| update["blocks"][1]["text"]["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_on_the_card_runs_the_call_once_and_the_card_says_so() {
    let kit = kit().await;
    let (office, card) = waiting(&kit).await;
    let (_, shown) = &card;
    assert_eq!((&shown["channel"], &shown["thread_ts"]), (&json!("C01GEN"), &json!("1700000001.000100")));
    let text = shown.to_string();
    for words in
        ["shredder.erase", "destructive", "seat_front-desk", "cannot be taken back", "Bob &lt;!channel&gt;"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(shown["text"].as_str().unwrap().starts_with(&format!("<@{OWNER}> ")), "{text}");
    assert!(!text.contains("<!"), "{text}");
    assert_eq!(runs(&office.events().await), 0, "it waits");
    // The same click delivered twice, and a second click that says the same.
    clicks(&office, &card, OWNER, "approval.yes").await;
    clicks(&office, &card, OWNER, "approval.yes").await;
    let again = click(&card, OWNER, "approval.yes", |payload| payload["trigger_id"] = json!("another"));
    assert_eq!(deliver_click(&office.url, &again, office.built.now()).await, 200);
    office.until_turns_ended(1).await;
    office.until_classified().await;
    updated(&office, 1).await;
    office
        .until("the card says that it ran", |_| {
            states(&kit).last().is_some_and(|state| state.contains("the call was made"))
        })
        .await;
    let events = office.events().await;
    assert_eq!(
        (runs(&events), count(&events, "approval.given"), count(&events, "approval.spent")),
        (1, 1, 1)
    );
    assert!(answer(&kit).starts_with("erased: Bob &lt;!channel&gt;"));
    let update = kit.slack.updates().pop().unwrap();
    assert_eq!((&update["channel"], &update["ts"]), (&json!("C01GEN"), &json!(card.0)));
    assert!(states(&kit).last().unwrap().contains(&format!("<@{OWNER}> said yes")));
    assert_eq!(kit.slack.whispers(), Vec::<Value>::new());
    assert_eq!(kit.slack.cards().len(), 1);
    office.built.record.verify(None).await.unwrap();
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_on_the_card_is_told_to_the_model_and_nothing_runs() {
    let kit = kit().await;
    let (office, card) = waiting(&kit).await;
    clicks(&office, &card, OWNER, "approval.no").await;
    let events = office.until_turns_ended(1).await;
    updated(&office, 1).await;
    assert_eq!((runs(&events), count(&events, "approval.denied")), (0, 1));
    assert!(answer(&kit).contains("said no"), "{}", answer(&kit));
    assert_eq!(states(&kit), [format!("<@{OWNER}> said no. It does not run.")]);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_answer_is_told_alone_and_the_call_still_waits() {
    let kit = kit().await;
    let (office, card) = waiting(&kit).await;
    clicks(&office, &card, STRANGER, "approval.yes").await;
    office.until("they are told", |events| sent(events, "slack.whisper") == 1).await;
    let told = kit.slack.whispers().remove(0);
    assert_eq!((&told["channel"], &told["user"]), (&json!("C01GEN"), &json!(STRANGER)));
    assert_eq!(told["thread_ts"], "1700000001.000100");
    assert!(told["text"].as_str().unwrap().contains("may not answer for this call"), "{told}");
    let events = office.events().await;
    assert_eq!(
        (runs(&events), count(&events, "approval.given"), count(&events, "approval.denied")),
        (0, 0, 0)
    );
    assert_eq!(kit.slack.updates(), Vec::<Value>::new());
    clicks(&office, &card, SECOND, "approval.yes").await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(runs(&events), 1);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_yes_and_a_no_that_race_one_counts_and_the_other_is_told() {
    let kit = kit().await;
    let (office, card) = waiting(&kit).await;
    tokio::join!(
        clicks(&office, &card, OWNER, "approval.yes"),
        clicks(&office, &card, SECOND, "approval.no")
    );
    let events = office.until_turns_ended(1).await;
    let (given, denied) = (count(&events, "approval.given"), count(&events, "approval.denied"));
    assert_eq!((given + denied, runs(&events)), (1, given));
    office.until("the other is told", |events| sent(events, "slack.whisper") == 1).await;
    let told = kit.slack.whispers().remove(0);
    assert_eq!(told["user"], if given == 1 { SECOND } else { OWNER });
    assert!(told["text"].as_str().unwrap().contains("it was answered before"), "{told}");
    office.stop().await;
}

/// The system's clock, which a test may move on.
struct Moved(AtomicI64);

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_ms(self.0.load(Ordering::SeqCst))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_in_time_is_a_no_and_a_click_after_that_is_told_so() {
    let kit = kit().await;
    let clock = Arc::new(Moved(AtomicI64::new(0)));
    let ports = app::Ports { clock: clock.clone(), ..app::Ports::system() };
    let office = kit.open_with(ports).await;
    office.deliver(&asks(1)).await;
    office.until("the card is shown", |events| sent(events, "slack.card") == 1).await;
    let card = kit.slack.cards().remove(0);
    clock.0.store(16 * 60 * 1_000, Ordering::SeqCst);
    let events = office.until_turns_ended(1).await;
    updated(&office, 1).await;
    assert_eq!((runs(&events), count(&events, "approval.expired")), (0, 1));
    assert!(answer(&kit).contains("no answer is a no"), "{}", answer(&kit));
    assert!(states(&kit)[0].contains("Nobody answered in time"));
    clicks(&office, &card, OWNER, "approval.yes").await;
    let events = office.until("they are told", |events| sent(events, "slack.whisper") == 1).await;
    assert!(kit.slack.whispers()[0]["text"].as_str().unwrap().contains("it expired"));
    assert_eq!((runs(&events), count(&events, "approval.given")), (0, 0));
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_click_from_elsewhere_or_with_another_value_counts_for_nothing() {
    let kit = kit().await;
    let (office, card) = waiting(&kit).await;
    let changes: [fn(&mut Value); 6] = [
        |payload| payload["team"]["id"] = json!("T99OTHER"),
        |payload| payload["user"]["team_id"] = json!("T99OTHER"),
        |payload| payload["user"]["is_stranger"] = json!(true),
        |payload| payload["user"]["is_bot"] = json!(true),
        |payload| payload["actions"][0]["value"] = json!("turn_1"),
        |payload| payload["user"]["id"] = json!("U0BOT"),
    ];
    for change in changes {
        let payload = click(&card, OWNER, "approval.yes", change);
        assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
    }
    // An approval that is none, and the right one on another message: the person is told.
    let forged = click(&card, OWNER, "approval.yes", |payload| {
        payload["actions"][0]["value"] = json!("approval_0000")
    });
    let elsewhere =
        click(&card, OWNER, "approval.yes", |payload| payload["container"]["message_ts"] = json!("1.000001"));
    for payload in [forged, elsewhere] {
        assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
    }
    let events = office.until("two are told", |events| sent(events, "slack.whisper") == 2).await;
    assert_eq!(
        (count(&events, "approval.given"), count(&events, "approval.denied"), runs(&events)),
        (0, 0, 0)
    );
    let told: Vec<String> =
        kit.slack.whispers().iter().map(|told| told["text"].as_str().unwrap().to_owned()).collect();
    assert!(told[0].contains("no such approval") && told[1].contains("not the card"), "{told:?}");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_that_slack_has_no_time_for_is_posted_later() {
    let kit = kit().await;
    kit.slack.set_mood(Mood::Busy);
    let office = kit.open().await;
    office.deliver(&asks(1)).await;
    office.until("Slack asks to wait", |events| count(events, "effect.failed") == 1).await;
    kit.slack.set_mood(Mood::Good);
    office.until("the card is shown", |events| sent(events, "slack.card") == 1).await;
    assert_eq!(kit.slack.cards().len(), 1);
    office.stop().await;
}

/// The parts of an office of which nothing runs: what is on the record stays there, as after a kill.
async fn at_rest(kit: &Kit) -> app::Office {
    let config = app::Config::read(&kit.write(), []).unwrap();
    app::Office::build(config, app::Ports::system()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_click_and_an_answer_from_before_a_restart_are_acted_on_once_after_it() {
    let kit = kit().await;
    let (office, card) = waiting(&kit).await;
    office.stop().await;
    // The click was taken, and whoever took it died.
    let rest = at_rest(&kit).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let keys = app::wire::signing_keys(&rest.config).unwrap();
    let front = front::Front {
        record: rest.record.clone(),
        host: PrincipalId::host(),
        keys,
        installs: None,
        clock: rest.clock.clone(),
        journal: None,
        sockets: Vec::new(),
    };
    let listening = tokio::spawn(front::listen(listener, front::router(front), std::future::pending()));
    let payload = click(&card, OWNER, "approval.yes", |_| {});
    assert_eq!(deliver_click(&url, &payload, rest.now()).await, 200);
    listening.abort();
    let approval = buttons(&card.1)[0]["value"].as_str().unwrap().to_owned();
    drop(rest);
    let office = kit.open().await;
    let events = office.until_turns_ended(1).await;
    assert_eq!((runs(&events), count(&events, "approval.given")), (1, 1));
    updated(&office, 1).await;
    // The answer was taken, and whoever took it died before the call.
    office.deliver(&asks(2)).await;
    office.until("the second card is shown", |events| sent(events, "slack.card") == 2).await;
    office.stop().await;
    let second = buttons(&kit.slack.cards()[1].1)[0]["value"].as_str().unwrap().to_owned();
    assert_ne!(approval, second);
    let rest = at_rest(&kit).await;
    let owner = rest.config.owner().unwrap();
    rest.gate.answer(&event::ApprovalId::parse(&second).unwrap(), &owner, gate::Answer::Yes).await.unwrap();
    drop(rest);
    let office = kit.open().await;
    let events = office.until_turns_ended(2).await;
    assert_eq!((runs(&events), count(&events, "approval.spent")), (2, 2));
    updated(&office, 2).await;
    assert_eq!(kit.slack.cards().len(), 2);
    office.stop().await;
}

async fn record(folder: &Path) -> Vec<Event> {
    let record = Record::open_sqlite_read_only(&folder.join("office.sqlite")).await.unwrap();
    record.read_all(GlobalPosition(0), 10_000).await.unwrap()
}

async fn until(folder: &Path, what: &str, enough: impl Fn(&[Event]) -> bool) -> Vec<Event> {
    let began = std::time::Instant::now();
    loop {
        let events = record(folder).await;
        if enough(&events) {
            return events;
        }
        let told = || events.iter().map(app::show::line).collect::<Vec<_>>().join("\n");
        assert!(began.elapsed() < Duration::from_secs(90), "the record never said: {what}\n{}", told());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// How long after the click each host is killed, in milliseconds: before, in and after the call.
const KILLED_AFTER_MS: [u64; 4] = [0, 25, 70, 200];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_after_a_click_the_call_runs_at_most_once_and_the_card_is_posted_once() {
    let mut kit = kit().await;
    kit.lease_ms = 3_000;
    let config = kit.write();
    for (n, after_ms) in KILLED_AFTER_MS.into_iter().enumerate() {
        let asked = n + 1;
        let host = Host::serve(&config).await;
        assert_eq!(deliver(&host.url, &asks(asked)).await, 200);
        until(kit.folder(), "the card is shown", |events| sent(events, "slack.card") == asked).await;
        let card = kit.slack.cards().pop().unwrap();
        let payload = click(&card, OWNER, "approval.yes", |_| {});
        assert_eq!(deliver_click(&host.url, &payload, SystemClock.now()).await, 200);
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        host.kill();
    }
    let host = Host::serve(&config).await;
    let all = KILLED_AFTER_MS.len();
    let events = until(kit.folder(), "every turn ended", |events| count(events, "turn.ended") == all).await;
    host.kill();
    assert_eq!((count(&events, "approval.asked"), count(&events, "approval.given")), (all, all));
    assert_eq!((count(&events, "approval.spent"), runs(&events), kit.slack.cards().len()), (all, all, all));
    let unknown = count(&events, "effect.left-unknown");
    let answers = kit.slack.posts().iter().filter(|post| buttons(post).is_empty()).count();
    assert!(answers <= all && sent(&events, "shredder.erase") + unknown >= all, "{answers} {unknown}");
    let verified = tests::host::run(&config, &["record", "verify"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_slack_takes_the_card_it_is_not_posted_twice_and_can_still_be_answered() {
    let mut kit = kit().await;
    kit.lease_ms = 3_000;
    kit.slack.set_mood(Mood::Slow);
    let config = kit.write();
    let host = Host::serve(&config).await;
    assert_eq!(deliver(&host.url, &asks(1)).await, 200);
    let intended = |events: &[Event]| {
        events.iter().any(|e| matches!(&e.fact, Fact::EffectIntended(b) if b.tool == "slack.card"))
    };
    until(kit.folder(), "the card is about to be posted", intended).await;
    // Slack takes it before it answers, and the answer finds nobody.
    while kit.slack.cards().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    host.kill();
    kit.slack.set_mood(Mood::Good);
    let host = Host::serve(&config).await;
    until(kit.folder(), "nobody knows whether it was posted", |events| {
        count(events, "effect.left-unknown") == 1
    })
    .await;
    let card = kit.slack.cards().pop().unwrap();
    let payload = click(&card, OWNER, "approval.yes", |_| {});
    assert_eq!(deliver_click(&host.url, &payload, SystemClock.now()).await, 200);
    let events = until(kit.folder(), "the turn ended", |events| count(events, "turn.ended") == 1).await;
    host.kill();
    assert_eq!((runs(&events), kit.slack.cards().len()), (1, 1));
    let ended = events.iter().find_map(|event| match &event.fact {
        Fact::TurnEnded(ended) => Some(ended.ending),
        _ => None,
    });
    assert_eq!(ended, Some(TurnEnding::Answered));
}
