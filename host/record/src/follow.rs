//! Following: catch up, then wait for news, with no gap and no event twice.
//!
//! The next read always starts after the last event that was handed out, so a piece of news that is missed or
//! told twice costs a read at most. News of this process comes with its commits; those of other processes when the
//! store tells of them, or is asked.

use crate::Error;
use crate::record::Record;
use crate::store::Reader;
use crate::writer::announce;
use event::{Event, GlobalPosition};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// A reader that moves through the record and waits at its end.
pub struct Follower {
    record: Record,
    after: GlobalPosition,
    news: watch::Receiver<GlobalPosition>,
}

impl Follower {
    pub(crate) fn new(record: Record, after: GlobalPosition) -> Self {
        let news = record.news();
        Self { record, after, news }
    }

    /// The next events, in order: at least one, at most `limit` (and one when `limit` is 0). Waits for the first.
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Unavailable`], after which it may be asked again; [`Error::Corrupt`] when the next event does not
    /// read.
    pub async fn next(&mut self, limit: usize) -> Result<Vec<Event>, Error> {
        loop {
            // Before the read: what is committed during it is then news that is still unseen.
            self.news.mark_unchanged();
            let events = self.record.read_all(self.after, limit.max(1)).await?;
            if let Some(last) = events.last() {
                self.after = last.global_position;
                return Ok(events);
            }
            if self.news.changed().await.is_err() {
                return Err(Error::unavailable("the record is no longer open"));
            }
        }
    }

    /// The last event that was handed out, or where following began.
    #[must_use]
    pub fn after(&self) -> GlobalPosition {
        self.after
    }
}

/// The task that hears of what other processes committed; ends with the record.
#[derive(Debug)]
pub(crate) struct Poll(AbortHandle);

impl Poll {
    pub(crate) fn start(reader: Reader, news: Arc<watch::Sender<GlobalPosition>>) -> Self {
        Self(tokio::spawn(poll(reader, news)).abort_handle())
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn poll(reader: Reader, news: Arc<watch::Sender<GlobalPosition>>) {
    loop {
        if let Some(head) = reader.hear().await {
            announce(&news, head);
            continue;
        }
        if news.receiver_count() == 0 {
            continue;
        }
        match reader.last().await {
            Ok(head) => announce(&news, head),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "the record was not asked for news")
            }
        }
    }
}
