//! The one writer of this process: it takes whatever calls wait, and commits them together.
//!
//! While one batch is on its way to the disk the next one gathers, so many callers share one flush and a lone
//! caller waits for nobody. Nobody is answered before the commit, since what a call was judged against may be
//! another call of the same batch.
//!
//! On a store whose statements are calls the writer has a thread of its own: a transaction then takes no message to
//! anybody between its first statement and its flush, and it begins with the first call that comes while the others
//! are still being prepared.

use crate::batch::{Batch, Needs, Stop};
use crate::job::{Acknowledgement, Job, Reply, after_commit};
use crate::store::{self, Writes};
use crate::{Clock, Error};
use event::GlobalPosition;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

/// The most calls that share a commit: beyond this the flush costs each of them next to nothing.
const BATCH_JOBS_MAX: usize = 256;
/// The most calls that wait; the next caller waits before its call is taken in.
const QUEUE_JOBS_MAX: usize = 1_024;
/// How often more calls are taken into a batch before it begins: each time lets every task that is ready run once.
const GATHER_ROUNDS_MAX: usize = 8;
/// How long a batch that has begun waits in all for those who are about to ask: about what a flush takes.
const LINGER_US: u64 = 200;
/// For so long after they were answered callers count as about to ask.
const CROWD_US: u64 = 500;

/// Starts the writer. It runs until every sender is gone and all they sent is answered.
pub(crate) fn start(
    database: store::Writer,
    clock: Arc<dyn Clock>,
    news: Arc<watch::Sender<GlobalPosition>>,
) -> mpsc::Sender<Job> {
    let (sender, jobs) = mpsc::channel(QUEUE_JOBS_MAX);
    let is_at_hand = database.is_at_hand();
    let writing = run(database, clock, news, jobs);
    if !is_at_hand {
        tokio::spawn(writing);
        return sender;
    }
    // The runtime keeps one end, and so the thread ends with it.
    let (mut here, gone) = oneshot::channel::<Infallible>();
    tokio::spawn(async move { here.closed().await });
    let runtime = Handle::current();
    let thread = std::thread::Builder::new().name("record".to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = gone => {}
                () = writing => {}
            }
        });
    });
    if let Err(error) = thread {
        tracing::error!(?error, "the system gave the record's writer no thread; nothing can be written");
    }
    sender
}

/// What a batch is made of: the calls that wait, and those that are still coming.
struct Calls<'a> {
    jobs: &'a mut mpsc::Receiver<Job>,
    waiting: VecDeque<Job>,
    /// How many there will be, as far as can be told.
    expected: usize,
    /// How much longer it waits for them.
    patience: Duration,
}

impl Calls<'_> {
    /// Takes in whoever asked while the batch was being made, and waits shortly for those who are about to: callers
    /// that were answered together ask again together, one by one as they are ready. A lone caller waits for nobody.
    fn take_in(&mut self, done: usize) {
        let begun = Instant::now();
        loop {
            while done + self.waiting.len() < BATCH_JOBS_MAX
                && let Ok(job) = self.jobs.try_recv()
            {
                self.waiting.push_back(job);
            }
            let is_whole = done >= self.expected.min(BATCH_JOBS_MAX);
            if !self.waiting.is_empty() || is_whole || begun.elapsed() >= self.patience {
                self.patience = self.patience.saturating_sub(begun.elapsed());
                return;
            }
            // Whoever prepares a call may need this processor for it.
            std::thread::yield_now();
        }
    }
}

async fn run(
    mut database: store::Writer,
    clock: Arc<dyn Clock>,
    news: Arc<watch::Sender<GlobalPosition>>,
    mut jobs: mpsc::Receiver<Job>,
) {
    let mut waiting = Vec::with_capacity(BATCH_JOBS_MAX);
    let (mut crowd, mut answered) = (0, Instant::now());
    while jobs.recv_many(&mut waiting, BATCH_JOBS_MAX).await > 0 {
        if !database.is_at_hand() {
            gather(&mut jobs, &mut waiting).await;
        } else if answered.elapsed() > Duration::from_micros(CROWD_US) {
            crowd = 0;
        }
        let mut calls = Calls {
            jobs: &mut jobs,
            waiting: waiting.drain(..).collect(),
            expected: crowd,
            patience: Duration::from_micros(LINGER_US),
        };
        let mut ready = Vec::with_capacity(calls.waiting.len());
        let outcome = commit(database.as_mut(), clock.as_ref(), &mut calls, &mut ready).await;
        let waiting = calls.waiting;
        let failure = match outcome {
            Ok(head) => {
                announce(&news, head);
                None
            }
            Err(error) => {
                database.rollback().await;
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    calls = ready.len() + waiting.len(),
                    "a commit failed"
                );
                Some(error)
            }
        };
        (crowd, answered) = (ready.len() + jobs.len(), Instant::now());
        for acknowledge in ready {
            acknowledge(failure.as_ref());
        }
        if let Some(error) = &failure {
            waiting.into_iter().for_each(|job| job.refuse(error));
        }
        database.rest().await;
    }
    database.end().await;
}

