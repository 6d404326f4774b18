//! Keeping a journal beside a running office: lines follow the record, commits follow the lines, pushes follow the
//! commits. What fails is said and tried again, ever more rarely, until it works; nothing is dropped.

use super::error::JournalError;
use super::git::{Remote, Repository};
use super::push::push_on;
use super::write::Journal;
use crate::record::Record;
use event::GlobalPosition;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How fast a journal follows. All in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between two looks for new events: how far the lines may be behind.
    pub write_ms: u64,
    /// Between two commits: each stores the newest file anew.
    pub commit_ms: u64,
    /// Before the first new try of what failed; it doubles with each.
    pub retry_ms_min: u64,
    /// The longest wait before a new try.
    pub retry_ms_max: u64,
    /// How long one call of git may take.
    pub git_ms_max: u64,
    /// How long the last push may take when the office stops.
    pub stop_ms_max: u64,
}

/// The pace of an office: what a lost machine takes with it is at most the last ten seconds and a push.
pub const STARTING_PACE: Pace = Pace {
    write_ms: 500,
    commit_ms: 10_000,
    retry_ms_min: 1_000,
    retry_ms_max: 60_000,
    git_ms_max: 120_000,
    stop_ms_max: 5_000,
};

/// How far a journal has come, for whoever watches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The last event whose line is on the disk.
    pub written: GlobalPosition,
    /// The last event in a commit of this run; 0 without git.
    pub committed: GlobalPosition,
    /// The last event at the remote, as far as this run has seen; 0 before its first push.
    pub pushed: GlobalPosition,
    /// Whether there is a remote to push to.
    pub pushes: bool,
    /// Why lines or commits are behind; nothing when they are not.
    pub problem: Option<String>,
    /// Why pushes are behind; nothing when they are not.
    pub push_problem: Option<String>,
}

impl Status {
    /// How many events of a record that ends at `head` no line holds yet.
    #[must_use]
    pub fn lines_behind(&self, head: GlobalPosition) -> u64 {
        head.0.saturating_sub(self.written.0)
    }

    /// How many events of a record that ends at `head` the remote is not known to hold.
    #[must_use]
    pub fn pushes_behind(&self, head: GlobalPosition) -> u64 {
        head.0.saturating_sub(self.pushed.0)
    }
}

/// Follows `record` until `stop` says so or its sender is gone, then once more to the end. Errors do not end it:
/// they stand in `status`, which is also where the lag is seen, and in the log.
pub async fn keep(
    journal: Journal,
    record: Record,
    remote: Option<Remote>,
    pace: Pace,
    status: watch::Sender<Status>,
    stop: watch::Receiver<bool>,
) {
    let folder = journal.folder().to_owned();
    let repository = remote.map(|remote| Repository::new(&folder, remote, pace.git_ms_max));
    status.send_modify(|status| {
        status.written = journal.end();
        status.pushes = repository.is_some();
    });
    let (written, last) = watch::channel(false);
    let pushing = async {
        if let Some(repository) = &repository {
            push_on(repository, &record, pace, &status, last).await;
        }
    };
    let writing = async {
        let mut writer = Writing {
            journal,
            record: &record,
            repository: repository.as_ref(),
            pace,
            status: &status,
            committed_at: None,
        };
        writer.go_on(stop).await;
        // The push that follows is the last.
        written.send_replace(true);
    };
    tokio::join!(writing, pushing);
}

struct Writing<'a> {
    journal: Journal,
    record: &'a Record,
    repository: Option<&'a Repository>,
    pace: Pace,
    status: &'a watch::Sender<Status>,
    committed_at: Option<Instant>,
}

impl Writing<'_> {
    async fn go_on(&mut self, mut stop: watch::Receiver<bool>) {
        let mut retry = Retry::new(self.pace);
        let mut stopping = *stop.borrow();
        loop {
            let outcome = self.round(stopping).await;
            let problem = outcome.as_ref().err().map(said);
            if let Some(problem) = &problem {
                tracing::warn!(problem, "the journal is behind; it is tried again");
            }
            self.status.send_if_modified(|status| {
                let news = status.problem != problem;
                status.problem = problem;
                news
            });
            if stopping {
                return;
            }
            let wait = if outcome.is_ok() { retry.reset() } else { retry.next() };
            stopping = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => true,
                () = tokio::time::sleep(wait.unwrap_or(Duration::from_millis(self.pace.write_ms))) => false,
            };
        }
    }

    /// Writes what is new, and commits when it is time; both at once when `last`.
    async fn round(&mut self, last: bool) -> Result<(), JournalError> {
        let status = self.status;
        self.journal.catch_up(self.record, |end| status.send_modify(|status| status.written = end)).await?;
        let (Some(repository), Some(head)) = (self.repository, self.journal.head()) else { return Ok(()) };
        let pause = Duration::from_millis(self.pace.commit_ms);
        let due = last || self.committed_at.is_none_or(|at| at.elapsed() >= pause);
        if due && status.borrow().committed < head.global_position {
            repository.commit(head).await.map_err(JournalError::Git)?;
            self.committed_at = Some(Instant::now());
            let end = head.global_position;
            status.send_modify(|status| status.committed = end);
        }
        Ok(())
    }
}

/// An error and what lies behind it, on one line.
pub(super) fn said(error: &(impl std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text.replace('\n', " ")
}

/// Waits that double.
pub(super) struct Retry {
    pace: Pace,
    next_ms: u64,
}

impl Retry {
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, next_ms: pace.retry_ms_min }
    }

    /// How long to wait after another failure.
    pub(super) fn next(&mut self) -> Option<Duration> {
        let wait = self.next_ms.min(self.pace.retry_ms_max);
        self.next_ms = wait.saturating_mul(2);
        Some(Duration::from_millis(wait))
    }

    /// It worked: no wait, and the next failure is a first one.
    pub(super) fn reset(&mut self) -> Option<Duration> {
        self.next_ms = self.pace.retry_ms_min;
        None
    }
}
