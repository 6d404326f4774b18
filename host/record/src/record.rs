//! The record as its callers hold it: a handle that is cheap to clone.
//!
//! Reads run at once, on connections that cannot write. Everything that writes goes to the one writer and is
//! answered after its commit. A caller that stops waiting has not withdrawn its call: it appends again with the
//! same ids and learns what happened.

use crate::append::{Append, prepare};
use crate::follow::{Follower, Poll};
use crate::job::{Job, Reply};
use crate::lease::Lease;
use crate::rows::{self, Foreseen, ROWS_AT_ONCE_MAX, RowKey, Rows};
use crate::stored::Stored;
use crate::verify::{self, Anchor, Verified, VerifyError};
use crate::{Clock, Error, SystemClock, seal, store, writer};
use event::{Digest, Event, EventId, Expected, GlobalPosition, Position, Proposed, StreamName, Timestamp};
use fold::Row;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use vault::Keyring;

/// The one history of an office.
#[derive(Clone, Debug)]
pub struct Record {
    inner: Arc<Inner>,
    /// The keys that words of persons are sealed under and opened with.
    keyring: Option<Keyring>,
}

struct Inner {
    reader: store::Reader,
    /// Nothing in a record that was opened for reading.
    writer: Option<mpsc::Sender<Job>>,
    clock: Arc<dyn Clock>,
    news: Arc<watch::Sender<GlobalPosition>>,
    _poll: Poll,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("reader", &self.reader)
            .field("news", &self.news)
            .finish_non_exhaustive()
    }
}

/// What came of a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Decided<T, R> {
    /// Its appends stand in the record.
    Appended {
        /// Their events, in order.
        events: Vec<Event>,
        /// What the decision returned beside them.
        value: T,
    },
    /// It came to no, and nothing was appended.
    Rejected(R),
}

impl Record {
    /// The record behind `reader`; without a writer and a clock it can only be read.
    pub(crate) async fn open(
        reader: store::Reader,
        writing: Option<(store::Writer, Arc<dyn Clock>)>,
    ) -> Result<Self, Error> {
        let news = Arc::new(watch::Sender::new(reader.last().await?));
        let clock =
            writing.as_ref().map_or_else(|| Arc::new(SystemClock) as _, |(_, clock)| Arc::clone(clock));
        let writer = writing.map(|(database, clock)| writer::start(database, clock, Arc::clone(&news)));
        let poll = Poll::start(Arc::clone(&reader), Arc::clone(&news));
        let inner = Arc::new(Inner { reader, writer, clock, news, _poll: poll });
        Ok(Self { inner, keyring: None })
    }

    /// The same record, with the keys of persons: what it appends is sealed under them, what it gives is opened with
    /// them. A record without takes nothing that holds words of persons, and gives it sealed.
    #[must_use]
    pub fn with_keyring(self, keyring: Keyring) -> Self {
        Self { keyring: Some(keyring), ..self }
    }

    /// The same record, sealed: it gives what is kept as it is kept.
    #[must_use]
    pub fn without_keyring(self) -> Self {
        Self { keyring: None, ..self }
    }

