//! Reading. The functions take any connection, so that the writer reads within its transaction by the same
//! statements as everybody else; [`Reader`] runs them on a connection of its own.

use super::hear::Ears;
use super::names::{kept, named};
use super::{failed, within};
use crate::Error;
use crate::rows::{RowKey, row_of};
use crate::store::{Reads, StoredRow, limited, signed, unsigned};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{Digest, EventId, GlobalPosition, Position, StreamName, Timestamp};
use fold::Row;
use sqlx::postgres::{PgConnectOptions, PgPool, PgRow};
use sqlx::{PgConnection, Row as _};
use std::fmt;
use tokio::sync::Mutex;

/// Events with their bodies, wherever those are kept.
macro_rules! events {
    ($rest:literal) => {
        concat!(
            "select e.global_position, e.stream, e.position, e.id, e.kind, e.schema, e.at, e.actor, e.cause, ",
            "e.label, e.body, b.bytes, e.blob, e.digest, e.chain ",
            "from event e left join blob b on b.digest = e.blob ",
            $rest
        )
    };
}

/// The triggers that keep events as they are; a record without one of these was opened to change.
const GUARDS: &[&str] = &[
    "blob_delete",
    "blob_insert",
    "blob_truncate",
    "blob_update",
    "event_delete",
    "event_insert",
    "event_truncate",
    "event_update",
];

/// A pool of connections that cannot write, and one that listens.
pub(super) struct Reader {
    pool: PgPool,
    ears: Mutex<Ears>,
}

