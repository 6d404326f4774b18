//! One line: an event with everything the record keeps of it, as RFC 8785 writes it.
//!
//! A line is put together from the stored columns, not from the event that is read from them: a body with an older
//! shape, or one that is sealed, stands here exactly as it was written, or its digest would name something else.

use crate::INLINE_BYTES_MAX;
use crate::append::BODY_BYTES_MAX;
use crate::canon::text;
use crate::stored::Stored;
use event::{Digest, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Write as _;

/// The longest line that is read: the largest body, and as much again as no envelope has.
pub(super) const LINE_BYTES_MAX: u64 = 2 * BODY_BYTES_MAX as u64;

/// Why a line is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LineFault {
    #[error("it is not the JSON of an event: {0}")]
    Shape(String),
    #[error("it is not written canonically")]
    Form,
}

/// The keys in the order of RFC 8785, which is the order they stand in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    #[serde(borrow)]
    actor: &'a RawValue,
    at: i64,
    // Unparsed, so that a body may be as deep here as in the record.
    #[serde(borrow)]
    body: &'a RawValue,
    cause: Option<String>,
    chain: String,
    digest: String,
    global_position: u64,
    id: String,
    kind: String,
    #[serde(borrow)]
    label: &'a RawValue,
    position: u64,
    schema: i64,
    stream: String,
}

/// The line of `event`, without its end. Nothing when the event has lost its body.
///
/// Actor, body and label are stored canonically, which the chain vouches for.
pub(super) fn line(event: &Stored) -> Option<String> {
    let body = event.body.as_deref()?;
    let cause = event.cause.as_deref().map_or_else(|| "null".to_owned(), quoted);
    let mut line = String::with_capacity(body.len() + event.actor.len() + event.label.len() + 600);
    // Writing to a string cannot fail.
    let _ = write!(
        line,
        r#"{{"actor":{},"at":{},"body":{body},"cause":{cause},"chain":{},"digest":{},"global_position":{},"#,
        event.actor,
        event.at.0,
        quoted(&event.chain),
        quoted(&event.digest),
        event.global_position,
    );
    let _ = write!(
        line,
        r#""id":{},"kind":{},"label":{},"position":{},"schema":{},"stream":{}}}"#,
        quoted(&event.id),
        quoted(&event.kind),
        event.label,
        event.position,
        event.schema,
        quoted(&event.stream),
    );
    Some(line)
}

fn quoted(value: &str) -> String {
    text(&Value::String(value.to_owned()))
}

/// The event of a line, without its end. Whether it is as it was written is for its digest and chain to say.
pub(super) fn read(line: &str) -> Result<Stored, LineFault> {
    let fields: Fields<'_> = serde_json::from_str(line).map_err(|e| LineFault::Shape(e.to_string()))?;
    let body = fields.body.get();
    let event = Stored {
        global_position: fields.global_position,
        stream: fields.stream,
        position: fields.position,
        id: fields.id,
        kind: fields.kind,
        schema: fields.schema,
        at: Timestamp(fields.at),
        actor: fields.actor.get().to_owned(),
        cause: fields.cause,
        label: fields.label.get().to_owned(),
        blob: (body.len() > INLINE_BYTES_MAX).then(|| Digest::of(body.as_bytes()).as_str().to_owned()),
        body: Some(body.to_owned()),
        digest: fields.digest,
        chain: fields.chain,
    };
    // A second spelling of the same event would be another line with the same chain.
    if self::line(&event).as_deref() == Some(line) { Ok(event) } else { Err(LineFault::Form) }
}
