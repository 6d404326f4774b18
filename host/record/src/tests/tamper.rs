//! What somebody with the database in hand can do: it refuses the plain ways, verification names the others. What
//! only one database knows of, such as `truncate`, stands with that database's own tests.

use super::kit::{Place, append_each, delivery, on_every_database, proposed, stream};
use crate::{Anchor, Fault, INLINE_BYTES_MAX, Record, VerifyError};
use event::{Expected, GlobalPosition};
use serde_json::json;

/// Three events in stream `a`, the second with a body kept by digest.
pub(super) async fn three(record: &Record) {
    append_each(record, &["one"]).await;
    let large = proposed("two", delivery(json!("x".repeat(INLINE_BYTES_MAX))));
    record.append(stream("a"), Expected::Any, vec![large]).await.unwrap();
    append_each(record, &["three"]).await;
}

/// An insert of a changed copy of the third event.
pub(super) fn copied(columns: &str) -> String {
    format!(
        "insert into event select {columns}, kind, schema, at, actor, cause, label, '{{}}', null, digest, chain \
         from event where global_position = 3"
    )
}

/// What was tried, and what the refusal has to say.
pub(super) type Tried = (String, &'static str);

/// The ways that every database knows.
pub(super) fn plain_ways() -> Vec<Tried> {
    vec![
        ("update event set at = 1 where global_position = 1".to_owned(), "never changed"),
        ("delete from event where global_position = 3".to_owned(), "never removed"),
        (copied("3, stream, 3, id"), "directly after the last of the record"),
        (copied("3, stream, 4, 'evt_x'"), "directly after the last of the record"),
        (copied("5, stream, 4, 'evt_x'"), "directly after the last of the record"),
        (copied("4, stream, 3, 'evt_x'"), "directly after the last of its stream"),
        (copied("4, stream, 5, 'evt_x'"), "directly after the last of its stream"),
        (copied("4, stream, 4, id"), "of this id stands already"),
        (
            copied("3, stream, 3, id") + " on conflict (id) do update set at = 1",
            "directly after the last of the record",
        ),
        ("delete from blob".to_owned(), "never removed"),
        ("insert into blob select digest, bytes from blob".to_owned(), "stands already"),
    ]
}

pub(super) async fn refuses(place: &Place, ways: Vec<Tried>) {
    for (tried, refused_with) in ways {
        let outcome = place.run(&tried).await;
        let refused = outcome.expect_err(&tried).to_string();
        assert!(refused.contains(refused_with), "{tried}: {refused}");
    }
}

async fn the_database_refuses_every_plain_way_to_change_an_event_or_a_body(place: Place) {
    let record = place.open().await;
    three(&record).await;
    let before = record.verify(None).await.unwrap();
    refuses(&place, plain_ways()).await;
    assert_eq!(record.verify(None).await.unwrap(), before);
}

#[tokio::test]
async fn sqlite_refuses_to_replace_an_event_or_a_body() {
    let place = Place::sqlite();
    let record = place.open().await;
    three(&record).await;
    let replaced = |columns: &str| copied(columns).replacen("insert", "insert or replace", 1);
    let ways = vec![
        ("update or replace event set id = 'evt_x'".to_owned(), "never changed"),
        (replaced("3, stream, 3, id"), "directly after the last of the record"),
        (replaced("4, stream, 3, 'evt_x'"), "directly after the last of its stream"),
        (replaced("4, stream, 4, id"), "of this id stands already"),
        ("update blob set bytes = x'00'".to_owned(), "never changed"),
        ("insert or replace into blob select digest, x'00' from blob".to_owned(), "stands already"),
    ];
    refuses(&place, ways).await;
    record.verify(None).await.unwrap();
}

async fn a_record_that_nobody_touched_is_consistent_and_says_whether_it_is_anchored(place: Place) {
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

/// Makes each change in a record of its own, and compares what verification says of the second event.
pub(super) async fn names(place: impl Fn() -> Place, changes: Vec<(&str, Fault)>) {
    // A server that was started for this test alone ends with its last place.
    let _server = place();
    for (change, fault) in changes {
        let place = place();
        let record = place.open().await;
        three(&record).await;
        place
            .run_unguarded(&format!("update event set {change} where global_position = 2"))
            .await
            .expect(change);
        match record.verify(None).await {
            Err(VerifyError::Event { global_position, fault: found, .. }) => {
                assert_eq!((global_position, found), (GlobalPosition(2), fault), "{change}");
            }
            other => panic!("{change}: {other:?}"),
        }
    }
}

pub(super) fn unreadable(why: &str) -> Fault {
    Fault::Unreadable(format!("the record is corrupt at global position 2: {why}"))
}

pub(super) fn changed_bytes() -> Vec<(&'static str, Fault)> {
    vec![
        ("stream = 'test-b'", Fault::Digest),
        ("position = 9", Fault::Chain),
        ("id = 'evt_x'", Fault::Digest),
        ("kind = 'seat.held'", Fault::Digest),
        ("schema = 2", Fault::Digest),
        ("at = at + 1", Fault::Chain),
        ("actor = replace(actor, 'host', 'hast')", Fault::Digest),
        ("actor = actor || ' '", Fault::Chain),
        ("actor = '{'", unreadable("the actor does not read")),
        ("cause = 'evt_x'", Fault::Digest),
        ("label = replace(label, 'trusted', 'unknown')", Fault::Digest),
        ("digest = replace(digest, substr(digest, 1, 1), 'z')", Fault::Digest),
        ("chain = replace(chain, substr(chain, 1, 1), 'z')", Fault::Chain),
        ("body = '{}', blob = null", Fault::Digest),
    ]
}

#[tokio::test]
async fn a_changed_byte_in_any_column_is_found_and_named_on_sqlite() {
    let not_utf8 = ("actor = cast(x'7b22ff227d' as text)", unreadable("the actor does not read"));
    names(Place::sqlite, changed_bytes().into_iter().chain([not_utf8]).collect()).await;
}

#[tokio::test]
async fn a_changed_byte_in_any_column_is_found_and_named_on_postgres() {
    // A name that the store writes in no such way, though reading it leniently would give the one that stood.
    let not_a_name = ("stream = stream || chr(1)", Fault::Digest);
    names(Place::postgres, changed_bytes().into_iter().chain([not_a_name]).collect()).await;
}

#[tokio::test]
async fn a_changed_byte_is_found_and_named_in_memory() {
    let place = Place::memory();
    let record = place.open().await;
    three(&record).await;
    place.held().change(2, |event| event.actor.push(' '));
    let found = record.verify(None).await;
    assert!(
        matches!(
            found,
            Err(VerifyError::Event { fault: Fault::Chain, global_position: GlobalPosition(2), .. })
        ),
        "{found:?}"
    );
}

async fn a_body_that_was_changed_or_taken_away_is_found_and_named(place: Place) {
    let record = place.open().await;
    three(&record).await;
    for change in ["update blob set bytes = substr(bytes, 2)", "delete from blob"] {
        place.run_unguarded(change).await.unwrap();
        match record.verify(None).await {
            Err(VerifyError::Event { global_position: GlobalPosition(2), fault: Fault::Blob, .. }) => {}
            other => panic!("{change}: {other:?}"),
        }
    }
}

async fn an_event_taken_out_of_the_middle_leaves_a_gap(place: Place) {
    let record = place.open().await;
    three(&record).await;
    place.run_unguarded("delete from event where global_position = 2").await.unwrap();
    let found = record.verify(None).await;
    assert!(
        matches!(
            found,
            Err(VerifyError::Event { global_position: GlobalPosition(3), fault: Fault::Gap, .. })
        ),
        "{found:?}"
    );
}

async fn an_event_moved_up_into_a_gap_breaks_the_chain(place: Place) {
    let record = place.open().await;
    three(&record).await;
    let moved = "delete from event where global_position = 2; \
                 update event set global_position = 2, position = 2 where global_position = 3";
    place.run_unguarded(moved).await.unwrap();
    let found = record.verify(None).await;
    assert!(
        matches!(
            found,
            Err(VerifyError::Event { global_position: GlobalPosition(2), fault: Fault::Chain, .. })
        ),
        "{found:?}"
    );
}

async fn a_cut_tail_is_found_with_the_head_that_was_kept_and_not_without(place: Place) {
    let record = place.open().await;
    three(&record).await;
    let (global_position, chain) = record.head().await.unwrap();
    let anchor = Anchor { global_position, chain: chain.unwrap() };
    place.cut_tail(3).await;
    assert!(!record.verify(None).await.unwrap().anchored);
    let cut = record.verify(Some(&anchor)).await;
    assert!(matches!(cut, Err(VerifyError::Cut { end: GlobalPosition(2), .. })), "{cut:?}");

    append_each(&record, &["another three"]).await;
    let rewritten = record.verify(Some(&anchor)).await;
    assert!(matches!(rewritten, Err(VerifyError::Differs(GlobalPosition(3)))), "{rewritten:?}");
}

async fn a_trigger_that_is_gone_is_missed_before_anything_was_changed(place: Place) {
    let record = place.open().await;
    three(&record).await;
    place.run_unguarded("select 1").await.unwrap();
    let found = record.verify(None).await;
    assert!(matches!(found, Err(VerifyError::Unguarded(_))), "{found:?}");
}

on_every_database! {
    the_database_refuses_every_plain_way_to_change_an_event_or_a_body,
    a_record_that_nobody_touched_is_consistent_and_says_whether_it_is_anchored,
    a_body_that_was_changed_or_taken_away_is_found_and_named,
    an_event_taken_out_of_the_middle_leaves_a_gap,
    an_event_moved_up_into_a_gap_breaks_the_chain,
    a_cut_tail_is_found_with_the_head_that_was_kept_and_not_without,
    a_trigger_that_is_gone_is_missed_before_anything_was_changed,
}
