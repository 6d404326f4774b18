//! Reading what is committed.

use super::{Shared, State};
use crate::Error;
use crate::rows::{RowKey, row_of};
use crate::store::{Reads, StoredRow};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{EventId, GlobalPosition, Position, StreamName};
use fold::Row;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// Reads without waiting for the transaction that writes.
#[derive(Debug)]
pub(super) struct Reader {
    shared: Arc<Shared>,
    /// What one listener has not heard yet.
    end: Mutex<watch::Receiver<u64>>,
}

impl Reader {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let end = Mutex::new(shared.end.subscribe());
        Self { shared, end }
    }
}

#[async_trait]
impl Reads for Reader {
    async fn stream(&self, stream: &StreamName, from: Position, limit: usize) -> Result<Vec<Stored>, Error> {
        let state = self.shared.state();
        let places = state.streams.get(stream.as_str()).map(Vec::as_slice).unwrap_or_default();
        let before = usize::try_from(from.0.saturating_sub(1)).unwrap_or(usize::MAX);
        let events = places.iter().skip(before).take(limit).filter_map(|index| state.events.get(*index));
        Ok(events.map(|event| Stored::clone(event)).collect())
    }

    async fn all(&self, after: GlobalPosition, limit: usize) -> Result<Vec<Stored>, Error> {
        Ok(self.shared.state().page(after.0, limit))
    }

    async fn at(&self, positions: &[GlobalPosition]) -> Result<Vec<Stored>, Error> {
        let state = self.shared.state();
        let places: BTreeSet<u64> = positions.iter().map(|at| at.0).collect();
        let event = |at: u64| state.events.get(usize::try_from(at.checked_sub(1)?).ok()?);
        Ok(places.into_iter().filter_map(event).map(|event| Stored::clone(event)).collect())
    }

    async fn by_id(&self, id: &EventId) -> Result<Option<Stored>, Error> {
        Ok(self.shared.state().named(id.as_str()).cloned())
    }

    async fn row(&self, projection: &str, key: &str) -> Result<Option<Row>, Error> {
        let state = self.shared.state();
        let found = state.rows.get(&(projection.to_owned(), key.to_owned()));
        found.map(|(value, rank)| row_of(value, *rank)).transpose()
    }

    async fn rows_at(&self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error> {
        let state = self.shared.state();
        let found = keys.iter().filter_map(|key| {
            let address = (key.projection.to_owned(), key.key.clone());
            let (value, rank) = state.rows.get(&address)?.clone();
            Some((address.0, address.1, value, rank))
        });
        Ok(found.collect())
    }

    async fn ranked(
        &self,
        projection: &str,
        at_least: i64,
        limit: usize,
    ) -> Result<Vec<(String, Row)>, Error> {
        let state = self.shared.state();
        let from = (projection.to_owned(), at_least, String::new());
        let found = state.ranked.range(from..).take_while(|(of, ..)| of == projection).take(limit);
        let read = |(projection, _, key): &(String, i64, String)| {
            let (value, rank) = state.rows.get(&(projection.clone(), key.clone()))?;
            Some(row_of(value, *rank).map(|row| (key.clone(), row)))
        };
        found.filter_map(read).collect()
    }

    async fn rows(&self, after: (&str, &str), limit: usize) -> Result<Vec<StoredRow>, Error> {
        let state = self.shared.state();
        let after = Bound::Excluded((after.0.to_owned(), after.1.to_owned()));
        let found = state.rows.range((after, Bound::Unbounded)).take(limit);
        let stored = found.map(|((of, key), (value, rank))| (of.clone(), key.clone(), value.clone(), *rank));
        Ok(stored.collect())
    }

    async fn head(&self) -> Result<Head, Error> {
        Ok(self.shared.state().head())
    }

    async fn last(&self) -> Result<GlobalPosition, Error> {
        Ok(GlobalPosition(self.shared.state().head().global_position))
    }

    async fn cursor(&self, name: &str) -> Result<GlobalPosition, Error> {
        Ok(GlobalPosition(self.shared.state().cursors.get(name).copied().unwrap_or(0)))
    }

    async fn missing_guard(&self) -> Result<Option<&'static str>, Error> {
        Ok(None)
    }

    async fn hear(&self) -> Option<GlobalPosition> {
        let mut end = self.end.lock().await;
        // The sender lives as long as this reader, so a sign always comes or is waited for.
        if end.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        Some(GlobalPosition(*end.borrow_and_update()))
    }
}

impl State {
    pub(super) fn head(&self) -> Head {
        self.events.last().map(|event| event.end()).unwrap_or_default()
    }
}
