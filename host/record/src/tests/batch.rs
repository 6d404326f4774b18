//! Calls that share a transaction: what becomes of the good ones when others among them are bad.
//!
//! A decision that waits keeps the writer busy, so that all calls that are sent meanwhile are one batch, in the
//! order in which they were sent.

use super::kit::{
    Place, account, count, delivery, hold, id, on_every_store, positions, proposed, rows, said, stream,
};
use crate::{Append, Decided, Error, INLINE_BYTES_MAX, Record, RowKey};
use event::{Actor, Event, Expected, Position, PrincipalId, Proposed};
use fold::purse::AccountRow;
use fold::setting;
use serde_json::json;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::Poll;

type Call<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// Sends `calls` in their order while the writer is busy, and gives their outcomes.
async fn as_one_batch<T: Send + 'static>(record: &Record, calls: Vec<Call<T>>) -> Vec<Result<T, Error>> {
    let (begin, begun) = tokio::sync::oneshot::channel();
    let (end, ended) = mpsc::channel::<()>();
    let busy = record.clone();
    let busy = tokio::spawn(async move {
        let decision = move |_: &_, _| -> Result<(Vec<Append>, ()), ()> {
            begin.send(()).unwrap();
            ended.recv().unwrap();
            Err(())
        };
        busy.decide(vec![], decision).await.unwrap()
    });
    begun.await.unwrap();
    let mut calls = calls;
    // Asked once, a call is in the queue and waits for its answer.
    std::future::poll_fn(|context| {
        for call in &mut calls {
            assert!(call.as_mut().poll(context).is_pending());
        }
        Poll::Ready(())
    })
    .await;
    end.send(()).unwrap();
    assert_eq!(busy.await.unwrap(), Decided::Rejected(()));
    let mut outcomes = Vec::new();
    for call in calls {
        outcomes.push(call.await);
    }
    outcomes
}

fn call(record: &Record, appends: Vec<Append>) -> Call<Vec<Event>> {
    let record = record.clone();
    Box::pin(async move { record.append_all(appends).await })
}

fn to(name: &str, expected: Expected, events: Vec<Proposed>) -> Append {
    Append::new(stream(name), expected, events)
}

fn one(name: &str, expected: Expected, event: Proposed) -> Vec<Append> {
    vec![to(name, expected, vec![event])]
}

/// Global position and position of each event, for the calls that were done.
fn places(outcome: &Result<Vec<Event>, Error>) -> Vec<(u64, u64)> {
    let events = outcome.as_ref().unwrap_or_else(|error| panic!("{error:?}"));
    events.iter().map(|event| (event.global_position.0, event.position.0)).collect()
}

