//! One transaction: the calls that share it, one after the other, and the rows they fold.
//!
//! Where a statement is a message, what the calls need is looked up for all of them at once, and what they add is
//! written at once, at the end: a batch takes as many statements for many calls as for one. Where it is a call, events
//! are written as they are added, while others still prepare theirs; rows wait for the end everywhere, since many
//! events change the same. In between each call is judged by itself, on what the calls before it left: one that is
//! turned away has nothing to undo, and only an error of the database ends the batch for all.

mod standing;
mod whole;
mod written;

use crate::admit::{Admitted, admit};
use crate::append::{Draft, Prepared};
use crate::job::{Decision, Job};
use crate::lease::{self, Lease};
use crate::rows::{Cache, Foreseen, RowKey, changes, row_of};
use crate::store::Writes;
use crate::stored::{Head, chained};
use crate::{Clock, Error};
use event::{Event, EventId, GlobalPosition, Position, StreamName, Timestamp};
use fold::authority::{Look, Verdict, may_state};
use fold::setting::Settings;
use fold::{Projection, Row};
use standing::Standing;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Events whose streams, ids and rows are looked up ahead for a batch: the calls beyond look them up by themselves,
/// and with so many events that no longer counts.
const LOOK_AHEAD_EVENTS_MAX: usize = 2_000;

/// A row as it stands, nothing where there is none; or why it does not read.
type ReadRow = Result<Option<Row>, Error>;

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

/// What a batch can look up before it begins with its calls.
#[derive(Default)]
pub(crate) struct Needs<'a> {
    appends: Vec<&'a Prepared>,
    /// Of decisions, whose appends are not made yet.
    streams: Vec<&'a StreamName>,
    ids: Vec<&'a EventId>,
    leases: Vec<&'a str>,
    rows: BTreeSet<&'a RowKey>,
}

impl<'a> Needs<'a> {
    pub(crate) fn of(jobs: impl Iterator<Item = &'a Job>) -> Self {
        let (mut needs, mut events) = (Self::default(), 0);
        for job in jobs {
            match job {
                Job::Append { call, foreseen, .. } if events < LOOK_AHEAD_EVENTS_MAX => {
                    events += call.iter().map(|append| append.drafts.len()).sum::<usize>();
                    needs.appends.extend(call);
                    needs.rows.extend(foreseen);
                }
                Job::Decide { foreseen: Foreseen { rows, streams, ids, leases }, .. } => {
                    needs.rows.extend(rows);
                    needs.streams.extend(streams);
                    needs.ids.extend(ids);
                    needs.leases.extend(leases.iter().map(String::as_str));
                }
                Job::Take { name, .. } => needs.leases.push(name),
                Job::Renew { lease, .. } | Job::Release { lease, .. } => needs.leases.push(&lease.name),
                Job::Append { .. } | Job::SetCursor { .. } | Job::Rebuild { .. } | Job::Restore { .. } => {}
            }
        }
        needs
    }
}

pub(crate) struct Batch<'a> {
    database: &'a mut dyn Writes,
    clock: &'a dyn Clock,
    head: Head,
    standing: Standing,
    cache: Cache,
}

impl<'a> Batch<'a> {
    pub(crate) async fn begin(database: &'a mut dyn Writes, clock: &'a dyn Clock) -> Result<Self, Error> {
        let head = database.begin().await?;
        Ok(Self { database, clock, head, standing: Standing::default(), cache: Cache::default() })
    }

