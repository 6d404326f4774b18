//! What stands, as far as a batch has looked: streams, ids and leases, with what the batch itself adds to them.
//!
//! A batch asks the database once about all its calls. From then on it answers for itself, since nobody else writes
//! until it has committed: an event it adds is counted here at once and goes to the database later, together with
//! the others. Deliberately absent: rows, which `rows` keeps.

use crate::Error;
use crate::admit::Known;
use crate::append::Prepared;
use crate::lease::Lease;
use crate::store::Writes;
use crate::stored::Stored;
use event::{Event, EventId, StreamName};
use std::collections::HashMap;

/// Events that wait to be written: bounds what a batch holds beside what its callers wait for anyway.
const WAITING_EVENTS_MAX: usize = 1_000;

/// Where an event of an id is.
#[derive(Clone, Copy, Debug)]
enum Twin {
    /// Nowhere: the id is free.
    Absent,
    /// In the database.
    Written,
    /// Among those that wait, at this index.
    Waiting(usize),
}

#[derive(Debug, Default)]
pub(super) struct Standing {
    streams: HashMap<StreamName, u64>,
    ids: HashMap<EventId, Twin>,
    leases: HashMap<String, Option<Lease>>,
    waiting: Vec<Stored>,
}

impl Standing {
    /// Looks up whatever is not known yet of the streams, ids and fences of `appends`.
    pub(super) async fn look_up(
        &mut self,
        database: &mut dyn Writes,
        appends: &[&Prepared],
    ) -> Result<(), Error> {
        self.look_up_all(database, appends, Vec::new(), Vec::new()).await
    }

    /// The same, and of other streams and ids beside those.
    pub(super) async fn look_up_all(
        &mut self,
        database: &mut dyn Writes,
        appends: &[&Prepared],
        mut streams: Vec<&StreamName>,
        mut ids: Vec<&EventId>,
    ) -> Result<(), Error> {
        streams.extend(appends.iter().map(|append| &append.stream));
        streams.retain(|stream| !self.streams.contains_key(*stream));
        streams.sort_unstable();
        streams.dedup();
        let drafts = appends.iter().flat_map(|append| &append.drafts);
        ids.extend(drafts.map(|draft| &draft.event.id));
        ids.retain(|id| !self.ids.contains_key(*id));
        if !streams.is_empty() || !ids.is_empty() {
            let found = database.found(&streams, &ids).await?;
            for stream in streams {
                let stands = found.streams.get(stream.as_str()).copied().unwrap_or(0);
                self.streams.insert(stream.clone(), stands);
            }
            for id in ids {
                let twin = if found.ids.contains(id.as_str()) { Twin::Written } else { Twin::Absent };
                self.ids.insert(id.clone(), twin);
            }
        }
        let fences = appends.iter().filter_map(|append| append.fence.as_ref());
        self.look_up_leases(database, fences.map(|fence| fence.name.as_str()).collect()).await
    }

    /// Looks up the leases of these names that are not known yet.
    pub(super) async fn look_up_leases(
        &mut self,
        database: &mut dyn Writes,
        mut names: Vec<&str>,
    ) -> Result<(), Error> {
        names.retain(|name| !self.leases.contains_key(*name));
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Ok(());
        }
        for lease in database.leases(&names).await? {
            self.leases.insert(lease.name.clone(), Some(lease));
        }
        for name in names {
            self.leases.entry(name.to_owned()).or_default();
        }
        Ok(())
    }

    /// What is known about one call; all of it has been looked up before. Reads stored events where there are any.
    pub(super) async fn about(&self, database: &mut dyn Writes, call: &[Prepared]) -> Result<Known, Error> {
        let (mut known, mut written) = (Known::default(), Vec::new());
        for append in call {
            let stands = self.streams.get(&append.stream).copied().unwrap_or(0);
            known.streams.insert(append.stream.clone(), stands);
            if let Some(fence) = &append.fence
                && let Some(Some(lease)) = self.leases.get(&fence.name)
            {
                known.tokens.insert(lease.name.clone(), lease.token);
            }
            for draft in &append.drafts {
                match self.ids.get(&draft.event.id) {
                    None | Some(Twin::Absent) => {}
                    Some(Twin::Written) => written.push(&draft.event.id),
                    Some(Twin::Waiting(index)) => {
                        let event = self.waiting.get(*index).cloned();
                        known.stored.extend(event.map(|event| (event.id.clone(), event)));
                    }
                }
            }
        }
        if !written.is_empty() {
            let stored = database.by_ids(&written).await?;
            known.stored.extend(stored.into_iter().map(|event| (event.id.clone(), event)));
        }
        Ok(known)
    }

    /// A lease as it stands; it has been looked up before.
    pub(super) fn lease(&self, name: &str) -> Option<&Lease> {
        self.leases.get(name)?.as_ref()
    }

    pub(super) fn set_lease(&mut self, lease: Lease) {
        self.leases.insert(lease.name.clone(), Some(lease));
    }

    /// Counts events in that are to be written, as they will be `stored`.
    pub(super) fn add(&mut self, events: &[Event], stored: Vec<Stored>) {
        for (n, event) in events.iter().enumerate() {
            self.count(event, Twin::Waiting(self.waiting.len() + n));
        }
        self.waiting.extend(stored);
    }

    /// Counts events in that are written already.
    pub(super) fn count_written(&mut self, events: &[Event]) {
        events.iter().for_each(|event| self.count(event, Twin::Written));
    }

    /// Both have been looked up before.
    fn count(&mut self, event: &Event, twin: Twin) {
        if let Some(stands) = self.streams.get_mut(&event.stream) {
            *stands = event.position.0;
        }
        if let Some(known) = self.ids.get_mut(&event.id) {
            *known = twin;
        }
    }

    /// Whether so many events wait that they had better be written now.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING_EVENTS_MAX
    }

    /// Writes the events that wait.
    pub(super) async fn write(&mut self, database: &mut dyn Writes) -> Result<(), Error> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        database.insert(std::mem::take(&mut self.waiting)).await?;
        for twin in self.ids.values_mut().filter(|twin| matches!(twin, Twin::Waiting(_))) {
            *twin = Twin::Written;
        }
        Ok(())
    }
}
