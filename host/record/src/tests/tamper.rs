//! What somebody with the file in hand can do: the database refuses the plain ways, verification names the others.

use super::kit::{Place, append_each, delivery, proposed, stream};
use crate::{Anchor, Fault, INLINE_BYTES_MAX, Record, VerifyError};
use event::{Expected, GlobalPosition};
use serde_json::json;

/// Three events in stream `a`, the second with a body kept by digest.
async fn three(record: &Record) {
    append_each(record, &["one"]).await;
    let large = proposed("two", delivery(json!("x".repeat(INLINE_BYTES_MAX))));
    record.append(stream("a"), Expected::Any, vec![large]).await.unwrap();
    append_each(record, &["three"]).await;
}

/// The triggers out of the way: what it takes to change an event at all.
const UNGUARDED: &str = "drop trigger event_update; drop trigger event_delete; drop trigger event_insert; \
                         drop trigger blob_update; drop trigger blob_delete; ";

#[tokio::test]
async fn the_database_refuses_every_plain_way_to_change_an_event_or_a_body() {
    let place = Place::new();
    let record = place.open().await;
    three(&record).await;
    let before = record.verify(None).await.unwrap();
    let copied = |columns: &str| {
        format!(
            "insert or replace into event select {columns}, kind, schema, at, actor, cause, label, '{{}}', null, digest, \
             chain from event where global_position = 3"
        )
    };
    for (tried, refused_with) in [
        ("update event set at = 1 where global_position = 1".to_owned(), "never changed"),
        ("update or replace event set id = 'evt_x'".to_owned(), "never changed"),
        ("delete from event where global_position = 3".to_owned(), "never removed"),
        (copied("3, stream, 3, id"), "directly after the last of the record"),
        (copied("3, stream, 4, 'evt_x'"), "directly after the last of the record"),
        (copied("5, stream, 4, 'evt_x'"), "directly after the last of the record"),
        (copied("4, stream, 3, 'evt_x'"), "directly after the last of its stream"),
        (copied("4, stream, 5, 'evt_x'"), "directly after the last of its stream"),
        (copied("4, stream, 4, id"), "of this id stands already"),
        (
            copied("3, stream, 3, id").replace("insert or replace", "insert")
                + " on conflict (id) do update set at = 1",
            "directly after the last of the record",
        ),
        ("update blob set bytes = x'00'".to_owned(), "never changed"),
        ("delete from blob".to_owned(), "never removed"),
        ("insert or replace into blob select digest, x'00' from blob".to_owned(), "stands already"),
    ] {
        let outcome = place.run(&tried).await;
        let refused = outcome.expect_err(&tried).to_string();
        assert!(refused.contains(refused_with), "{tried}: {refused}");
    }
    assert_eq!(record.verify(None).await.unwrap(), before);
}

#[tokio::test]
async fn a_record_that_nobody_touched_is_consistent_and_says_whether_it_is_anchored() {
    let place = Place::new();
    let record = place.open().await;
    three(&record).await;
    let found = record.verify(None).await.unwrap();
    assert_eq!(found.to_string(), "3 events: consistent, not anchored");
    let (global_position, chain) = record.head().await.unwrap();
    let anchor = Anchor { global_position, chain: chain.unwrap() };
    append_each(&record, &["four"]).await;
    let found = record.verify(Some(&anchor)).await.unwrap();
    assert_eq!(found.to_string(), "4 events: consistent, anchored");
}

