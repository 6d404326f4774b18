//! Calls that begin in one commit with what came of an earlier one, several at once, and by what the gate knew before.

use crate::kit::{MODEL, Office, append, budget, created, price, prices, said, seat, usd, usual};
use event::{
    AppliesTo, Event, EventId, Expected, Fact, Label, NanoUsd, Period, Position, PrincipalId, Proposed,
    StreamName,
};
use gate::{Began, Begins, Call, Came, Carried, Condition, EffectClass, Going, Owed, Passed, tell_alone};
use record::{Append, RowKey};
use serde_json::json;
use std::sync::Arc;

async fn office() -> Office {
    Office::with(EffectClass::External, "component").await
}

async fn begin(office: &Office, calls: Vec<Call>, carried: Carried) -> (Vec<Begins>, Option<Vec<Event>>) {
    match office.gate.begin(calls, carried).await.unwrap() {
        Began::Judged { calls, events } => (calls, events),
        other => panic!("{other:?}"),
    }
}

fn going(begins: Begins) -> Going {
    match begins {
        Begins::Goes(going) => *going,
        other => panic!("{other:?}"),
    }
}

async fn begun(office: &Office, call: Call) -> Going {
    going(begin(office, vec![call], Carried::default()).await.0.remove(0))
}

fn owes(came: Came) -> Carried {
    assert!(!came.owed.is_nothing() && came.owed.can_wait());
    Carried { owed: vec![came.owed], ..Carried::default() }
}

/// Something the caller says itself.
fn word(name: &str) -> Append {
    let actor = event::Actor { principal: PrincipalId::host(), seat: None };
    let fact = Fact::from(event::NodeStarted { node: name.into(), version: "1".into() });
    let id = EventId::derived(&[name]);
    let event = Proposed { id, actor, cause: None, label: Label::host(), fact };
    Append::new(StreamName::parse("word-1").unwrap(), Expected::Any, vec![event])
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.kind()).collect()
}

#[tokio::test]
async fn a_settlement_and_the_next_admission_are_one_commit_in_this_order() {
    let office = office().await;
    let came = office.gate.go(begun(&office, office.infer(1, 1)).await, None).await;
    assert_eq!(kinds(&office.events().await).iter().filter(|kind| **kind == "hold.settled").count(), 0);
    let carried = Carried { appends: vec![word("between")], ..owes(came) };
    let (mut calls, events) = begin(&office, vec![office.infer(2, 1)], carried).await;
    let events = events.unwrap();
    assert_eq!(
        kinds(&events),
        ["hold.settled", "node.started", "call.admitted", "hold.taken", "hold.started"]
    );
    assert!(events.iter().all(|event| event.at == events[0].at));
    let came = office.gate.go(going(calls.remove(0)), None).await;
    tell_alone(&office.record, vec![came.owed]).await.unwrap();
    let last = office.events().await.pop().unwrap();
    assert_eq!(last.fact.kind(), "hold.settled");
}

#[tokio::test]
async fn what_is_carried_makes_room_and_is_written_by_itself_where_that_is_wanted() {
    let office = office().await;
    let going = begun(&office, office.infer(1, 1)).await;
    let Fact::HoldTaken(taken) =
        office.events().await.iter().rev().find(|e| e.fact.kind() == "hold.taken").unwrap().fact.clone()
    else {
        panic!()
    };
    // Room for one hold and what one call is charged, and not for two holds.
    let limit = NanoUsd(taken.amount.0 + 200_000);
    office.state("limit", budget(AppliesTo::Organisation, Period::Day, limit).into()).await;
    let carried = owes(office.gate.go(going, None).await);
    let before = office.events().await.len();
    let began = office.gate.begin(vec![office.infer(2, 1)], carried.clone()).await.unwrap();
    assert!(matches!(began, Began::Apart), "{began:?}");
    assert_eq!(office.events().await.len(), before, "nothing was written");
    tell_alone(&office.record, carried.owed).await.unwrap();
    begun(&office, office.infer(2, 1)).await;
}

#[tokio::test]
async fn what_became_of_an_effect_waits_for_nothing() {
    let office = office().await;
    let post = office.call(1, "slack.post", json!({"channel": "C1", "text": "hi"}));
    let came = office.gate.go(begun(&office, post).await, None).await;
    assert!(!came.owed.can_wait());
    let carried = Carried { owed: vec![came.owed.clone()], ..Carried::default() };
    let began = office.gate.begin(vec![office.infer(4, 1)], carried).await.unwrap();
    assert!(matches!(began, Began::Apart), "{began:?}");
    tell_alone(&office.record, vec![came.owed]).await.unwrap();
    assert_eq!(office.events().await.pop().unwrap().fact.kind(), "effect.sent");
    // Nor does a call that cost more than was held: what refuses its budgets has to stand before another begins.
    office.world.answers(said(Some(event::Usage { input_tokens: 900_000, ..usual() })));
    let came = office.gate.go(begun(&office, office.infer(5, 1)).await, None).await;
    assert!(!came.owed.can_wait());
}