async fn a_bad_call_among_good_ones_harms_none_of_them_and_takes_no_position(place: Place) {
    let record = place.open().await;
    record.append_all(one("old", Expected::NoStream, said("old"))).await.unwrap();
    let lease = record.lease("turn", "a", 100).await.unwrap().unwrap();
    record.release(lease.clone()).await.unwrap();
    let stranger = Actor { principal: PrincipalId::parse("agent_x").unwrap(), seat: None };
    let other = |name| proposed(name, delivery(json!("another")));

    let outcomes = as_one_batch(
        &record,
        vec![
            call(&record, one("a", Expected::NoStream, said("one"))),
            call(&record, one("a", Expected::NoStream, said("stale"))),
            call(&record, one("b", Expected::Any, hold("two"))),
            call(&record, one("b", Expected::Any, Proposed { actor: stranger, ..said("not mine") })),
            call(&record, vec![to("b", Expected::Any, vec![hold("late")]).fenced(lease.fence())]),
            call(&record, one("a", Expected::Any, other("one"))),
            call(&record, one("a", Expected::Any, other("old"))),
            call(&record, one("a", Expected::NoStream, said("one"))),
            call(&record, one("old", Expected::NoStream, said("old"))),
            call(&record, vec![to("a", Expected::Any, vec![said("new"), said("one")])]),
            call(
                &record,
                vec![
                    to("a", Expected::At(Position(1)), vec![said("three"), hold("four")]),
                    to("b", Expected::At(Position(1)), vec![said("five")]),
                ],
            ),
        ],
    )
    .await;

    assert_eq!(places(&outcomes[0]), [(2, 1)]);
    let actual = Some(Position(1));
    assert!(matches!(&outcomes[1], Err(Error::Conflict { actual: a, .. }) if *a == actual), "{outcomes:?}");
    assert_eq!(places(&outcomes[2]), [(3, 1)]);
    assert!(matches!(&outcomes[3], Err(Error::NoAuthority { .. })), "{outcomes:?}");
    assert!(matches!(&outcomes[4], Err(Error::LeaseLost { .. })), "{outcomes:?}");
    let taken =
        |outcome: &_, name| matches!(outcome, Err(Error::IdTaken { id: named }) if *named == id(name));
    assert!(taken(&outcomes[5], "one") && taken(&outcomes[6], "old"), "{outcomes:?}");
    assert_eq!(places(&outcomes[7]), [(2, 1)], "the event of this batch, given back");
    assert_eq!(outcomes[7].as_ref().unwrap(), outcomes[0].as_ref().unwrap());
    assert_eq!(places(&outcomes[8]), [(1, 1)], "the event of the database, given back");
    assert!(matches!(&outcomes[9], Err(Error::HalfStored { .. })), "{outcomes:?}");
    assert_eq!(places(&outcomes[10]), [(4, 2), (5, 3), (6, 2)]);

    let done = [8, 0, 2, 10].into_iter().flat_map(|n| outcomes[n].as_ref().unwrap().clone());
    assert_eq!(record.read_all(super::kit::START, 10).await.unwrap(), done.collect::<Vec<_>>());
    let held: AccountRow =
        fold::decode(record.row("account", &account().key()).await.unwrap().as_ref()).unwrap();
    assert_eq!(held.held, event::NanoUsd(2), "the holds that stand, and no other");
    record.verify(None).await.unwrap();
    let live = rows(&record).await;
    record.rebuild().await.unwrap();
    assert_eq!(rows(&record).await, live);
}

async fn a_lease_that_changes_hands_within_a_batch_refuses_what_comes_after(place: Place) {
    let record = place.open().await;
    let lease = record.lease("turn", "a", 100).await.unwrap().unwrap();
    let under = |name: &str| vec![to("a", Expected::Any, vec![said(name)]).fenced(lease.fence())];
    let (releasing, held) = (record.clone(), lease.clone());
    let release: Call<Vec<Event>> =
        Box::pin(async move { releasing.release(held).await.map(|()| Vec::new()) });
    let taking = record.clone();
    let take: Call<Vec<Event>> = Box::pin(async move {
        assert!(taking.lease("turn", "b", 100).await.unwrap().is_some());
        Ok(Vec::new())
    });
    let calls = vec![call(&record, under("one")), release, call(&record, under("two")), take];
    let outcomes = as_one_batch(&record, calls).await;
    assert_eq!(places(&outcomes[0]), [(1, 1)]);
    assert!(outcomes[1].is_ok() && outcomes[3].is_ok(), "{outcomes:?}");
    assert!(matches!(&outcomes[2], Err(Error::LeaseLost { .. })), "{outcomes:?}");
    assert!(record.append_all(under("three")).await.is_err());
    assert_eq!(count(&record).await, 1);
}

async fn a_decision_sees_what_the_calls_before_it_in_its_batch_added(place: Place) {
    let record = place.open().await;
    let deciding = record.clone();
    let decision: Call<Vec<Event>> = Box::pin(async move {
        let row = RowKey::new("account", account().key());
        let decide = |rows: &crate::Rows, _| {
            let held = rows.state::<AccountRow>("account", &account().key()).map(|row| row.held);
            assert_eq!(held, Some(event::NanoUsd(2)));
            Ok::<_, ()>((one("a", Expected::At(Position(2)), hold("three")), ()))
        };
        match deciding.decide(vec![row], decide).await? {
            Decided::Appended { events, .. } => Ok(events),
            Decided::Rejected(()) => panic!("it said yes"),
        }
    });
    let outcomes = as_one_batch(
        &record,
        vec![
            call(&record, one("a", Expected::NoStream, hold("one"))),
            call(&record, one("a", Expected::At(Position(1)), hold("two"))),
            decision,
            call(&record, one("a", Expected::At(Position(3)), hold("four"))),
        ],
    )
    .await;
    assert_eq!(places(&outcomes[2]), [(3, 3)]);
    assert_eq!(places(&outcomes[3]), [(4, 4)]);
}

