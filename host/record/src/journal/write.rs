//! The writing end of a journal: it reads the record a page at a time and puts the lines on the disk.

use super::error::JournalError;
use super::files::Files;
use super::head::JournalHead;
use crate::record::Record;
use event::GlobalPosition;
use std::path::{Path, PathBuf};

/// Events read and written at a time: bounds the memory, and shares one flush among them.
const PAGE_EVENTS: usize = 250;

/// A journal that follows a record. One process holds it at a time.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    head: Option<JournalHead>,
    /// Nothing after an error: what is on the disk is then found out anew.
    files: Option<Files>,
}

impl Journal {
    /// Opens the journal in `folder`, makes one when there is none, and compares its end with the record.
    ///
    /// # Errors
    /// [`JournalError`]: the record ends before its journal or holds another event at its end, another process
    /// writes it, it is damaged, or the system or the record does not answer. The files are then as they were, but
    /// for lines after `head` that were not whole.
    pub async fn open(folder: &Path, record: &Record) -> Result<Self, JournalError> {
        let mut journal = Self { folder: folder.to_owned(), head: None, files: None };
        journal.files = Some(journal.resume(record).await?);
        Ok(journal)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where it ends; nothing when it has no line.
    #[must_use]
    pub fn head(&self) -> Option<&JournalHead> {
        self.head.as_ref()
    }

    /// The last event it holds; 0 when it has none.
    #[must_use]
    pub fn end(&self) -> GlobalPosition {
        self.head.as_ref().map_or(GlobalPosition(0), |head| head.global_position)
    }

    /// Writes what the record holds by now and the journal does not; `written` hears of each page on the disk. Says
    /// where the journal ends.
    ///
    /// # Errors
    /// As [`Journal::open`]; [`JournalError::Event`] when an event is not as it was written. It may be asked again.
    pub async fn catch_up(
        &mut self,
        record: &Record,
        mut written: impl FnMut(GlobalPosition),
    ) -> Result<GlobalPosition, JournalError> {
        let (until, _) = record.head().await.map_err(JournalError::Record)?;
        while self.end() < until {
            let mut files = match self.files.take() {
                Some(files) => files,
                None => self.resume(record).await?,
            };
            let page = record.reader().all(self.end(), PAGE_EVENTS).await.map_err(JournalError::Record)?;
            files = blocking(move || files.write(&page).map(|()| files)).await?;
            self.head = files.head();
            self.files = Some(files);
            written(self.end());
        }
        Ok(self.end())
    }

    async fn resume(&mut self, record: &Record) -> Result<Files, JournalError> {
        let folder = self.folder.clone();
        let files = blocking(move || Files::open(&folder)).await?;
        self.head = files.head();
        if let Some(head) = &self.head {
            held(record, head).await?;
        }
        Ok(files)
    }
}

/// Whether the record holds the event that `head` names.
///
/// # Errors
/// [`JournalError::Cut`], [`JournalError::Differs`], [`JournalError::Record`].
pub(super) async fn held(record: &Record, head: &JournalHead) -> Result<(), JournalError> {
    let place = head.global_position;
    let before = GlobalPosition(place.0.saturating_sub(1));
    let found = record.reader().all(before, 1).await.map_err(JournalError::Record)?;
    match found.first() {
        Some(event) if event.chain == head.chain.as_str() => Ok(()),
        Some(_) => Err(JournalError::Differs(place)),
        None => {
            let (end, _) = record.head().await.map_err(JournalError::Record)?;
            Err(JournalError::Cut { record: end, journal: place })
        }
    }
}

/// Runs what blocks away from the runtime's own threads.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, JournalError> + Send + 'static,
) -> Result<T, JournalError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(JournalError::Record(crate::Error::unavailable("the host is stopping"))),
    }
}