/// Takes in the calls of those who are about to ask. Callers that were answered together ask again together: without
/// this the first of them would have a commit to itself, while all the others wait for the next one. Whoever is alone
/// waits for nobody.
async fn gather(jobs: &mut mpsc::Receiver<Job>, waiting: &mut Vec<Job>) {
    for _ in 0..GATHER_ROUNDS_MAX {
        let before = waiting.len();
        tokio::task::yield_now().await;
        while waiting.len() < BATCH_JOBS_MAX
            && let Ok(job) = jobs.try_recv()
        {
            waiting.push(job);
        }
        if waiting.len() == before {
            return;
        }
    }
}

/// Tells followers where the record ends now. Never backwards: the poll for other processes tells it too.
pub(crate) fn announce(news: &watch::Sender<GlobalPosition>, head: GlobalPosition) {
    news.send_if_modified(|known| {
        let further = head > *known;
        *known = head.max(*known);
        further
    });
}

/// Does all jobs in one transaction. On an error none of them is done, whatever is `ready`.
async fn commit(
    database: &mut dyn Writes,
    clock: &dyn Clock,
    calls: &mut Calls<'_>,
    ready: &mut Vec<Acknowledgement>,
) -> Result<GlobalPosition, Error> {
    let is_at_hand = database.is_at_hand();
    let mut batch = Batch::begin(database, clock).await?;
    while !calls.waiting.is_empty() {
        if !is_at_hand {
            batch.look_ahead(Needs::of(calls.waiting.iter())).await?;
        }
        while let Some(job) = calls.waiting.pop_front() {
            do_one(&mut batch, job, ready).await?;
        }
        if is_at_hand {
            calls.take_in(ready.len());
        }
    }
    batch.commit().await
}

async fn do_one(batch: &mut Batch<'_>, job: Job, ready: &mut Vec<Acknowledgement>) -> Result<(), Error> {
    match job {
        Job::Append { call, reply, .. } => {
            let answer = batch.append(call).await;
            answered(reply, answer, ready)
        }
        Job::Decide { foreseen, decision, reply } => {
            let answer = batch.decide(foreseen.rows, decision).await;
            answered(reply, answer, ready)
        }
        Job::Take { name, holder, ttl_ms, reply } => {
            let answer = batch.take(&name, &holder, ttl_ms).await;
            answered(reply, answer, ready)
        }
        Job::Renew { lease, ttl_ms, reply } => {
            let answer = batch.renew(&lease, ttl_ms).await;
            answered(reply, answer, ready)
        }
        Job::Release { lease, reply } => {
            let answer = batch.release(&lease).await;
            answered(reply, answer, ready)
        }
        Job::SetCursor { name, at, reply } => {
            let answer = batch.set_cursor(&name, at).await;
            answered(reply, answer, ready)
        }
        Job::Rebuild { progress, reply } => {
            let answer = batch.rebuild(&progress).await;
            answered(reply, answer, ready)
        }
        Job::Restore { parts, progress, reply } => {
            let answer = batch.restore(parts, &progress).await;
            answered(reply, answer, ready)
        }
    }
}

fn answered<T: Send + 'static>(
    reply: Reply<T>,
    answer: Result<T, Stop>,
    ready: &mut Vec<Acknowledgement>,
) -> Result<(), Error> {
    let (answer, end) = match answer {
        Ok(value) => (Ok(value), Ok(())),
        Err(Stop::Call(error)) => (Err(error), Ok(())),
        Err(Stop::Batch(error)) => (Err(error.clone()), Err(error)),
    };
    ready.push(after_commit(reply, answer));
    end
}
