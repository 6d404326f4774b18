//! A standing no stands until its moment or until someone lifts it, for exactly its subject.

use crate::kit::{NOON, Office, seat};
use event::{RefusalLifted, RefusalRaised, RefusalSubject, Timestamp, Topic};
use fold::refusal::refusal_id;
use gate::{EffectClass, Passed, Refusal};
use serde_json::json;

fn raised(subject: &RefusalSubject, lifts_at: Option<i64>) -> RefusalRaised {
    let refusal = refusal_id(subject, "test");
    let reason = "it went wrong ten times".to_owned();
    RefusalRaised { refusal, subject: subject.clone(), reason, lifts_at: lifts_at.map(Timestamp) }
}

async fn posts(office: &Office, step: u32) -> Passed {
    let mut call = office.call(1, "slack.post", json!({"channel": "C1", "text": "hello"}));
    call.origin = event::Origin::Step { turn: event::TurnId::derived(&["t"]), step, attempt: 1 };
    office.pass(call).await
}

fn refused(passed: &Passed) -> Option<&Refusal> {
    match passed {
        Passed::Refused(refusal) => Some(refusal),
        _ => None,
    }
}

#[tokio::test]
async fn a_refusal_stands_for_its_subject_and_for_nothing_else() {
    let topic = |text: &str| Topic::parse(text).unwrap();
    let here = topic("slack:T1:C1:1.0");
    for (subject, stands) in [
        (RefusalSubject::Office, true),
        (RefusalSubject::Seat(seat("desk")), true),
        (RefusalSubject::Seat(seat("clerk")), false),
        (RefusalSubject::Tool("slack.post".into()), true),
        (RefusalSubject::Tool("slack.react".into()), false),
        (RefusalSubject::Plugin("slack".into()), true),
        (RefusalSubject::Plugin("web".into()), false),
        (RefusalSubject::Workspace("T1".into()), true),
        (RefusalSubject::Workspace("T2".into()), false),
        (RefusalSubject::Topic(here.clone()), true),
        (RefusalSubject::Topic(topic("slack:T1:C1:2.0")), false),
        (RefusalSubject::SeatTopic { seat: seat("desk"), topic: here.clone() }, true),
        (RefusalSubject::SeatTopic { seat: seat("clerk"), topic: here }, false),
        // The call costs nothing, so no budget is in play.
        (RefusalSubject::Budget("day".into()), false),
    ] {
        let office = Office::with(EffectClass::External, "component").await;
        office.state("raised", raised(&subject, None).into()).await;
        let passed = posts(&office, 1).await;
        assert_eq!(refused(&passed).is_some(), stands, "{subject}: {passed:?}");
        assert_eq!(office.world.reached().is_empty(), stands, "{subject}");
        if let Some(refusal) = refused(&passed) {
            assert_eq!(refusal.subject, subject.to_string());
            assert!(refusal.reason.contains("ten times"));
        }
    }
}

#[tokio::test]
async fn a_refusal_lifts_at_its_moment_by_itself() {
    let office = Office::with(EffectClass::External, "component").await;
    let subject = RefusalSubject::Seat(seat("desk"));
    office.state("raised", raised(&subject, Some(NOON + 1_000)).into()).await;
    let passed = posts(&office, 1).await;
    assert_eq!(refused(&passed).and_then(|refusal| refusal.lifts_at), Some(Timestamp(NOON + 1_000)));
    office.clock.forward(1_000);
    assert!(matches!(posts(&office, 2).await, Passed::Done { .. }));
}

#[tokio::test]
async fn a_refusal_without_a_moment_stands_until_it_is_lifted_and_only_that_one_is() {
    let office = Office::with(EffectClass::External, "component").await;
    let subject = RefusalSubject::Tool("slack.post".into());
    office.state("raised", raised(&subject, None).into()).await;
    let another = refusal_id(&subject, "another");
    let lifted = |refusal| RefusalLifted { refusal, subject: subject.clone(), reason: "mended".into() };
    office.state("lifted another", lifted(another).into()).await;
    office.clock.forward(365 * 86_400_000);
    assert!(refused(&posts(&office, 1).await).is_some());
    office.state("lifted", lifted(refusal_id(&subject, "test")).into()).await;
    assert!(matches!(posts(&office, 2).await, Passed::Done { .. }));
}
