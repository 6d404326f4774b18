//! What the one writer is asked to do, and how it answers.

use crate::Error;
use crate::append::Prepared;
use crate::lease::Lease;
use crate::rows::{Foreseen, RowKey, Rows};
use crate::stored::Stored;
use event::{Event, GlobalPosition, Timestamp};
use std::collections::BTreeSet;
use tokio::sync::{mpsc, oneshot, watch};

/// Where an answer goes. A caller that has stopped waiting is no error: its call is done all the same.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// A decision: rows and a moment in, a call out that is ready to be placed; nothing when it came to no.
pub(crate) type Decision = Box<dyn FnOnce(&Rows, Timestamp) -> Result<Option<Vec<Prepared>>, Error> + Send>;

/// A part of a record that is restored. Without [`Part::End`] nothing of it stays.
pub(crate) enum Part {
    /// Events as they were stored, each checked to continue the one before.
    Events(Vec<Stored>),
    /// There are no more.
    End,
}

pub(crate) enum Job {
    /// `foreseen`: rows that will be needed, looked up for all waiting calls at once.
    Append {
        call: Vec<Prepared>,
        foreseen: BTreeSet<RowKey>,
        reply: Reply<Vec<Event>>,
    },
    Decide {
        foreseen: Foreseen,
        decision: Decision,
        reply: Reply<Vec<Event>>,
    },
    Take {
        name: String,
        holder: String,
        ttl_ms: i64,
        reply: Reply<Option<Lease>>,
    },
    Renew {
        lease: Lease,
        ttl_ms: i64,
        reply: Reply<Lease>,
    },
    Release {
        lease: Lease,
        reply: Reply<()>,
    },
    SetCursor {
        name: String,
        at: GlobalPosition,
        reply: Reply<()>,
    },
    Rebuild {
        progress: watch::Sender<u64>,
        reply: Reply<u64>,
    },
    Restore {
        parts: mpsc::Receiver<Part>,
        progress: watch::Sender<u64>,
        reply: Reply<u64>,
    },
}

/// An answer that is ready and waits for the commit: nothing for done, or what went wrong instead.
pub(crate) type Acknowledgement = Box<dyn FnOnce(Option<&Error>) + Send>;

/// `answer`, once the commit is on the disk.
pub(crate) fn after_commit<T: Send + 'static>(reply: Reply<T>, answer: Result<T, Error>) -> Acknowledgement {
    Box::new(move |failure| {
        // The receiver is gone when the caller stopped waiting.
        let _ = reply.send(failure.map_or(answer, |error| Err(error.clone())));
    })
}

impl Job {
    /// Answers that the batch failed before this job's turn came.
    pub(crate) fn refuse(self, error: &Error) {
        let error = error.clone();
        // The receivers are gone when the callers stopped waiting.
        match self {
            Self::Append { reply, .. } | Self::Decide { reply, .. } => drop(reply.send(Err(error))),
            Self::Take { reply, .. } => drop(reply.send(Err(error))),
            Self::Renew { reply, .. } => drop(reply.send(Err(error))),
            Self::Release { reply, .. } | Self::SetCursor { reply, .. } => drop(reply.send(Err(error))),
            Self::Rebuild { reply, .. } | Self::Restore { reply, .. } => drop(reply.send(Err(error))),
        }
    }
}
