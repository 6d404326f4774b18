//! One transaction: the calls that share it, one after the other, and the rows they fold.
//!
//! A call is judged completely before its first write, so one that is turned away has nothing to undo; only an
//! error of the database ends the batch for all. Rows are read once and written once, at the end.

use crate::admit::{Admitted, Known, admit};
use crate::append::{Draft, Prepared, prepare};
use crate::job::{Decision, Part};
use crate::lease::{self, Lease};
use crate::rows::{Cache, RowKey, concerned};
use crate::store::Writes;
use crate::stored::{Head, Stored, seal};
use crate::{Clock, Error};
use event::{Event, GlobalPosition, Position, StreamName, Timestamp};
use fold::Projection;
use fold::authority::{Look, Verdict, may_state};
use fold::setting::Settings;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::{mpsc, watch};

/// Events a rebuild folds between two writes of rows: bounds its memory.
const REBUILD_EVENTS: usize = 500;

/// Rows read or written by one statement.
const ROWS_AT_ONCE: usize = 32;

/// Why a call was not done.
pub(crate) enum Stop {
    /// This call alone; the others of the batch go on.
    Call(Error),
    /// The transaction cannot go on.
    Batch(Error),
}

impl From<Error> for Stop {
    /// What reading and judging say: only a database that does not answer concerns the other calls too.
    fn from(error: Error) -> Self {
        match error {
            Error::Unavailable { .. } => Self::Batch(error),
            _ => Self::Call(error),
        }
    }
}

pub(crate) struct Batch<'a> {
    database: &'a mut dyn Writes,
    clock: &'a dyn Clock,
    head: Head,
    cache: Cache,
}

impl<'a> Batch<'a> {
    pub(crate) async fn begin(database: &'a mut dyn Writes, clock: &'a dyn Clock) -> Result<Self, Error> {
        let head = database.begin().await?;
        Ok(Self { database, clock, head, cache: Cache::default() })
    }

    /// Writes the rows, commits, and says where the record ends.
    pub(crate) async fn commit(mut self) -> Result<GlobalPosition, Error> {
        self.write_rows().await?;
        let head = GlobalPosition(self.head.global_position);
        self.database.commit(head).await?;
        Ok(head)
    }

    /// The moment of the next call: the clock's, but never before the last event.
    fn moment(&self) -> Timestamp {
        self.clock.now().max(self.head.at)
    }

    /// The moment that leases are judged by.
    fn lease_moment(&self) -> Timestamp {
        lease::moment(self.moment(), self.clock.now())
    }

    pub(crate) async fn append(&mut self, call: Vec<Prepared>) -> Result<Vec<Event>, Stop> {
        self.append_at(call, self.moment()).await
    }

    pub(crate) async fn decide(
        &mut self,
        reads: Vec<RowKey>,
        decision: Decision,
    ) -> Result<Vec<Event>, Stop> {
        self.load(reads.iter().cloned().collect()).await?;
        let (rows, at) = (self.cache.pick(reads), self.moment());
        // The decision is a caller's code: its panic must not take the writer from everybody else.
        let appends = catch_unwind(AssertUnwindSafe(|| decision(&rows, at)))
            .map_err(|_| Stop::Call(Error::unavailable("a decision panicked")))?;
        if let Some(RowKey { projection, key }) = rows.unnamed() {
            return Err(Stop::Call(Error::RowNotNamed { projection: projection.to_owned(), key }));
        }
        match appends {
            Some(appends) => self.append_at(prepare(appends)?, at).await,
            None => Ok(Vec::new()),
        }
    }

    async fn append_at(&mut self, call: Vec<Prepared>, at: Timestamp) -> Result<Vec<Event>, Stop> {
        let known = self.look_up(&call).await?;
        match admit(call, known)? {
            Admitted::Already(events) => Ok(events),
            Admitted::New(placed) => {
                self.authorise(&placed).await?;
                self.write(placed, at).await
            }
        }
    }

