//! A person's words through a whole office, on the disk and off it again: sealed wherever anything is kept, repeated to
//! people all the same, and gone for good at a word of the operator.

use event::{
    Event, EventId, Expected, Fact, Label, PrincipalId, Proposed, StreamName, SubjectShredded, TurnEnding,
};
use serde_json::json;
use std::path::Path;
use tests::slack::{BOT_USER, app_mention};
use tests::{Kit, host};

/// What Alice says, in a thread of her own.
const ALICES: &str = "quicksilver-lantern";
/// What Bob says, in a thread of his own and in Alice's.
const BOBS: &str = "velvet-anchor";

/// Fetches what it is told to, and repeats what it was told, whoever hears it.
const SCRIPT: &str = r#"
[[rule]]
when = ["read"]
[[rule.step]]
say = "I will read {{url}}."
call = { tool = "web.fetch", input = { url = "{{url}}" } }
[[rule.step]]
say = "And a place that nobody granted."
call = { tool = "web.fetch", input = { url = "https://intranet.example.com/?q={{text}}" } }
[[rule.step]]
finish = { outcome = "answered", text = "You said {{text}}" }
[[rule]]
when = ["hello"]
[[rule.step]]
finish = { outcome = "answered", text = "You said {{text}}" }
"#;

fn person(user: &str) -> PrincipalId {
    PrincipalId::parse(&format!("person_slack.T01TEST.{user}")).unwrap()
}

/// Whether any file under `folder` holds `words`, but for the pages of the test's own site.
fn says(folder: &Path, words: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        let holds = |bytes: Vec<u8>| bytes.windows(words.len()).any(|window| window == words.as_bytes());
        if path.is_dir() { says(&path, words) } else { holds(std::fs::read(&path).unwrap()) }
    })
}

/// A mention in a thread.
fn mention(id: &str, user: &str, ts: &str, thread: &str, text: &str) -> serde_json::Value {
    let mut payload = app_mention(id, "C01GEN", user, ts, &format!("<@{BOT_USER}> {text}"));
    payload["event"]["thread_ts"] = json!(thread);
    payload
}

/// What the office posted, as Slack delivers it back to it.
fn echo(id: &str, ts: &str, thread: &str, text: &str) -> serde_json::Value {
    let mut payload = mention(id, BOT_USER, ts, thread, "");
    payload["event"]["type"] = json!("message");
    payload["event"]["bot_id"] = json!("B0BOT");
    payload["event"]["text"] = json!(text);
    payload
}

