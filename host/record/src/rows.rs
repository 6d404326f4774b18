//! Rows while a batch is being built: what a decision sees, and the cache through which folds read and write.

use crate::Error;
use crate::append::{Append, Prepared, unplaced};
use crate::store::{Reads, StoredRow};
use event::{Actor, Digest, Event, EventId, Fact, StreamName};
use fold::authority::{Look, Verdict, may_state};
use fold::setting::Settings;
use fold::{Projection, Row};
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Rows read at a time for the digest of all.
const DIGEST_ROWS: usize = 500;

/// The address of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// The projection's name, as [`fold::Projection::name`] says it.
    pub projection: &'static str,
    /// The key within the projection.
    pub key: String,
}

impl RowKey {
    /// The row under `key` of `projection`.
    #[must_use]
    pub fn new(projection: &'static str, key: impl Into<String>) -> Self {
        Self { projection, key: key.into() }
    }
}

/// The most rows of one [`crate::Record::rows`]: more than any decision looks at, and one statement for every store.
pub const ROWS_AT_ONCE_MAX: usize = 256;

/// What a decision looks at, and what can be told beforehand of what it appends: all of it is looked up at once. What is
/// left out of the second is looked up by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreseen {
    /// The rows it may look at, and those its events will change, as far as they are known.
    pub rows: Vec<RowKey>,
    /// The streams of its events.
    pub streams: Vec<StreamName>,
    /// The names of its events.
    pub ids: Vec<EventId>,
    /// The names of the leases they are appended under.
    pub leases: Vec<String>,
}

impl Foreseen {
    /// Counts in what `appends` will need: their streams, ids and leases, and the rows their events change, as far as
    /// those can be told before an event has its place.
    pub fn count_in(&mut self, appends: &[Append]) {
        for append in appends {
            self.streams.push(append.stream.clone());
            self.leases.extend(append.fence.as_ref().map(|fence| fence.name.clone()));
            for event in &append.events {
                self.ids.push(event.id.clone());
                self.rows.extend(judged_by(&event.actor, &event.fact));
                let placed = unplaced(&append.stream, event.clone(), Digest::of(b""));
                self.rows.extend(changes(&placed).into_iter().map(|change| change.key));
            }
        }
    }
}

/// The rows that somebody named: those of a decision as they stand in its transaction, those of a read as they stood
/// at one moment.
#[derive(Debug, Default)]
pub struct Rows {
    rows: BTreeMap<RowKey, Option<Row>>,
    /// The first row that was asked for and not named: to take it for absent would decide on a wrong state.
    unnamed: RefCell<Option<RowKey>>,
}

impl Rows {
    /// What is stored of `named`.
    ///
    /// # Errors
    /// As [`row_of`].
    pub(crate) fn of(named: Vec<RowKey>, stored: Vec<StoredRow>) -> Result<Self, Error> {
        let mut stored: HashMap<_, _> =
            stored.into_iter().map(|(of, key, value, rank)| ((of, key), (value, rank))).collect();
        let mut rows = BTreeMap::new();
        for key in named {
            // Named twice, it is there already.
            let Some((value, rank)) = stored.remove(&(key.projection.to_owned(), key.key.clone())) else {
                rows.entry(key).or_insert(None);
                continue;
            };
            rows.insert(key, Some(row_of(&value, rank)?));
        }
        Ok(Self { rows, unnamed: RefCell::default() })
    }

    /// The row under `key`, when there is one. Asking for a row that was not named fails the whole decision.
    #[must_use]
    pub fn get(&self, projection: &'static str, key: &str) -> Option<&Row> {
        let address = RowKey::new(projection, key);
        match self.rows.get(&address) {
            Some(row) => row.as_ref(),
            None => {
                self.unnamed.borrow_mut().get_or_insert(address);
                None
            }
        }
    }

    /// Every row that was named, in the order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (&RowKey, Option<&Row>)> {
        self.rows.iter().map(|(key, row)| (key, row.as_ref()))
    }

    /// The state that row holds; nothing when there is no row, or it has another shape.
    #[must_use]
    pub fn state<T: DeserializeOwned>(&self, projection: &'static str, key: &str) -> Option<T> {
        fold::decode(self.get(projection, key))
    }

    /// That nobody asked for a row that was not named, and so took it for absent. A decision is held to this by itself;
    /// whoever reads for one asks.
    ///
    /// # Errors
    /// [`Error::RowNotNamed`].
    pub fn were_named(&self) -> Result<(), Error> {
        match self.unnamed() {
            None => Ok(()),
            Some(RowKey { projection, key }) => {
                Err(Error::RowNotNamed { projection: projection.to_owned(), key })
            }
        }
    }

    pub(crate) fn unnamed(&self) -> Option<RowKey> {
        self.unnamed.borrow().clone()
    }
}

/// Rows that whoever has them read before, and their absence where there was none.
impl FromIterator<(RowKey, Option<Row>)> for Rows {
    fn from_iter<I: IntoIterator<Item = (RowKey, Option<Row>)>>(rows: I) -> Self {
        Self { rows: rows.into_iter().collect(), unnamed: RefCell::default() }
    }
}

/// The rows a batch has read or changed. It lives as long as the batch: another process may change rows between two.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    rows: HashMap<RowKey, Held>,
}

