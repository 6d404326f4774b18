//! A record in memory, for simulations: no file, no thread, no timer, so that a run with the same seed is the same
//! run.
//!
//! What is committed is one [`State`]. A transaction gathers what it changes beside it and puts it there whole, so
//! that readers never see a part and undoing is forgetting. Deliberately absent: guards against change from outside,
//! since there is no outside.

mod read;
mod write;

use crate::lease::Lease;
use crate::store;
use crate::stored::Stored;
use read::Reader;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use write::Writer;

/// What holds a record in memory. It outlives the handles opened in it, as a disk outlives a process; clones are
/// the same memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Held by the one transaction that writes.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Where the record ends, for those who wait for it to go on.
    end: watch::Sender<u64>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { state: Mutex::default(), turn: Arc::default(), end: watch::Sender::new(0) }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the state; what another thread left is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address of a row.
type Address = (String, String);

/// What is committed.
#[derive(Debug, Default)]
struct State {
    /// In order: an event's index is its global position less one.
    events: Vec<Arc<Stored>>,
    by_id: HashMap<String, usize>,
    /// The events of each stream, in order.
    streams: HashMap<String, Vec<usize>>,
    rows: BTreeMap<Address, (String, Option<i64>)>,
    /// The rows that have a rank, as they are found: projection, rank, key.
    ranked: BTreeSet<(String, i64, String)>,
    leases: BTreeMap<String, Lease>,
    cursors: BTreeMap<String, u64>,
}

impl State {
    fn add(&mut self, event: Arc<Stored>) {
        let index = self.events.len();
        self.by_id.insert(event.id.clone(), index);
        self.streams.entry(event.stream.clone()).or_default().push(index);
        self.events.push(event);
    }

    fn set_row(&mut self, (projection, key): Address, row: Option<(String, Option<i64>)>) {
        let address = (projection.clone(), key.clone());
        if let Some((_, Some(rank))) = self.rows.get(&address) {
            self.ranked.remove(&(projection.clone(), *rank, key.clone()));
        }
        let Some((value, rank)) = row else {
            self.rows.remove(&address);
            return;
        };
        if let Some(rank) = rank {
            self.ranked.insert((projection, rank, key));
        }
        self.rows.insert(address, (value, rank));
    }

    /// Events after the first `after`, at most `limit`.
    fn page(&self, after: u64, limit: usize) -> Vec<Stored> {
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        self.events.iter().skip(after).take(limit).map(|event| Stored::clone(event)).collect()
    }

    fn named(&self, id: &str) -> Option<&Stored> {
        self.by_id.get(id).and_then(|index| self.events.get(*index)).map(Arc::as_ref)
    }
}

/// Opens the record that `memory` holds.
pub(crate) fn open(memory: &Memory) -> (store::Reader, store::Writer) {
    let reader = Reader::new(Arc::clone(&memory.shared));
    (Arc::new(reader), Box::new(Writer::new(Arc::clone(&memory.shared))))
}

/// What nobody can do outside of tests: change what is committed.
#[cfg(test)]
impl Memory {
    pub(crate) fn change(&self, at: u64, change: impl FnOnce(&mut Stored)) {
        let mut state = self.shared.state();
        let index = usize::try_from(at).unwrap() - 1;
        let mut event = Stored::clone(&state.events[index]);
        change(&mut event);
        state.events[index] = Arc::new(event);
    }

    pub(crate) fn write_row(&self, projection: &str, key: &str, value: &str) {
        let address = (projection.to_owned(), key.to_owned());
        self.shared.state().set_row(address, Some((value.to_owned(), Some(2))));
    }
}
