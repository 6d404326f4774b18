//! Writing: what a transaction changes, gathered beside what is committed.

use super::{Address, Shared, State};
use crate::Error;
use crate::canon::text;
use crate::lease::Lease;
use crate::rows::RowKey;
use crate::store::{Found, StoredRow, Unread, Writes};
use crate::stored::{Head, Stored};
use async_trait::async_trait;
use event::{EventId, GlobalPosition, StreamName};
use fold::Row;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;

/// The one that writes, while it holds the turn.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    turn: Option<OwnedMutexGuard<()>>,
    changes: Changes,
    /// The changes as they were at the last savepoint.
    savepoint: Changes,
}

/// What a transaction changes.
#[derive(Clone, Debug, Default)]
struct Changes {
    events: Vec<Arc<Stored>>,
    by_id: HashMap<String, usize>,
    /// Where the streams of these events stand.
    stands: HashMap<String, u64>,
    /// Whether the committed rows count no more.
    rows_cleared: bool,
    /// Rows written, and nothing for rows removed.
    rows: BTreeMap<Address, Option<(String, Option<i64>)>>,
    leases: BTreeMap<String, Lease>,
    cursors: BTreeMap<String, u64>,
}

impl Changes {
    fn add(&mut self, event: Stored) {
        self.by_id.insert(event.id.clone(), self.events.len());
        self.stands.insert(event.stream.clone(), event.position);
        self.events.push(Arc::new(event));
    }

    fn named(&self, id: &str) -> Option<&Stored> {
        self.by_id.get(id).and_then(|index| self.events.get(*index)).map(Arc::as_ref)
    }

    fn row(&self, state: &State, address: &Address) -> Option<(String, Option<i64>)> {
        match self.rows.get(address) {
            Some(row) => row.clone(),
            None if self.rows_cleared => None,
            None => state.rows.get(address).cloned(),
        }
    }

    fn apply(self, state: &mut State) {
        self.events.into_iter().for_each(|event| state.add(event));
        if self.rows_cleared {
            state.rows.clear();
            state.ranked.clear();
        }
        self.rows.into_iter().for_each(|(address, row)| state.set_row(address, row));
        state.leases.extend(self.leases);
        state.cursors.extend(self.cursors);
    }
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, turn: None, changes: Changes::default(), savepoint: Changes::default() }
    }

    fn forget(&mut self) {
        self.changes = Changes::default();
        self.savepoint = Changes::default();
        self.turn = None;
    }
}

fn address(key: &RowKey) -> Address {
    (key.projection.to_owned(), key.key.clone())
}

#[async_trait]
impl Writes for Writer {
    async fn begin(&mut self) -> Result<Head, Error> {
        self.forget();
        self.turn = Some(Arc::clone(&self.shared.turn).lock_owned().await);
        Ok(self.shared.state().head())
    }

    async fn commit(&mut self, head: GlobalPosition) -> Result<(), Error> {
        std::mem::take(&mut self.changes).apply(&mut self.shared.state());
        self.forget();
        self.shared.end.send_if_modified(|end| {
            let further = head.0 > *end;
            *end = head.0.max(*end);
            further
        });
        Ok(())
    }

    async fn rollback(&mut self) {
        self.forget();
    }

    async fn savepoint(&mut self) -> Result<(), Error> {
        self.savepoint = self.changes.clone();
        Ok(())
    }

    async fn undo_to_savepoint(&mut self) -> Result<(), Error> {
        self.changes = self.savepoint.clone();
        Ok(())
    }

    async fn by_ids(&mut self, ids: &[&EventId]) -> Result<Vec<Stored>, Error> {
        let state = self.shared.state();
        let named =
            |id: &&EventId| state.named(id.as_str()).or_else(|| self.changes.named(id.as_str())).cloned();
        Ok(ids.iter().filter_map(named).collect())
    }

    async fn unread(&mut self, after: GlobalPosition, limit: usize) -> Result<Unread, Error> {
        let state = self.shared.state();
        let after = usize::try_from(after.0).unwrap_or(usize::MAX);
        let all = state
            .events
            .iter()
            .skip(after)
            .chain(self.changes.events.iter().skip(after.saturating_sub(state.events.len())));
        Ok(Unread::of(all.take(limit).map(|event| Stored::clone(event)).collect()))
    }

    async fn rows(&mut self, keys: &[RowKey]) -> Result<Vec<StoredRow>, Error> {
        let state = self.shared.state();
        let found = keys.iter().map(address).filter_map(|(of, key)| {
            let (value, rank) = self.changes.row(&state, &(of.clone(), key.clone()))?;
            Some((of, key, value, rank))
        });
        Ok(found.collect())
    }

    async fn found(&mut self, streams: &[&StreamName], ids: &[&EventId]) -> Result<Found, Error> {
        let state = self.shared.state();
        let stands = |stream: &&StreamName| {
            let name = stream.as_str();
            let before = || state.streams.get(name).and_then(|places| u64::try_from(places.len()).ok());
            let stands = self.changes.stands.get(name).copied().or_else(before)?;
            Some((name.to_owned(), stands))
        };
        let names_one = |id: &&&EventId| {
            state.by_id.contains_key(id.as_str()) || self.changes.by_id.contains_key(id.as_str())
        };
        Ok(Found {
            streams: streams.iter().filter_map(stands).collect(),
            ids: ids.iter().filter(names_one).map(|id| id.as_str().to_owned()).collect(),
        })
    }

    async fn insert(&mut self, events: Vec<Stored>) -> Result<(), Error> {
        events.into_iter().for_each(|event| self.changes.add(event));
        Ok(())
    }

    async fn put_rows(&mut self, rows: &[(RowKey, Row)]) -> Result<(), Error> {
        for (key, row) in rows {
            self.changes.rows.insert(address(key), Some((text(&row.value), row.rank)));
        }
        Ok(())
    }

    async fn remove_rows(&mut self, keys: &[RowKey]) -> Result<(), Error> {
        self.changes.rows.extend(keys.iter().map(|key| (address(key), None)));
        Ok(())
    }

    async fn clear_rows(&mut self) -> Result<(), Error> {
        self.changes.rows.clear();
        self.changes.rows_cleared = true;
        Ok(())
    }

    async fn leases(&mut self, names: &[&str]) -> Result<Vec<Lease>, Error> {
        let state = self.shared.state();
        let lease = |name: &&str| self.changes.leases.get(*name).or_else(|| state.leases.get(*name)).cloned();
        Ok(names.iter().filter_map(lease).collect())
    }

    async fn put_lease(&mut self, lease: &Lease) -> Result<(), Error> {
        self.changes.leases.insert(lease.name.clone(), lease.clone());
        Ok(())
    }

    async fn put_cursor(&mut self, name: &str, at: GlobalPosition) -> Result<(), Error> {
        self.changes.cursors.insert(name.to_owned(), at.0);
        Ok(())
    }

    async fn end(mut self: Box<Self>) {
        self.forget();
    }
}
