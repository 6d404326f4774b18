//! From the bytes of a request that is Slack's to a delivery.
//!
//! Events come as JSON; clicks and forms as a form with one field `payload` of JSON; slash commands and the
//! certificate check as plain forms. Every field is optional: what Slack sends next week is a delivery too.
//! Deliberately absent: what any of it means.

use crate::inbox::Incoming;
use crate::slack::keep::kept;
use converse::{Arrival, SOURCE_SLACK};
use event::canon::canonical_digest;
use event::{DeliveryReceived, EventId};
use serde_json::{Map, Value};
use url::form_urlencoded;

/// How deep a payload may be nested. `serde_json` reads 128 levels, and the record and its journal put
/// some around a payload.
pub const DEPTH_MAX: usize = 100;

/// A request that is Slack's by its signature and cannot be read. Sending it again would not help.
#[derive(Debug, thiserror::Error)]
pub enum Unparsable {
    /// It should be JSON.
    #[error("the body is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// It is JSON, but not an object.
    #[error("the body is JSON, but no object")]
    NotAnObject,
    /// It is nested deeper than [`DEPTH_MAX`].
    #[error("the body is nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// It is no form either.
    #[error("the body is neither JSON nor a form")]
    NotAForm,
}

/// Reads a request body. `content_type` is that header's value and `retry` that of `x-slack-retry-num`.
///
/// # Errors
/// [`Unparsable`], whose every variant is answered with 400.
pub fn parse(content_type: &str, retry: u32, body: &[u8]) -> Result<Incoming, Unparsable> {
    let payload = if is_form(content_type, body) { form(body)? } else { json(body)? };
    Ok(incoming(kept(payload), retry))
}

/// Reads the payload of an envelope of Socket Mode; `kind` is the envelope's type and `retry` its `retry_attempt`.
///
/// # Errors
/// [`Unparsable`]: sending it again would not help.
pub fn from_socket(kind: &str, retry: u32, payload: Value) -> Result<Incoming, Unparsable> {
    let Value::Object(mut fields) = payload else { return Err(Unparsable::NotAnObject) };
    if kind == "slash_commands" {
        // Over HTTP it is a form, which gets its type where it is read.
        fields.insert("type".to_owned(), Value::String("slash_command".to_owned()));
    }
    let payload = Value::Object(fields);
    if is_deeper(&payload, DEPTH_MAX) {
        return Err(Unparsable::TooDeep);
    }
    Ok(incoming(kept(payload), retry))
}

/// Where the header does not say, the first byte does: Slack's JSON is always an object.
fn is_form(content_type: &str, body: &[u8]) -> bool {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media.as_str() {
        "application/json" => false,
        "application/x-www-form-urlencoded" => true,
        _ => body.trim_ascii_start().first().is_some_and(|first| !matches!(first, b'{' | b'[')),
    }
}

fn json(body: &[u8]) -> Result<Value, Unparsable> {
    let value: Value = serde_json::from_slice(body).map_err(Unparsable::NotJson)?;
    if !value.is_object() {
        return Err(Unparsable::NotAnObject);
    }
    if is_deeper(&value, DEPTH_MAX) { Err(Unparsable::TooDeep) } else { Ok(value) }
}

/// The form's `payload`, or its fields as an object with the `type` that Slack does not put there.
fn form(body: &[u8]) -> Result<Value, Unparsable> {
    let mut fields = Map::new();
    for (key, value) in form_urlencoded::parse(body) {
        if key == "payload" {
            return json(value.as_bytes());
        }
        // The first value of a repeated key stands, as it does for the payload.
        fields.entry(key.into_owned()).or_insert_with(|| Value::String(value.into_owned()));
    }
    let kind = if fields.contains_key("ssl_check") {
        "ssl_check"
    } else if fields.contains_key("command") {
        "slash_command"
    } else if fields.contains_key("team_id") {
        "form"
    } else {
        return Err(Unparsable::NotAForm);
    };
    fields.insert("type".to_owned(), Value::String(kind.to_owned()));
    Ok(Value::Object(fields))
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(within) = levels.checked_sub(1) else { return true };
    match value {
        Value::Object(fields) => fields.values().any(|value| is_deeper(value, within)),
        Value::Array(items) => items.iter().any(|value| is_deeper(value, within)),
        _ => false,
    }
}

fn incoming(payload: Value, retry: u32) -> Incoming {
    let text =
        |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, external_id) = (text("/type"), text("/event_id"));
    let (event, subtype) = (text("/event/type"), text("/event/subtype"));
    let source = SOURCE_SLACK.to_owned();
    let payload = payload.into();
    let delivery = DeliveryReceived { source, kind, event, subtype, external_id, retry, payload };
    Incoming { id: id_of(&delivery), delivery }
}

