//! Writing: the one connection that does, and the statements of its transaction.

use super::columns::{insert, write};
use super::{failed, read};
use crate::Error;
use crate::canon::text;
use crate::lease::Lease;
use crate::rows::RowKey;
use crate::store::{Found, StoredRow, Unread, Writes, signed, unsigned};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{EventId, GlobalPosition, StreamName, Timestamp};
use fold::Row;
use rusqlite::{Connection, OptionalExtension, params};
use std::cell::Cell;

/// Pages of the log before they go back into the file, 32 MiB: a page that many commits change is then written there
/// once. A start after a crash reads so much at most.
const LOG_PAGES_MAX: i32 = 8_000;

thread_local! {
    /// How many pages the log held after the last commit of the writer that this thread runs.
    static LOG_PAGES: Cell<i32> = const { Cell::new(0) };
}

/// The connection that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Connection,
}

impl Writer {
    pub(super) fn new(connection: Connection) -> Self {
        // In place of SQLite's own, which puts the log back within the commit that fills it.
        connection.wal_hook(Some(|_, pages| {
            LOG_PAGES.set(pages);
            Ok(())
        }));
        Self { connection }
    }

    /// Puts the log back into the file. What readers still need of it stays in it until the next time.
    fn put_log_back(&self) {
        let written = self.connection.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(()));
        if let Err(error) = written {
            tracing::debug!(?error, "the log was not written back");
        }
    }

    fn run(&self, statement: &'static str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }

    fn insert_all(&self, events: &[Stored]) -> rusqlite::Result<()> {
        let mut insert = insert(&self.connection)?;
        for event in events {
            if let Some(digest) = &event.blob {
                self.insert_blob(digest, event.body.as_deref().unwrap_or_default())?;
            }
            write(&mut insert, event)?;
        }
        Ok(())
    }

    /// Two events may have the same large body: it is kept once.
    fn insert_blob(&self, digest: &str, body: &str) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare_cached(
            "insert into blob (digest, bytes) select ?1, ?2 where not exists (select 1 from blob where digest = ?1)",
        )?;
        insert.execute(params![digest, body.as_bytes()])?;
        Ok(())
    }

    fn find(&self, streams: &[&StreamName], ids: &[&EventId]) -> rusqlite::Result<Found> {
        let mut found = Found::default();
        let mut stands =
            self.connection.prepare_cached("select max(position) from event where stream = ?")?;
        for stream in streams {
            let position: Option<i64> = stands.query_row([stream.as_str()], |row| row.get(0))?;
            if let Some(position) = position {
                found.streams.insert(stream.as_str().to_owned(), unsigned(position));
            }
        }
        let mut named = self.connection.prepare_cached("select 1 from event where id = ?")?;
        for id in ids {
            if named.exists([id.as_str()])? {
                found.ids.insert(id.as_str().to_owned());
            }
        }
        Ok(found)
    }

    fn put_all(&self, rows: &[(RowKey, Row)]) -> rusqlite::Result<()> {
        let mut put = self.connection.prepare_cached(
            "insert into row (projection, key, value, rank) values (?, ?, ?, ?) \
             on conflict (projection, key) do update set value = excluded.value, rank = excluded.rank",
        )?;
        for (key, row) in rows {
            put.execute(params![key.projection, key.key, text(&row.value), row.rank])?;
        }
        Ok(())
    }

    fn remove_all(&self, keys: &[RowKey]) -> rusqlite::Result<()> {
        let mut remove =
            self.connection.prepare_cached("delete from row where projection = ? and key = ?")?;
        for key in keys {
            remove.execute([key.projection, &key.key])?;
        }
        Ok(())
    }

    fn lease(&self, name: &str) -> rusqlite::Result<Option<Lease>> {
        let mut lease =
            self.connection.prepare_cached("select name, holder, token, until from lease where name = ?")?;
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Lease {
                name: row.get(0)?,
                holder: row.get(1)?,
                token: unsigned(row.get(2)?),
                until: Timestamp(row.get(3)?),
            })
        };
        lease.query_row([name], read).optional()
    }

    fn keep_lease(&self, lease: &Lease) -> rusqlite::Result<()> {
        let mut keep = self.connection.prepare_cached(
            "insert into lease (name, holder, token, until) values (?, ?, ?, ?) on conflict (name) \
             do update set holder = excluded.holder, token = excluded.token, until = excluded.until",
        )?;
        keep.execute(params![lease.name, lease.holder, signed(lease.token), lease.until.0])?;
        Ok(())
    }

    fn keep_cursor(&self, name: &str, at: GlobalPosition) -> rusqlite::Result<()> {
        let mut keep = self.connection.prepare_cached(
            "insert into cursor (name, global_position) values (?, ?) \
             on conflict (name) do update set global_position = excluded.global_position",
        )?;
        keep.execute(params![name, signed(at.0)])?;
        Ok(())
    }
}

