//! What a store has to offer to keep a record: the seam between the record's rules and where it lies.
//!
//! There are three: `sqlite`, `postgres` and `memory`. Each holds every statement made of it, and no rule of the
//! record. What they promise is the same, and the same tests hold all of them to it:
//! - any number of callers read at once, and see what is committed, all of a transaction or nothing of it;
//! - one transaction of one process at a time writes, from its first statement on, so that what it reads of
//!   positions, rows and leases still holds when it commits;
//! - a commit that is answered outlives the process, as far as the store outlives it.

use crate::Error;
use crate::lease::Lease;
use crate::rows::RowKey;
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{EventId, GlobalPosition, Position, StreamName};
use fold::Row;
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;

/// Many callers read through it at once; it cannot write.
pub(crate) type Reader = Arc<dyn Reads>;
/// One writes through it.
pub(crate) type Writer = Box<dyn Writes>;

/// A row as it is stored: projection, key, canonical JSON, rank.
pub(crate) type StoredRow = (String, String, String, Option<i64>);

/// Reading what is committed.
#[async_trait]
pub(crate) trait Reads: Debug + Send + Sync {
    /// Events of one stream from a position on, in order.
    async fn stream(&self, stream: &StreamName, from: Position, limit: usize) -> Result<Vec<Stored>, Error>;

    /// Events of the whole record after a place, in order.
    async fn all(&self, after: GlobalPosition, limit: usize) -> Result<Vec<Stored>, Error>;

    /// The events at these places that there are, in the order of the record.
    async fn at(&self, positions: &[GlobalPosition]) -> Result<Vec<Stored>, Error>;

    /// The event of this id.
    async fn by_id(&self, id: &EventId) -> Result<Option<Stored>, Error>;

    /// One row.
    async fn row(&self, projection: &str, key: &str) -> Result<Option<Row>, Error>;

    /// The rows under `keys` that there are, all as they stood at one moment, in any order.
    async fn rows_at(&self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error>;

    /// The rows of a projection at or above a rank, by rank and then key.
    async fn ranked(
        &self,
        projection: &str,
        at_least: i64,
        limit: usize,
    ) -> Result<Vec<(String, Row)>, Error>;

    /// Rows as they are stored, in the order of the bytes of their addresses, after one address.
    async fn rows(&self, after: (&str, &str), limit: usize) -> Result<Vec<StoredRow>, Error>;

    /// Where the record ends.
    async fn head(&self) -> Result<Head, Error>;

    /// Only the number: what is asked again and again.
    async fn last(&self) -> Result<GlobalPosition, Error>;

    /// How far a follower said it has come; 0 when it never did.
    async fn cursor(&self, name: &str) -> Result<GlobalPosition, Error>;

    /// The first of what the store must refuse by itself and no longer does; nothing while all of it stands.
    async fn missing_guard(&self) -> Result<Option<&'static str>, Error>;

    /// Waits until another process may have committed: at once where the store tells of it, and in any case
    /// after a while, since a sign can be lost. Says where the record ends when the sign said so.
    async fn hear(&self) -> Option<GlobalPosition>;
}

/// Writing, in one transaction at a time: from [`Writes::begin`] to [`Writes::commit`] or [`Writes::rollback`].
#[async_trait]
pub(crate) trait Writes: Debug + Send {
    /// Whether its statements are calls, done by whoever makes them, which take no message to anybody: such a store
    /// writes on a thread of its own, and asks as often as it likes.
    fn is_at_hand(&self) -> bool {
        false
    }

    /// Begins the transaction, once nobody else writes in any process, and says where the record ends. A store
    /// that was lost is found again here, and nowhere else: within a transaction that would go unnoticed.
    async fn begin(&mut self) -> Result<Head, Error>;

    /// Makes everything since [`Writes::begin`] lasting, and tells other processes that the record ends at `head`.
    /// On an error the outcome is not known.
    async fn commit(&mut self, head: GlobalPosition) -> Result<(), Error>;

    /// Does what can wait until the callers of a commit are answered.
    async fn rest(&mut self) {}

    /// Undoes everything since [`Writes::begin`], when there is anything to undo.
    async fn rollback(&mut self);

    /// Marks a place within the transaction to which [`Writes::undo_to_savepoint`] returns.
    async fn savepoint(&mut self) -> Result<(), Error>;

    /// Undoes everything since the last [`Writes::savepoint`].
    async fn undo_to_savepoint(&mut self) -> Result<(), Error>;

    /// The events of these ids that there are, in any order.
    async fn by_ids(&mut self, ids: &[&EventId]) -> Result<Vec<Stored>, Error>;

    /// Events of the whole record after a place, in order, to be made of what the store gave on any thread.
    async fn unread(&mut self, after: GlobalPosition, limit: usize) -> Result<Unread, Error>;

    /// The rows under `keys` that there are, in any order.
    async fn rows(&mut self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error>;

    /// Where these streams stand, and which of these ids name an event.
    async fn found(&mut self, streams: &[&StreamName], ids: &[&EventId]) -> Result<Found, Error>;

    /// Writes events, in order, and where a body is kept by digest, the body, unless that is there already.
    async fn insert(&mut self, events: Vec<Stored>) -> Result<(), Error>;

    /// Writes rows, over those that stand under the same addresses. No address comes twice.
    async fn put_rows(&mut self, rows: &[(RowKey, Row)]) -> Result<(), Error>;

    /// Removes rows.
    async fn remove_rows(&mut self, keys: &[RowKey]) -> Result<(), Error>;

    /// Removes all rows.
    async fn clear_rows(&mut self) -> Result<(), Error>;

    /// The leases of these names that there are, as they stand, in any order.
    async fn leases(&mut self, names: &[&str]) -> Result<Vec<Lease>, Error>;

    /// Writes a lease over what stands under its name.
    async fn put_lease(&mut self, lease: &Lease) -> Result<(), Error>;

    /// Writes how far a follower has come.
    async fn put_cursor(&mut self, name: &str, at: GlobalPosition) -> Result<(), Error>;

    /// Gives back whatever is held.
    async fn end(self: Box<Self>);
}

/// Events as a store gave them, not read yet.
pub(crate) struct Unread {
    /// The place of the last one; nothing when there is none.
    pub(crate) end: Option<GlobalPosition>,
    pub(crate) read: Box<dyn FnOnce() -> Result<Vec<Stored>, Error> + Send>,
}

impl Unread {
    /// Events that are read already.
    pub(crate) fn of(events: Vec<Stored>) -> Self {
        let end = events.last().map(|event| GlobalPosition(event.global_position));
        Self { end, read: Box::new(move || Ok(events)) }
    }
}

/// What a record holds of some streams and ids.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Where those of the streams stand that have an event, by name.
    pub(crate) streams: HashMap<String, u64>,
    /// Those of the ids that name an event.
    pub(crate) ids: HashSet<String>,
}

/// A position, count or limit as databases keep it.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A position or count as the record counts it; nothing that is kept for it is below zero.
pub(crate) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

/// A limit as databases take it.
pub(crate) fn limited(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
