//! The office's own verbs at the door: what a call is given, what labels it, and what its seat wishes.

use super::kit::{Office, append, budget, created, person, seat, usd};
use event::{
    Actor, AppliesTo, Audience, Author, DeniedBy, Digest, Event, EventId, Expected, Fact, Handle, Integrity,
    Label, MessageReceived, Period, Personal, Place, PlaceKind, PluginGranted, PluginRevoked, Proposed,
    Readers, ReplyTo, SeatHeld, StreamName, Topic, TurnId, TurnOpened,
};
use gate::office::{Line, Page};
use gate::{Call, EffectClass, Failure, FailureKind, Output, Passed, Payload, Reached, Verbs};
use record::Append;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What a component does with what it was given: as its arguments say, and without asking.
async fn used(verbs: Verbs, tool: String, payload: Payload) -> Reached {
    let tool = tool.as_str();
    let Payload::Tool(input) = &payload else { panic!("`{tool}` is no model") };
    let text = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
    let minutes = u32::try_from(input["minutes"].as_u64().unwrap_or(1)).unwrap();
    let gave = match tool {
        "office.said" => {
            let before = input["before"].as_u64();
            verbs.place().unwrap().said(input["find"].as_str(), before, 10).await.map(|page| told(&page))
        }
        "office.seats" => verbs.seat().unwrap().all().await.map(|all| json!(all.len())),
        "office.turns" => verbs.seat().unwrap().turns(5).await.map(|turns| json!(turns.len())),
        "office.budgets" => {
            let budgets = verbs.purse().unwrap().budgets().await;
            budgets.map(|all| all.iter().map(|one| json!(one.budget)).collect())
        }
        "office.waiting" => {
            let waiting = verbs.agenda().unwrap().waiting().await;
            waiting.map(|waiting| {
                let wanted: Vec<_> = waiting.requests.iter().map(|one| one.wanted.clone()).collect();
                json!({"requests": wanted, "elsewhere": waiting.elsewhere, "look": waiting.look_again_at})
            })
        }
        "office.look-again" => verbs.wishes().unwrap().look_again(minutes).await.map(|at| json!(at)),
        "office.ask" => {
            let asked = verbs.wishes().unwrap().ask(&text("seat"), text("wanted"), minutes).await;
            asked.map(|request| json!(request))
        }
        "office.answer" => {
            let answered = verbs.wishes().unwrap().answer(&text("request"), text("answer")).await;
            answered.map(|request| json!(request))
        }
        _ => panic!("`{tool}` is given nothing"),
    };
    assert!(
        verbs.place().is_some() == (tool == "office.said")
            && verbs.purse().is_some() == (tool == "office.budgets"),
        "it is given what it asks for and nothing else"
    );
    // A component may fail after it wished.
    let fails = input["fails"] == true;
    let outcome = gave.and_then(|value| match fails {
        false => Ok(Output::Tool(value)),
        true => Err(Failure { kind: FailureKind::Guest, message: "it trapped".into(), retry_after_ms: None }),
    });
    Reached { outcome, request_sent: false, readings: Vec::new() }
}

fn told(page: &Page) -> Value {
    let line = |line: &Line| json!(line.text.clone().unwrap_or_default());
    json!({
        "lines": page.lines.iter().map(line).collect::<Vec<_>>(),
        "withheld": page.withheld, "earlier": page.earlier,
    })
}

fn place(channel: &str, kind: PlaceKind, ts: &str) -> Place {
    Place { kind, team: "T1".into(), channel: channel.into(), ts: ts.into(), thread_ts: None }
}

fn audience(channel: &str) -> Audience {
    Audience::SlackChannel { team: "T1".into(), channel: channel.into() }
}

/// Somebody says something; `label` is that of the place unless a test says otherwise.
async fn says(office: &Office, who: &str, (channel, ts): (&str, &str), words: &str, label: Option<Label>) {
    let kind = if channel.starts_with('D') { PlaceKind::Im } else { PlaceKind::Channel };
    let author = Author { principal: Some(person(who)), external: who.to_owned(), bot: false };
    let text = Personal::of(words.to_owned(), [person(who)]);
    let place = place(channel, kind, ts);
    let message = MessageReceived { place, author, text, mentions_office: false, subtype: String::new() };
    let proposed = Proposed {
        id: EventId::derived(&["said", channel, ts]),
        actor: Actor { principal: event::PrincipalId::host(), seat: None },
        cause: None,
        label: label.unwrap_or_else(|| Label::within(audience(channel), Integrity::Unknown)),
        fact: message.into(),
    };
    let stream = StreamName::new("message", format!("T1:{channel}:{ts}"));
    office.record.append_all(vec![Append::new(stream, Expected::Any, vec![proposed])]).await.unwrap();
}

