//! The columns of an event, out of a statement and into one.

use crate::store::{signed, unsigned};
use crate::stored::Stored;
use event::{Digest, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Row, params};

/// Events with their bodies, wherever those are kept; the columns are those of [`stored`].
macro_rules! events {
    ($rest:literal) => {
        concat!(
            "select e.global_position, e.stream, e.position, e.id, e.kind, e.schema, e.at, e.actor, e.cause, ",
            "e.label, e.body, e.blob, e.digest, e.chain, b.bytes ",
            "from event e left join blob b on b.digest = e.blob ",
            $rest
        )
    };
}
pub(super) use events;

/// The event of a row, by number: a name would be looked for in every row anew. Text is taken as bytes, so that a column
/// that is no longer UTF-8 is read and found wrong, instead of failing a whole page without a name.
pub(super) fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let text = |column: usize| Ok::<_, rusqlite::Error>(lossy(row.get_ref(column)?.as_bytes()?));
    let optional = |column: usize| match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok::<_, rusqlite::Error>(Some(lossy(value.as_bytes()?))),
    };
    let body = optional(10)?;
    Ok(Stored {
        global_position: unsigned(row.get(0)?),
        stream: text(1)?,
        position: unsigned(row.get(2)?),
        id: text(3)?,
        kind: text(4)?,
        schema: row.get(5)?,
        at: Timestamp(row.get(6)?),
        actor: text(7)?,
        cause: optional(8)?,
        label: text(9)?,
        body: if body.is_some() { body } else { optional(14)? },
        blob: optional(11)?,
        digest: text(12)?,
        chain: text(13)?,
    })
}

/// The events of a statement.
pub(super) fn all_stored(
    connection: &Connection,
    statement: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Stored>> {
    connection.prepare_cached(statement)?.query_map(parameters, stored)?.collect()
}

/// What writes one event.
pub(super) fn insert(connection: &Connection) -> rusqlite::Result<CachedStatement<'_>> {
    connection.prepare_cached(
        "insert into event (global_position, stream, position, id, kind, schema, at, actor, cause, label, body, blob, \
         digest, chain) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
}

/// Writes `event` by what [`insert`] gave.
pub(super) fn write(insert: &mut CachedStatement<'_>, event: &Stored) -> rusqlite::Result<()> {
    let body = if event.blob.is_none() { event.body.as_deref() } else { None };
    insert.execute(params![
        signed(event.global_position),
        event.stream,
        signed(event.position),
        event.id,
        event.kind,
        event.schema,
        event.at.0,
        event.actor,
        event.cause,
        event.label,
        body,
        event.blob,
        event.digest,
        event.chain,
    ])?;
    Ok(())
}

/// Nearly all text is what it should be, which is quickly seen.
fn lossy(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A digest as a column has it; nothing where it is none.
pub(super) fn digest(column: &[u8]) -> Option<Digest> {
    Digest::parse(std::str::from_utf8(column).ok()?)
}