/// More events than are looked up ahead, and than wait to be written.
async fn a_batch_of_thousands_of_events_is_one_history(place: Place) {
    const CALLS: usize = 12;
    const EVENTS: usize = 250;
    let record = place.open().await;
    let events = |n: usize| (0..EVENTS).map(|m| hold(&format!("{n} {m}"))).collect::<Vec<_>>();
    let mut calls = Vec::new();
    for n in 0..CALLS {
        let expected = match n {
            0 => Expected::NoStream,
            _ => Expected::At(Position((n * EVENTS) as u64)),
        };
        calls.push(call(&record, vec![to("a", expected, events(n))]));
    }
    // What was written meanwhile is known as well as what waits.
    calls.push(call(&record, vec![to("a", Expected::Any, events(0))]));
    let outcomes = as_one_batch(&record, calls).await;
    for (n, outcome) in outcomes[..CALLS].iter().enumerate() {
        let first = (n * EVENTS) as u64 + 1;
        assert_eq!(positions(outcome.as_ref().unwrap()), (first..first + EVENTS as u64).collect::<Vec<_>>());
    }
    assert_eq!(outcomes[CALLS].as_ref().unwrap(), outcomes[0].as_ref().unwrap());
    assert_eq!(record.verify(None).await.unwrap().events, (CALLS * EVENTS) as u64);
    let live = rows(&record).await;
    record.rebuild().await.unwrap();
    assert_eq!(rows(&record).await, live);
}

async fn large_bodies_of_one_batch_are_kept_once_each(place: Place) {
    let record = place.open().await;
    let large = |name: &str, body: &str| proposed(name, delivery(json!(body.repeat(INLINE_BYTES_MAX))));
    let outcomes = as_one_batch(
        &record,
        vec![
            call(&record, one("a", Expected::Any, large("one", "x"))),
            call(&record, one("b", Expected::Any, large("two", "y"))),
            call(&record, one("a", Expected::Any, said("small"))),
            call(&record, one("b", Expected::Any, large("three", "x"))),
        ],
    )
    .await;
    let events: Vec<Event> = outcomes.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(record.read_all(super::kit::START, 10).await.unwrap(), events);
    record.verify(None).await.unwrap();
}

async fn a_row_that_does_not_read_stops_in_a_batch_only_the_calls_that_need_it(place: Place) {
    let record = place.open().await;
    record.append_all(one("a", Expected::Any, hold("one"))).await.unwrap();
    place.write_row("account", &account().key(), "{").await;
    let budget = event::BudgetSet {
        budget: "b".into(),
        period: event::Period::Day,
        limit: event::NanoUsd(7),
        applies_to: event::AppliesTo::Organisation,
        time_zone: None,
        reason: String::new(),
    };
    let outcomes = as_one_batch(
        &record,
        vec![
            call(&record, one("a", Expected::Any, proposed("set", budget))),
            call(&record, one("a", Expected::Any, hold("two"))),
            call(&record, one("a", Expected::At(Position(2)), said("three"))),
        ],
    )
    .await;
    assert_eq!(places(&outcomes[0]), [(2, 2)]);
    assert!(matches!(&outcomes[1], Err(Error::Corrupt { .. })), "{outcomes:?}");
    assert_eq!(places(&outcomes[2]), [(3, 3)]);
    assert!(record.row("setting", &setting::budget("b")).await.unwrap().is_some());
}

on_every_store! {
    a_bad_call_among_good_ones_harms_none_of_them_and_takes_no_position,
    a_lease_that_changes_hands_within_a_batch_refuses_what_comes_after,
    a_decision_sees_what_the_calls_before_it_in_its_batch_added,
    a_batch_of_thousands_of_events_is_one_history,
    large_bodies_of_one_batch_are_kept_once_each,
    a_row_that_does_not_read_stops_in_a_batch_only_the_calls_that_need_it,
}
