//! A call whose tool declares no effect class is judged by a model, once, and only a read goes without a person's yes.

use crate::kit::{MODEL, Office, broke, created, person, policies, seat, usual};
use event::{CallClassified, Fact, PolicyApplied, PolicyText};
use gate::{Answer, Classifier, EffectClass, InferResponse, Output, Part, Passed, Reached, StopReason};
use serde_json::{Value, json};

const JUDGES: &str = "@id(\"system-judges\") @reason(\"as a duty\") \
    permit (principal in Role::\"system\", action == Action::\"infer\", resource is Model) \
    when { context.origin_kind == OriginKind::\"duty\" };";

fn wanted() -> Value {
    json!({"channel": "C1", "text": "read"})
}

/// An office whose `slack.post` says nothing of what it may do.
async fn undeclared() -> Office {
    Office::with(EffectClass::Undeclared, "component").await
}

/// The same, with a model that may be asked.
async fn judged() -> Office {
    let office = undeclared().await;
    let mut files = policies();
    let base = Some(gate::policy::digest(&files));
    files.push(PolicyText { name: "judges.cedar".to_owned(), text: JUDGES.to_owned() });
    let digest = gate::policy::digest(&files);
    let reason = "judges".to_owned();
    let set = PolicyApplied { digest, files, base, reason, corrective: false, by: None };
    office.state("judges", set.into()).await;
    office.state("system", created("system", "system", &[MODEL]).into()).await;
    let Office { record, gate, world, clock } = office;
    let gate = gate.with_classifier(Classifier { seat: seat("system"), model: MODEL.to_owned() });
    Office { record, gate, world, clock }
}

fn says(parts: Vec<Part>) -> Reached {
    let outcome = Ok(Output::Model(InferResponse { parts, stop: StopReason::End, usage: Some(usual()) }));
    Reached { outcome, request_sent: true, readings: Vec::new() }
}

fn word(word: &str) -> Reached {
    says(vec![Part::Text(word.to_owned())])
}

async fn classified(office: &Office) -> Vec<CallClassified> {
    let events = office.events().await.into_iter();
    let bodies = events.filter_map(|event| match event.fact {
        Fact::CallClassified(body) => Some(body),
        _ => None,
    });
    bodies.collect()
}

async fn post(office: &Office, attempt: u32) -> Passed {
    office.pass(office.call(attempt, "slack.post", wanted())).await
}

#[tokio::test]
async fn what_is_judged_a_read_runs_as_one() {
    let office = judged().await;
    office.world.answers(word(" read\n"));
    assert!(matches!(post(&office, 1).await, Passed::Done { .. }));
    let told = classified(&office).await;
    assert_eq!((told[0].class.as_deref(), told[0].model.as_deref()), (Some("read"), Some(MODEL)));
    assert_eq!(told[0].tool, "slack.post");
    let kinds = office.kinds().await;
    assert!(!kinds.contains(&"effect.intended"), "a read intends nothing: {kinds:?}");
    let judging = ["call.admitted", "hold.taken", "hold.started", "hold.settled", "call.classified"];
    assert_eq!(kinds[..5], judging, "through the same gate and purse, before the call itself");
    // Another try of the same deed is judged already.
    assert!(matches!(post(&office, 2).await, Passed::Done { .. }));
    assert_eq!(classified(&office).await.len(), 1);
    assert_eq!(office.world.reached().iter().filter(|(tool, _)| tool == MODEL).count(), 1);
}

#[tokio::test]
async fn what_is_judged_a_send_waits_for_a_person_and_runs_once_as_what_it_was_judged() {
    let office = judged().await;
    office.world.answers(word("external"));
    let Passed::Waits { approval, .. } = post(&office, 1).await else { panic!("it did not wait") };
    let row = office.gate.approval(&approval).await.unwrap().unwrap();
    let asked = office.gate.asked_as(&row).await.unwrap();
    assert_eq!(asked.effect, "external");
    assert!(asked.reason.text().contains("judged to be `external`"), "{}", asked.reason);
    office.gate.answer(&approval, &person("person_owner"), Answer::Yes).await.unwrap();
    assert!(matches!(post(&office, 2).await, Passed::Done { .. }));
    assert!(office.kinds().await.contains(&"effect.intended"));
    assert_eq!(classified(&office).await.len(), 1, "the answer does not change what was judged");
}

#[tokio::test]
async fn whatever_keeps_a_call_from_being_judged_leaves_it_to_a_person() {
    let said = |text: &str| vec![Part::Text(text.to_owned())];
    for nonsense in [
        word("Read"),
        word("read it"),
        word(""),
        word("undeclared"),
        says(Vec::new()),
        says([said("read"), said("read")].concat()),
        broke(true),
        broke(false),
    ] {
        let office = judged().await;
        office.world.answers(nonsense.clone());
        assert!(matches!(post(&office, 1).await, Passed::Waits { .. }), "{nonsense:?}");
        let told = classified(&office).await;
        assert_eq!(told[0].class, None, "{nonsense:?}");
        assert!(!told[0].why.text().is_empty());
    }
    // Nobody to ask, and a seat that may not ask.
    let office = undeclared().await;
    assert!(matches!(post(&office, 1).await, Passed::Waits { .. }));
    assert!(classified(&office).await[0].why.text().contains("no model is named"));
    let office = judged().await;
    office.state("no grant", created("system", "system", &[]).into()).await;
    assert!(matches!(post(&office, 1).await, Passed::Waits { .. }));
    assert!(classified(&office).await[0].why.text().contains("holds no grant"));
    assert!(office.world.reached().is_empty());
}

#[tokio::test]
async fn a_call_that_is_a_no_whatever_it_does_is_not_judged() {
    let office = judged().await;
    let call = office.call(1, "slack.react", json!({"channel": "C1"}));
    assert!(matches!(office.pass(call).await, Passed::Denied(_)));
    let mut call = office.call(2, "slack.post", wanted());
    call.seat = seat("clerk");
    assert!(matches!(office.pass(call).await, Passed::Denied(_)));
    assert_eq!(classified(&office).await, []);
}
