//! Append and read, one caller at a time.

use super::kit::{
    Place, START, append_each, count, delivery, id, on_every_store, positions, proposed, said, stream,
};
use crate::{APPEND_EVENTS_MAX, Append, BODY_BYTES_MAX, Error, INLINE_BYTES_MAX, ROWS_AT_ONCE_MAX, RowKey};
use event::{BudgetSet, Event, Expected, GlobalPosition, NanoUsd, Period, Position, StreamName, Timestamp};
use serde_json::{Value, json};

async fn what_append_returns_is_what_a_read_returns(place: Place) {
    let record = place.open().await;
    place.clock.set(1_700_000_000_000);
    // Canonical form writes the float as `1`: what a fold sees today must be what a rebuild will see.
    let payload = json!({"b": 1.0, "a": [1e300, -0.0, 333_333_333.333_333_3, "é\u{0}€"]});
    let mut wanted = proposed("one", delivery(payload));
    wanted.cause = Some(id("cause"));
    let appended =
        record.append(stream("a"), Expected::NoStream, vec![wanted.clone(), said("two")]).await.unwrap();

    assert_eq!(record.read_all(START, 10).await.unwrap(), appended);
    assert_eq!(record.read_stream(&stream("a"), Position(1), 10).await.unwrap(), appended);
    assert_eq!(record.event(&id("one")).await.unwrap().as_ref(), appended.first());
    let one = &appended[0];
    assert_eq!(
        (one.global_position, one.position, one.at),
        (GlobalPosition(1), Position(1), Timestamp(1_700_000_000_000))
    );
    assert_eq!((&one.actor, &one.cause, &one.label), (&wanted.actor, &wanted.cause, &wanted.label));
    assert_eq!(one.digest, wanted.digest(&stream("a")));
    assert_eq!(one.digest, one.content_digest());
}

