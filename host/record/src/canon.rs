//! Canonical text, and the digest of an event's content from text that is canonical already.
//!
//! Both come to what `event` says they are, byte for byte. They are here because a record makes them for every event
//! and every row it writes, and nothing that was written is written a second time for a digest.

use event::{Digest, canonical};
use serde_json::Value;

/// `value` as canonical JSON.
pub(crate) fn text(value: &Value) -> String {
    // Canonical JSON is UTF-8.
    match String::from_utf8(canonical(value)) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// What the digest of an event covers, as canonical text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content<'a> {
    pub(crate) stream: &'a str,
    pub(crate) id: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) schema: i64,
    /// JSON.
    pub(crate) actor: &'a str,
    pub(crate) cause: Option<&'a str>,
    /// JSON.
    pub(crate) label: &'a str,
    /// JSON.
    pub(crate) body: &'a str,
}

impl Content<'_> {
    /// The digest, by the rule of [`event::Proposed::digest`].
    pub(crate) fn digest(&self) -> Digest {
        let quoted = |text: &str| self::text(&Value::String(text.to_owned()));
        let cause = self.cause.map_or_else(|| "null".to_owned(), quoted);
        // The members in the order of RFC 8785.
        let parts = [
            r#"{"actor":"#,
            self.actor,
            r#","body":"#,
            self.body,
            r#","cause":"#,
            &cause,
            r#","id":"#,
            &quoted(self.id),
            r#","kind":"#,
            &quoted(self.kind),
            r#","label":"#,
            self.label,
            r#","schema":"#,
            &self.schema.to_string(),
            r#","stream":"#,
            &quoted(self.stream),
            "}",
        ];
        Digest::of(parts.concat().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, text};
    use event::{Actor, DeliveryReceived, EventId, Fact, Label, PrincipalId, Proposed, StreamName};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-9_i64..9).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            // Keys on both sides of the surrogates, where the two orders differ.
            let key = "[a-c\u{0}\"\u{7f}\u{e000}\u{fb33}\u{1f600}]{0,3}";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..5).prop_map(|fields| json!(fields)),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_digest_from_columns_is_the_digest_of_the_event(payload in value(), name in "[a\"\u{0}\u{1f600}]{1,4}", caused in any::<bool>()) {
            let fact: Fact = DeliveryReceived {
                source: name.clone(),
                kind: String::new(),
                event: String::new(),
                subtype: String::new(),
                external_id: String::new(),
                retry: 0,
                payload: payload.into(),
            }.into();
            let actor = Actor { principal: PrincipalId::host(), seat: None };
            let cause = caused.then(|| EventId::derived(&["cause"]));
            let event = Proposed { id: EventId::derived(&[&name]), actor, cause, label: Label::host(), fact };
            let stream = StreamName::new("test", &name);
            let json = |value: Result<Value, _>| text(&value.unwrap());
            let content = Content {
                stream: stream.as_str(),
                id: event.id.as_str(),
                kind: event.fact.kind(),
                schema: i64::from(event.fact.schema()),
                actor: &json(serde_json::to_value(&event.actor)),
                cause: event.cause.as_ref().map(EventId::as_str),
                label: &json(serde_json::to_value(&event.label)),
                body: &text(&event.fact.body()),
            };
            prop_assert_eq!(content.digest(), event.digest(&stream));
        }
    }
}