    /// Asks plain code whether each actor may state its fact, as the settings stand after the facts before it.
    async fn authorise(&mut self, placed: &[(StreamName, Position, Draft)]) -> Result<(), Stop> {
        let mut stated = BTreeMap::new();
        for (_, _, draft) in placed {
            // Ends because every round looks at one row more, and a line has an end.
            loop {
                let look = |key: &str| match stated.get(key) {
                    Some(value) => Look::Holds(Clone::clone(value)),
                    None => self.cache.look(&RowKey::new(Settings.name(), key)),
                };
                match may_state(&draft.actor, &draft.fact, &look) {
                    Verdict::May => break,
                    Verdict::MayNot(why) => {
                        return Err(Stop::Call(Error::NoAuthority { id: draft.id.clone(), source: why }));
                    }
                    Verdict::LookAt(key) => {
                        self.load(BTreeSet::from([RowKey::new(Settings.name(), key)])).await?
                    }
                }
            }
            stated.extend(fold::setting::stated(&draft.fact));
        }
        Ok(())
    }

    async fn look_up(&mut self, call: &[Prepared]) -> Result<Known, Error> {
        let (mut known, mut some_stored) = (Known::default(), false);
        for append in call {
            let ids: Vec<_> = append.drafts.iter().map(|draft| &draft.id).collect();
            let (stands, stored) = self.database.stands(&append.stream, &ids).await?;
            known.streams.insert(append.stream.clone(), stands);
            some_stored |= stored;
            if let Some(fence) = &append.fence
                && let Some(lease) = self.database.lease(&fence.name).await?
            {
                known.tokens.insert(lease.name, lease.token);
            }
        }
        if some_stored {
            let ids: Vec<_> = call.iter().flat_map(|append| &append.drafts).map(|draft| &draft.id).collect();
            let stored = self.database.by_ids(&ids).await?;
            known.stored = stored.into_iter().map(|event| (event.id.clone(), event)).collect();
        }
        Ok(known)
    }

    /// Writes what was admitted. Every row it needs is loaded before the first event is written; from then on an
    /// error ends the batch, or half of the call could stay.
    async fn write(
        &mut self,
        placed: Vec<(StreamName, Position, Draft)>,
        at: Timestamp,
    ) -> Result<Vec<Event>, Stop> {
        let mut head = self.head.clone();
        let sealed: Vec<_> = placed
            .into_iter()
            .map(|(stream, position, draft)| seal(draft, stream, position, at, &mut head))
            .collect();
        self.load(sealed.iter().flat_map(|(event, _)| concerned(event)).collect()).await?;
        for (event, stored) in &sealed {
            self.database.insert(stored).await.map_err(Stop::Batch)?;
            self.cache.fold(event);
        }
        self.head = head;
        Ok(sealed.into_iter().map(|(event, _)| event).collect())
    }

    /// Fills the cache with the rows under `keys`.
    async fn load(&mut self, keys: BTreeSet<RowKey>) -> Result<(), Error> {
        let lacking: Vec<_> = keys.into_iter().filter(|key| self.cache.lacks(key)).collect();
        for some in lacking.chunks(ROWS_AT_ONCE) {
            let mut stored = self.database.rows(some).await?;
            for key in some {
                let row = stored.remove(&(key.projection.to_owned(), key.key.clone()));
                self.cache.fill(key.clone(), row);
            }
        }
        Ok(())
    }

    async fn write_rows(&mut self) -> Result<(), Error> {
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for (key, row) in self.cache.take_changed() {
            match row {
                Some(row) => kept.push((key, row)),
                None => gone.push(key),
            }
        }
        for some in kept.chunks(ROWS_AT_ONCE) {
            self.database.put_rows(some).await?;
        }
        for key in &gone {
            self.database.remove_row(key).await?;
        }
        Ok(())
    }

    pub(crate) async fn take(
        &mut self,
        name: &str,
        holder: &str,
        ttl_ms: i64,
    ) -> Result<Option<Lease>, Stop> {
        let standing = self.database.lease(name).await?;
        let taken = lease::take(standing.as_ref(), name, holder, self.lease_moment(), ttl_ms);
        if let Some(lease) = &taken {
            self.database.put_lease(lease).await.map_err(Stop::Batch)?;
        }
        Ok(taken)
    }