    /// Looks up what is needed. Whatever does not read is left to the call that needs it.
    pub(crate) async fn look_ahead(&mut self, needs: Needs<'_>) -> Result<(), Error> {
        match self.look_up(needs).await {
            Err(error @ Error::Unavailable { .. }) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    async fn look_up(&mut self, needs: Needs<'_>) -> Result<(), Error> {
        self.standing.look_up_all(self.database, &needs.appends, needs.streams, needs.ids).await?;
        self.standing.look_up_leases(self.database, needs.leases).await?;
        let rows: Vec<_> = needs.rows.into_iter().cloned().collect();
        for (key, row) in self.read_rows(&rows).await? {
            if let Ok(row) = row {
                self.cache.fill(key, row);
            }
        }
        Ok(())
    }

    /// Writes events and rows, commits, and says where the record ends.
    pub(crate) async fn commit(mut self) -> Result<GlobalPosition, Error> {
        self.write_what_waits().await?;
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
        self.load(self.cache.lacking(&reads)).await?;
        let (rows, at) = (self.cache.pick(reads), self.moment());
        // The decision is a caller's code: its panic must not take the writer from everybody else.
        let call = catch_unwind(AssertUnwindSafe(|| decision(&rows, at)))
            .map_err(|_| Stop::Call(Error::unavailable("a decision panicked")))?;
        rows.were_named().map_err(Stop::Call)?;
        match call? {
            Some(call) => self.append_at(call, at).await,
            None => Ok(Vec::new()),
        }
    }

    async fn append_at(&mut self, call: Vec<Prepared>, at: Timestamp) -> Result<Vec<Event>, Stop> {
        self.standing.look_up(self.database, &call.iter().collect::<Vec<_>>()).await?;
        let known = self.standing.about(self.database, &call).await?;
        match admit(call, known)? {
            Admitted::Already(events) => Ok(events),
            Admitted::New(placed) => {
                self.authorise(&placed).await?;
                self.add(placed, at).await
            }
        }
    }

    /// Asks plain code whether each actor may state its fact, as the settings stand after the facts before it.
    async fn authorise(&mut self, placed: &[(Position, Draft)]) -> Result<(), Stop> {
        let mut stated = BTreeMap::new();
        for (_, Draft { event, .. }) in placed {
            // Ends because every round looks at one row more, and a line has an end.
            loop {
                let look = |key: &str| match stated.get(key) {
                    Some(Some(value)) => Look::Holds(Clone::clone(value)),
                    Some(None) => Look::Absent,
                    None => self.cache.look(&RowKey::new(Settings.name(), key)),
                };
                match may_state(&event.actor, &event.fact, &look) {
                    Verdict::May => break,
                    Verdict::MayNot(why) => {
                        return Err(Stop::Call(Error::NoAuthority { id: event.id.clone(), source: why }));
                    }
                    Verdict::LookAt(key) => {
                        self.load(self.cache.lacking([&RowKey::new(Settings.name(), key)])).await?;
                    }
                }
            }
            stated.extend(fold::setting::stated(&event.fact).map(|(key, value)| (key, value.map(Arc::new))));
        }
        Ok(())
    }

    /// Adds what was admitted. Every row it needs is loaded before its first event is added; from then on an error
    /// ends the batch, or half of the call could stay.
    async fn add(&mut self, placed: Vec<(Position, Draft)>, at: Timestamp) -> Result<Vec<Event>, Stop> {
        let mut head = self.head.clone();
        let linked = |(position, draft)| {
            let (event, stored) = chained(draft, position, at, &mut head);
            let changes = changes(&event);
            (event, stored, changes)
        };
        let linked: Vec<_> = placed.into_iter().map(linked).collect();
        let changed = linked.iter().flat_map(|(.., changes)| changes.iter().map(|change| &change.key));
        self.load(self.cache.lacking(changed)).await?;
        self.head = head;
        let (mut events, mut stored) = (Vec::with_capacity(linked.len()), Vec::with_capacity(linked.len()));
        for (event, row, changes) in linked {
            self.cache.fold(&event, changes);
            events.push(event);
            stored.push(row);
        }
        if self.database.is_at_hand() {
            self.database.insert(stored).await.map_err(Stop::Batch)?;
            self.standing.count_written(&events);
            return Ok(events);
        }
        self.standing.add(&events, stored);
        if self.standing.is_full() {
            self.standing.write(self.database).await.map_err(Stop::Batch)?;
        }
        Ok(events)
    }

    /// Fills the cache with the rows under `lacking`.
    async fn load(&mut self, lacking: Vec<RowKey>) -> Result<(), Error> {
        for (key, row) in self.read_rows(&lacking).await? {
            self.cache.fill(key, row?);
        }
        Ok(())
    }

    /// The rows under `keys`, each with what came of reading it.
    async fn read_rows(&mut self, keys: &[RowKey]) -> Result<Vec<(RowKey, ReadRow)>, Error> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let stored = self.database.rows(keys).await?.into_iter();
        let mut stored: HashMap<_, _> =
            stored.map(|(projection, key, value, rank)| ((projection, key), (value, rank))).collect();
        let read = |key: &RowKey| {
            let found = stored.remove(&(key.projection.to_owned(), key.key.clone()));
            (key.clone(), found.map(|(value, rank)| row_of(&value, rank)).transpose())
        };
        Ok(keys.iter().map(read).collect())
    }

    /// Events first, since a rebuild folds what is written.
    async fn write_what_waits(&mut self) -> Result<(), Error> {
        self.standing.write(self.database).await?;
        self.write_rows(|_| ()).await
    }

    /// Writes the rows that changed, and tells which are there now. What was read of rows is read again when it is needed
    /// again.
    async fn write_rows(&mut self, mut written: impl FnMut(&RowKey) + Send) -> Result<(), Error> {
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for (key, row) in self.cache.take_changed() {
            match row {
                Some(row) => kept.push((key, row)),
                None => gone.push(key),
            }
        }
        if !kept.is_empty() {
            kept.iter().for_each(|(key, _)| written(key));
            self.database.put_rows(&kept).await?;
        }
        if !gone.is_empty() {
            self.database.remove_rows(&gone).await?;
        }
        Ok(())
    }

    pub(crate) async fn take(
        &mut self,
        name: &str,
        holder: &str,
        ttl_ms: i64,
    ) -> Result<Option<Lease>, Stop> {
        self.standing.look_up_leases(self.database, vec![name]).await?;
        let taken = lease::take(self.standing.lease(name), name, holder, self.lease_moment(), ttl_ms);
        if let Some(lease) = &taken {
            self.put_lease(lease).await?;
        }
        Ok(taken)
    }

    pub(crate) async fn renew(&mut self, lease: &Lease, ttl_ms: i64) -> Result<Lease, Stop> {
        self.standing.look_up_leases(self.database, vec![&lease.name]).await?;
        let longer = lease::renew(self.standing.lease(&lease.name), lease, self.lease_moment(), ttl_ms)?;
        self.put_lease(&longer).await?;
        Ok(longer)
    }

    pub(crate) async fn release(&mut self, lease: &Lease) -> Result<(), Stop> {
        self.standing.look_up_leases(self.database, vec![&lease.name]).await?;
        let free = lease::release(self.standing.lease(&lease.name), lease, self.lease_moment())?;
        self.put_lease(&free).await
    }

    async fn put_lease(&mut self, lease: &Lease) -> Result<(), Stop> {
        self.database.put_lease(lease).await.map_err(Stop::Batch)?;
        self.standing.set_lease(lease.clone());
        Ok(())
    }

    pub(crate) async fn set_cursor(&mut self, name: &str, at: GlobalPosition) -> Result<(), Stop> {
        self.database.put_cursor(name, at).await.map_err(Stop::Batch)
    }
}