    /// The keys of persons, when it was opened with them.
    #[must_use]
    pub fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_ref()
    }

    /// Appends `events` to `stream` if it stands where `expected` says. Returns them with time, place and chain
    /// once they are on the disk.
    ///
    /// An append whose ids and content are stored already is a retry: the stored events come back and nothing is
    /// written, also where `expected` no longer fits.
    ///
    /// # Errors
    /// See [`Error`]; nothing was written unless it is [`Error::Unavailable`], after which a retry with the same
    /// ids finds out.
    pub async fn append(
        &self,
        stream: StreamName,
        expected: Expected,
        events: Vec<Proposed>,
    ) -> Result<Vec<Event>, Error> {
        self.append_all(vec![Append::new(stream, expected, events)]).await
    }

    /// Appends to several streams, all or none, in one transaction; all events have one time.
    ///
    /// # Errors
    /// As [`Record::append`]; [`Error::LeaseLost`] when a fence no longer holds.
    pub async fn append_all(&self, appends: Vec<Append>) -> Result<Vec<Event>, Error> {
        let call = prepare(appends, self.keyring.as_ref())?;
        let foreseen = rows::foreseen(&call);
        let events = self.ask(|reply| Job::Append { call, foreseen, reply }).await?;
        seal::open(events, self.keyring.as_ref())
    }

    /// Decides on rows and appends what follows from them, with nobody in between: `decide` runs inside the
    /// writer, in the transaction of its appends, on the rows named by `reads` as they stand there, and at the
    /// time its events will have. It must be quick, and can only decide on what it named.
    ///
    /// # Errors
    /// As [`Record::append_all`]; [`Error::RowNotNamed`] when it looked at another row. A panic of `decide` is
    /// [`Error::Unavailable`] to its caller alone.
    pub async fn decide<T, R>(
        &self,
        reads: Vec<RowKey>,
        decide: impl FnOnce(&Rows, Timestamp) -> Result<(Vec<Append>, T), R> + Send + 'static,
    ) -> Result<Decided<T, R>, Error>
    where
        T: Send + 'static,
        R: Send + 'static,
    {
        self.decide_foreseen(Foreseen { rows: reads, ..Foreseen::default() }, decide).await
    }

    /// The same, where it can be told beforehand what is appended: in fewer statements.
    ///
    /// # Errors
    /// As [`Record::decide`].
    pub async fn decide_foreseen<T, R>(
        &self,
        foreseen: Foreseen,
        decide: impl FnOnce(&Rows, Timestamp) -> Result<(Vec<Append>, T), R> + Send + 'static,
    ) -> Result<Decided<T, R>, Error>
    where
        T: Send + 'static,
        R: Send + 'static,
    {
        let (outcome, decided) = oneshot::channel();
        let keyring = self.keyring.clone();
        let decision = Box::new(move |rows: &Rows, at| {
            let (appends, outcome_is) = match decide(rows, at) {
                Ok((appends, value)) => (Some(prepare(appends, keyring.as_ref())), Ok(value)),
                Err(reason) => (None, Err(reason)),
            };
            // The caller has stopped waiting when nobody receives this; the appends stand all the same.
            let _ = outcome.send(outcome_is);
            appends.transpose()
        });
        let events = self.ask(|reply| Job::Decide { foreseen, decision, reply }).await?;
        let events = seal::open(events, self.keyring.as_ref())?;
        match decided.await {
            Ok(Ok(value)) => Ok(Decided::Appended { events, value }),
            Ok(Err(reason)) => Ok(Decided::Rejected(reason)),
            Err(_) => Err(Error::unavailable("a decision left no outcome")),
        }
    }

    /// Events of one stream from a position on, at most `limit`, in order.
    ///
    /// # Errors
    /// [`Error::Unavailable`], also when the keys of persons cannot be read; [`Error::Corrupt`] when an event does not
    /// read, its kind is not known, or the keys stand and a sealed field is not what was sealed in it.
    pub async fn read_stream(
        &self,
        stream: &StreamName,
        from: Position,
        limit: usize,
    ) -> Result<Vec<Event>, Error> {
        self.read(self.inner.reader.stream(stream, from, limit).await?)
    }

    /// Events of the whole record after a place, at most `limit`, in order.
    ///
    /// # Errors
    /// As [`Record::read_stream`].
    pub async fn read_all(&self, after: GlobalPosition, limit: usize) -> Result<Vec<Event>, Error> {
        self.read(self.inner.reader.all(after, limit).await?)
    }

    /// The events at these places, in the order of the record; a place without one is left out.
    ///
    /// # Errors
    /// As [`Record::read_stream`].
    pub async fn events_at(&self, positions: &[GlobalPosition]) -> Result<Vec<Event>, Error> {
        self.read(self.inner.reader.at(positions).await?)
    }

    /// The event of this id.
    ///
    /// # Errors
    /// As [`Record::read_stream`].
    pub async fn event(&self, id: &EventId) -> Result<Option<Event>, Error> {
        let stored = self.inner.reader.by_id(id).await?;
        Ok(self.read(stored.into_iter().collect())?.pop())
    }

    /// The row under `key` of `projection`.
    ///
    /// # Errors
    /// [`Error::Unavailable`]; [`Error::Corrupt`] when it is not JSON.
    pub async fn row(&self, projection: &str, key: &str) -> Result<Option<Row>, Error> {
        self.inner.reader.row(projection, key).await
    }

    /// The rows under `keys`, at most [`ROWS_AT_ONCE_MAX`], all as they stood at one moment. Only they can be asked for
    /// in what is returned; a key may be named twice.
    ///
    /// # Errors
    /// As [`Record::row`]; [`Error::TooLarge`] when there are more keys.
    pub async fn rows(&self, keys: Vec<RowKey>) -> Result<Rows, Error> {
        if keys.len() > ROWS_AT_ONCE_MAX {
            let what = "the number of rows in one read";
            return Err(Error::TooLarge { what, size: keys.len(), max: ROWS_AT_ONCE_MAX });
        }
        let stored = if keys.is_empty() { Vec::new() } else { self.inner.reader.rows_at(&keys).await? };
        Rows::of(keys, stored)
    }

    /// The rows of `projection` whose rank is `at_least` this, by rank and then key, at most `limit`.
    ///
    /// # Errors
    /// As [`Record::row`].
    pub async fn ranked(
        &self,
        projection: &str,
        at_least: i64,
        limit: usize,
    ) -> Result<Vec<(String, Row)>, Error> {
        self.inner.reader.ranked(projection, at_least, limit).await
    }

    /// Where the record ends, and the chain there: what is worth keeping elsewhere.
    ///
    /// # Errors
    /// As [`Record::row`].
    pub async fn head(&self) -> Result<(GlobalPosition, Option<Digest>), Error> {
        let head = self.inner.reader.head().await?;
        Ok((GlobalPosition(head.global_position), head.chain))
    }

    /// About when an event would be that is appended now: the clock that gives events their time, which can be behind
    /// the newest of them.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// Where the record ends, told anew with every commit: at once for those of this process, soon for others.
    #[must_use]
    pub fn news(&self) -> watch::Receiver<GlobalPosition> {
        self.inner.news.subscribe()
    }

    /// Follows the record from after a place.
    #[must_use]
    pub fn follow(&self, after: GlobalPosition) -> Follower {
        Follower::new(self.clone(), after)
    }

    /// How far the follower `name` has come, as it last said; 0 when it never did.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn cursor(&self, name: &str) -> Result<GlobalPosition, Error> {
        self.inner.reader.cursor(name).await
    }

    /// Says how far the follower `name` has come. What it does for an event must bear being done twice: it may
    /// stop between the deed and this.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn set_cursor(&self, name: &str, at: GlobalPosition) -> Result<(), Error> {
        let name = name.to_owned();
        self.ask(|reply| Job::SetCursor { name, at, reply }).await
    }

    /// The lease `name` for `holder` and `ttl_ms` milliseconds (at most [`crate::LEASE_TTL_MS_MAX`]), or nothing
    /// while it is held, by whomever.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn lease(&self, name: &str, holder: &str, ttl_ms: i64) -> Result<Option<Lease>, Error> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.ask(|reply| Job::Take { name, holder, ttl_ms, reply }).await
    }

    /// The same lease, until `ttl_ms` from now.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] when somebody else has taken it; [`Error::Unavailable`].
    pub async fn renew(&self, lease: &Lease, ttl_ms: i64) -> Result<Lease, Error> {
        let lease = lease.clone();
        self.ask(|reply| Job::Renew { lease, ttl_ms, reply }).await
    }

    /// Gives a lease back. Its token counts no more.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] when it was lost before; [`Error::Unavailable`].
    pub async fn release(&self, lease: Lease) -> Result<(), Error> {
        self.ask(|reply| Job::Release { lease, reply }).await
    }

    /// Walks the whole record, from the first event to the last, and compares it with `anchor` when one was kept.
    ///
    /// # Errors
    /// [`VerifyError`], naming the first event that is not as it was written.
    pub async fn verify(&self, anchor: Option<&Anchor>) -> Result<Verified, VerifyError> {
        verify::verify(self.inner.reader.as_ref(), anchor).await
    }

    /// Throws all rows away and folds the whole record again, in one transaction: nobody sees a half, and every
    /// other append waits. Returns the number of events folded.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when an event does not read; [`Error::Unavailable`]. The rows are then as they were.
    pub async fn rebuild(&self) -> Result<u64, Error> {
        self.rebuild_telling(watch::Sender::new(0)).await
    }

    /// The same, and tells `progress` how many events are folded so far.
    ///
    /// # Errors
    /// As [`Record::rebuild`].
    pub async fn rebuild_telling(&self, progress: watch::Sender<u64>) -> Result<u64, Error> {
        self.ask(|reply| Job::Rebuild { progress, reply }).await
    }

    /// One digest over all rows of all projections: the same after [`Record::rebuild`] as before it.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn rows_digest(&self) -> Result<Digest, Error> {
        rows::digest(self.inner.reader.as_ref()).await
    }

    /// Gives this handle up and waits until every other one is gone and the writer has ended: a file then holds the
    /// record by itself, and may be moved.
    pub async fn ended(self) {
        let mut news = self.news();
        drop(self);
        // Whoever tells news has ended when nobody is left to tell any.
        while news.changed().await.is_ok() {}
    }

    /// What reads, for those parts of this crate that need events as they are stored.
    pub(crate) fn reader(&self) -> &dyn store::Reads {
        self.inner.reader.as_ref()
    }

    /// The events, opened as far as their keys stand.
    fn read(&self, stored: Vec<Stored>) -> Result<Vec<Event>, Error> {
        let events = stored.into_iter().map(Stored::read).collect::<Result<_, _>>()?;
        seal::open(events, self.keyring.as_ref())
    }

    /// Hands a job to the writer and waits for its answer.
    pub(crate) async fn ask<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, Error> {
        let Some(writer) = &self.inner.writer else {
            return Err(Error::unavailable("it was opened for reading alone"));
        };
        let (reply, answer) = oneshot::channel();
        let stopped = || Error::unavailable("its writer has stopped");
        writer.send(job(reply)).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}
