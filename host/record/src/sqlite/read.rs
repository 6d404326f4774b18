//! Reading. The functions take any connection, so that the writer reads within its transaction by the same
//! statements as everybody else; [`Reader`] runs them on a connection of its own.

use super::{POLL_MS, failed};
use crate::Error;
use crate::rows::{RowKey, row_of};
use crate::store::{Reads, StoredRow, limited, signed, unsigned};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{Digest, EventId, GlobalPosition, Position, StreamName, Timestamp};
use fold::Row;
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Row as _, SqliteConnection};
use std::time::Duration;

/// Events with their bodies, wherever those are kept. Text is fetched as bytes, so that a column that is no
/// longer UTF-8 is read and found wrong, instead of failing a whole page without a name.
macro_rules! events {
    ($rest:literal) => {
        concat!(
            "select e.global_position, e.stream, e.position, e.id, e.kind, e.schema, e.at, e.actor, e.cause, ",
            "e.label, coalesce(cast(e.body as blob), b.bytes) as body, e.blob, e.digest, e.chain ",
            "from event e left join blob b on b.digest = e.blob ",
            $rest
        )
    };
}

/// The triggers that keep events as they are; a record without one of these was opened to change.
const GUARDS: &[&str] =
    &["blob_delete", "blob_insert", "blob_update", "event_delete", "event_insert", "event_update"];

/// A pool of connections that cannot write.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pool: SqlitePool,
}

impl Reader {
    pub(super) fn new(pool: SqlitePool) -> Self {
        Self { pool }
    }
}

#[async_trait]
impl Reads for Reader {
    async fn stream(&self, stream: &StreamName, from: Position, limit: usize) -> Result<Vec<Stored>, Error> {
        sqlx::query(events!("where e.stream = ? and e.position >= ? order by e.position limit ?"))
            .bind(stream.as_str())
            .bind(signed(from.0))
            .bind(limited(limit))
            .try_map(stored)
            .fetch_all(&self.pool)
            .await
            .map_err(failed)
    }

    async fn all(&self, after: GlobalPosition, limit: usize) -> Result<Vec<Stored>, Error> {
        page(&mut *self.pool.acquire().await.map_err(failed)?, after, limit).await
    }

    async fn at(&self, positions: &[GlobalPosition]) -> Result<Vec<Stored>, Error> {
        sqlx::query(events!(
            "where e.global_position in (select value from json_each(?)) order by e.global_position"
        ))
        .bind(list(positions.iter().map(|at| at.0)))
        .try_map(stored)
        .fetch_all(&self.pool)
        .await
        .map_err(failed)
    }

    async fn by_id(&self, id: &EventId) -> Result<Option<Stored>, Error> {
        let found = by_ids(&mut *self.pool.acquire().await.map_err(failed)?, &[id]).await?;
        Ok(found.into_iter().next())
    }

    async fn row(&self, projection: &str, key: &str) -> Result<Option<Row>, Error> {
        let found = sqlx::query_as("select value, rank from row where projection = ? and key = ?");
        let found: Option<(String, Option<i64>)> =
            found.bind(projection).bind(key).fetch_optional(&self.pool).await.map_err(failed)?;
        found.map(|(value, rank)| row_of(&value, rank)).transpose()
    }

    async fn rows_at(&self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error> {
        rows(&mut *self.pool.acquire().await.map_err(failed)?, keys).await
    }

    async fn ranked(
        &self,
        projection: &str,
        at_least: i64,
        limit: usize,
    ) -> Result<Vec<(String, Row)>, Error> {
        let found: Vec<(String, String, Option<i64>)> = sqlx::query_as(
            "select key, value, rank from row where projection = ? and rank >= ? order by rank, key limit ?",
        )
        .bind(projection)
        .bind(at_least)
        .bind(limited(limit))
        .fetch_all(&self.pool)
        .await
        .map_err(failed)?;
        let read = |(key, value, rank): (String, String, _)| Ok((key, row_of(&value, rank)?));
        found.into_iter().map(read).collect()
    }

    async fn rows(&self, after: (&str, &str), limit: usize) -> Result<Vec<StoredRow>, Error> {
        sqlx::query_as(
            "select projection, key, value, rank from row where (projection, key) > (?, ?) \
             order by projection, key limit ?",
        )
        .bind(after.0)
        .bind(after.1)
        .bind(limited(limit))
        .fetch_all(&self.pool)
        .await
        .map_err(failed)
    }

    async fn head(&self) -> Result<Head, Error> {
        head(&mut *self.pool.acquire().await.map_err(failed)?, HEAD).await
    }

    async fn last(&self) -> Result<GlobalPosition, Error> {
        let last = sqlx::query_scalar("select coalesce(max(global_position), 0) from event");
        Ok(GlobalPosition(unsigned(last.fetch_one(&self.pool).await.map_err(failed)?)))
    }

    async fn cursor(&self, name: &str) -> Result<GlobalPosition, Error> {
        let at = sqlx::query_scalar("select global_position from cursor where name = ?").bind(name);
        let at: Option<i64> = at.fetch_optional(&self.pool).await.map_err(failed)?;
        Ok(GlobalPosition(at.map_or(0, unsigned)))
    }

    async fn missing_guard(&self) -> Result<Option<&'static str>, Error> {
        let names = sqlx::query_scalar("select name from sqlite_schema where type = 'trigger'");
        let standing: Vec<String> = names.fetch_all(&self.pool).await.map_err(failed)?;
        Ok(GUARDS.iter().find(|guard| !standing.iter().any(|name| name == *guard)).copied())
    }

