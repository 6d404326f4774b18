//! What a batch does with a whole record: it folds all rows again, and it takes in the events of another record.

use super::written::Written;
use super::{Batch, Standing, Stop};
use crate::Error;
use crate::job::Part;
use crate::rows::{Cache, Change, changes};
use crate::store::Unread;
use crate::stored::{Head, Stored};
use event::{Event, GlobalPosition, StreamName};
use std::collections::HashMap;
use tokio::sync::{mpsc, watch};

/// Events a rebuild reads at a time: bounds its memory, in which there are three such pages, together with the next.
const REBUILD_EVENTS: usize = 500;
/// Events between two looks at what the database has sent: about as many as it may send ahead.
const SLICE_EVENTS: usize = 25;
/// Rows a rebuild keeps in memory before it writes them: rows that many events change are then written seldom.
const REBUILD_ROWS_MAX: usize = 10_000;

impl Batch<'_> {
    /// Throws all rows away and folds the whole record again. Says how many events it folded.
    pub(crate) async fn rebuild(&mut self, progress: &watch::Sender<u64>) -> Result<u64, Stop> {
        self.write_what_waits().await.map_err(Stop::Batch)?;
        self.database.savepoint().await.map_err(Stop::Batch)?;
        match self.fold_all(progress).await {
            Ok(count) => Ok(count),
            Err(error @ Error::Unavailable { .. }) => Err(Stop::Batch(error)),
            Err(error) => {
                // One event that does not read: the rows stay as they were, and so do the other calls.
                self.cache.clear();
                self.database.undo_to_savepoint().await.map_err(Stop::Batch)?;
                Err(Stop::Call(error))
            }
        }
    }

    async fn fold_all(&mut self, progress: &watch::Sender<u64>) -> Result<u64, Error> {
        self.database.clear_rows().await?;
        let mut folded = GlobalPosition(0);
        let mut unread = self.database.unread(folded, REBUILD_EVENTS).await?;
        let (mut events, mut done): (Vec<(Event, Vec<Change>)>, Vec<Event>) = (Vec::new(), Vec::new());
        let mut written = Written::new();
        // Ends at the head, which cannot move while this transaction lasts. Each round reads one page, makes events of
        // the one before and folds the one before that.
        while unread.end.is_some() || !events.is_empty() {
            let reading = async {
                match unread.end {
                    Some(end) => self.database.unread(end, REBUILD_EVENTS).await,
                    None => Ok(Unread::of(Vec::new())),
                }
            };
            folded = events.last().map_or(folded, |(event, _)| event.global_position);
            let folding = fold_some(&mut self.cache, events);
            let (next, made, spent) = tokio::join!(reading, made(unread.read, done), folding);
            (unread, events, done) = (next?, made?, spent);
            progress.send_replace(folded.0);
            if self.cache.len() > REBUILD_ROWS_MAX {
                self.write_rows(|key| written.add(key)).await?;
            }
            // What was not written is nowhere but in the cache.
            let needed = events.iter().flat_map(|(_, changes)| changes.iter().map(|change| &change.key));
            self.load(self.cache.lacking(needed.filter(|key| written.may_hold(key)))).await?;
        }
        self.write_rows(|_| ()).await?;
        Ok(folded.0)
    }

    /// Takes in a whole record, events, times, places and chain as they were stored, and folds its rows. Everything
    /// or nothing: any error ends the batch. Says how many events there are.
    pub(crate) async fn restore(
        &mut self,
        mut parts: mpsc::Receiver<Part>,
        progress: &watch::Sender<u64>,
    ) -> Result<u64, Stop> {
        if self.head.global_position > 0 {
            return Err(Stop::Call(Error::NotEmpty { end: GlobalPosition(self.head.global_position) }));
        }
        loop {
            match parts.recv().await {
                Some(Part::Events(events)) => self.place(events).await.map_err(Stop::Batch)?,
                Some(Part::End) => break,
                None => return Err(Stop::Batch(Error::unavailable("what is restored broke off"))),
            }
        }
        // Looked up when there was nothing.
        self.standing = Standing::default();
        self.rebuild(progress).await
    }

    async fn place(&mut self, stored: Vec<Stored>) -> Result<(), Error> {
        let events = stored.iter().map(Stored::event).collect::<Result<Vec<_>, _>>()?;
        let streams: Vec<&StreamName> = events.iter().map(|event| &event.stream).collect();
        let ids: Vec<_> = events.iter().map(|event| &event.id).collect();
        let mut found = self.database.found(&streams, &ids).await?;
        for event in &events {
            if !found.ids.insert(event.id.as_str().to_owned()) {
                return Err(Error::IdTaken { id: event.id.clone() });
            }
            follows(&mut found.streams, event)?;
        }
        self.database.insert(stored).await?;
        if let Some(Event { global_position, at, chain, .. }) = events.into_iter().next_back() {
            self.head = Head { global_position: global_position.0, at, chain: Some(chain) };
        }
        Ok(())
    }
}

/// The events of a page with the rows they change, made on a thread of its own: that is the half of the work that needs
/// nothing else. The events of a page that is `done` go where they came from: two threads that take memory from each
/// other wait for each other.
async fn made(
    read: Box<dyn FnOnce() -> Result<Vec<Stored>, Error> + Send>,
    done: Vec<Event>,
) -> Result<Vec<(Event, Vec<Change>)>, Error> {
    let whole = |stored: Stored| {
        let event = stored.read()?;
        let changes = changes(&event);
        Ok((event, changes))
    };
    let making = tokio::task::spawn_blocking(move || {
        drop(done);
        read()?.into_iter().map(whole).collect()
    });
    making.await.unwrap_or_else(|_| Err(Error::unavailable("the host is stopping")))
}

/// Folds `events`, and gives them back. Pauses often, so that the database never waits long until what it sends is taken.
async fn fold_some(cache: &mut Cache, events: Vec<(Event, Vec<Change>)>) -> Vec<Event> {
    let mut done = Vec::with_capacity(events.len());
    for (event, changes) in events {
        cache.fold(&event, changes);
        done.push(event);
        if done.len() % SLICE_EVENTS == 0 {
            tokio::task::yield_now().await;
        }
    }
    done
}

/// Whether `event` stands directly after the last of its stream; afterwards it is the last.
fn follows(streams: &mut HashMap<String, u64>, event: &Event) -> Result<(), Error> {
    let stands = streams.entry(event.stream.as_str().to_owned()).or_default();
    if event.position.0 != *stands + 1 {
        let why = format!("its position in `{}` does not follow {stands}", event.stream);
        return Err(Error::corrupt(event.global_position.0, why, None));
    }
    *stands = event.position.0;
    Ok(())
}