async fn a_stale_writer_gets_a_conflict_that_names_the_actual_position(place: Place) {
    let record = place.open().await;
    append_each(&record, &["one", "two"]).await;
    for expected in [Expected::NoStream, Expected::At(Position(1)), Expected::At(Position(3))] {
        match record.append(stream("a"), expected, vec![said("three")]).await {
            Err(Error::Conflict { stream: named, actual, .. }) => {
                assert_eq!((named, actual), (stream("a"), Some(Position(2))));
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
    let empty = record.append(stream("b"), Expected::At(Position(1)), vec![said("three")]).await;
    assert!(matches!(empty, Err(Error::Conflict { actual: None, .. })), "{empty:?}");
    assert_eq!(count(&record).await, 2);
    record.append(stream("a"), Expected::At(Position(2)), vec![said("three")]).await.unwrap();
}

async fn a_retry_gives_the_stored_events_back_also_where_the_stream_has_moved_on(place: Place) {
    let record = place.open().await;
    let call = || vec![said("one"), said("two")];
    let first = record.append(stream("a"), Expected::NoStream, call()).await.unwrap();
    append_each(&record, &["three"]).await;
    place.clock.set(99);
    let again = record.append(stream("a"), Expected::NoStream, call()).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(count(&record).await, 3);
}

async fn an_id_that_names_another_event_is_taken(place: Place) {
    let record = place.open().await;
    append_each(&record, &["one"]).await;
    let other_body = proposed("one", delivery(json!("another")));
    let other_stream = said("one");
    for (to, event) in [(stream("a"), other_body), (stream("b"), other_stream)] {
        let taken = record.append(to, Expected::Any, vec![said("new"), event]).await;
        assert!(matches!(&taken, Err(Error::IdTaken { id: named }) if *named == id("one")), "{taken:?}");
    }
    let twice = record.append(stream("a"), Expected::Any, vec![said("new"), said("new")]).await;
    assert!(matches!(&twice, Err(Error::IdTaken { id: named }) if *named == id("new")), "{twice:?}");
    assert_eq!(count(&record).await, 1);
}

async fn an_append_of_which_half_is_stored_is_neither_new_nor_a_retry(place: Place) {
    let record = place.open().await;
    append_each(&record, &["one"]).await;
    let half = record.append(stream("a"), Expected::Any, vec![said("two"), said("one")]).await;
    match half {
        Err(Error::HalfStored { stored, missing }) => assert_eq!((stored, missing), (id("one"), id("two"))),
        other => panic!("{other:?}"),
    }
    assert_eq!(count(&record).await, 1);
}

async fn appends_to_several_streams_stand_all_or_none(place: Place) {
    let record = place.open().await;
    let to = |name: &str, expected, event: &str| Append::new(stream(name), expected, vec![said(event)]);
    let one_is_stale = vec![to("a", Expected::NoStream, "one"), to("b", Expected::At(Position(7)), "two")];
    assert!(record.append_all(one_is_stale).await.is_err());
    assert_eq!(count(&record).await, 0);

    // The second append to `a` stands on the first.
    let good = vec![
        to("a", Expected::NoStream, "one"),
        to("b", Expected::NoStream, "two"),
        to("a", Expected::At(Position(1)), "three"),
    ];
    let events = record.append_all(good).await.unwrap();
    let places = events.iter().map(|e| (e.global_position.0, e.stream.clone(), e.position.0));
    assert_eq!(places.collect::<Vec<_>>(), [(1, stream("a"), 1), (2, stream("b"), 1), (3, stream("a"), 2)]);
}

async fn an_append_without_events_still_insists_on_what_it_expects(place: Place) {
    let record = place.open().await;
    append_each(&record, &["one"]).await;
    assert_eq!(record.append(stream("a"), Expected::At(Position(1)), vec![]).await.unwrap(), vec![]);
    let stale = record.append(stream("a"), Expected::NoStream, vec![]).await;
    assert!(matches!(stale, Err(Error::Conflict { .. })), "{stale:?}");
}

async fn time_never_runs_backwards_in_the_record(place: Place) {
    let record = place.open().await;
    let mut times = Vec::new();
    for (name, now) in [("one", 100), ("two", 50), ("three", 120)] {
        place.clock.set(now);
        times.extend(append_each(&record, &[name]).await.iter().map(|event| event.at.0));
    }
    assert_eq!(times, [100, 100, 120]);
}

async fn a_body_that_json_does_not_keep_is_turned_away_with_the_place_named(place: Place) {
    let record = place.open().await;
    let inexact = proposed("one", delivery(json!({"ids": [9_007_199_254_740_993_u64]})));
    match record.append(stream("a"), Expected::Any, vec![inexact]).await {
        Err(Error::Inexact { pointer, .. }) => assert_eq!(pointer, "/payload/ids/0"),
        other => panic!("{other:?}"),
    }
    // Deeper than a reader goes: stored, it would stop every follower for ever.
    let deep = (0..127).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    assert!(serde_json::from_str::<Value>(&deep.to_string()).is_ok(), "it can arrive");
    let deep = record.append(stream("a"), Expected::Any, vec![proposed("one", delivery(deep))]).await;
    assert!(matches!(deep, Err(Error::Unreadable { .. })), "{deep:?}");
    assert_eq!(count(&record).await, 0);
}

async fn what_is_too_large_is_turned_away_with_its_size(place: Place) {
    let record = place.open().await;
    let large = proposed("one", delivery(json!("x".repeat(BODY_BYTES_MAX))));
    let large = record.append(stream("a"), Expected::Any, vec![large]).await;
    assert!(matches!(large, Err(Error::TooLarge { size, max, .. }) if size > max), "{large:?}");
    let many = (0..=APPEND_EVENTS_MAX).map(|n| said(&n.to_string())).collect();
    let many = record.append(stream("a"), Expected::Any, many).await;
    assert!(matches!(many, Err(Error::TooLarge { .. })), "{many:?}");
    assert_eq!(count(&record).await, 0);
}

async fn a_large_body_is_kept_once_by_its_digest_and_reads_back(place: Place) {
    let record = place.open().await;
    let large = |name: &str| proposed(name, delivery(json!("x".repeat(INLINE_BYTES_MAX))));
    let events =
        record.append(stream("a"), Expected::Any, vec![large("one"), large("two"), said("small")]).await;
    let events = events.unwrap();
    assert_eq!(record.read_all(START, 10).await.unwrap(), events);
    let again = record.append(stream("a"), Expected::Any, vec![large("two")]).await.unwrap();
    assert_eq!(again, events[1..2]);
}

async fn reads_keep_to_their_place_and_limit(place: Place) {
    let record = place.open().await;
    let all = append_each(&record, &["one", "two", "three", "four"]).await;
    record.append(stream("b"), Expected::NoStream, vec![said("five")]).await.unwrap();

    assert_eq!(record.read_all(GlobalPosition(1), 2).await.unwrap(), all[1..3]);
    assert_eq!(record.read_all(GlobalPosition(5), 2).await.unwrap(), vec![]);
    assert_eq!(record.read_stream(&stream("a"), Position(3), 9).await.unwrap(), all[2..]);
    assert_eq!(record.read_stream(&stream("c"), Position(1), 9).await.unwrap(), vec![]);
    let some = [GlobalPosition(4), GlobalPosition(2), GlobalPosition(77)];
    assert_eq!(positions(&record.events_at(&some).await.unwrap()), [2, 4]);
    assert_eq!(record.event(&id("nobody")).await.unwrap(), None);
}

async fn names_from_outside_are_kept_to_the_last_byte_and_many_rows_change_at_once(place: Place) {
    let record = place.open().await;
    // A zero byte ends a string in C, and in SQLite's own JSON functions.
    let odd = StreamName::new("test", "a\u{0}b'\"é");
    let even = StreamName::new("test", "a\u{0}c");
    for (to, name) in [(&odd, "one"), (&even, "two"), (&odd, "three")] {
        record.append(to.clone(), Expected::Any, vec![said(name)]).await.unwrap();
    }
    assert_eq!(positions(&record.read_stream(&odd, Position(1), 9).await.unwrap()), [1, 3]);

    let budgets = (0..100).map(|n| format!("b\u{0}{n}")).collect::<Vec<_>>();
    let set = |budget: &String| {
        let fact = BudgetSet {
            budget: budget.clone(),
            period: Period::Day,
            limit: NanoUsd(7),
            applies_to: event::AppliesTo::Organisation,
            time_zone: None,
            reason: String::new(),
        };
        proposed(budget, fact)
    };
    record.append(odd, Expected::Any, budgets.iter().map(set).collect()).await.unwrap();
    for budget in &budgets {
        let row = record.row("setting", &fold::setting::budget(budget)).await.unwrap();
        assert_eq!(fold::decode::<BudgetSet>(row.as_ref()).unwrap().budget, *budget);
    }
    let live = record.rows_digest().await.unwrap();
    record.rebuild().await.unwrap();
    assert_eq!(record.rows_digest().await.unwrap(), live);
}

async fn rows_read_together_are_those_that_stand_and_no_other_may_be_asked_for(place: Place) {
    let record = place.open().await;
    let names: Vec<String> = (0..ROWS_AT_ONCE_MAX).map(|n| format!("b\u{0}{n}")).collect();
    let set = |name: &String| {
        let fact = BudgetSet {
            budget: name.clone(),
            period: Period::Day,
            limit: NanoUsd(7),
            applies_to: event::AppliesTo::Organisation,
            time_zone: None,
            reason: String::new(),
        };
        proposed(name, fact)
    };
    record.append(stream("a"), Expected::Any, names[1..].iter().map(set).collect()).await.unwrap();
    let key = |name: &String| RowKey::new("setting", fold::setting::budget(name));
    let all: Vec<RowKey> = names.iter().map(key).collect();
    let rows = record.rows(all.clone()).await.unwrap();
    for (n, key) in all.iter().enumerate() {
        let one = record.row(key.projection, &key.key).await.unwrap();
        assert_eq!(rows.get(key.projection, &key.key), one.as_ref(), "{key:?}");
        assert_eq!(one.is_some(), n > 0);
    }
    rows.were_named().unwrap();
    // A row of another projection under the same key is another row, and nobody named it.
    assert_eq!(rows.get("budget", &all[1].key), None);
    assert!(matches!(rows.were_named(), Err(Error::RowNotNamed { key, .. }) if key == all[1].key));

    let twice = record.rows(vec![all[1].clone(), all[2].clone(), all[1].clone()]).await.unwrap();
    assert!(twice.get("setting", &all[1].key).is_some() && twice.get("setting", &all[2].key).is_some());
    record.rows(Vec::new()).await.unwrap().were_named().unwrap();
    let too_many = all.into_iter().chain([RowKey::new("setting", "one more")]).collect();
    let too_many = record.rows(too_many).await;
    assert!(matches!(too_many, Err(Error::TooLarge { max: ROWS_AT_ONCE_MAX, .. })), "{too_many:?}");
}

async fn the_head_is_the_last_event_and_its_chain_links_to_the_one_before(place: Place) {
    let record = place.open().await;
    assert_eq!(record.head().await.unwrap(), (START, None));
    let events = append_each(&record, &["one", "two"]).await;
    let chain = |event: &Event| Some(event.chain.clone());
    assert_eq!(record.head().await.unwrap(), (GlobalPosition(2), chain(&events[1])));
    assert_ne!(chain(&events[0]), chain(&events[1]));
}

async fn an_event_of_a_kind_nobody_knows_is_an_error_that_names_it(place: Place) {
    let record = place.open().await;
    append_each(&record, &["one", "two"]).await;
    place.write_kind(2, "seat.abolished").await;
    match record.read_all(START, 10).await {
        Err(error @ Error::Corrupt { global_position: GlobalPosition(2), .. }) => {
            assert!(error.to_string().contains("seat.abolished"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(record.read_all(START, 1).await.unwrap().len(), 1, "what comes before still reads");
}

async fn a_cursor_is_what_was_last_said_and_outlives_the_handle(place: Place) {
    let record = place.open().await;
    assert_eq!(record.cursor("converse").await.unwrap(), START);
    record.set_cursor("converse", GlobalPosition(7)).await.unwrap();
    record.set_cursor("other", GlobalPosition(9)).await.unwrap();
    drop(record);
    assert_eq!(place.open().await.cursor("converse").await.unwrap(), GlobalPosition(7));
}

on_every_store! {
    what_append_returns_is_what_a_read_returns,
    a_stale_writer_gets_a_conflict_that_names_the_actual_position,
    a_retry_gives_the_stored_events_back_also_where_the_stream_has_moved_on,
    an_id_that_names_another_event_is_taken,
    an_append_of_which_half_is_stored_is_neither_new_nor_a_retry,
    appends_to_several_streams_stand_all_or_none,
    an_append_without_events_still_insists_on_what_it_expects,
    time_never_runs_backwards_in_the_record,
    a_body_that_json_does_not_keep_is_turned_away_with_the_place_named,
    what_is_too_large_is_turned_away_with_its_size,
    a_large_body_is_kept_once_by_its_digest_and_reads_back,
    reads_keep_to_their_place_and_limit,
    names_from_outside_are_kept_to_the_last_byte_and_many_rows_change_at_once,
    rows_read_together_are_those_that_stand_and_no_other_may_be_asked_for,
    the_head_is_the_last_event_and_its_chain_links_to_the_one_before,
    an_event_of_a_kind_nobody_knows_is_an_error_that_names_it,
    a_cursor_is_what_was_last_said_and_outlives_the_handle,
}
