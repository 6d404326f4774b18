//! Writing: the one connection of this host that does, and the statements of its transaction.

use super::hear::channel;
use super::names::{kept, named};
use super::open::{LOCK_CLASS, Server};
use super::{failed, lost, read, within};
use crate::Error;
use crate::append::text;
use crate::lease::Lease;
use crate::rows::{RowKey, row_of};
use crate::store::{Writes, signed, unsigned};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{EventId, GlobalPosition, StreamName, Timestamp};
use fold::Row;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use std::collections::HashMap;

/// The connection that writes, and how to get another.
#[derive(Debug)]
pub(super) struct Writer {
    server: Server,
    /// Nothing after it was lost. Only the beginning of a transaction makes a new one.
    connection: Option<PgConnection>,
    /// The number of the table of events, which names lock and channel.
    table: i32,
    /// Where the record ended when the transaction began.
    began_at: GlobalPosition,
}

impl Writer {
    pub(super) fn new(server: Server, connection: PgConnection, table: i32) -> Self {
        Self { server, connection: Some(connection), table, began_at: GlobalPosition(0) }
    }

    fn live(&mut self) -> Result<&mut PgConnection, Error> {
        self.connection.as_mut().ok_or_else(|| Error::unavailable("the server ended the connection"))
    }

    /// What an answer means; one that says that the connection is of no more use ends it.
    fn met<T>(&mut self, answer: Result<T, sqlx::Error>) -> Result<T, Error> {
        if answer.as_ref().is_err_and(lost) {
            self.connection = None;
        }
        answer.map_err(failed)
    }

    async fn begin_once(&mut self) -> Result<Head, Error> {
        if self.connection.is_none() {
            let connecting = self.server.connect_to_write().await;
            self.connection = Some(connecting.map_err(failed)?);
        }
        // One message, since it precedes every commit, and three statements: the last one has to look after the
        // lock was waited for.
        let begin = format!(
            "begin isolation level read committed read write; \
             select pg_advisory_xact_lock({LOCK_CLASS}, {}); {}",
            self.table,
            read::HEAD
        );
        let answer = within(sqlx::raw_sql(AssertSqlSafe(begin)).fetch_all(self.live()?)).await;
        // The first row is the lock's.
        match self.met(answer)?.get(1) {
            Some(last) => read::head(last),
            None => Ok(Head::default()),
        }
    }

    async fn run(&mut self, statement: impl sqlx::SqlSafeStr + Send) -> Result<(), Error> {
        let answer = within(sqlx::raw_sql(statement).execute(self.live()?)).await;
        self.met(answer).map(drop)
    }

    /// Two events may have the same large body: it is kept once.
    async fn insert_blob(&mut self, digest: &str, body: &str) -> Result<(), Error> {
        let query = sqlx::query(
            "insert into blob (digest, bytes) select $1, $2 where not exists (select 1 from blob where digest = $1)",
        )
        .bind(digest)
        .bind(body.as_bytes());
        let answer = within(query.execute(self.live()?)).await;
        self.met(answer).map(drop)
    }
}

#[async_trait]
impl Writes for Writer {
    async fn begin(&mut self) -> Result<Head, Error> {
        let had_connection = self.connection.is_some();
        let mut head = self.begin_once().await;
        if head.is_err() && had_connection && self.connection.is_none() {
            // The server has gone and come since the last transaction. Nothing was begun that could be lost.
            head = self.begin_once().await;
        }
        self.began_at = GlobalPosition(head.as_ref().map_or(0, |head| head.global_position));
        head
    }

    async fn commit(&mut self, head: GlobalPosition) -> Result<(), Error> {
        // A transaction that failed before answers `commit` by rolling back, and not with an error. The statement
        // before it is what fails then, whether there is anything to tell or not.
        let tell = if head > self.began_at {
            format!("select pg_notify('{}', '{head}')", channel(self.table))
        } else {
            "select 1".to_owned()
        };
        self.run(AssertSqlSafe(format!("{tell}; commit"))).await
    }

    async fn rollback(&mut self) {
        if self.connection.is_none() {
            return;
        }
        if let Err(error) = self.run("rollback").await {
            tracing::debug!(?error, "nothing was rolled back; the connection is given up");
            self.connection = None;
        }
    }

    async fn savepoint(&mut self) -> Result<(), Error> {
        self.run("savepoint here").await
    }

    async fn undo_to_savepoint(&mut self) -> Result<(), Error> {
        self.run("rollback to here").await
    }

    async fn by_ids(&mut self, ids: &[&EventId]) -> Result<Vec<Stored>, Error> {
        let answer = read::by_ids(self.live()?, ids).await;
        self.met(answer)
    }

    async fn page(&mut self, after: GlobalPosition, limit: usize) -> Result<Vec<Stored>, Error> {
        let answer = read::page(self.live()?, after, limit).await;
        self.met(answer)
    }