    pub(crate) async fn renew(&mut self, lease: &Lease, ttl_ms: i64) -> Result<Lease, Stop> {
        let standing = self.database.lease(&lease.name).await?;
        let longer = lease::renew(standing.as_ref(), lease, self.lease_moment(), ttl_ms)?;
        self.database.put_lease(&longer).await.map_err(Stop::Batch)?;
        Ok(longer)
    }

    pub(crate) async fn release(&mut self, lease: &Lease) -> Result<(), Stop> {
        let standing = self.database.lease(&lease.name).await?;
        let free = lease::release(standing.as_ref(), lease, self.lease_moment())?;
        self.database.put_lease(&free).await.map_err(Stop::Batch)
    }

    pub(crate) async fn set_cursor(&mut self, name: &str, at: GlobalPosition) -> Result<(), Stop> {
        self.database.put_cursor(name, at).await.map_err(Stop::Batch)
    }

    /// Throws all rows away and folds the whole record again. Says how many events it folded.
    pub(crate) async fn rebuild(&mut self, progress: &watch::Sender<u64>) -> Result<u64, Stop> {
        self.write_rows().await.map_err(Stop::Batch)?;
        self.cache.clear();
        self.database.savepoint().await.map_err(Stop::Batch)?;
        match self.fold_all(progress).await {
            Ok(count) => Ok(count),
            Err(error @ Error::Unavailable { .. }) => Err(Stop::Batch(error)),
            Err(error) => {
                // One event that does not read: the rows stay as they were, and so do the other calls.
                self.cache.clear();
                self.database.undo_to_savepoint().await.map_err(Stop::Batch)?;
                Err(Stop::Call(error))
            }
        }
    }

    async fn fold_all(&mut self, progress: &watch::Sender<u64>) -> Result<u64, Error> {
        self.database.clear_rows().await?;
        let mut after = GlobalPosition(0);
        // Ends at the head, which cannot move while this transaction lasts.
        loop {
            let page = self.database.page(after, REBUILD_EVENTS).await?;
            if page.is_empty() {
                return Ok(after.0);
            }
            let events = page.into_iter().map(Stored::read).collect::<Result<Vec<_>, _>>()?;
            self.load(events.iter().flat_map(concerned).collect()).await?;
            for event in &events {
                self.cache.fold(event);
                after = event.global_position;
            }
            self.write_rows().await?;
            self.cache.clear();
            progress.send_replace(after.0);
        }
    }

    /// Takes in a whole record, events, times, places and chain as they were stored, and folds its rows. Everything
    /// or nothing: any error ends the batch. Says how many events there are.
    pub(crate) async fn restore(
        &mut self,
        mut parts: mpsc::Receiver<Part>,
        progress: &watch::Sender<u64>,
    ) -> Result<u64, Stop> {
        if self.head.global_position > 0 {
            return Err(Stop::Call(Error::NotEmpty { end: GlobalPosition(self.head.global_position) }));
        }
        loop {
            match parts.recv().await {
                Some(Part::Events(events)) => self.place(events).await.map_err(Stop::Batch)?,
                Some(Part::End) => break,
                None => return Err(Stop::Batch(Error::unavailable("what is restored broke off"))),
            }
        }
        self.rebuild(progress).await
    }

    async fn place(&mut self, events: Vec<Stored>) -> Result<(), Error> {
        for stored in events {
            let event = stored.clone().read()?;
            let (stands, taken) = self.database.stands(&event.stream, &[&event.id]).await?;
            if taken {
                return Err(Error::IdTaken { id: event.id });
            }
            if event.position.0 != stands + 1 {
                let why = format!("its position in `{}` does not follow {stands}", event.stream);
                return Err(Error::corrupt(stored.global_position, why, None));
            }
            self.database.insert(&stored).await?;
            self.head =
                Head { global_position: stored.global_position, at: stored.at, chain: Some(event.chain) };
        }
        Ok(())
    }
}
