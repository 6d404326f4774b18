//! Restoring: an empty record takes in a journal, event by event as it was first stored.
//!
//! It is one transaction: a record is restored whole, its rows folded, or it is still empty.

use super::error::JournalError;
use super::head::JournalHead;
use super::lines;
use crate::Error;
use crate::job::{Job, Part};
use crate::record::Record;
use std::fmt;
use std::path::Path;
use tokio::sync::{mpsc, watch};

/// Parts that wait for the writer.
const PARTS_WAITING: usize = 1;

/// A record that was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Where it ends, which is where the journal ends.
    pub head: JournalHead,
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events restored, each as it was first written", self.head.global_position)
    }
}

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The journal is missing, damaged or cut off.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The record is not empty, or did not take it.
    #[error(transparent)]
    Record(#[from] Error),
}

impl Record {
    /// Takes in the journal in `folder` and folds all rows: afterwards the record is the one the journal was written
    /// from, up to its head, with the same ids, positions, times and chain. Needs an empty record. Tells `read` how
    /// many events were taken in so far, and `folded` how many of them were folded.
    ///
    /// # Errors
    /// [`RestoreError`]; the record is then still empty. [`Error::NotEmpty`] when it was not empty before.
    pub async fn restore(
        &self,
        folder: &Path,
        read: &watch::Sender<u64>,
        folded: watch::Sender<u64>,
    ) -> Result<Restored, RestoreError> {
        let head = JournalHead::read(folder)?;
        let (sender, parts) = mpsc::channel(PARTS_WAITING);
        let taking = self.ask(|reply| Job::Restore { parts, progress: folded, reply });
        let (taken, fed) = tokio::join!(taking, feed(folder, sender, read));
        // A journal that broke off is why the record took nothing.
        fed?;
        taken?;
        match self.head().await? {
            (end, Some(chain)) if end == head.global_position && chain == head.chain => Ok(Restored { head }),
            (end, _) => Err(Error::corrupt(end.0, "the journal was changed while it was read", None).into()),
        }
    }
}

/// Hands all events to the writer. It ends early when the writer does, which then says why.
async fn feed(
    folder: &Path,
    parts: mpsc::Sender<Part>,
    read: &watch::Sender<u64>,
) -> Result<(), JournalError> {
    let mut pages = lines::pages(folder);
    while let Some(page) = pages.recv().await {
        let page = page?;
        let end = page.last().map(|event| event.global_position);
        let part = if page.is_empty() { Part::End } else { Part::Events(page) };
        if parts.send(part).await.is_err() {
            break;
        }
        if let Some(end) = end {
            read.send_replace(end);
        }
    }
    Ok(())
}