/// A row, nothing where there is none; and whether it differs from what is stored.
#[derive(Debug, Default)]
struct Held {
    row: Option<Row>,
    is_changed: bool,
}

impl Cache {
    /// What is known of a row here.
    pub(crate) fn look(&self, key: &RowKey) -> Look {
        match self.rows.get(key).map(|held| &held.row) {
            None => Look::NotYet,
            Some(None) => Look::Absent,
            Some(Some(row)) => Look::Holds(row.value.clone()),
        }
    }

    /// How many rows are held here.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Takes in a row as it is stored.
    pub(crate) fn fill(&mut self, key: RowKey, row: Option<Row>) {
        self.rows.insert(key, Held { row, is_changed: false });
    }

    /// The rows a decision named; all of them have been filled in before.
    pub(crate) fn pick(&self, named: Vec<RowKey>) -> Rows {
        let rows = named.into_iter().map(|key| {
            let row = self.rows.get(&key).and_then(|held| held.row.clone());
            (key, row)
        });
        Rows { rows: rows.collect(), unnamed: RefCell::default() }
    }

    /// Those of `keys` that are not known here, each once.
    pub(crate) fn lacking<'a>(&self, keys: impl IntoIterator<Item = &'a RowKey>) -> Vec<RowKey> {
        let lacking: BTreeSet<_> = keys.into_iter().filter(|key| !self.rows.contains_key(key)).collect();
        lacking.into_iter().cloned().collect()
    }

    /// Folds `event` into every row it changes, which are `changes`; all of them have been filled in before.
    pub(crate) fn fold(&mut self, event: &Event, changes: Vec<Change>) {
        for Change { projection, key } in changes {
            match self.rows.entry(key) {
                Entry::Occupied(mut held) => {
                    let row = held.get_mut().row.take();
                    let row = projection.evolve(&held.key().key, row, event);
                    *held.get_mut() = Held { row, is_changed: true };
                }
                Entry::Vacant(place) => {
                    let row = projection.evolve(&place.key().key, None, event);
                    place.insert(Held { row, is_changed: true });
                }
            }
        }
    }

    /// The rows that differ from what is stored, in the order of their addresses. Nothing is held any more.
    pub(crate) fn take_changed(&mut self) -> Vec<(RowKey, Option<Row>)> {
        let changed = self.rows.drain().filter(|(_, held)| held.is_changed);
        let mut changed: Vec<_> = changed.map(|(key, held)| (key, held.row)).collect();
        changed.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        changed
    }

    /// Forgets everything, because the rows are about to be folded anew.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }
}

/// A row that an event changes, and the fold that does.
pub(crate) struct Change {
    projection: &'static dyn Projection,
    pub(crate) key: RowKey,
}

/// All rows that `event` changes, in the order in which they are folded.
pub(crate) fn changes(event: &Event) -> Vec<Change> {
    let mut changes = Vec::new();
    for projection in fold::all().iter().copied() {
        let keys = projection.keys(event).into_iter();
        changes.extend(keys.map(|key| Change { projection, key: RowKey::new(projection.name(), key) }));
    }
    changes
}

/// The addresses of the rows that a call will change, as far as can be told before it has its place, and of those
/// that its authority is judged by first: what is worth looking up ahead. Whatever is missing here is looked up
/// when it is needed.
pub(crate) fn foreseen(call: &[Prepared]) -> BTreeSet<RowKey> {
    let mut keys = BTreeSet::new();
    for event in call.iter().flat_map(|append| append.drafts.iter().map(|draft| &draft.event)) {
        keys.extend(changes(event).into_iter().map(|change| change.key));
        keys.extend(judged_by(&event.actor, &event.fact));
    }
    keys
}

/// The row that the authority for a fact is judged by first, where it is judged by one.
fn judged_by(actor: &Actor, fact: &Fact) -> Option<RowKey> {
    match may_state(actor, fact, &|_| Look::NotYet) {
        Verdict::LookAt(key) => Some(RowKey::new(Settings.name(), key)),
        Verdict::May | Verdict::MayNot(_) => None,
    }
}

/// One digest over all rows, in the order of their addresses.
pub(crate) async fn digest(reader: &dyn Reads) -> Result<Digest, Error> {
    let mut digest = Digest::of(b"");
    let (mut projection, mut key) = (String::new(), String::new());
    loop {
        let page = reader.rows((&projection, &key), DIGEST_ROWS).await?;
        for (projection, key, value, rank) in &page {
            let rank = rank.map(|rank| rank.to_string()).unwrap_or_default();
            let parts = [digest.as_str(), projection, key, value, &rank];
            digest = Digest::of_parts(&parts.map(str::as_bytes));
        }
        let Some((last_projection, last_key, ..)) = page.into_iter().next_back() else { return Ok(digest) };
        (projection, key) = (last_projection, last_key);
    }
}

/// The row that is stored as `value` and `rank`.
///
/// # Errors
/// [`Error::Corrupt`] when it is not JSON.
pub(crate) fn row_of(value: &str, rank: Option<i64>) -> Result<Row, Error> {
    let value = serde_json::from_str(value).map_err(|source| {
        Error::corrupt(0, "a row does not read; rebuild the rows", Some(Arc::new(source)))
    })?;
    Ok(Row::holding(value, rank))
}
