//! Writing: the one connection that does, and the statements of its transaction.

use super::failed;
use super::read;
use crate::Error;
use crate::append::text;
use crate::lease::Lease;
use crate::rows::{RowKey, row_of};
use crate::store::{Writes, signed, unsigned};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{EventId, GlobalPosition, StreamName, Timestamp};
use fold::Row;
use sqlx::{Connection, QueryBuilder, SqliteConnection};
use std::collections::HashMap;

/// The connection that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: SqliteConnection,
}

impl Writer {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self { connection }
    }

    async fn run(&mut self, statement: &'static str) -> Result<(), Error> {
        sqlx::query(statement).execute(&mut self.connection).await.map_err(failed)?;
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
}

#[async_trait]
impl Writes for Writer {
    // `immediate` takes the write lock at once: with a plain `begin` two processes could read one head and both
    // build on it.
    async fn begin(&mut self) -> Result<Head, Error> {
        read::head(&mut self.connection, read::BEGIN_AND_HEAD).await
    }

    async fn commit(&mut self, _head: GlobalPosition) -> Result<(), Error> {
        self.run("commit").await
    }

    async fn rollback(&mut self) {
        // It fails when there is nothing to undo, since SQLite ends a transaction by itself on some errors.
        if let Err(error) = self.run("rollback").await {
            tracing::debug!(?error, "nothing was rolled back");
        }
    }

    async fn savepoint(&mut self) -> Result<(), Error> {
        self.run("savepoint here").await
    }

    async fn undo_to_savepoint(&mut self) -> Result<(), Error> {
        self.run("rollback to here").await
    }

    async fn by_ids(&mut self, ids: &[&EventId]) -> Result<Vec<Stored>, Error> {
        read::by_ids(&mut self.connection, ids).await
    }

    async fn page(&mut self, after: GlobalPosition, limit: usize) -> Result<Vec<Stored>, Error> {
        read::page(&mut self.connection, after, limit).await
    }

    async fn rows(&mut self, keys: &[RowKey]) -> Result<HashMap<(String, String), Row>, Error> {
        let mut query =
            QueryBuilder::new("select projection, key, value, rank from row where (projection, key) in (");
        query.push_values(keys, |mut pair, key| {
            pair.push_bind(key.projection).push_bind(&key.key);
        });
        let query = query.push(")").build_query_as();
        let found: Vec<(String, String, String, Option<i64>)> =
            query.fetch_all(&mut self.connection).await.map_err(failed)?;
        let read = |(projection, key, value, rank): (_, _, String, _)| {
            Ok(((projection, key), row_of(&value, rank)?))
        };
        found.into_iter().map(read).collect()
    }

    async fn stands(&mut self, stream: &StreamName, ids: &[&EventId]) -> Result<(u64, bool), Error> {
        let (last, stored): (i64, bool) = sqlx::query_as(
            "select (select coalesce(max(position), 0) from event where stream = ?), \
             exists (select 1 from event where id in (select value from json_each(?)))",
        )
        .bind(stream.as_str())
        .bind(read::list(ids.iter().map(|id| id.as_str())))
        .fetch_one(&mut self.connection)
        .await
        .map_err(failed)?;
        Ok((unsigned(last), stored))
    }

    async fn insert(&mut self, event: &Stored) -> Result<(), Error> {
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

    async fn put_rows(&mut self, rows: &[(RowKey, Row)]) -> Result<(), Error> {
        let mut query = QueryBuilder::new("insert into row (projection, key, value, rank) ");
        query.push_values(rows, |mut columns, (key, row)| {
            columns
                .push_bind(key.projection)
                .push_bind(&key.key)
                .push_bind(text(&row.value))
                .push_bind(row.rank);
        });
        query.push(
            " on conflict (projection, key) do update set value = excluded.value, rank = excluded.rank",
        );
        query.build().execute(&mut self.connection).await.map_err(failed)?;
        Ok(())
    }

    async fn remove_row(&mut self, key: &RowKey) -> Result<(), Error> {
        sqlx::query("delete from row where projection = ? and key = ?")
            .bind(key.projection)
            .bind(&key.key)
            .execute(&mut self.connection)
            .await
            .map_err(failed)?;
        Ok(())
    }

    async fn clear_rows(&mut self) -> Result<(), Error> {
        self.run("delete from row").await
    }

    async fn lease(&mut self, name: &str) -> Result<Option<Lease>, Error> {
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

    async fn put_lease(&mut self, lease: &Lease) -> Result<(), Error> {
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

    async fn put_cursor(&mut self, name: &str, at: GlobalPosition) -> Result<(), Error> {
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

    async fn end(mut self: Box<Self>) {
        // The log goes back into the file, also while somebody still reads, so that the file by itself is the record.
        if let Err(error) = self.run("pragma wal_checkpoint(passive)").await {
            tracing::debug!(?error, "the log was not written back");
        }
        if let Err(error) = self.connection.close().await {
            tracing::warn!(
                ?error,
                "the record's connection did not end cleanly; its log is read at the next start"
            );
        }
    }
}
