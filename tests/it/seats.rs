//! Seats: the first office is read once, the owner changes them beside a running office, and the work of a vacant
//! seat is done by whoever works for it, or waits.

use event::{
    Actor, Event, EventId, Expected, Fact, Label, PrincipalId, Proposed, RequestAsked, RequestId,
    SeatChanged, SeatCreated, SeatHeld, SeatId, SeatVacated, StreamName, Timestamp, Topic, TurnOpened,
};
use fold::seat::{SeatState, Seats};
use fold::{Projection, decode};
use record::{Memory, Record, SystemClock};
use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;
use tests::slack::message;
use tests::{Kit, Office};

/// A second seat that may do what the front desk may.
const SECOND: &str = r#"
[[seat]]
name = "seat_second"
role = "assistant"
holder = "agent_second"
grants = ["web.*", "slack.post", "scripted/story"]
"#;
/// A seat that nobody holds and nobody works for.
const LEGAL: &str = r#"
[[seat]]
name = "seat_legal"
role = "assistant"
grants = ["scripted/story"]
"#;
/// A seat of the owner's that may make others.
const HEAD: &str = r#"
[[seat]]
name = "seat_head"
role = "head"
holder = "person_operator"
grants = ["web.*", "role:assistant", "record:seat.created", "record:seat.held", "record:seat.changed"]
line = "seat_owner"
"#;

/// Runs `chancery` beside the office, on a thread of its own, so that the office goes on.
async fn cli(config: &std::path::Path, arguments: &[&str]) -> Output {
    let (config, arguments) =
        (config.to_path_buf(), arguments.iter().map(|&a| a.to_owned()).collect::<Vec<_>>());
    tokio::task::spawn_blocking(move || {
        tests::host::run(&config, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    })
    .await
    .unwrap()
}

/// Runs it and expects it to work; what it said.
async fn done(config: &std::path::Path, arguments: &[&str]) -> String {
    let output = cli(config, arguments).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &said
}

/// Runs it and expects a no of one line; the line.
async fn refused(config: &std::path::Path, arguments: &[&str]) -> String {
    let output = cli(config, arguments).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?} was done");
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("chancery: ")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    lines[0].to_owned()
}

async fn kit(more: &str) -> (Kit, PathBuf) {
    let mut kit = Kit::new().await;
    kit.more = more.to_owned();
    let config = kit.write();
    (kit, config)
}

fn seat(name: &str) -> SeatId {
    SeatId::parse(&format!("seat_{name}")).unwrap()
}

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

/// The seats whose turns were opened, in order.
fn turns_of(events: &[Event]) -> Vec<SeatId> {
    let opened = |event: &Event| match &event.fact {
        Fact::TurnOpened(opened) => Some(opened.seat.clone()),
        _ => None,
    };
    events.iter().filter_map(opened).collect()
}

fn at(events: &[Event], kind: &str, last: bool) -> usize {
    let is = |event: &Event| event.fact.kind() == kind;
    let found = if last { events.iter().rposition(is) } else { events.iter().position(is) };
    found.unwrap_or_else(|| panic!("no {kind}"))
}

async fn hello(office: &Office, n: u32) {
    let ts = format!("170000000{n}.000100");
    let said = message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &ts, "<@U0BOT> hello");
    assert_eq!(office.deliver(&said).await, 200);
}

async fn asks_for_the_page(kit: &Kit, office: &Office, n: u32) {
    let ts = format!("170000000{n}.000100");
    let text = format!("<@U0BOT> what does <{}/> say?", kit.site.origin);
    assert_eq!(office.deliver(&message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &ts, &text)).await, 200);
}