#[tokio::test]
async fn a_changed_byte_in_any_column_is_found_and_named() {
    let unreadable =
        |why: &str| Fault::Unreadable(format!("the record is corrupt at global position 2: {why}"));
    for (change, fault) in [
        ("update event set stream = 'test-b'", Fault::Digest),
        ("update event set position = 9", Fault::Chain),
        ("update event set id = 'evt_x'", Fault::Digest),
        ("update event set kind = 'seat.held'", Fault::Digest),
        ("update event set schema = 2", Fault::Digest),
        ("update event set at = at + 1", Fault::Chain),
        ("update event set actor = replace(actor, 'host', 'hast')", Fault::Digest),
        ("update event set actor = actor || ' '", Fault::Chain),
        ("update event set actor = '{'", unreadable("the actor does not read")),
        ("update event set actor = cast(x'7b22ff227d' as text)", unreadable("the actor does not read")),
        ("update event set cause = 'evt_x'", Fault::Digest),
        ("update event set label = replace(label, 'trusted', 'unknown')", Fault::Digest),
        ("update event set digest = replace(digest, substr(digest, 1, 1), 'z')", Fault::Digest),
        ("update event set chain = replace(chain, substr(chain, 1, 1), 'z')", Fault::Chain),
        ("update event set body = '{}', blob = null", Fault::Digest),
    ] {
        let place = Place::new();
        let record = place.open().await;
        three(&record).await;
        place.run(&format!("{UNGUARDED} {change} where global_position = 2")).await.expect(change);
        match record.verify(None).await {
            Err(VerifyError::Event { global_position, fault: found, .. }) => {
                assert_eq!((global_position, found), (GlobalPosition(2), fault), "{change}");
            }
            other => panic!("{change}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_body_that_was_changed_or_taken_away_is_found_and_named() {
    for change in ["update blob set bytes = cast(replace(bytes, 'xx', 'xy') as blob)", "delete from blob"] {
        let place = Place::new();
        let record = place.open().await;
        three(&record).await;
        place.run(&format!("pragma foreign_keys = off; {UNGUARDED} {change}")).await.unwrap();
        match record.verify(None).await {
            Err(VerifyError::Event { global_position: GlobalPosition(2), fault: Fault::Blob, .. }) => {}
            other => panic!("{change}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_event_taken_out_of_the_middle_leaves_a_gap_and_one_moved_up_breaks_the_chain() {
    let cut = "delete from event where global_position = 2";
    let moved = "update event set global_position = 2, position = 2 where global_position = 3";
    for (change, at, fault) in [(cut.to_owned(), 3, Fault::Gap), (format!("{cut}; {moved}"), 2, Fault::Chain)]
    {
        let place = Place::new();
        let record = place.open().await;
        three(&record).await;
        place.run(&format!("{UNGUARDED} {change}")).await.unwrap();
        match record.verify(None).await {
            Err(VerifyError::Event { global_position, fault: found, .. }) => {
                assert_eq!((global_position.0, found), (at, fault), "{change}");
            }
            other => panic!("{change}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_cut_tail_is_found_with_the_head_that_was_kept_and_not_without() {
    let place = Place::new();
    let record = place.open().await;
    three(&record).await;
    let (global_position, chain) = record.head().await.unwrap();
    let anchor = Anchor { global_position, chain: chain.unwrap() };
    place
        .run("drop trigger event_delete; delete from event where global_position = 3; create trigger event_delete \
              before delete on event begin select raise(abort, 'an event is never removed'); end")
        .await
        .unwrap();
    assert!(!record.verify(None).await.unwrap().anchored);
    let cut = record.verify(Some(&anchor)).await;
    assert!(matches!(cut, Err(VerifyError::Cut { end: GlobalPosition(2), .. })), "{cut:?}");

    append_each(&record, &["another three"]).await;
    let rewritten = record.verify(Some(&anchor)).await;
    assert!(matches!(rewritten, Err(VerifyError::Differs(GlobalPosition(3)))), "{rewritten:?}");
}

#[tokio::test]
async fn a_trigger_that_is_gone_is_missed_before_anything_was_changed() {
    let place = Place::new();
    let record = place.open().await;
    three(&record).await;
    place.run("drop trigger event_update").await.unwrap();
    let found = record.verify(None).await;
    assert!(matches!(found, Err(VerifyError::Unguarded("event_update"))), "{found:?}");
}