fn granted() -> PluginGranted {
    PluginGranted {
        plugin: "office".into(),
        digest: Digest::of(b"component"),
        routes: Vec::new(),
        settings: BTreeMap::new(),
        directories: Vec::new(),
        handles: Handle::ALL.to_vec(),
        reason: String::new(),
    }
}

/// An office whose desk may use all of it, with a seat beside it.
async fn office() -> Office {
    let office = Office::with(EffectClass::External, "component").await;
    filled(&office).await;
    office
}

async fn filled(office: &Office) {
    office.world.uses(|verbs, tool, payload| Box::pin(used(verbs, tool, payload)));
    for (n, fact) in [
        Fact::from(granted()),
        created("hall", "assistant", &["office.*"]).into(),
        SeatHeld { seat: seat("hall"), principal: person("agent_hall") }.into(),
        created("legal", "assistant", &["office.*"]).into(),
        SeatHeld { seat: seat("legal"), principal: person("agent_legal") }.into(),
    ]
    .into_iter()
    .enumerate()
    {
        append(&office.record, &format!("office/{n}"), fact).await;
    }
    for channel in ["C1", "C2", "D1"] {
        opens(office, channel, true).await;
    }
}

/// A turn of the hall about what was said in `channel` begins; where it answers there.
async fn opens(office: &Office, channel: &str, answers: bool) {
    let reply_to = ReplyTo { tool: "slack.post".into(), destination: json!({}), audience: audience(channel) };
    let turn = TurnId::derived(&["hall", channel]);
    let opened = TurnOpened {
        turn: turn.clone(),
        seat: seat("hall"),
        topic: Topic::parse(&format!("slack:T1:{channel}:1.0")).unwrap(),
        woken_by: EventId::derived(&["asked"]),
        reply_to: answers.then_some(reply_to),
        model: "scripted/story".into(),
        steps_max: 60,
        ms_max: None,
        asked: None,
        drill: false,
    };
    let proposed = Proposed {
        id: EventId::derived(&["opened", channel]),
        actor: Actor { principal: event::PrincipalId::host(), seat: None },
        cause: None,
        label: Label::host(),
        fact: opened.into(),
    };
    let append = Append::new(StreamName::new("turn", &turn), Expected::Any, vec![proposed]);
    office.record.append_all(vec![append]).await.unwrap();
}

#[tokio::test]
async fn a_turn_that_does_not_answer_there_is_not_told_what_people_said() {
    let office = office().await;
    opens(&office, "D2", false).await;
    says(&office, "person_alice", ("D2", "1.0"), "Between us.", None).await;
    for channel in ["D2", "D3"] {
        let passed = office.pass(call(&office, 1, channel, "office.said", json!({}))).await;
        let Passed::Failed { failure, .. } = passed else { panic!("{passed:?}") };
        assert_eq!(failure.kind, FailureKind::NotAllowed, "{}", failure.message);
    }
}

/// A call of the hall in step `step`, about what was said in `channel`.
fn call(office: &Office, step: u32, channel: &str, tool: &str, input: Value) -> Call {
    let turn = TurnId::derived(&["hall", channel]);
    Call {
        origin: event::Origin::Step { turn, step, attempt: 1 },
        seat: seat("hall"),
        topic: Some(Topic::parse(&format!("slack:T1:{channel}:1.0")).unwrap()),
        label: Label::within(audience(channel), Integrity::Unknown),
        ..office.call(1, tool, input)
    }
}

fn done(passed: Passed) -> (Value, Label, BTreeSet<event::PrincipalId>) {
    match passed {
        Passed::Done { output: Output::Tool(value), label, of, .. } => (value, label, of),
        other => panic!("{other:?}"),
    }
}

async fn of_kind(office: &Office, kind: &str) -> Vec<Event> {
    office.events().await.into_iter().filter(|event| event.fact.kind() == kind).collect()
}

