//! What counts as an edit, as nothing new, and as taken back.

use super::is_slight;
use crate::Arrival;
use crate::classify::classify;
use crate::fixture::own;
use crate::manner::Manner;
use crate::reason::Reason;
use event::DeliveryReceived;
use serde_json::{Value, json};

fn delivery(subtype: &str, message: Value, previous: Value) -> DeliveryReceived {
    let payload = json!({"type": "event_callback", "team_id": "T1", "event": {"type": "message", "subtype": subtype,
        "channel": "C1", "channel_type": "channel", "ts": "9.0", "message": message, "previous_message": previous}});
    DeliveryReceived {
        source: "slack".into(),
        kind: "event_callback".into(),
        event: "message".into(),
        subtype: subtype.into(),
        external_id: String::new(),
        retry: 0,
        payload: payload.into(),
    }
}

fn said(user: &str, text: &str) -> Value {
    json!({"type": "message", "user": user, "text": text, "ts": "1.0", "thread_ts": "0.5", "edited": {"user": user, "ts": "8.0"}})
}

#[test]
fn capitals_space_and_closing_marks_are_nothing_new_and_every_letter_or_figure_is() {
    for (before, now) in [
        ("what does it say", "What does it say?"),
        ("look\nthere ", "look there"),
        ("see <https://a.example>", "see <https://a.example|https://a.example>"),
        ("说什么", "说什么？"),
    ] {
        assert!(is_slight(before, now), "{before:?} {now:?}");
    }
    for (before, now) in [
        ("not now", "now"),
        ("in 3 days", "in 3. days"),
        ("from 1.5 to 2", "from 15 to 2"),
        ("pay 10", "pay -10"),
        ("the trial", "the trail"),
        ("see <https://a.example>", "see <https://b.example>"),
        ("a", "a ?"),
        ("", "x"),
    ] {
        assert!(!is_slight(before, now), "{before:?} {now:?}");
    }
}

#[test]
fn another_text_of_a_person_is_an_edit_of_the_message_where_it_stands() {
    let changed = delivery("message_changed", said("U1", "b"), said("U1", "a"));
    let edit = Arrival::of(&changed).edit(Some(&own())).unwrap();
    assert_eq!((edit.text.text(), edit.edited.as_str()), ("b", "8.0"));
    assert_eq!((edit.place.ts.as_str(), edit.place.thread_ts.as_deref()), ("1.0", Some("0.5")));
    assert_eq!(edit.author.principal.unwrap().as_str(), "person_slack.T1.U1");
    for (now, before) in [
        (said("U1", "a"), said("U1", "a")),
        (said("U0BOT", "b"), said("U0BOT", "a")),
        (said("USLACKBOT", "b"), said("U1", "a")),
        (json!({"text": "b", "ts": "1.0"}), said("U1", "a")),
        (Value::Null, Value::Null),
    ] {
        let none = delivery("message_changed", now, before);
        assert_eq!(Arrival::of(&none).edit(Some(&own())), None, "{:?}", none.payload);
    }
    let plain = delivery("", said("U1", "b"), said("U1", "a"));
    assert_eq!(Arrival::of(&plain).edit(Some(&own())), None);
}

#[test]
fn an_edit_is_its_authors_and_of_no_later_than_it_was_sent() {
    let edit = |by: &str, ts: &str| {
        let mut now = said("U1", "b");
        now["edited"] = json!({"user": by, "ts": ts});
        let mut changed = delivery("message_changed", now, said("U1", "a"));
        let mut payload = changed.payload.json().clone();
        payload["event_time"] = 1_700_000_000.into();
        changed.payload = payload.into();
        Arrival::of(&changed).edit(Some(&own())).map(|edit| edit.edited)
    };
    assert_eq!(edit("U1", "1699999999.000100"), Some("1699999999.000100".to_owned()));
    assert_eq!(edit("U1", "1700000060.000100"), Some("1700000060.000100".to_owned()));
    assert_eq!(edit("U1", "9999999999.000000"), Some(String::new()), "nobody knows when");
    assert_eq!(edit("U9", "1699999999.000100"), None, "somebody else put these words there");
}

#[test]
fn a_question_with_answers_that_is_taken_back_leaves_a_stone_and_is_a_deletion() {
    let stone = json!({"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "hidden": true, "ts": "1.0",
        "thread_ts": "1.0", "text": "This message was deleted."});
    let reason = |delivery: &DeliveryReceived| {
        let arrival = Arrival::of(delivery);
        (
            classify(&arrival, false, Some(&own()), &Manner::default()),
            arrival.deletion(Some(&own())).map(|place| place.ts),
        )
    };
    for (subtype, message, previous, wanted) in [
        ("message_changed", stone.clone(), said("U1", "a"), (Reason::Deletion, Some("1.0"))),
        ("message_deleted", Value::Null, said("U1", "a"), (Reason::Deletion, Some("1.0"))),
        ("message_deleted", Value::Null, stone.clone(), (Reason::Deletion, Some("1.0"))),
        ("message_changed", stone.clone(), said("U0BOT", "a"), (Reason::OwnMessage, None)),
        ("message_changed", said("U1", "b"), said("U1", "a"), (Reason::Edit, None)),
    ] {
        let delivery = delivery(subtype, message, previous);
        let (reason, ts) = reason(&delivery);
        assert_eq!((reason, ts.as_deref()), wanted, "{:?}", delivery.payload);
        assert_eq!(Arrival::of(&delivery).edit(Some(&own())).is_some(), reason == Reason::Edit);
    }
}