/// The one name of a delivery: what Slack calls it, or a digest of what it says.
///
/// Slack promises that a retry carries the same `event_id`, so a retry is the same delivery whatever else
/// differs in it. That two events never share one is not promised to hold for ever, and an emulator that
/// starts anew counts anew; so the event's kind, place, author and moment are part of the name: no retry changes them.
fn id_of(delivery: &DeliveryReceived) -> EventId {
    let arrival = Arrival::of(delivery);
    let team = arrival.team();
    if delivery.external_id.is_empty() {
        let digest = canonical_digest(delivery.payload.json());
        return EventId::derived(&["delivery.received", SOURCE_SLACK, team, digest.as_str()]);
    }
    let moment = ["/event/event_ts", "/event/ts", "/event_time"];
    let moment = moment.into_iter().find_map(|p| delivery.payload.json().pointer(p)).map(Value::to_string);
    EventId::derived(&[
        "delivery.received",
        SOURCE_SLACK,
        team,
        &delivery.external_id,
        &delivery.kind,
        &delivery.event,
        &delivery.subtype,
        arrival.channel().unwrap_or_default(),
        arrival.sender().external(),
        &moment.unwrap_or_default(),
    ])
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, Unparsable, parse};
    use proptest::prelude::*;
    use serde_json::json;

    const FORM: &str = "application/x-www-form-urlencoded";

    #[test]
    fn events_clicks_commands_and_checks_come_on_one_address() {
        let click = format!(
            "payload={}",
            url::form_urlencoded::byte_serialize(br#"{"type":"block_actions","team":{"id":"T1"}}"#)
                .collect::<String>()
        );
        for (content_type, body, kind, event) in [
            (
                "application/json",
                r#"{"type":"event_callback","event":{"type":"message"}}"#,
                "event_callback",
                "message",
            ),
            (
                "application/json; charset=utf-8",
                r#"{"type":"url_verification","challenge":"x"}"#,
                "url_verification",
                "",
            ),
            (FORM, &click, "block_actions", ""),
            (FORM, "command=%2Fask&text=hi&team_id=T1&user_id=U1", "slash_command", ""),
            (FORM, "ssl_check=1&token=x", "ssl_check", ""),
            (FORM, "team_id=T1&trigger_word=x", "form", ""),
            ("", r#" {"type":"shortcut"}"#, "shortcut", ""),
            ("text/plain", "command=%2Fask", "slash_command", ""),
        ] {
            let read = parse(content_type, 2, body.as_bytes()).unwrap().delivery;
            assert_eq!((read.kind.as_str(), read.event.as_str(), read.retry), (kind, event, 2), "{body}");
            assert!(read.payload.json().get("token").is_none());
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let deep = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        for (content_type, body) in [
            ("application/json", "{"),
            ("application/json", ""),
            ("application/json", r#"{"a":"\ud800"}"#),
            ("application/json", "payload=%7B%7D"),
            ("", ""),
            (FORM, "payload=no"),
        ] {
            assert!(matches!(parse(content_type, 0, body.as_bytes()), Err(Unparsable::NotJson(_))), "{body}");
        }
        assert!(matches!(parse("", 0, b"[1]"), Err(Unparsable::NotAnObject)));
        assert!(matches!(parse(FORM, 0, b""), Err(Unparsable::NotAForm)));
        assert!(matches!(parse(FORM, 0, b"hello"), Err(Unparsable::NotAForm)));
        assert!(matches!(parse("", 0, deep(DEPTH_MAX).as_bytes()), Err(Unparsable::TooDeep)));
        assert!(matches!(parse("", 0, deep(100_000).as_bytes()), Err(Unparsable::NotJson(_))));
        assert!(parse("", 0, deep(DEPTH_MAX - 1).as_bytes()).is_ok());
    }

    #[test]
    fn a_retry_is_the_same_delivery_and_another_event_is_not() {
        let id = |retry, event_id: &str, ts: &str, text: &str| {
            let body = json!({"type": "event_callback", "team_id": "T1", "event_id": event_id,
                "event": {"type": "message", "channel": "C1", "ts": ts, "text": text}});
            parse("", retry, body.to_string().as_bytes()).unwrap().id
        };
        assert_eq!(id(0, "Ev1", "1.0", "a"), id(3, "Ev1", "1.0", "a "));
        assert_ne!(id(0, "Ev1", "1.0", "a"), id(0, "Ev2", "1.0", "a"));
        assert_ne!(id(0, "Ev1", "1.0", "a"), id(0, "Ev1", "2.0", "a"), "an emulator that counts anew");
        assert_eq!(id(0, "", "1.0", "a"), id(1, "", "1.0", "a"));
        assert_ne!(id(0, "", "1.0", "a"), id(0, "", "1.0", "b"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(content_type in "(application/json|application/x-www-form-urlencoded|)", body in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&content_type, 0, &body);
        }

        #[test]
        fn no_form_panics(body in "[a-z=&%+0-9{}\"]{0,40}") {
            let _ = parse(FORM, 0, body.as_bytes());
        }
    }
}