    async fn rows(&mut self, keys: &[RowKey]) -> Result<HashMap<(String, String), Row>, Error> {
        let query = sqlx::query_as(
            "select projection, key, value, rank from row \
             where (projection, key) in (select * from unnest($1::text[], $2::text[]))",
        )
        .bind(keys.iter().map(|key| key.projection).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| kept(&key.key)).collect::<Vec<_>>());
        let answer = within(query.fetch_all(self.live()?)).await;
        let found: Vec<(String, String, String, Option<i64>)> = self.met(answer)?;
        let read = |(projection, key, value, rank): (_, _, String, _)| {
            Ok(((projection, named(key)), row_of(&value, rank)?))
        };
        found.into_iter().map(read).collect()
    }

    async fn stands(&mut self, stream: &StreamName, ids: &[&EventId]) -> Result<(u64, bool), Error> {
        let query = sqlx::query_as(
            "select (select coalesce(max(e.position), 0) from event e where e.stream = $1), \
             exists (select 1 from event where id = any($2))",
        )
        .bind(kept(stream.as_str()))
        .bind(ids.iter().map(|id| id.as_str()).collect::<Vec<_>>());
        let answer = within(query.fetch_one(self.live()?)).await;
        let (last, stored): (i64, bool) = self.met(answer)?;
        Ok((unsigned(last), stored))
    }

    async fn insert(&mut self, event: &Stored) -> Result<(), Error> {
        if let Some(digest) = &event.blob {
            self.insert_blob(digest, event.body.as_deref().unwrap_or_default()).await?;
        }
        let body = if event.blob.is_none() { event.body.as_deref() } else { None };
        let query = sqlx::query(
            "insert into event (global_position, stream, position, id, kind, schema, at, actor, cause, label, body, \
             blob, digest, chain) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        )
        .bind(signed(event.global_position))
        .bind(kept(&event.stream))
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
        .bind(&event.chain);
        let answer = within(query.execute(self.live()?)).await;
        self.met(answer).map(drop)
    }

    async fn put_rows(&mut self, rows: &[(RowKey, Row)]) -> Result<(), Error> {
        let query = sqlx::query(
            "insert into row (projection, key, value, rank) \
             select * from unnest($1::text[], $2::text[], $3::text[], $4::int8[]) \
             on conflict (projection, key) do update set value = excluded.value, rank = excluded.rank",
        )
        .bind(rows.iter().map(|(key, _)| key.projection).collect::<Vec<_>>())
        .bind(rows.iter().map(|(key, _)| kept(&key.key)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, row)| text(&row.value)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, row)| row.rank).collect::<Vec<_>>());
        let answer = within(query.execute(self.live()?)).await;
        self.met(answer).map(drop)
    }

    async fn remove_row(&mut self, key: &RowKey) -> Result<(), Error> {
        let query = sqlx::query("delete from row where projection = $1 and key = $2")
            .bind(key.projection)
            .bind(kept(&key.key));
        let answer = within(query.execute(self.live()?)).await;
        self.met(answer).map(drop)
    }

    async fn clear_rows(&mut self) -> Result<(), Error> {
        self.run("delete from row").await
    }

    async fn lease(&mut self, name: &str) -> Result<Option<Lease>, Error> {
        let query = sqlx::query_as("select holder, token, until from lease where name = $1").bind(kept(name));
        let answer = within(query.fetch_optional(self.live()?)).await;
        let found: Option<(String, i64, i64)> = self.met(answer)?;
        Ok(found.map(|(holder, token, until)| Lease {
            name: name.to_owned(),
            holder: named(holder),
            token: unsigned(token),
            until: Timestamp(until),
        }))
    }

    async fn put_lease(&mut self, lease: &Lease) -> Result<(), Error> {
        let query = sqlx::query(
            "insert into lease (name, holder, token, until) values ($1, $2, $3, $4) on conflict (name) \
             do update set holder = excluded.holder, token = excluded.token, until = excluded.until",
        )
        .bind(kept(&lease.name))
        .bind(kept(&lease.holder))
        .bind(signed(lease.token))
        .bind(lease.until.0);
        let answer = within(query.execute(self.live()?)).await;
        self.met(answer).map(drop)
    }

    async fn put_cursor(&mut self, name: &str, at: GlobalPosition) -> Result<(), Error> {
        let query = sqlx::query(
            "insert into cursor (name, global_position) values ($1, $2) \
             on conflict (name) do update set global_position = excluded.global_position",
        )
        .bind(kept(name))
        .bind(signed(at.0));
        let answer = within(query.execute(self.live()?)).await;
        self.met(answer).map(drop)
    }

    async fn end(mut self: Box<Self>) {
        if let Some(connection) = self.connection.take()
            && let Err(error) = connection.close().await
        {
            tracing::debug!(?error, "the connection did not end cleanly");
        }
    }
}