#[async_trait]
impl Writes for Writer {
    fn is_at_hand(&self) -> bool {
        true
    }

    // `immediate` takes the write lock at once: with a plain `begin` two processes could read one head and both
    // build on it.
    async fn begin(&mut self) -> Result<Head, Error> {
        self.run("begin immediate").map_err(failed)?;
        read::head(&self.connection)
    }

    async fn commit(&mut self, _head: GlobalPosition) -> Result<(), Error> {
        self.run("commit").map_err(failed)
    }

    async fn rest(&mut self) {
        if LOG_PAGES.get() >= LOG_PAGES_MAX {
            self.put_log_back();
            LOG_PAGES.set(0);
        }
    }

    async fn rollback(&mut self) {
        // It fails when there is nothing to undo, since SQLite ends a transaction by itself on some errors.
        if let Err(error) = self.run("rollback") {
            tracing::debug!(?error, "nothing was rolled back");
        }
    }

    async fn savepoint(&mut self) -> Result<(), Error> {
        self.run("savepoint here").map_err(failed)
    }

    async fn undo_to_savepoint(&mut self) -> Result<(), Error> {
        self.run("rollback to here").map_err(failed)
    }

    async fn by_ids(&mut self, ids: &[&EventId]) -> Result<Vec<Stored>, Error> {
        read::by_ids(&self.connection, ids)
    }

    async fn unread(&mut self, after: GlobalPosition, limit: usize) -> Result<Unread, Error> {
        let raw = read::page(&self.connection, after, limit)?;
        Ok(Unread { end: raw.end(), read: Box::new(move || Ok(raw.stored())) })
    }

    async fn rows(&mut self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error> {
        read::rows(&self.connection, keys)
    }

    async fn found(&mut self, streams: &[&StreamName], ids: &[&EventId]) -> Result<Found, Error> {
        self.find(streams, ids).map_err(failed)
    }

    async fn insert(&mut self, events: Vec<Stored>) -> Result<(), Error> {
        self.insert_all(&events).map_err(failed)
    }

    async fn put_rows(&mut self, rows: &[(RowKey, Row)]) -> Result<(), Error> {
        self.put_all(rows).map_err(failed)
    }

    async fn remove_rows(&mut self, keys: &[RowKey]) -> Result<(), Error> {
        self.remove_all(keys).map_err(failed)
    }

    async fn clear_rows(&mut self) -> Result<(), Error> {
        self.run("delete from row").map_err(failed)
    }

    async fn leases(&mut self, names: &[&str]) -> Result<Vec<Lease>, Error> {
        let found = names.iter().filter_map(|name| self.lease(name).transpose());
        found.collect::<Result<_, _>>().map_err(failed)
    }

    async fn put_lease(&mut self, lease: &Lease) -> Result<(), Error> {
        self.keep_lease(lease).map_err(failed)
    }

    async fn put_cursor(&mut self, name: &str, at: GlobalPosition) -> Result<(), Error> {
        self.keep_cursor(name, at).map_err(failed)
    }

    async fn end(self: Box<Self>) {
        // The log goes back into the file, also while somebody still reads, so that the file by itself is the record.
        self.put_log_back();
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(
                ?error,
                "the record's connection did not end cleanly; its log is read at the next start"
            );
        }
    }
}
