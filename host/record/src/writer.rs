//! The one writer of this process: it takes whatever calls wait, and commits them together.
//!
//! While one batch is on its way to the disk the next one gathers, so many callers share one flush and a lone
//! caller waits for nobody. Nobody is answered before the commit, since what a call was judged against may be
//! another call of the same batch.

use crate::batch::{Batch, Needs, Stop};
use crate::job::{Acknowledgement, Job, Reply, after_commit};
use crate::store::{self, Writes};
use crate::{Clock, Error};
use event::GlobalPosition;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// The most calls that share a commit: beyond this the flush costs each of them next to nothing.
const BATCH_JOBS_MAX: usize = 256;
/// The most calls that wait; the next caller waits before its call is taken in.
const QUEUE_JOBS_MAX: usize = 1_024;
/// How often more calls are taken into a batch before it begins: each time lets every task that is ready run once.
const GATHER_ROUNDS_MAX: usize = 8;

/// Starts the writer. It runs until every sender is gone and all they sent is answered.
pub(crate) fn start(
    database: store::Writer,
    clock: Arc<dyn Clock>,
    news: Arc<watch::Sender<GlobalPosition>>,
) -> mpsc::Sender<Job> {
    let (sender, jobs) = mpsc::channel(QUEUE_JOBS_MAX);
    tokio::spawn(run(database, clock, news, jobs));
    sender
}

async fn run(
    mut database: store::Writer,
    clock: Arc<dyn Clock>,
    news: Arc<watch::Sender<GlobalPosition>>,
    mut jobs: mpsc::Receiver<Job>,
) {
    let mut waiting = Vec::with_capacity(BATCH_JOBS_MAX);
    while jobs.recv_many(&mut waiting, BATCH_JOBS_MAX).await > 0 {
        gather(&mut jobs, &mut waiting).await;
        let mut waiting: VecDeque<Job> = waiting.drain(..).collect();
        let mut ready = Vec::with_capacity(waiting.len());
        let outcome = commit(database.as_mut(), clock.as_ref(), &mut waiting, &mut ready).await;
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
        for acknowledge in ready {
            acknowledge(failure.as_ref());
        }
        if let Some(error) = &failure {
            waiting.into_iter().for_each(|job| job.refuse(error));
        }
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
    waiting: &mut VecDeque<Job>,
    ready: &mut Vec<Acknowledgement>,
) -> Result<GlobalPosition, Error> {
    let mut batch = Batch::begin(database, clock).await?;
    batch.look_ahead(Needs::of(waiting.iter())).await?;
    while let Some(job) = waiting.pop_front() {
        do_one(&mut batch, job, ready).await?;
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