#[tokio::test]
async fn what_was_said_here_is_shown_and_labelled_and_what_was_said_elsewhere_is_not_there() {
    let office = office().await;
    says(&office, "person_alice", ("C1", "1.0"), "The roof leaks.", None).await;
    says(&office, "person_bob", ("C1", "2.0"), "The garden is fine.", None).await;
    says(&office, "person_carol", ("C2", "1.0"), "The merger is secret, roof or no roof.", None).await;
    says(&office, "person_alice", ("D1", "1.0"), "My roof is my own.", None).await;
    let read = |step, input| call(&office, step, "C1", "office.said", input);
    let (page, label, of) = done(office.pass(read(1, json!({}))).await);
    assert_eq!(page["lines"], json!(["The roof leaks.", "The garden is fine."]));
    assert_eq!(label.readers, Readers::Within(BTreeSet::from([audience("C1")])));
    assert_eq!(
        of,
        BTreeSet::from([person("person_alice"), person("person_bob")]),
        "whose words it may repeat"
    );
    let (page, _, of) = done(office.pass(read(2, json!({"find": "ROOF the"}))).await);
    assert_eq!((&page["lines"], of.len()), (&json!(["The roof leaks."]), 1));
    // Whatever is asked, no other conversation can be named.
    let wished = [json!({"channel": "C2"}), json!({"find": "merger"}), json!({"topic": "slack:T1:C2:1.0"})];
    for (step, input) in (3..).zip(wished) {
        let (page, ..) = done(office.pass(read(step, input)).await);
        assert!(!page.to_string().contains("merger") && !page.to_string().contains("own"), "{page}");
    }
    let direct = call(&office, 1, "D1", "office.said", json!({}));
    assert_eq!(done(office.pass(direct).await).0["lines"], json!(["My roof is my own."]));
}

#[tokio::test]
async fn a_line_that_not_everyone_here_may_read_is_counted_and_not_shown() {
    let office = office().await;
    let private = Label::within(Audience::Principal(person("person_alice")), Integrity::Unknown);
    says(&office, "person_alice", ("C1", "1.0"), "Only I know.", Some(private)).await;
    says(&office, "person_alice", ("C1", "2.0"), "Nobody knows who knows.", Some(Label::unknown())).await;
    says(&office, "person_alice", ("C1", "3.0"), "All know.", None).await;
    let (page, label, of) = done(office.pass(call(&office, 1, "C1", "office.said", json!({}))).await);
    assert_eq!((&page["lines"], &page["withheld"]), (&json!(["All know."]), &json!(2)));
    assert_eq!(label.readers, Readers::Within(BTreeSet::from([audience("C1")])));
    assert_eq!(of.len(), 1);
}

#[tokio::test]
async fn pages_go_back_to_the_first_line() {
    let office = office().await;
    for n in 1..=25 {
        says(&office, "person_alice", ("C1", &format!("{n}.0")), &format!("Line {n}."), None).await;
    }
    let (mut lines, mut before, mut step) = (Vec::new(), Value::Null, 0);
    loop {
        step += 1;
        let call = call(&office, step, "C1", "office.said", json!({"before": before}));
        let (page, ..) = done(office.pass(call).await);
        lines.splice(0..0, page["lines"].as_array().unwrap().clone());
        before = page["earlier"].clone();
        if before.is_null() {
            break;
        }
    }
    let wanted: Vec<Value> = (1..=25).map(|n| json!(format!("Line {n}."))).collect();
    assert_eq!((lines, step), (wanted, 3));
}

#[tokio::test]
async fn a_wish_stands_exactly_when_its_call_has_its_outcome_and_once() {
    let office = office().await;
    let look = |step, input| call(&office, step, "C1", "office.look-again", input);
    let failed = office.pass(look(1, json!({"minutes": 30, "fails": true}))).await;
    assert!(matches!(failed, Passed::Failed { .. }), "{failed:?}");
    assert_eq!(of_kind(&office, "moment.set").await, Vec::new(), "what failed wished nothing");
    done(office.pass(look(2, json!({"minutes": 30}))).await);
    done(office.pass(look(3, json!({"minutes": 30}))).await);
    let (set, sent) = (of_kind(&office, "moment.set").await, of_kind(&office, "effect.sent").await);
    assert_eq!((set.len(), sent.len()), (1, 1), "the same wish in one turn is one");
    assert_eq!(set[0].global_position.0, sent[0].global_position.0 + 1, "in one commit");
    assert_eq!(set[0].actor.principal, person("agent_hall"), "stated by the holder of the seat");
    let far = office.pass(look(4, json!({"minutes": 44_641}))).await;
    assert!(
        matches!(&far, Passed::Failed { failure, .. } if failure.kind == FailureKind::InvalidInput),
        "{far:?}"
    );
}