#[tokio::test]
async fn where_the_condition_is_not_met_nothing_is_written() {
    let office = office().await;
    let before = office.events().await.len();
    let is_met: Arc<dyn Fn(&record::Rows) -> bool + Send + Sync> =
        Arc::new(|rows| rows.get("setting", "nothing").is_some());
    let condition = Some(Condition { reads: vec![RowKey::new("setting", "nothing")], is_met });
    let carried = Carried { appends: vec![word("unsaid")], condition, ..Carried::default() };
    let began = office.gate.begin(vec![office.infer(1, 1)], carried.clone()).await.unwrap();
    assert!(matches!(began, Began::Overtaken), "{began:?}");
    assert_eq!(carried.write(&office.record).await.unwrap(), None);
    assert_eq!(office.events().await.len(), before);
}

#[tokio::test]
async fn calls_that_begin_at_once_are_held_together_or_refused_one_by_one() {
    let office = office().await;
    let one = {
        begun(&office, office.infer(1, 1)).await;
        office.gate.abandon(&office.infer(1, 1)).await.unwrap();
        let unknown = office.events().await.iter().find_map(|event| match &event.fact {
            Fact::HoldLeftUnknown(body) => Some(body.held),
            _ => None,
        });
        unknown.unwrap()
    };
    // Room for two more.
    let limit = NanoUsd(3 * one.0);
    office.state("limit", budget(AppliesTo::Organisation, Period::Day, limit).into()).await;
    let calls = (2..=4).map(|step| office.infer(step, 1)).collect();
    let (calls, events) = begin(&office, calls, Carried::default()).await;
    assert_eq!(events.unwrap().iter().filter(|event| event.fact.kind() == "hold.taken").count(), 2);
    assert!(matches!(
        calls.as_slice(),
        [Begins::Goes(_), Begins::Goes(_), Begins::Came(came)] if matches!(came.passed, Passed::Refused(_))
    ));
}

#[tokio::test]
async fn of_several_calls_one_that_changes_something_outside_is_made_alone() {
    let office = office().await;
    let post = || office.call(1, "slack.post", json!({"channel": "C1", "text": "hi"}));
    let (calls, _) =
        begin(&office, vec![office.infer(1, 1), post(), office.infer(2, 1)], Carried::default()).await;
    assert!(matches!(calls.as_slice(), [Begins::Goes(_), Begins::Behind, Begins::Behind]), "{calls:?}");
    let (calls, _) = begin(&office, vec![post(), office.infer(4, 1)], Carried::default()).await;
    assert!(matches!(calls.as_slice(), [Begins::Goes(_), Begins::Behind]), "{calls:?}");
}

#[tokio::test]
async fn what_the_gate_knew_before_lets_nothing_through_that_the_record_does_not() {
    let office = office().await;
    // It knows the seat, its grants, the prices, the policies.
    assert!(matches!(office.pass(office.infer(1, 1)).await, Passed::Done { .. }));
    // Somebody takes the grant away, beside this gate.
    append(&office.record, "takes", created("desk", "assistant", &["slack.post"]).into()).await;
    assert!(matches!(office.pass(office.infer(2, 1)).await, Passed::Denied(_)));
    append(&office.record, "gives", created("desk", "assistant", &["slack.post", MODEL]).into()).await;
    assert!(matches!(office.pass(office.infer(3, 1)).await, Passed::Done { .. }));
    // Another price: what is held follows from it at once.
    let dearer = prices(event::Price { input_per_mtok: Some(usd("4")), ..price() });
    append(&office.record, "list", dearer.clone().into()).await;
    office.pass(office.infer(4, 1)).await;
    let taken = office.events().await.into_iter().rev().find_map(|event| match event.fact {
        Fact::HoldTaken(body) => Some(body),
        _ => None,
    });
    assert_eq!(taken.unwrap().worst.unwrap().prices, dearer.digest);
    // A budget that was not there when it looked.
    append(&office.record, "purse", budget(AppliesTo::Seat(seat("desk")), Period::Day, usd("0")).into())
        .await;
    assert!(matches!(office.pass(office.infer(5, 1)).await, Passed::Refused(_)));
}

#[tokio::test]
async fn an_end_of_a_hold_that_somebody_else_stated_is_left_out_and_the_rest_stands() {
    let office = office().await;
    let going = begun(&office, office.infer(1, 1)).await;
    office.clock.forward(fold::purse::HOLD_OPEN_MS_MAX + 1);
    let came = office.gate.go(going, None).await;
    assert_eq!(office.gate.clear_holds().await.unwrap(), 1);
    let owed: Vec<Owed> = vec![came.owed];
    let stood = gate::tell(&office.record, owed, vec![word("after")]).await.unwrap();
    assert_eq!(kinds(&stood), ["node.started"]);
    let ends: Vec<_> =
        kinds(&office.events().await).into_iter().filter(|kind| kind.starts_with("hold.")).collect();
    assert_eq!(ends, ["hold.taken", "hold.started", "hold.left-unknown"]);
    let story = StreamName::parse("word-1").unwrap();
    assert_eq!(office.record.read_stream(&story, Position(1), 10).await.unwrap().len(), 1);
}
