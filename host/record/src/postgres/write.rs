//! Writing: the one connection of this host that does, and the statements of its transaction.

use super::hear::channel;
use super::names::{kept, named};
use super::open::{LOCK_CLASS, Server};
use super::{failed, lost, read, within};
use crate::Error;
use crate::canon::text;
use crate::lease::Lease;
use crate::rows::RowKey;
use crate::store::{Found, StoredRow, Unread, Writes, signed, unsigned};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{EventId, GlobalPosition, StreamName, Timestamp};
use fold::Row;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// Events or rows of one statement: with bodies of up to 64 KiB, at most 16 MiB in a message.
const ITEMS_AT_ONCE: usize = 256;

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

    /// A statement is the same however many events it writes: each column is one list.
    async fn insert_some(&mut self, events: &[Stored]) -> Result<(), Error> {
        fn column<'a, T>(events: &'a [Stored], of: impl Fn(&'a Stored) -> T) -> Vec<T> {
            events.iter().map(of).collect()
        }
        fn body(event: &Stored) -> Option<&str> {
            if event.blob.is_none() { event.body.as_deref() } else { None }
        }
        // In order, since the database lets an event stand only directly after the last.
        let query = sqlx::query(
            "insert into event (global_position, stream, position, id, kind, schema, at, actor, cause, label, body, \
             blob, digest, chain) select * from unnest($1::int8[], $2::text[], $3::int8[], $4::text[], $5::text[], \
             $6::int8[], $7::int8[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], \
             $14::text[]) order by 1",
        )
        .bind(column(events, |event| signed(event.global_position)))
        .bind(column(events, |event| kept(&event.stream)))
        .bind(column(events, |event| signed(event.position)))
        .bind(column(events, |event| event.id.as_str()))
        .bind(column(events, |event| event.kind.as_str()))
        .bind(column(events, |event| event.schema))
        .bind(column(events, |event| event.at.0))
        .bind(column(events, |event| event.actor.as_str()))
        .bind(column(events, |event| event.cause.as_deref()))
        .bind(column(events, |event| event.label.as_str()))
        .bind(column(events, body))
        .bind(column(events, |event| event.blob.as_deref()))
        .bind(column(events, |event| event.digest.as_str()))
        .bind(column(events, |event| event.chain.as_str()));
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

    async fn unread(&mut self, after: GlobalPosition, limit: usize) -> Result<Unread, Error> {
        let answer = read::page(self.live()?, after, limit).await;
        self.met(answer).map(Unread::of)
    }

    async fn rows(&mut self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error> {
        let mut found = Vec::new();
        for some in keys.chunks(ITEMS_AT_ONCE) {
            let answer = read::rows(self.live()?, some).await;
            found.extend(self.met(answer)?);
        }
        Ok(found)
    }

    async fn found(&mut self, streams: &[&StreamName], ids: &[&EventId]) -> Result<Found, Error> {
        let query = sqlx::query_as(
            "select s.name, (select coalesce(max(e.position), 0) from event e where e.stream = s.name) \
             from unnest($1::text[]) s (name) \
             union all select e.id, null from unnest($2::text[]) i (id) join event e on e.id = i.id",
        )
        .bind(streams.iter().map(|stream| kept(stream.as_str())).collect::<Vec<_>>())
        .bind(ids.iter().map(|id| id.as_str()).collect::<Vec<_>>());
        let answer = within(query.fetch_all(self.live()?)).await;
        let mut found = Found::default();
        for (name, stands) in self.met::<Vec<(String, Option<i64>)>>(answer)? {
            match stands.map(unsigned) {
                None => drop(found.ids.insert(name)),
                Some(0) => {}
                Some(stands) => drop(found.streams.insert(named(name), stands)),
            }
        }
        Ok(found)
    }

    async fn insert(&mut self, events: Vec<Stored>) -> Result<(), Error> {
        let events = events.as_slice();
        for event in events {
            if let Some(digest) = &event.blob {
                self.insert_blob(digest, event.body.as_deref().unwrap_or_default()).await?;
            }
        }
        for some in events.chunks(ITEMS_AT_ONCE) {
            self.insert_some(some).await?;
        }
        Ok(())
    }

    async fn put_rows(&mut self, rows: &[(RowKey, Row)]) -> Result<(), Error> {
        for some in rows.chunks(ITEMS_AT_ONCE) {
            let query = sqlx::query(
                "insert into row (projection, key, value, rank) \
                 select * from unnest($1::text[], $2::text[], $3::text[], $4::int8[]) \
                 on conflict (projection, key) do update set value = excluded.value, rank = excluded.rank",
            )
            .bind(some.iter().map(|(key, _)| key.projection).collect::<Vec<_>>())
            .bind(some.iter().map(|(key, _)| kept(&key.key)).collect::<Vec<_>>())
            .bind(some.iter().map(|(_, row)| text(&row.value)).collect::<Vec<_>>())
            .bind(some.iter().map(|(_, row)| row.rank).collect::<Vec<_>>());
            let answer = within(query.execute(self.live()?)).await;
            self.met(answer)?;
        }
        Ok(())
    }

    async fn remove_rows(&mut self, keys: &[RowKey]) -> Result<(), Error> {
        for some in keys.chunks(ITEMS_AT_ONCE) {
            let query = sqlx::query(
                "delete from row r using unnest($1::text[], $2::text[]) k (projection, key) \
                 where r.projection = k.projection and r.key = k.key",
            )
            .bind(some.iter().map(|key| key.projection).collect::<Vec<_>>())
            .bind(some.iter().map(|key| kept(&key.key)).collect::<Vec<_>>());
            let answer = within(query.execute(self.live()?)).await;
            self.met(answer)?;
        }
        Ok(())
    }

    async fn clear_rows(&mut self) -> Result<(), Error> {
        self.run("delete from row").await
    }

    async fn leases(&mut self, names: &[&str]) -> Result<Vec<Lease>, Error> {
        let query = sqlx::query_as("select name, holder, token, until from lease where name = any($1)")
            .bind(names.iter().map(|name| kept(name)).collect::<Vec<_>>());
        let answer = within(query.fetch_all(self.live()?)).await;
        let found: Vec<(String, String, i64, i64)> = self.met(answer)?;
        let lease = |(name, holder, token, until)| Lease {
            name: named(name),
            holder: named(holder),
            token: unsigned(token),
            until: Timestamp(until),
        };
        Ok(found.into_iter().map(lease).collect())
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