/// What `chancery` prints when it is told this; it succeeds.
fn told(config: &Path, arguments: &[&str]) -> String {
    let output = host::run(config, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn endings(events: &[Event]) -> Vec<TurnEnding> {
    let ended = events.iter().filter_map(|event| match &event.fact {
        Fact::TurnEnded(ended) => Some(ended.ending),
        _ => None,
    });
    ended.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_said_is_never_on_the_disk_in_the_open_and_can_be_erased_for_good() {
    let mut kit = Kit::new().await;
    kit.script = SCRIPT.to_owned();
    let office = kit.open().await;
    let asked = format!("read <{}/?q={ALICES}> {ALICES}", kit.site.origin);
    assert_eq!(office.deliver(&mention("Ev1", "U01ALICE", "1.000100", "1.000100", &asked)).await, 200);
    office.until_turns_ended(1).await;
    let answer = kit.slack.posts()[0]["text"].as_str().unwrap().to_owned();
    assert!(answer.contains(ALICES), "{answer}");
    assert_eq!(office.deliver(&echo("Ev2", "1.000200", "1.000100", &answer)).await, 200);
    let hello = format!("hello {BOBS}");
    assert_eq!(office.deliver(&mention("Ev3", "U02BOB", "1.000300", "1.000100", &hello)).await, 200);
    office.until_turns_ended(2).await;
    assert_eq!(office.deliver(&mention("Ev4", "U02BOB", "2.000100", "2.000100", &hello)).await, 200);
    office.until_turns_ended(3).await;
    let events = office.until_classified().await;
    assert_eq!(endings(&events), [TurnEnding::Answered; 3]);
    let text = format!("{events:?}");
    assert!(text.contains(ALICES) && text.contains(BOBS));
    office.stop().await;

    let config = kit.write();
    told(&config, &["record", "export", "--to", kit.folder().join("journal").to_str().unwrap()]);
    for words in [ALICES, BOBS] {
        assert!(!says(kit.folder(), words), "`{words}` is on the disk");
    }
    let listed = told(&config, &["subject", "list"]);
    assert!(
        listed.contains(person("U01ALICE").as_str()) && listed.contains(person("U02BOB").as_str()),
        "{listed}"
    );
    let refused = host::run(&config, &["subject", "shred", person("U01ALICE").as_str()]);
    assert!(!refused.status.success(), "nobody was asked");
    let said =
        told(&config, &["subject", "shred", person("U01ALICE").as_str(), "--yes", "--reason", "she asked"]);
    assert!(said.contains("hold words of") && said.contains("is destroyed"), "{said}");
    assert!(
        told(&config, &["subject", "shred", person("U01ALICE").as_str(), "--yes"]).contains("no word of")
    );

    // What was said to both is erased with the one; what Bob said alone is not.
    let shown = told(&config, &["record", "show", "--json"]);
    assert!(!shown.contains(ALICES));
    let open: Vec<&str> = shown.lines().filter(|line| line.contains(BOBS)).collect();
    let of = |kind: &str| open.iter().filter(|line| line.contains(&format!(r#""kind":"{kind}""#))).count();
    assert_eq!((of("message.received"), of("turn.ended")), (2, 1), "{open:#?}");
    assert!(told(&config, &["record", "show"]).contains("[erased]"));
    assert!(told(&config, &["record", "verify"]).contains("consistent"));
    let live = app::Config::read(&config, [])
        .unwrap()
        .record
        .open_read_only()
        .await
        .unwrap()
        .rows_digest()
        .await
        .unwrap();
    assert!(told(&config, &["record", "rebuild"]).contains(live.as_str()));
    let office = kit.open().await;

    // She speaks again, in the same thread: a new key, and none of what was before.
    let again = mention("Ev5", "U01ALICE", "1.000400", "1.000100", "hello copper-thimble");
    assert_eq!(office.deliver(&again).await, 200);
    let events = office.until_turns_ended(4).await;
    assert_eq!(endings(&events).last(), Some(&TurnEnding::Answered));
    assert!(kit.slack.posts().last().unwrap()["text"].as_str().unwrap().contains("copper-thimble"));
    assert!(!format!("{events:?}").contains(ALICES));
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_that_was_stated_and_not_done_is_done_at_the_next_start() {
    let mut kit = Kit::new().await;
    kit.script = SCRIPT.to_owned();
    let office = kit.open().await;
    assert_eq!(office.deliver(&mention("Ev1", "U01ALICE", "1.000100", "1.000100", ALICES)).await, 200);
    let events = office.until_classified().await;
    assert!(format!("{events:?}").contains(ALICES));
    let (record, subject) = (office.built.record.clone(), person("U01ALICE"));
    let key = record.keyring().unwrap().key_id(&subject).unwrap().unwrap();
    let fact = SubjectShredded { subject: subject.clone(), keys: vec![key.to_string()], reason: "x".into() };
    let actor = event::Actor { principal: PrincipalId::host(), seat: None };
    let event = Proposed {
        id: EventId::derived(&["shredded"]),
        actor,
        cause: None,
        label: Label::host(),
        fact: fact.into(),
    };
    record.append(StreamName::new("subject", &subject), Expected::Any, vec![event]).await.unwrap();
    drop(record);
    office.stop().await;
    let office = kit.open().await;
    assert_eq!(office.built.record.keyring().unwrap().key_id(&subject).unwrap(), None);
    assert!(!format!("{:?}", office.events().await).contains(ALICES));
    office.stop().await;
}