impl Reader {
    pub(super) fn new(pool: PgPool, options: PgConnectOptions, table: i32) -> Self {
        Self { pool, ears: Mutex::new(Ears::new(options, table)) }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

#[async_trait]
impl Reads for Reader {
    async fn stream(&self, stream: &StreamName, from: Position, limit: usize) -> Result<Vec<Stored>, Error> {
        let query =
            sqlx::query(events!("where e.stream = $1 and e.position >= $2 order by e.position limit $3"))
                .bind(kept(stream.as_str()))
                .bind(signed(from.0))
                .bind(limited(limit))
                .try_map(stored);
        within(query.fetch_all(&self.pool)).await.map_err(failed)
    }

    async fn all(&self, after: GlobalPosition, limit: usize) -> Result<Vec<Stored>, Error> {
        let mut connection = self.pool.acquire().await.map_err(failed)?;
        page(&mut connection, after, limit).await.map_err(failed)
    }

    async fn at(&self, positions: &[GlobalPosition]) -> Result<Vec<Stored>, Error> {
        let places: Vec<i64> = positions.iter().map(|at| signed(at.0)).collect();
        let query = sqlx::query(events!("where e.global_position = any($1) order by e.global_position"))
            .bind(places)
            .try_map(stored);
        within(query.fetch_all(&self.pool)).await.map_err(failed)
    }

    async fn by_id(&self, id: &EventId) -> Result<Option<Stored>, Error> {
        let mut connection = self.pool.acquire().await.map_err(failed)?;
        let found = by_ids(&mut connection, &[id]).await.map_err(failed)?;
        Ok(found.into_iter().next())
    }

    async fn row(&self, projection: &str, key: &str) -> Result<Option<Row>, Error> {
        let query = sqlx::query_as("select value, rank from row where projection = $1 and key = $2")
            .bind(projection)
            .bind(kept(key));
        let found: Option<(String, Option<i64>)> =
            within(query.fetch_optional(&self.pool)).await.map_err(failed)?;
        found.map(|(value, rank)| row_of(&value, rank)).transpose()
    }

    async fn rows_at(&self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error> {
        let mut connection = within(self.pool.acquire()).await.map_err(failed)?;
        rows(&mut connection, keys).await.map_err(failed)
    }

    async fn ranked(
        &self,
        projection: &str,
        at_least: i64,
        limit: usize,
    ) -> Result<Vec<(String, Row)>, Error> {
        let query = sqlx::query_as(
            "select key, value, rank from row where projection = $1 and rank >= $2 order by rank, key limit $3",
        )
        .bind(projection)
        .bind(at_least)
        .bind(limited(limit));
        let found: Vec<(String, String, Option<i64>)> =
            within(query.fetch_all(&self.pool)).await.map_err(failed)?;
        let read = |(key, value, rank): (String, String, _)| Ok((named(key), row_of(&value, rank)?));
        found.into_iter().map(read).collect()
    }

    async fn rows(&self, after: (&str, &str), limit: usize) -> Result<Vec<StoredRow>, Error> {
        let query = sqlx::query_as(
            "select projection, key, value, rank from row where (projection, key) > ($1, $2) \
             order by projection, key limit $3",
        )
        .bind(after.0)
        .bind(kept(after.1))
        .bind(limited(limit));
        let found: Vec<StoredRow> = within(query.fetch_all(&self.pool)).await.map_err(failed)?;
        Ok(found.into_iter().map(|(of, key, value, rank)| (of, named(key), value, rank)).collect())
    }

    async fn head(&self) -> Result<Head, Error> {
        let last = within(sqlx::query(HEAD).fetch_optional(&self.pool)).await.map_err(failed)?;
        last.as_ref().map_or_else(|| Ok(Head::default()), head)
    }

    async fn last(&self) -> Result<GlobalPosition, Error> {
        let last = sqlx::query_scalar("select coalesce(max(global_position), 0) from event");
        Ok(GlobalPosition(unsigned(within(last.fetch_one(&self.pool)).await.map_err(failed)?)))
    }

    async fn cursor(&self, name: &str) -> Result<GlobalPosition, Error> {
        let at = sqlx::query_scalar("select global_position from cursor where name = $1").bind(kept(name));
        let at: Option<i64> = within(at.fetch_optional(&self.pool)).await.map_err(failed)?;
        Ok(GlobalPosition(at.map_or(0, unsigned)))
    }

    async fn missing_guard(&self) -> Result<Option<&'static str>, Error> {
        // `A`: always, for a session that says it is a replica as well.
        let names = sqlx::query_scalar(
            "select tgname::text from pg_trigger where tgenabled = 'A' \
             and tgrelid in (to_regclass('event'), to_regclass('blob'))",
        );
        let standing: Vec<String> = within(names.fetch_all(&self.pool)).await.map_err(failed)?;
        Ok(GUARDS.iter().find(|guard| !standing.iter().any(|name| name == *guard)).copied())
    }

    async fn hear(&self) -> Option<GlobalPosition> {
        self.ears.lock().await.hear().await
    }
}

pub(super) async fn page(
    connection: &mut PgConnection,
    after: GlobalPosition,
    limit: usize,
) -> Result<Vec<Stored>, sqlx::Error> {
    let query = sqlx::query(events!("where e.global_position > $1 order by e.global_position limit $2"))
        .bind(signed(after.0))
        .bind(limited(limit))
        .try_map(stored);
    within(query.fetch_all(connection)).await
}

/// Joined to the list and not looked for in it: the list is short and the table long.
pub(super) async fn rows(
    connection: &mut PgConnection,
    keys: &[RowKey],
) -> Result<Vec<StoredRow>, sqlx::Error> {
    let query = sqlx::query_as(
        "select r.projection, r.key, r.value, r.rank from unnest($1::text[], $2::text[]) k (projection, key) \
         join row r on r.projection = k.projection and r.key = k.key",
    )
    .bind(keys.iter().map(|key| key.projection).collect::<Vec<_>>())
    .bind(keys.iter().map(|key| kept(&key.key)).collect::<Vec<_>>());
    let rows: Vec<StoredRow> = within(query.fetch_all(connection)).await?;
    Ok(rows.into_iter().map(|(of, key, value, rank)| (of, named(key), value, rank)).collect())
}

pub(super) async fn by_ids(
    connection: &mut PgConnection,
    ids: &[&EventId],
) -> Result<Vec<Stored>, sqlx::Error> {
    let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    let query = sqlx::query(events!("where e.id = any($1)")).bind(ids).try_map(stored);
    within(query.fetch_all(connection)).await
}

/// Where the record ends.
pub(super) const HEAD: &str =
    "select global_position, at, chain from event order by global_position desc limit 1";

/// What a row of [`HEAD`] says.
pub(super) fn head(row: &PgRow) -> Result<Head, Error> {
    let global_position = unsigned(row.try_get("global_position").map_err(failed)?);
    let at = Timestamp(row.try_get("at").map_err(failed)?);
    let chain: String = row.try_get("chain").map_err(failed)?;
    let chain = Digest::parse(&chain)
        .ok_or_else(|| Error::corrupt(global_position, "the chain does not read", None))?;
    Ok(Head { global_position, at, chain: Some(chain) })
}

/// By number, in the order of `events!`: a name would be looked for in every row anew.
fn stored(row: PgRow) -> Result<Stored, sqlx::Error> {
    // As bytes, so that a column whose bytes were damaged is read and found wrong, instead of failing a whole page
    // without a name.
    let optional = |column: usize| -> Result<Option<String>, sqlx::Error> {
        let value = row.try_get_raw(column)?;
        let bytes = value.as_bytes();
        Ok(bytes.ok().map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
    };
    let text = |column: usize| Ok::<_, sqlx::Error>(optional(column)?.unwrap_or_default());
    let body = match optional(10)? {
        None => optional(11)?,
        beside => beside,
    };
    Ok(Stored {
        global_position: unsigned(row.try_get(0)?),
        stream: named(text(1)?),
        position: unsigned(row.try_get(2)?),
        id: text(3)?,
        kind: text(4)?,
        schema: row.try_get(5)?,
        at: Timestamp(row.try_get(6)?),
        actor: text(7)?,
        cause: optional(8)?,
        label: text(9)?,
        body,
        blob: optional(12)?,
        digest: text(13)?,
        chain: text(14)?,
    })
}
