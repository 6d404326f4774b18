//! A page of events as one value: how a whole record is read.
//!
//! A row of the driver is a copy of each column and a message to whoever waits for it, which costs more than what a
//! fold does with the event. So SQLite writes a page's events one behind the other, each column by its length, and
//! whoever wants them takes them apart on a thread of its own.
//!
//! Always holds: bytes come out as they are stored, whatever they are; a page that does not add up is an error.
//! Deliberately absent: bodies that are kept by digest; a page that has one is read by rows.

use super::failed;
use super::read::{lossy, page};
use crate::Error;
use crate::store::{Unread, limited, signed, unsigned};
use crate::stored::Stored;
use event::{GlobalPosition, Timestamp};
use sqlx::SqliteConnection;

/// Numbers and lengths, a blank between two, an empty one for what is null; then the texts.
const PAGE: &str = "select max(e.global_position), count(e.blob), group_concat(concat(\
     e.global_position, ' ', e.position, ' ', e.schema, ' ', e.at, ' ', octet_length(e.stream), ' ', \
     octet_length(e.id), ' ', octet_length(e.kind), ' ', octet_length(e.actor), ' ', octet_length(e.cause), ' ', \
     octet_length(e.label), ' ', octet_length(e.body), ' ', octet_length(e.digest), ' ', octet_length(e.chain), ';', \
     e.stream, e.id, e.kind, e.actor, e.cause, e.label, e.body, e.digest, e.chain), '') \
     from (select * from event where global_position > ? order by global_position limit ?) e";

/// Events after a place, to be taken apart by whoever wants them.
///
/// # Errors
/// [`Error::Unavailable`] when the database does not answer as it should.
pub(super) async fn unread(
    connection: &mut SqliteConnection,
    after: GlobalPosition,
    limit: usize,
) -> Result<Unread, Error> {
    let query = sqlx::query_as(PAGE).bind(signed(after.0)).bind(limited(limit));
    let (end, blobs, packed): (Option<i64>, i64, Option<Vec<u8>>) =
        query.fetch_one(&mut *connection).await.map_err(failed)?;
    let end = end.map(|end| GlobalPosition(unsigned(end)));
    if blobs > 0 {
        return Ok(Unread::of(page(connection, after, limit).await?));
    }
    Ok(Unread { end, read: Box::new(move || unpacked(&packed.unwrap_or_default())) })
}

/// The events of a page, in the order of the record.
fn unpacked(packed: &[u8]) -> Result<Vec<Stored>, Error> {
    let (mut events, mut rest) = (Vec::new(), Rest(packed));
    // Ends because every event takes at least its semicolon.
    while !rest.0.is_empty() {
        events.push(rest.event().ok_or_else(|| Error::corrupt(0, "a page of events does not add up", None))?);
    }
    events.sort_by_key(|event| event.global_position);
    Ok(events)
}

/// What is left of a page.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn event(&mut self) -> Option<Stored> {
        let end = self.0.iter().position(|byte| *byte == b';')?;
        let (head, rest) = self.0.split_at_checked(end)?;
        self.0 = rest.get(1..)?;
        let mut numbers = std::str::from_utf8(head).ok()?.split(' ');
        let mut number = || numbers.next();
        let (global_position, position) = (number()?.parse().ok()?, number()?.parse().ok()?);
        let (schema, at) = (number()?.parse().ok()?, Timestamp(number()?.parse().ok()?));
        let mut lengths = [None; 9];
        for length in &mut lengths {
            *length = match number()? {
                "" => None,
                digits => Some(digits.parse::<usize>().ok()?),
            };
        }
        let [stream, id, kind, actor, cause, label, body, digest, chain] = lengths;
        Some(Stored {
            global_position,
            stream: self.text(stream?)?,
            position,
            id: self.text(id?)?,
            kind: self.text(kind?)?,
            schema,
            at,
            actor: self.text(actor?)?,
            cause: self.optional(cause)?,
            label: self.text(label?)?,
            body: self.optional(body)?,
            blob: None,
            digest: self.text(digest?)?,
            chain: self.text(chain?)?,
        })
    }

    fn text(&mut self, length: usize) -> Option<String> {
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(lossy(text))
    }

    /// Nothing for what does not add up, and an absent text for what is null.
    #[expect(clippy::option_option, reason = "the outer says whether the page adds up")]
    fn optional(&mut self, length: Option<usize>) -> Option<Option<String>> {
        match length {
            None => Some(None),
            Some(length) => self.text(length).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unpacked;

    #[test]
    fn a_page_that_does_not_add_up_is_an_error() {
        let whole = b"1 1 1 5 3 1 1 2  2 2 1 1;a-bik{}{}{}dc2 2 1 5 3 1 1 2 1 2 2 1 1;a-bIk{}c{}{}dc";
        let events = unpacked(whole).unwrap();
        let read: Vec<_> = events.iter().map(|event| (event.id.as_str(), event.cause.as_deref())).collect();
        assert_eq!(read, [("i", None), ("I", Some("c"))]);
        assert_eq!((events[1].body.as_deref(), events[1].chain.as_str()), (Some("{}"), "c"));
        for end in 1..whole.len() {
            let part = unpacked(&whole[..end]);
            assert!(part.is_err() || part.unwrap().len() == 1, "{end}");
        }
    }
}
