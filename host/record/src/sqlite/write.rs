//! Writing: the one connection that does, and the statements of its transaction.

use super::failed;
use super::page;
use super::read::{self, padded};
use crate::Error;
use crate::canon::text;
use crate::lease::Lease;
use crate::rows::RowKey;
use crate::store::{Found, StoredRow, Unread, Writes, signed, unsigned};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{EventId, GlobalPosition, StreamName, Timestamp};
use fold::Row;
use sqlx::{Connection, QueryBuilder, SqliteConnection};

/// Events, rows or names of one statement, a power of two: beyond this nothing is gained.
const ITEMS_AT_ONCE: usize = 64;
/// So few items are one statement, whatever their number: what one call writes mostly.
const ITEMS_AS_THEY_ARE_MAX: usize = 8;

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

    async fn insert_some(&mut self, events: impl Iterator<Item = Stored> + Send) -> Result<(), Error> {
        let mut query = QueryBuilder::new(
            "insert into event (global_position, stream, position, id, kind, schema, at, actor, cause, label, body, \
             blob, digest, chain) ",
        );
        query.push_values(events, |mut columns, event| {
            let body = if event.blob.is_none() { event.body } else { None };
            // Each text moves into the statement: it is not copied on the way.
            columns
                .push_bind(signed(event.global_position))
                .push_bind(event.stream)
                .push_bind(signed(event.position))
                .push_bind(event.id)
                .push_bind(event.kind)
                .push_bind(event.schema)
                .push_bind(event.at.0)
                .push_bind(event.actor)
                .push_bind(event.cause)
                .push_bind(event.label)
                .push_bind(body)
                .push_bind(event.blob)
                .push_bind(event.digest)
                .push_bind(event.chain);
        });
        query.build().execute(&mut self.connection).await.map_err(failed)?;
        Ok(())
    }
}

/// How many of `left` items the next statement writes: all of a few, and of more a power of two, the largest first. What
/// is written is written once, and few different statements stay prepared.
fn portion(left: usize) -> usize {
    if left <= ITEMS_AS_THEY_ARE_MAX {
        return left;
    }
    left.min(ITEMS_AT_ONCE).checked_ilog2().map_or(0, |log| 1 << log)
}

/// `items` in such portions.
fn portions<T>(mut items: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let (some, rest) = items.split_at_checked(portion(items.len()).max(1))?;
        items = rest;
        Some(some)
    })
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

    async fn unread(&mut self, after: GlobalPosition, limit: usize) -> Result<Unread, Error> {
        page::unread(&mut self.connection, after, limit).await
    }

    async fn rows(&mut self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error> {
        let mut found = Vec::new();
        for some in keys.chunks(ITEMS_AT_ONCE) {
            found.extend(read::rows(&mut self.connection, some).await?);
        }
        Ok(found)
    }

    async fn found(&mut self, streams: &[&StreamName], ids: &[&EventId]) -> Result<Found, Error> {
        let mut found = Found::default();
        if streams.is_empty() {
            let query =
                sqlx::query_scalar("select id from event where id in (select value from json_each(?))")
                    .bind(read::list(ids.iter().map(|id| id.as_str())));
            found.ids.extend(query.fetch_all(&mut self.connection).await.map_err(failed)?);
            return Ok(found);
        }
        let mut ids = Some(ids);
        for some in streams.chunks(ITEMS_AT_ONCE) {
            let mut query = QueryBuilder::new(
                "select column1, (select coalesce(max(position), 0) from event where stream = column1) from (",
            );
            query.push_values(padded(some), |mut name, stream| {
                name.push_bind(stream.as_str());
            });
            query.push(") union all select id, null from event where id in (select value from json_each(");
            // All ids with the first streams.
            query.push_bind(read::list(ids.take().unwrap_or_default().iter().map(|id| id.as_str())));
            let query = query.push("))").build_query_as();
            let rows: Vec<(String, Option<i64>)> =
                query.fetch_all(&mut self.connection).await.map_err(failed)?;
            for (name, stands) in rows {
                match stands.map(unsigned) {
                    None => drop(found.ids.insert(name)),
                    Some(0) => {}
                    Some(stands) => drop(found.streams.insert(name, stands)),
                }
            }
        }
        Ok(found)
    }

    async fn insert(&mut self, events: Vec<Stored>) -> Result<(), Error> {
        for event in &events {
            if let Some(digest) = &event.blob {
                self.insert_blob(digest, event.body.as_deref().unwrap_or_default()).await?;
            }
        }
        let mut events = events.into_iter();
        while events.len() > 0 {
            let count = portion(events.len());
            self.insert_some(events.by_ref().take(count)).await?;
        }
        Ok(())
    }

    async fn put_rows(&mut self, rows: &[(RowKey, Row)]) -> Result<(), Error> {
        for some in portions(rows) {
            let mut query = QueryBuilder::new("insert into row (projection, key, value, rank) ");
            query.push_values(some, |mut columns, (key, row)| {
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
        }
        Ok(())
    }

    async fn remove_rows(&mut self, keys: &[RowKey]) -> Result<(), Error> {
        for some in keys.chunks(ITEMS_AT_ONCE) {
            let mut query = QueryBuilder::new("delete from row where (projection, key) in (");
            query.push_values(padded(some), |mut pair, key| {
                pair.push_bind(key.projection).push_bind(&key.key);
            });
            query.push(")").build().execute(&mut self.connection).await.map_err(failed)?;
        }
        Ok(())
    }

    async fn clear_rows(&mut self) -> Result<(), Error> {
        self.run("delete from row").await
    }

    async fn leases(&mut self, names: &[&str]) -> Result<Vec<Lease>, Error> {
        let mut found = Vec::new();
        for some in names.chunks(ITEMS_AT_ONCE) {
            let mut query = QueryBuilder::new("select name, holder, token, until from lease where name in (");
            let mut list = query.separated(", ");
            for name in padded(some) {
                list.push_bind(*name);
            }
            let query = query.push(")").build_query_as();
            let rows: Vec<(String, String, i64, i64)> =
                query.fetch_all(&mut self.connection).await.map_err(failed)?;
            found.extend(rows.into_iter().map(|(name, holder, token, until)| Lease {
                name,
                holder,
                token: unsigned(token),
                until: Timestamp(until),
            }));
        }
        Ok(found)
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

#[cfg(test)]
mod tests {
    use super::{ITEMS_AS_THEY_ARE_MAX, ITEMS_AT_ONCE, padded, portions};

    #[test]
    fn portions_hold_every_item_once_in_order_and_padding_adds_only_the_last() {
        let items: Vec<usize> = (0..3 * ITEMS_AT_ONCE + 7).collect();
        for count in 0..items.len() {
            let some = &items[..count];
            assert_eq!(portions(some).flatten().copied().collect::<Vec<_>>(), some);
            assert!(
                portions(some)
                    .all(|some| some.len() <= ITEMS_AS_THEY_ARE_MAX || some.len().is_power_of_two())
            );
            let padded: Vec<usize> = padded(some).copied().collect();
            assert_eq!(padded[..count], *some);
            assert!(padded[count..].iter().all(|item| item + 1 == count));
            assert!(count == 0 || padded.len().is_power_of_two());
        }
    }
}
