//! Pushing: whatever is committed goes to the remote, and what fails goes again.
//!
//! Two hosts that journal one record write the same files. Whose push comes second finds a commit it does not know;
//! it sees that this commit ends with an event of its own record, and builds on it.

use super::error::{GitError, JournalError};
use super::git::{Pushed, Repository};
use super::head::JournalHead;
use super::keep::{Pace, Retry, Status, said};
use super::write::held;
use crate::record::Record;
use event::GlobalPosition;
use std::time::Duration;
use tokio::sync::watch;

/// Pushes until `last` says that no commit will follow.
pub(super) async fn push_on(
    repository: &Repository,
    record: &Record,
    pace: Pace,
    status: &watch::Sender<Status>,
    mut last: watch::Receiver<bool>,
) {
    let mut changed = status.subscribe();
    let mut retry = Retry::new(pace);
    loop {
        let ending = *last.borrow();
        changed.mark_unchanged();
        let try_one = push(repository, record, status);
        let outcome = if ending {
            let limit = Duration::from_millis(pace.stop_ms_max);
            let late = |_| Err(said(&GitError::TimedOut { step: "push", seconds: limit.as_secs() }));
            tokio::time::timeout(limit, try_one).await.unwrap_or_else(late)
        } else {
            try_one.await
        };
        if let Err(problem) = &outcome {
            tracing::warn!(problem, "the journal was not pushed; it is tried again");
        }
        let wait = if outcome.is_ok() { retry.reset() } else { retry.next() };
        tell(status, outcome.err());
        if ending {
            return;
        }
        tokio::select! {
            _ = last.wait_for(|last| *last) => {}
            () = again(wait, &mut changed) => {}
        }
    }
}

/// Says in `status` why pushes are behind, when that is news; the other half of the news goes to the log.
fn tell(status: &watch::Sender<Status>, problem: Option<String>) {
    status.send_if_modified(|status| {
        if status.push_problem.is_some() && problem.is_none() {
            tracing::info!(end = status.pushed.0, "the journal is pushed again");
        }
        let news = status.push_problem != problem;
        status.push_problem = problem;
        news
    });
}

/// After a failure: when its wait is over. Otherwise: when something has changed.
async fn again(wait: Option<Duration>, changed: &mut watch::Receiver<Status>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        // The sender outlives this loop.
        None => drop(changed.changed().await),
    }
}

/// Pushes what is committed, when the remote has not got it.
async fn push(
    repository: &Repository,
    record: &Record,
    status: &watch::Sender<Status>,
) -> Result<(), String> {
    let Status { committed, pushed, .. } = *status.borrow();
    if pushed >= committed {
        return Ok(());
    }
    if repository.push().await.map_err(|e| said(&e))? == Pushed::Behind {
        let theirs = repository.fetch().await.map_err(|e| said(&e))?;
        build_on(repository, record, &theirs, committed).await?;
        if repository.push().await.map_err(|e| said(&e))? == Pushed::Behind {
            return Err("somebody else pushed at the same moment".to_owned());
        }
    }
    status.send_modify(|status| status.pushed = committed);
    Ok(())
}

/// Puts the commits of this folder on top of the remote's, when that holds the same history.
async fn build_on(
    repository: &Repository,
    record: &Record,
    theirs: &JournalHead,
    committed: GlobalPosition,
) -> Result<(), String> {
    match held(record, theirs).await {
        Ok(()) if theirs.global_position <= committed => {}
        Ok(()) => return Err(format!("the remote is further already, at {}", theirs.global_position)),
        Err(JournalError::Cut { .. } | JournalError::Differs(_)) => {
            return Err(said(&repository.foreign("holds the journal of another history")));
        }
        Err(error) => return Err(said(&error)),
    }
    let head = JournalHead { global_position: committed, ..theirs.clone() };
    repository.adopt(&head).await.map_err(|e| said(&e))
}
