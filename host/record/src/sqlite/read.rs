//! Reading. The functions take any connection, so that the writer reads within its transaction by the same
//! statements as everybody else; [`Reader`] runs them on a connection of its own.

use super::columns::{Raw, all_stored, digest, events, raw};
use super::{POLL_MS, failed};
use crate::Error;
use crate::rows::{RowKey, row_of};
use crate::store::{Reads, StoredRow, limited, signed, unsigned};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{EventId, GlobalPosition, Position, StreamName, Timestamp};
use fold::Row;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Readers at once: they hold no lock against the writer, and more than the machine has cores gain nothing.
const READERS_MAX: usize = 4;
/// How long a caller waits for a reader.
const READER_WAIT_MS: u64 = 5_000;

/// The triggers that keep events as they are; a record without one of these was opened to change.
const GUARDS: &[&str] =
    &["blob_delete", "blob_insert", "blob_update", "event_delete", "event_insert", "event_update"];

/// Connections that cannot write, each opened when it is first needed and kept.
#[derive(Debug)]
pub(crate) struct Reader {
    file: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    turns: Arc<Semaphore>,
}

impl Reader {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file, idle: Arc::default(), turns: Arc::new(Semaphore::new(READERS_MAX)) }
    }

    /// Reads on a thread that may wait, whatever becomes of the caller.
    async fn ask<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        let Ok(Ok(turn)) = tokio::time::timeout(Duration::from_millis(READER_WAIT_MS), turn).await else {
            return Err(Error::unavailable("too many readers wait"));
        };
        let (file, idle) = (self.file.clone(), Arc::clone(&self.idle));
        let reading = tokio::task::spawn_blocking(move || {
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match kept {
                Some(connection) => connection,
                None => super::open::to_read(&file).map_err(failed)?,
            };
            let answer = read(&connection);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(turn);
            answer
        });
        reading.await.unwrap_or_else(|_| Err(Error::unavailable("the host is stopping")))
    }
}

#[async_trait]
impl Reads for Reader {
    async fn stream(&self, stream: &StreamName, from: Position, limit: usize) -> Result<Vec<Stored>, Error> {
        let (stream, from, limit) = (stream.clone(), signed(from.0), limited(limit));
        self.ask(move |connection| {
            let of = events!("where e.stream = ? and e.position >= ? order by e.position limit ?");
            all_stored(connection, of, params![stream.as_str(), from, limit]).map_err(failed)
        })
        .await
    }

    async fn all(&self, after: GlobalPosition, limit: usize) -> Result<Vec<Stored>, Error> {
        self.ask(move |connection| Ok(page(connection, after, limit)?.stored())).await
    }

    async fn at(&self, positions: &[GlobalPosition]) -> Result<Vec<Stored>, Error> {
        let list = positions.iter().map(|at| signed(at.0)).collect::<serde_json::Value>().to_string();
        self.ask(move |connection| {
            let of = events!(
                "where e.global_position in (select value from json_each(?)) order by e.global_position"
            );
            all_stored(connection, of, [list]).map_err(failed)
        })
        .await
    }

    async fn by_id(&self, id: &EventId) -> Result<Option<Stored>, Error> {
        let id = id.clone();
        self.ask(move |connection| Ok(by_ids(connection, &[&id])?.into_iter().next())).await
    }

    async fn row(&self, projection: &str, key: &str) -> Result<Option<Row>, Error> {
        let (projection, key) = (projection.to_owned(), key.to_owned());
        let found = self.ask(move |connection| row(connection, &projection, &key).map_err(failed)).await?;
        found.map(|(value, rank)| row_of(&value, rank)).transpose()
    }