async fn append(record: &Record, stream: StreamName, fact: impl Into<Fact>) {
    let fact = fact.into();
    let id = EventId::derived(&[stream.as_str(), &fact.body().to_string()]);
    let actor = Actor { principal: PrincipalId::host(), seat: None };
    let event = Proposed { id, actor, cause: None, label: Label::host(), fact };
    record.append(stream, Expected::Any, vec![event]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_office_is_read_once_and_what_differs_later_is_told_and_not_done() {
    let (mut kit, config) = kit("").await;
    let office = kit.open().await;
    let first = office.events().await;
    assert_eq!(count(&first, "seat.created"), 3, "the owner's seat and two of the file");
    office.stop().await;
    done(
        &config,
        &["seat", "change", "seat_front-desk", "--add-grant", "slack.react", "--reason", "it reacts"],
    )
    .await;
    kit.more = SECOND.to_owned();
    let office = kit.open().await;
    let events = office.events().await;
    assert_eq!(count(&events, "seat.created"), 3);
    assert_eq!(count(&events, "seat.changed"), 1, "what was changed is not changed back");
    office.stop().await;
    let said = done(&config, &["doctor"]).await;
    assert!(
        said.contains("chancery seat create seat_second --role assistant --holder agent_second"),
        "{said}"
    );
    assert!(said.contains("chancery seat change seat_front-desk --remove-grant slack.react"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_owner_changes_counts_at_the_next_call_of_the_running_office() {
    let (kit, config) = kit("").await;
    let office = kit.open().await;
    asks_for_the_page(&kit, &office, 1).await;
    office.until_turns_ended(1).await;
    assert_eq!(kit.site.asked().len(), 1);
    let change =
        |what: &'static str| ["seat", "change", "seat_front-desk", what, "web.*", "--reason", "a test"];
    done(&config, &change("--remove-grant")).await;
    asks_for_the_page(&kit, &office, 2).await;
    let events = office.until_turns_ended(2).await;
    assert_eq!(kit.site.asked().len(), 1, "it read nothing");
    let changed = events.iter().find(|event| event.fact.kind() == "seat.changed").unwrap();
    assert_eq!(changed.actor.principal.as_str(), "person_operator");
    assert_eq!(changed.actor.seat, Some(seat("owner")));
    done(&config, &change("--add-grant")).await;
    asks_for_the_page(&kit, &office, 3).await;
    office.until_turns_ended(3).await;
    assert_eq!(kit.site.asked().len(), 2, "and reads again");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seat_hands_on_no_more_than_it_holds_also_when_the_owner_sits_in_it() {
    let (kit, config) = kit(&(HEAD.to_owned() + SECOND)).await;
    let office = kit.open().await;
    let before = office.events().await.len();
    let makes = |grant: &'static str, name: &'static str| {
        [
            "seat",
            "create",
            name,
            "--role",
            "assistant",
            "--grant",
            grant,
            "--line",
            "seat_head",
            "--as",
            "seat_head",
        ]
    };
    let no = refused(&config, &makes("slack.post", "seat_new")).await;
    assert!(
        no.contains("`seat_head` cannot hand on `slack.post`") && no.contains("take `slack.post` out"),
        "{no}"
    );
    let more =
        ["seat", "change", "seat_head", "--add-grant", "slack.*", "--reason", "more", "--as", "seat_head"];
    assert!(refused(&config, &more).await.contains("`seat_head` cannot hand on `slack.*`"));
    let foreign = ["seat", "vacate", "seat_second", "--reason", "x", "--as", "seat_second"];
    assert!(refused(&config, &foreign).await.contains("`person_operator` does not hold `seat_second`"));
    let lacks = ["seat", "vacate", "seat_second", "--reason", "x", "--as", "seat_head"];
    assert!(refused(&config, &lacks).await.contains("no grant `record:seat.vacated`"));
    let circle = ["seat", "change", "seat_head", "--line", "seat_head", "--reason", "x"];
    assert!(refused(&config, &circle).await.contains("`seat_head` would report to itself"));
    let nobody = ["seat", "change", "seat_head", "--line", "seat_gone", "--reason", "x"];
    assert!(refused(&config, &nobody).await.contains("`seat_head` names `seat_gone`"));
    let six = ["--accountability", "a"].repeat(6);
    let six = [&["seat", "change", "seat_head", "--reason", "x"][..], &six].concat();
    assert!(refused(&config, &six).await.contains("at most 5 things"));
    let twice = ["seat", "create", "seat_head", "--role", "head"];
    assert!(refused(&config, &twice).await.contains("the seat `seat_head` exists"));
    assert!(refused(&config, &["seat", "hold", "seat_owner", "agent_a"]).await.contains("[office] owner"));
    assert_eq!(office.events().await.len(), before, "a refused wish leaves nothing");
    done(&config, &makes("web.fetch", "seat_new")).await;
    let shown = done(&config, &["seat", "show", "seat_new"]).await;
    assert!(
        shown.contains("seat_head > seat_owner") && shown.contains("nobody: seat_head works for it"),
        "{shown}"
    );
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_of_a_vacant_seat_is_done_by_the_one_that_stands_in_and_returns_with_a_holder() {
    let (kit, config) = kit(SECOND).await;
    let office = kit.open().await;
    done(
        &config,
        &["seat", "change", "seat_front-desk", "--stands-in", "seat_second", "--reason", "holidays"],
    )
    .await;
    let said = done(&config, &["seat", "vacate", "seat_front-desk", "--reason", "on leave"]).await;
    assert!(said.contains("seat_second works for it"), "{said}");
    hello(&office, 1).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(turns_of(&events), [seat("second")]);
    let steps = events.iter().filter(|event| event.fact.kind() == "step.ended");
    let speaks = Actor { principal: PrincipalId::parse("agent_second").unwrap(), seat: Some(seat("second")) };
    assert!(steps.into_iter().all(|event| event.actor == speaks));
    assert_eq!(kit.slack.posts().len(), 1, "people get their answer");
    done(&config, &["seat", "hold", "seat_front-desk", "agent_new"]).await;
    hello(&office, 2).await;
    let events = office.until_turns_ended(2).await;
    assert_eq!(turns_of(&events), [seat("second"), seat("front-desk")], "what was done is not done again");
    let asked = events.iter().filter_map(|event| match &event.fact {
        Fact::TurnOpened(body) => Some(body.asked.clone()),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), [Some(seat("front-desk")), None], "a turn says for whom it is");
    let last = events.iter().rfind(|event| event.fact.kind() == "turn.ended").unwrap();
    assert_eq!(last.actor.principal.as_str(), "agent_new");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_reaches_a_seat_that_nobody_works_for_waits_for_its_next_holder() {
    let (kit, config) = kit("").await;
    let office = kit.open().await;
    let said = done(&config, &["seat", "vacate", "seat_front-desk", "--reason", "it left"]).await;
    assert!(said.contains("nobody works for it"), "{said}");
    hello(&office, 1).await;
    office.until_classified().await;
    let listed = done(&config, &["seat", "list"]).await;
    assert!(
        listed.contains("vacant: nobody works for it") && listed.contains("1 topic, weight 10.0"),
        "{listed}"
    );
    let doctor = done(&config, &["doctor"]).await;
    assert!(
        doctor.contains("nobody works for `seat_front-desk`, and what waits for it is about 1 topic:"),
        "{doctor}"
    );
    // A person's seat takes no turn of a model.
    done(&config, &["seat", "hold", "seat_front-desk", "person_operator"]).await;
    let shown = done(&config, &["seat", "show", "seat_front-desk"]).await;
    assert!(shown.contains("person_operator, whom its work waits for"), "{shown}");
    done(&config, &["seat", "hold", "seat_front-desk", "agent_new"]).await;
    let events = office.until_turns_ended(1).await;
    assert!(
        at(&events, "turn.opened", false) > at(&events, "seat.held", true),
        "no turn before an agent holds it"
    );
    assert_eq!(kit.slack.posts().len(), 1);
    let listed = done(&config, &["seat", "list"]).await;
    assert!(!listed.contains("vacant"), "{listed}");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_holder_keeps_the_queue_of_the_seat() {
    let (kit, config) = kit(LEGAL).await;
    let office = kit.open().await;
    let record = &office.built.record;
    let ask = |n: u32| RequestAsked {
        request: RequestId::derived(&[&n.to_string()]),
        asker: seat("front-desk"),
        holder: seat("legal"),
        topic: Topic::parse(&format!("licence-{n}")).unwrap(),
        wanted: format!("read licence {n}").into(),
        due_at: Timestamp(i64::MAX / 2_000),
    };
    let request = |n: u32| StreamName::new("request", RequestId::derived(&[&n.to_string()]));
    append(record, request(1), ask(1)).await;
    done(&config, &["seat", "hold", "seat_legal", "person_counsel"]).await;
    // A turn of an earlier holder, who left in the middle of it.
    let turn = event::TurnId::derived(&["left"]);
    let opened = TurnOpened {
        turn: turn.clone(),
        seat: seat("legal"),
        topic: Topic::parse("half-done").unwrap(),
        woken_by: EventId::derived(&["asked"]),
        reply_to: None,
        model: "scripted/story".into(),
        steps_max: 10,
        ms_max: None,
        asked: None,
        drill: false,
    };
    append(record, StreamName::new("turn", &turn), opened).await;
    append(record, request(2), ask(2)).await;
    let shown = done(&config, &["seat", "show", "seat_legal"]).await;
    for word in ["read licence 1", "read licence 2", "licence-1: 1 since", "about half-done"] {
        assert!(shown.contains(word), "`{word}` is not in {shown}");
    }
    // The office looks at everything that is open, and answers whom it can: this one comes after those above.
    hello(&office, 1).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(turns_of(&events), [seat("legal"), seat("front-desk")]);
    let stepped = |event: &&Event| event.stream == StreamName::new("turn", &turn);
    assert_eq!(events.iter().filter(stepped).count(), 1, "nobody went on with what a person's seat has open");
    done(&config, &["seat", "hold", "seat_legal", "agent_counsel"]).await;
    append(record, request(3), ask(3)).await;
    let events = office.until_turns_ended(5).await;
    let (_, after) = events.split_at(at(&events, "seat.held", true));
    assert_eq!(turns_of(after), [seat("legal"), seat("legal"), seat("legal")]);
    let shown = done(&config, &["seat", "show", "seat_legal"]).await;
    for n in 1..=3 {
        assert!(shown.contains(&format!("read licence {n}")), "what was asked is still owed: {shown}");
    }
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owner_of_the_configuration_acts_beside_the_office_and_another_owner_takes_the_seat() {
    let (mut kit, config) = kit("").await;
    let office = kit.open().await;
    kit.owner = "person_slack.T01TEST.U01ALICE".to_owned();
    kit.write();
    done(&config, &["seat", "create", "seat_new", "--role", "assistant"]).await;
    let events = office.events().await;
    let made = events.iter().rfind(|event| event.fact.kind() == "seat.created").unwrap();
    assert_eq!(made.actor.principal.as_str(), "person_slack.T01TEST.U01ALICE");
    let listed = done(&config, &["seat", "list"]).await;
    assert!(
        listed.lines().any(|line| line.starts_with("seat_owner") && line.contains("U01ALICE")),
        "{listed}"
    );
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_raised_listed_and_lifted_by_the_owner() {
    let (kit, config) = kit("").await;
    let office = kit.open().await;
    let raise = ["refusal", "raise", "tool:web.fetch", "--reason", "too many pages", "--for", "2h"];
    done(&config, &raise).await;
    let listed = done(&config, &["refusal", "list"]).await;
    assert!(listed.contains("tool:web.fetch") && listed.contains("too many pages"), "{listed}");
    let events = office.events().await;
    let raised = events.iter().rfind(|event| matches!(event.fact, Fact::RefusalRaised(_))).unwrap();
    let Fact::RefusalRaised(body) = &raised.fact else { unreachable!() };
    assert_eq!(body.lifts_at.unwrap().since_ms(raised.at), 7_200_000);
    asks_for_the_page(&kit, &office, 1).await;
    let events = office.until_turns_ended(1).await;
    assert!(
        count(&events, "call.refused") > 0 && kit.site.asked().is_empty(),
        "the running office keeps to it"
    );
    let no = refused(&config, &["refusal", "lift", "tool:web.search", "--reason", "x"]).await;
    assert!(no.contains("no refusal stands against it"), "{no}");
    let past = ["refusal", "raise", "office", "--reason", "x", "--until", "2020-01-01T00:00:00Z"];
    assert!(refused(&config, &past).await.contains("has passed"));
    let wrong = cli(&config, &["refusal", "raise", "web.fetch", "--reason", "x"]).await;
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("`tool:web.fetch`"));
    for (slip, said) in [
        ("seat:seat_typo", "no seat `seat_typo`"),
        ("tool:nope", "offers `nope`"),
        ("tool:web.fech", "offers `web.fech`"),
    ] {
        let no = refused(&config, &["refusal", "raise", slip, "--reason", "x"]).await;
        assert!(no.contains(said) && no.contains("--ahead"), "{no}");
    }
    let ahead = done(&config, &["refusal", "raise", "seat:seat_typo", "--reason", "x", "--ahead"]).await;
    assert!(ahead.contains("note: the record has no seat `seat_typo`"), "{ahead}");
    done(&config, &["refusal", "lift", "tool:web.fetch", "--reason", "enough"]).await;
    done(&config, &["refusal", "lift", "seat:seat_typo", "--reason", "a slip"]).await;
    assert_eq!(done(&config, &["refusal", "list"]).await, "nothing stands refused\n");
    asks_for_the_page(&kit, &office, 2).await;
    office.until_turns_ended(2).await;
    assert_eq!(kit.site.asked().len(), 1);
    office.stop().await;
}

/// The same story of one seat on a record: what every store says of it at the end.
async fn a_story_of_seats(record: Record) -> (Vec<(String, SeatState)>, Option<SeatState>) {
    let created = |name: &str, line: Option<&str>, stands_in: Option<&str>| SeatCreated {
        seat: seat(name),
        role: "assistant".into(),
        department: None,
        line: line.map(seat),
        grants: vec!["web.*".into()],
        accountabilities: Vec::new(),
        stands_in: stands_in.map(seat),
    };
    let agent = |name: &str| PrincipalId::parse(&format!("agent_{name}")).unwrap();
    let stream = |name: &str| StreamName::new("seat", seat(name));
    append(&record, stream("head"), created("head", None, None)).await;
    append(&record, stream("head"), SeatHeld { seat: seat("head"), principal: agent("h") }).await;
    append(&record, stream("a"), created("a", Some("head"), None)).await;
    append(&record, stream("a"), SeatHeld { seat: seat("a"), principal: agent("a") }).await;
    let now = created("a", Some("head"), Some("b"));
    append(&record, stream("b"), created("b", Some("head"), None)).await;
    append(&record, stream("a"), SeatChanged { now, reason: "b stands in".into() }).await;
    append(
        &record,
        stream("a"),
        SeatVacated { seat: seat("a"), principal: agent("a"), reason: "left".into() },
    )
    .await;
    // A seat that may make others hands on only what it holds, on every store.
    let actor = Actor { principal: agent("h"), seat: Some(seat("head")) };
    let fact = created("c", None, None).into();
    let event = Proposed { id: EventId::derived(&["c"]), actor, cause: None, label: Label::host(), fact };
    let no = record.append(stream("c"), Expected::Any, vec![event]).await;
    assert!(matches!(no, Err(record::Error::NoAuthority { .. })), "{no:?}");
    let works = attention::works(&record, &seat("a")).await.unwrap();
    let live = record.rows_digest().await.unwrap();
    record.rebuild().await.unwrap();
    assert_eq!(record.rows_digest().await.unwrap(), live);
    let rows = record.ranked(Seats.name(), i64::MIN, 10).await.unwrap();
    (rows.iter().filter_map(|(key, row)| Some((key.clone(), decode(Some(row))?))).collect(), works)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_store_says_the_same_of_the_seats_and_who_works_for_a_vacant_one() {
    let folder = tempfile::tempdir().unwrap();
    let schema = tests_postgres::Schema::new().unwrap_or_else(|why| panic!("{why}"));
    let clock = || Arc::new(SystemClock);
    let sqlite = Record::open_sqlite(&folder.path().join("a.db"), clock()).await.unwrap();
    let postgres = Record::open_postgres(schema.url(), clock()).await.unwrap();
    let memory = Record::open_memory_in(&Memory::default(), clock()).await.unwrap();
    let told = a_story_of_seats(sqlite).await;
    assert_eq!(told.1.as_ref().map(|works| works.seat.seat.clone()), Some(seat("head")));
    assert_eq!(told.0.len(), 3);
    assert_eq!(a_story_of_seats(postgres).await, told);
    assert_eq!(a_story_of_seats(memory).await, told);
}