#[tokio::test]
async fn a_wish_that_a_crash_cut_off_is_made_again_and_is_one() {
    let office = office().await;
    let look = call(&office, 1, "C1", "office.look-again", json!({"minutes": 30}));
    done(office.pass(look.clone()).await);
    let events = office.events().await;
    let until = events.iter().position(|event| event.fact.kind() == "effect.sent").unwrap();
    let after = Office::after(&events[..until], EffectClass::External, "component").await;
    after.world.uses(|verbs, tool, payload| Box::pin(used(verbs, tool, payload)));
    assert_eq!(of_kind(&after, "effect.intended").await.len(), 1);
    let event::Origin::Step { turn, step, .. } = look.origin.clone() else { panic!() };
    let again = Call { origin: event::Origin::Step { turn, step, attempt: 2 }, ..look };
    done(after.pass(again).await);
    assert_eq!(of_kind(&after, "moment.set").await.len(), 1);
    assert_eq!(
        of_kind(&after, "effect.left-unknown").await.len(),
        0,
        "nobody has to look whether it happened"
    );
}

#[tokio::test]
async fn a_seat_asks_another_by_name_and_answers_only_what_is_its_own() {
    let office = office().await;
    let ask = |step, to: &str| {
        let input = json!({"seat": to, "wanted": "Read the licence.", "minutes": 60});
        call(&office, step, "C1", "office.ask", input)
    };
    let refused = |passed: Passed| match passed {
        Passed::Failed { failure, .. } => failure.kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(office.pass(ask(1, "seat_nobody")).await), FailureKind::NotFound);
    assert_eq!(refused(office.pass(ask(2, "seat_hall")).await), FailureKind::InvalidInput, "itself");
    assert_eq!(refused(office.pass(ask(3, "person_alice")).await), FailureKind::InvalidInput, "no seat");
    let (request, ..) = done(office.pass(ask(4, "seat_legal")).await);
    let (waiting, ..) = done(office.pass(call(&office, 5, "C1", "office.waiting", json!({}))).await);
    assert_eq!(waiting["requests"], json!(["Read the licence."]));
    let (elsewhere, ..) = done(office.pass(call(&office, 1, "C2", "office.waiting", json!({}))).await);
    assert_eq!((&elsewhere["requests"], &elsewhere["elsewhere"]), (&json!([]), &json!(1)));
    let answer = |step: u32, by: &str, request: &Value| {
        let input = json!({"request": request, "answer": format!("MIT, says step {step}.")});
        Call { seat: seat(by), ..call(&office, step, "C1", "office.answer", input) }
    };
    assert_eq!(refused(office.pass(answer(6, "hall", &request)).await), FailureKind::NotFound, "not its own");
    assert_eq!(refused(office.pass(answer(7, "legal", &json!("req_1"))).await), FailureKind::NotFound);
    done(office.pass(answer(8, "legal", &request)).await);
    assert_eq!(refused(office.pass(answer(9, "legal", &request)).await), FailureKind::InvalidInput, "once");
    let answered = of_kind(&office, "request.answered").await;
    assert_eq!(answered.len(), 1);
    assert_eq!(answered[0].actor.principal, person("agent_legal"));
}

#[tokio::test]
async fn a_persons_budget_is_told_to_that_person_alone() {
    let office = office().await;
    let alice = AppliesTo::Person(person("person_alice"));
    office.state("alice", budget(alice, Period::Day, usd("1")).into()).await;
    let asked = |channel: &str| Call {
        asker: Some(person("person_alice")),
        ..call(&office, 1, channel, "office.budgets", json!({}))
    };
    let (here, label, _) = done(office.pass(asked("C1")).await);
    assert_eq!(here, json!(["organisation-day"]));
    assert!(label.readers.audiences().unwrap().contains(&Audience::Operators), "labelled as what it is");
    let (alone, ..) = done(office.pass(asked("D1")).await);
    assert_eq!(alone, json!(["organisation-day", "person:person_alice-day"]));
}

#[tokio::test]
async fn without_its_grant_nothing_of_the_office_is_given() {
    let office = office().await;
    done(office.pass(call(&office, 1, "C1", "office.said", json!({}))).await);
    let revoked = PluginRevoked { plugin: "office".into(), reason: "it reads too much".into() };
    append(&office.record, "revoked", revoked.into()).await;
    for (step, tool) in [(2, "office.said"), (3, "office.look-again")] {
        match office.pass(call(&office, step, "C1", tool, json!({}))).await {
            Passed::Denied(denial) => {
                assert!(
                    denial.by == DeniedBy::Grant && denial.reason.contains("it reads too much"),
                    "{denial:?}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