    async fn rows_at(&self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error> {
        let keys = keys.to_vec();
        self.ask(move |connection| {
            // One moment for all of them.
            let moment = connection.unchecked_transaction().map_err(failed)?;
            rows(&moment, &keys)
        })
        .await
    }

    async fn ranked(
        &self,
        projection: &str,
        at_least: i64,
        limit: usize,
    ) -> Result<Vec<(String, Row)>, Error> {
        let (projection, limit) = (projection.to_owned(), limited(limit));
        let found: Vec<(String, String, Option<i64>)> = self
            .ask(move |connection| {
                let ranked = "select key, value, rank from row where projection = ? and rank >= ? \
                              order by rank, key limit ?";
                let mut ranked = connection.prepare_cached(ranked).map_err(failed)?;
                let found = ranked.query_map(params![projection, at_least, limit], |row| row.try_into());
                found.and_then(Iterator::collect).map_err(failed)
            })
            .await?;
        let read = |(key, value, rank): (String, String, _)| Ok((key, row_of(&value, rank)?));
        found.into_iter().map(read).collect()
    }

    async fn rows(&self, after: (&str, &str), limit: usize) -> Result<Vec<StoredRow>, Error> {
        let (projection, key, limit) = (after.0.to_owned(), after.1.to_owned(), limited(limit));
        self.ask(move |connection| {
            let after = "select projection, key, value, rank from row where (projection, key) > (?, ?) \
                         order by projection, key limit ?";
            let mut after = connection.prepare_cached(after).map_err(failed)?;
            let found = after.query_map(params![projection, key, limit], |row| row.try_into());
            found.and_then(Iterator::collect).map_err(failed)
        })
        .await
    }

    async fn head(&self) -> Result<Head, Error> {
        self.ask(head).await
    }

    async fn last(&self) -> Result<GlobalPosition, Error> {
        self.ask(|connection| {
            let last = "select coalesce(max(global_position), 0) from event";
            let last =
                connection.prepare_cached(last).and_then(|mut last| last.query_row([], |row| row.get(0)));
            Ok(GlobalPosition(unsigned(last.map_err(failed)?)))
        })
        .await
    }

    async fn cursor(&self, name: &str) -> Result<GlobalPosition, Error> {
        let name = name.to_owned();
        self.ask(move |connection| {
            let mut at = connection
                .prepare_cached("select global_position from cursor where name = ?")
                .map_err(failed)?;
            let at: Option<i64> = at.query_row([name], |row| row.get(0)).optional().map_err(failed)?;
            Ok(GlobalPosition(at.map_or(0, unsigned)))
        })
        .await
    }

    async fn missing_guard(&self) -> Result<Option<&'static str>, Error> {
        self.ask(|connection| {
            let mut names = connection
                .prepare_cached("select name from sqlite_schema where type = 'trigger'")
                .map_err(failed)?;
            let standing = names.query_map([], |row| row.get(0)).and_then(Iterator::collect);
            let standing: Vec<String> = standing.map_err(failed)?;
            Ok(GUARDS.iter().find(|guard| !standing.iter().any(|name| name == *guard)).copied())
        })
        .await
    }

    async fn hear(&self) -> Option<GlobalPosition> {
        tokio::time::sleep(Duration::from_millis(POLL_MS)).await;
        None
    }
}

/// Events of the whole record after a place, in order.
pub(super) fn page(connection: &Connection, after: GlobalPosition, limit: usize) -> Result<Raw, Error> {
    let of = events!("where e.global_position > ? order by e.global_position limit ?");
    raw(connection, of, params![signed(after.0), limited(limit)]).map_err(failed)
}

/// One row as it is stored: its value and rank.
fn row(
    connection: &Connection,
    projection: &str,
    key: &str,
) -> rusqlite::Result<Option<(String, Option<i64>)>> {
    let mut row =
        connection.prepare_cached("select value, rank from row where projection = ? and key = ?")?;
    row.query_row([projection, key], |row| row.try_into()).optional()
}

/// The rows under `keys` that there are.
pub(super) fn rows(connection: &Connection, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error> {
    let mut found = Vec::new();
    for key in keys {
        if let Some((value, rank)) = row(connection, key.projection, &key.key).map_err(failed)? {
            found.push((key.projection.to_owned(), key.key.clone(), value, rank));
        }
    }
    Ok(found)
}

/// The events of these ids that there are.
pub(super) fn by_ids(connection: &Connection, ids: &[&EventId]) -> Result<Vec<Stored>, Error> {
    let mut found = Vec::new();
    for id in ids {
        found.extend(all_stored(connection, events!("where e.id = ?"), [id.as_str()]).map_err(failed)?);
    }
    Ok(found)
}

/// Where the record ends.
pub(super) fn head(connection: &Connection) -> Result<Head, Error> {
    let mut last = connection
        .prepare_cached("select global_position, at, chain from event order by global_position desc limit 1")
        .map_err(failed)?;
    let last = last.query_row([], |row| Ok((row.get(0)?, row.get(1)?, digest(row.get_ref(2)?.as_bytes()?))));
    let Some((global_position, at, chain)) = last.optional().map_err(failed)? else {
        return Ok(Head::default());
    };
    let global_position = unsigned(global_position);
    let chain = chain.ok_or_else(|| Error::corrupt(global_position, "the chain does not read", None))?;
    Ok(Head { global_position, at: Timestamp(at), chain: Some(chain) })
}
