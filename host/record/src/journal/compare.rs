//! Comparing: the record is walked beside its journal, so that a history written anew is found at its first event.
//!
//! The journal is only as good a witness as the place it is kept in: a folder beside the record can be changed by
//! whoever can change the record. A clone of the remote cannot.

use super::error::JournalError;
use super::head::JournalHead;
use super::lines;
use crate::record::Record;
use crate::stored::Stored;
use crate::verify::{Verified, VerifyError, Walk, guarded};
use event::GlobalPosition;
use std::fmt;
use std::path::Path;
use tokio::sync::mpsc;

/// A record that holds everything its journal holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// What was found of the record by itself.
    pub verified: Verified,
    /// Where the journal ends; what the record holds after that has no witness yet.
    pub journal: JournalHead,
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lag = self.verified.events.saturating_sub(self.journal.global_position.0);
        write!(f, "{}; the journal holds the same up to {}", self.verified, self.journal.global_position)?;
        if lag > 0 { write!(f, ", {lag} less") } else { Ok(()) }
    }
}

/// Why a record is not what its journal says.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// An event is not as it was written, whatever the journal says; or the record could not be read.
    #[error(transparent)]
    Record(#[from] VerifyError),
    /// The journal cannot be a witness.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The first event that is consistent in itself and is not the one the journal holds: the record was written
    /// anew from there on.
    #[error(
        "the event at global position {global_position} (`{id}`) is not the journal's (`{journaled}`): the record was \
         written anew from there on"
    )]
    Differs {
        /// Where it stands.
        global_position: GlobalPosition,
        /// Its id in the record.
        id: String,
        /// The id of the journal's event there.
        journaled: String,
    },
    /// The first event that the journal holds and the record does not.
    #[error(
        "the record ends at global position {end}, and its journal at {journal}: the event `{id}` and all after it \
         were cut off"
    )]
    Cut {
        /// Where the record ends.
        end: GlobalPosition,
        /// Where the journal ends.
        journal: GlobalPosition,
        /// The id of the first event that is gone.
        id: String,
    },
}

impl Record {
    /// Walks the whole record beside the journal in `folder`.
    ///
    /// # Errors
    /// [`CompareError`], naming the first event that is not as it was written, not the journal's, or gone.
    pub async fn verify_with_journal(&self, folder: &Path) -> Result<Compared, CompareError> {
        let head = JournalHead::read(folder)?;
        let mut journal = Journaled { pages: lines::pages(folder), page: Vec::new().into_iter() };
        let mut walk = Walk::default();
        loop {
            let page = walk.page(self.reader()).await?;
            if page.is_empty() {
                break;
            }
            for event in page {
                walk.step(&event)?;
                if let Some(line) = journal.next().await? {
                    same(&event, &line)?;
                }
            }
        }
        let end = GlobalPosition(walk.end.global_position);
        if let Some(line) = journal.next().await? {
            return Err(CompareError::Cut { end, journal: head.global_position, id: line.id });
        }
        // Last, as in a verification without a journal.
        guarded(self.reader()).await?;
        let verified = Verified { events: end.0, chain: walk.end.chain, anchored: true };
        Ok(Compared { verified, journal: head })
    }
}

/// The chain covers every column, so that one comparison is enough for both of an event.
fn same(event: &Stored, line: &Stored) -> Result<(), CompareError> {
    if event.chain == line.chain {
        return Ok(());
    }
    Err(CompareError::Differs {
        global_position: GlobalPosition(event.global_position),
        id: event.id.clone(),
        journaled: line.id.clone(),
    })
}

/// The events of a journal one by one.
struct Journaled {
    pages: mpsc::Receiver<Result<Vec<Stored>, JournalError>>,
    page: std::vec::IntoIter<Stored>,
}

impl Journaled {
    async fn next(&mut self) -> Result<Option<Stored>, JournalError> {
        if let Some(event) = self.page.next() {
            return Ok(Some(event));
        }
        match self.pages.recv().await {
            Some(page) => self.page = page?.into_iter(),
            None => return Ok(None),
        }
        Ok(self.page.next())
    }
}
