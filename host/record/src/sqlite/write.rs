//! Writing: the one connection that does, and the statements of its transaction.

use super::read;
use super::{failed, signed, unsigned};
use crate::Error;
use crate::append::text;
use crate::lease::Lease;
use crate::rows::RowKey;
use crate::stored::{Head, Stored};
use event::{EventId, GlobalPosition, StreamName, Timestamp};
use fold::Row;
use sqlx::{Connection, SqliteConnection};

/// The connection that writes. Between [`Writer::begin`] and its end nobody else does, in any process.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: SqliteConnection,
}

impl Writer {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self { connection }
    }

    /// Begins the transaction and says where the record ends. `immediate` takes the write lock at once: with a
    /// plain `begin` two processes could read one head and both build on it.
    pub(crate) async fn begin(&mut self) -> Result<Head, Error> {
        self.run("begin immediate").await?;
        read::head(&mut self.connection).await
    }

    /// Makes everything since [`Writer::begin`] lasting.
    pub(crate) async fn commit(&mut self) -> Result<(), Error> {
        self.run("commit").await
    }

    /// Undoes everything since [`Writer::begin`].
    pub(crate) async fn rollback(&mut self) {
        // It fails when there is nothing to undo, since SQLite ends a transaction by itself on some errors.
        if let Err(error) = self.run("rollback").await {
            tracing::debug!(?error, "nothing was rolled back");
        }
    }

    /// Marks a place within the transaction to which [`Writer::undo_to_savepoint`] returns.
    pub(crate) async fn savepoint(&mut self) -> Result<(), Error> {
        self.run("savepoint here").await
    }

    /// Undoes everything since the last [`Writer::savepoint`].
    pub(crate) async fn undo_to_savepoint(&mut self) -> Result<(), Error> {
        self.run("rollback to here").await
    }

    async fn run(&mut self, statement: &'static str) -> Result<(), Error> {
        sqlx::query(statement).execute(&mut self.connection).await.map_err(failed)?;
        Ok(())
    }

    pub(crate) async fn by_ids(&mut self, ids: &[&EventId]) -> Result<Vec<Stored>, Error> {
        read::by_ids(&mut self.connection, ids).await
    }

    pub(crate) async fn page(&mut self, after: GlobalPosition, limit: usize) -> Result<Vec<Stored>, Error> {
        read::page(&mut self.connection, after, limit).await
    }

    pub(crate) async fn row(&mut self, key: &RowKey) -> Result<Option<Row>, Error> {
        read::row(&mut self.connection, key.projection, &key.key).await
    }

    /// Where a stream stands; 0 when it has no event.
    pub(crate) async fn stands(&mut self, stream: &StreamName) -> Result<u64, Error> {
        let last = sqlx::query_scalar("select coalesce(max(position), 0) from event where stream = ?");
        let last = last.bind(stream.as_str()).fetch_one(&mut self.connection).await.map_err(failed)?;
        Ok(unsigned(last))
    }

    pub(crate) async fn insert(&mut self, event: &Stored) -> Result<(), Error> {
        if let Some(digest) = &event.blob {
            self.insert_blob(digest, event.body.as_deref().unwrap_or_default()).await?;
        }
        let body = if event.blob.is_none() { event.body.as_deref() } else { None };
        sqlx::query(
            "insert into event (global_position, stream, position, id, kind, schema, at, actor, cause, label, body, \
             blob, digest, chain) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(signed(event.global_position))
        .bind(&event.stream)
        .bind(signed(event.position))
        .bind(&event.id)
        .bind(&event.kind)
        .bind(event.schema)
        .bind(event.at.0)
        .bind(&event.actor)
        .bind(&event.cause)
        .bind(&event.label)
        .bind(body)
        .bind(&event.blob)
        .bind(&event.digest)
        .bind(&event.chain)
        .execute(&mut self.connection)
        .await
        .map_err(failed)?;
        Ok(())
    }

    /// Two events may have the same large body: it is kept once.
    async fn insert_blob(&mut self, digest: &str, body: &str) -> Result<(), Error> {
        sqlx::query(
            "insert into blob (digest, bytes) select ?1, ?2 where not exists (select 1 from blob where digest = ?1)",
        )
        .bind(digest)
        .bind(body.as_bytes())
        .execute(&mut self.connection)
        .await
        .map_err(failed)?;
        Ok(())
    }

    pub(crate) async fn put_row(&mut self, key: &RowKey, row: Option<&Row>) -> Result<(), Error> {
        let statement = match row {
            Some(row) => sqlx::query(
                "insert into row (projection, key, value, rank) values (?, ?, ?, ?) \
                 on conflict (projection, key) do update set value = excluded.value, rank = excluded.rank",
            )
            .bind(key.projection)
            .bind(&key.key)
            .bind(text(&row.value))
            .bind(row.rank),
            None => sqlx::query("delete from row where projection = ? and key = ?")
                .bind(key.projection)
                .bind(&key.key),
        };
        statement.execute(&mut self.connection).await.map_err(failed)?;
        Ok(())
    }

    pub(crate) async fn clear_rows(&mut self) -> Result<(), Error> {
        self.run("delete from row").await
    }

    pub(crate) async fn lease(&mut self, name: &str) -> Result<Option<Lease>, Error> {
        let found: Option<(String, i64, i64)> =
            sqlx::query_as("select holder, token, until from lease where name = ?")
                .bind(name)
                .fetch_optional(&mut self.connection)
                .await
                .map_err(failed)?;
        Ok(found.map(|(holder, token, until)| Lease {
            name: name.to_owned(),
            holder,
            token: unsigned(token),
            until: Timestamp(until),
        }))
    }

    pub(crate) async fn put_lease(&mut self, lease: &Lease) -> Result<(), Error> {
        sqlx::query(
            "insert into lease (name, holder, token, until) values (?, ?, ?, ?) on conflict (name) \
             do update set holder = excluded.holder, token = excluded.token, until = excluded.until",
        )
        .bind(&lease.name)
        .bind(&lease.holder)
        .bind(signed(lease.token))
        .bind(lease.until.0)
        .execute(&mut self.connection)
        .await
        .map_err(failed)?;
        Ok(())
    }

    pub(crate) async fn put_cursor(&mut self, name: &str, at: GlobalPosition) -> Result<(), Error> {
        sqlx::query(
            "insert into cursor (name, global_position) values (?, ?) \
             on conflict (name) do update set global_position = excluded.global_position",
        )
        .bind(name)
        .bind(signed(at.0))
        .execute(&mut self.connection)
        .await
        .map_err(failed)?;
        Ok(())
    }

    /// Ends the connection, which writes the log back into the file.
    pub(crate) async fn end(self) {
        if let Err(error) = self.connection.close().await {
            tracing::warn!(?error, "the record's connection did not end cleanly; its log is read at the next start");
        }
    }
}
