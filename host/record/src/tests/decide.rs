//! Decisions inside the writer.

use super::kit::{Place, account, count, hold, id, on_every_store, positions, said, stream};
use crate::{Append, Decided, Error, Foreseen, Record, RowKey};
use event::{Expected, HoldId, NanoUsd, Position, Timestamp};
use fold::purse::AccountRow;
use tokio::task::JoinSet;

const LIMIT: i64 = 20;

fn purse() -> RowKey {
    RowKey::new("account", account().key())
}

fn hold_id(name: &str) -> HoldId {
    HoldId::derived(&[name])
}

/// Takes one hold if the account has less than [`LIMIT`].
async fn take(record: &Record, name: String) -> Result<Decided<i64, String>, Error> {
    record
        .decide(vec![purse()], move |rows, _| {
            let stands: AccountRow = rows.state("account", &account().key()).unwrap_or_default();
            if stands.held >= NanoUsd(LIMIT) {
                return Err(format!("{} held", stands.held.0));
            }
            Ok((vec![Append::new(stream(&name), Expected::NoStream, vec![hold(&name)])], stands.held.0))
        })
        .await
}

async fn decisions_that_race_for_one_row_never_pass_its_limit(place: Place) {
    let records = [place.open().await, place.open().await];
    let mut callers = JoinSet::new();
    for n in 0..64 {
        let record = records[n % 2].clone();
        callers.spawn(async move { take(&record, format!("hold {n}")).await.unwrap() });
    }
    let (mut saw, mut refused) = (Vec::new(), 0);
    for decided in callers.join_all().await {
        match decided {
            Decided::Appended { value, .. } => saw.push(value),
            Decided::Rejected(reason) => {
                assert_eq!(reason, "20 held");
                refused += 1;
            }
        }
    }
    saw.sort_unstable();
    assert_eq!(saw, (0..LIMIT).collect::<Vec<_>>(), "each saw what the one before it left");
    assert_eq!(refused, 64 - LIMIT);
    let row = records[0].row("account", &account().key()).await.unwrap();
    assert_eq!(fold::decode::<AccountRow>(row.as_ref()).unwrap().held, NanoUsd(LIMIT));
}

async fn a_decision_sees_the_time_its_events_will_have(place: Place) {
    let record = place.open().await;
    place.clock.set(500);
    record.append(stream("a"), Expected::Any, vec![said("one")]).await.unwrap();
    place.clock.set(400);
    let decided = record
        .decide(vec![], |_, at| {
            Ok::<_, ()>((vec![Append::new(stream("a"), Expected::Any, vec![said("two")])], at))
        })
        .await
        .unwrap();
    match decided {
        Decided::Appended { events, value } => assert_eq!((value, events[0].at), (Timestamp(500), value)),
        Decided::Rejected(()) => panic!("it decided to append"),
    }
}

async fn a_decision_that_is_tried_again_gives_the_stored_events_back(place: Place) {
    let record = place.open().await;
    let first = take(&record, "one".into()).await.unwrap();
    let again = take(&record, "one".into()).await.unwrap();
    let events = |decided: Decided<i64, String>| match decided {
        Decided::Appended { events, .. } => events,
        Decided::Rejected(reason) => panic!("{reason}"),
    };
    assert_eq!(events(first), events(again));
    assert_eq!(count(&record).await, 1);
}

async fn a_decision_whose_append_conflicts_writes_nothing(place: Place) {
    let record = place.open().await;
    record.append(stream("a"), Expected::Any, vec![said("one")]).await.unwrap();
    let stale = record
        .decide(vec![], |_, _| {
            Ok::<_, ()>((vec![Append::new(stream("a"), Expected::NoStream, vec![said("two")])], ()))
        })
        .await;
    assert!(matches!(stale, Err(Error::Conflict { .. })), "{stale:?}");
    assert_eq!(count(&record).await, 1);
}

async fn a_decision_on_a_row_it_did_not_name_is_refused(place: Place) {
    let record = place.open().await;
    let decided = record
        .decide(vec![purse()], |rows, _| {
            let _ = rows.get("account", "another");
            Ok::<_, ()>((vec![Append::new(stream("a"), Expected::Any, vec![said("one")])], ()))
        })
        .await;
    assert!(matches!(&decided, Err(Error::RowNotNamed { key, .. }) if key == "another"), "{decided:?}");
    assert_eq!(count(&record).await, 0);
}

async fn a_decision_that_panics_harms_only_its_own_caller(place: Place) {
    let record = place.open().await;
    let decided = record.decide::<(), ()>(vec![], |_, _| panic!("on purpose")).await;
    assert!(matches!(decided, Err(Error::Unavailable { .. })), "{decided:?}");
    record.append(stream("a"), Expected::Any, vec![said("one")]).await.unwrap();
}

async fn what_a_decision_foresees_changes_nothing_of_what_it_comes_to(place: Place) {
    let record = place.open().await;
    let decided = async |foreseen: Foreseen, name: &'static str, expected: Expected| {
        let append = Append::new(stream("a"), expected, vec![hold(name)]);
        record.decide_foreseen(foreseen, move |_, _| Ok::<_, ()>((vec![append], ()))).await
    };
    let foreseen = |name: &str| Foreseen {
        rows: vec![purse(), RowKey::new("hold", hold_id(name).as_str())],
        streams: vec![stream("a"), stream("nobody's")],
        ids: vec![id(name), id("nobody's")],
        leases: vec!["nobody's".to_owned()],
    };
    let first = decided(foreseen("one"), "one", Expected::NoStream).await.unwrap();
    let Decided::Appended { events, .. } = &first else { panic!("{first:?}") };
    assert_eq!(positions(events), [1]);
    // A retry, a conflict, and an event that nobody foresaw.
    assert_eq!(decided(foreseen("one"), "one", Expected::NoStream).await.unwrap(), first);
    let stale = decided(foreseen("two"), "two", Expected::NoStream).await;
    assert!(matches!(stale, Err(Error::Conflict { .. })), "{stale:?}");
    decided(foreseen("two"), "three", Expected::At(Position(1))).await.unwrap();
    assert_eq!(count(&record).await, 2);
    let row = record.row("account", &account().key()).await.unwrap();
    let live = record.rows_digest().await.unwrap();
    record.rebuild().await.unwrap();
    assert_eq!(record.rows_digest().await.unwrap(), live);
    assert_eq!(fold::decode::<AccountRow>(row.as_ref()).unwrap().held, NanoUsd(2));
}

on_every_store! {
    what_a_decision_foresees_changes_nothing_of_what_it_comes_to,
    decisions_that_race_for_one_row_never_pass_its_limit,
    a_decision_sees_the_time_its_events_will_have,
    a_decision_that_is_tried_again_gives_the_stored_events_back,
    a_decision_whose_append_conflicts_writes_nothing,
    a_decision_on_a_row_it_did_not_name_is_refused,
    a_decision_that_panics_harms_only_its_own_caller,
}
