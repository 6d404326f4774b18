//! The columns of an event, out of a statement and into one.

use crate::store::{signed, unsigned};
use crate::stored::Stored;
use event::{Digest, GlobalPosition, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, Row, params};

/// Events with their bodies, wherever those are kept; the columns are those of [`Raw`].
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

/// The columns of text, by number, in the order of [`Raw::text`]: a name would be looked for in every row anew. A body
/// stands in one of two.
const TEXTS: [usize; 10] = [1, 3, 4, 7, 8, 9, 10, 11, 12, 13];
const BODY: usize = 10;
const BLOB_BYTES: usize = 14;

/// Events as a statement gave them, their texts one behind the other, so that a page is a few pieces of memory and not
/// a dozen for every event: what is made of it is made and thrown away by one thread.
#[derive(Debug, Default)]
pub(super) struct Raw {
    text: Vec<u8>,
    events: Vec<RawEvent>,
}

#[derive(Debug)]
struct RawEvent {
    global_position: i64,
    position: i64,
    schema: i64,
    at: i64,
    /// Of each text; nothing for one that is null.
    lengths: [Option<usize>; TEXTS.len()],
}

impl Raw {
    /// The place of the last event.
    pub(super) fn end(&self) -> Option<GlobalPosition> {
        self.events.last().map(|event| GlobalPosition(unsigned(event.global_position)))
    }

    fn push(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let mut lengths = [None; TEXTS.len()];
        for (length, column) in lengths.iter_mut().zip(TEXTS) {
            let value = match row.get_ref(column)? {
                ValueRef::Null if column == BODY => row.get_ref(BLOB_BYTES)?,
                value => value,
            };
            if value != ValueRef::Null {
                let bytes = value.as_bytes()?;
                self.text.extend_from_slice(bytes);
                *length = Some(bytes.len());
            }
        }
        self.events.push(RawEvent {
            global_position: row.get(0)?,
            position: row.get(2)?,
            schema: row.get(5)?,
            at: row.get(6)?,
            lengths,
        });
        Ok(())
    }

    /// The events, in the order in which the statement gave them.
    pub(super) fn stored(&self) -> Vec<Stored> {
        let mut rest = self.text.as_slice();
        self.events.iter().map(|event| event.stored(&mut rest)).collect()
    }
}

impl RawEvent {
    /// Takes its texts off the front of `rest`. Text is bytes here, so that a column that is no longer UTF-8 is read and
    /// found wrong, instead of failing a whole page without a name.
    fn stored(&self, rest: &mut &[u8]) -> Stored {
        let texts = self.lengths.map(|length| {
            let (text, after) = rest.split_at_checked(length?)?;
            *rest = after;
            Some(lossy(text))
        });
        let [stream, id, kind, actor, cause, label, body, blob, digest, chain] = texts;
        // None of these may be null where it stands.
        let text = Option::unwrap_or_default;
        Stored {
            global_position: unsigned(self.global_position),
            stream: text(stream),
            position: unsigned(self.position),
            id: text(id),
            kind: text(kind),
            schema: self.schema,
            at: Timestamp(self.at),
            actor: text(actor),
            cause,
            label: text(label),
            body,
            blob,
            digest: text(digest),
            chain: text(chain),
        }
    }
}

/// The events of a statement, not made yet.
pub(super) fn raw(
    connection: &Connection,
    statement: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Raw> {
    let mut statement = connection.prepare_cached(statement)?;
    let (mut rows, mut raw) = (statement.query(parameters)?, Raw::default());
    while let Some(row) = rows.next()? {
        raw.push(row)?;
    }
    Ok(raw)
}

/// The events of a statement.
pub(super) fn all_stored(
    connection: &Connection,
    statement: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Stored>> {
    Ok(raw(connection, statement, parameters)?.stored())
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