    async fn hear(&self) -> Option<GlobalPosition> {
        tokio::time::sleep(Duration::from_millis(POLL_MS)).await;
        None
    }
}

pub(super) async fn page(
    connection: &mut SqliteConnection,
    after: GlobalPosition,
    limit: usize,
) -> Result<Vec<Stored>, Error> {
    sqlx::query(events!("where e.global_position > ? order by e.global_position limit ?"))
        .bind(signed(after.0))
        .bind(limited(limit))
        .try_map(stored)
        .fetch_all(connection)
        .await
        .map_err(failed)
}

/// The rows under `keys`, in one statement.
pub(super) async fn rows(
    connection: &mut SqliteConnection,
    keys: &[RowKey],
) -> Result<Vec<StoredRow>, Error> {
    let mut query =
        QueryBuilder::new("select projection, key, value, rank from row where (projection, key) in (");
    query.push_values(padded(keys), |mut pair, key| {
        pair.push_bind(key.projection).push_bind(&key.key);
    });
    let query = query.push(")").build_query_as::<StoredRow>();
    query.fetch_all(connection).await.map_err(failed)
}

/// `items`, the last of them repeated until there are a power of two: what is looked for may be named twice, and
/// few different statements stay prepared.
pub(super) fn padded<T>(items: &[T]) -> impl Iterator<Item = &T> {
    let surplus = items.len().next_power_of_two().saturating_sub(items.len());
    items.iter().chain(items.last().into_iter().cycle().take(surplus))
}

pub(super) async fn by_ids(
    connection: &mut SqliteConnection,
    ids: &[&EventId],
) -> Result<Vec<Stored>, Error> {
    sqlx::query(events!("where e.id in (select value from json_each(?))"))
        .bind(list(ids.iter().map(|id| id.as_str())))
        .try_map(stored)
        .fetch_all(connection)
        .await
        .map_err(failed)
}

macro_rules! head {
    () => {
        "select global_position, at, chain from event order by global_position desc limit 1"
    };
}

pub(super) const HEAD: &str = head!();
/// In one message to the database, since it precedes every commit.
pub(super) const BEGIN_AND_HEAD: &str = concat!("begin immediate; ", head!());

/// Where the record ends, asked by one of the two statements above.
pub(super) async fn head(connection: &mut SqliteConnection, by: &'static str) -> Result<Head, Error> {
    let last = sqlx::query_as(by).fetch_optional(connection).await.map_err(failed)?;
    let Some((global_position, at, chain)): Option<(i64, i64, String)> = last else {
        return Ok(Head::default());
    };
    let global_position = unsigned(global_position);
    let chain = Digest::parse(&chain)
        .ok_or_else(|| Error::corrupt(global_position, "the chain does not read", None))?;
    Ok(Head { global_position, at: Timestamp(at), chain: Some(chain) })
}

/// By number, in the order of `events!`: a name would be looked for in every row anew.
fn stored(row: SqliteRow) -> Result<Stored, sqlx::Error> {
    let text = |column: usize| -> Result<String, sqlx::Error> { Ok(lossy(row.try_get(column)?)) };
    let optional = |column: usize| -> Result<Option<String>, sqlx::Error> {
        Ok(row.try_get::<Option<&[u8]>, _>(column)?.map(lossy))
    };
    Ok(Stored {
        global_position: unsigned(row.try_get(0)?),
        stream: text(1)?,
        position: unsigned(row.try_get(2)?),
        id: text(3)?,
        kind: text(4)?,
        schema: row.try_get(5)?,
        at: Timestamp(row.try_get(6)?),
        actor: text(7)?,
        cause: optional(8)?,
        label: text(9)?,
        body: optional(10)?,
        blob: optional(11)?,
        digest: text(12)?,
        chain: text(13)?,
    })
}

/// Nearly all text is what it should be, which is quickly seen.
pub(super) fn lossy(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A list as one argument, so that a statement is the same however many are asked for.
pub(super) fn list<T: Into<serde_json::Value>>(items: impl Iterator<Item = T>) -> String {
    serde_json::Value::Array(items.map(Into::into).collect()).to_string()
}
