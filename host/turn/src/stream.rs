//! The turn's own stream: read once, then appended to, always at the position last seen and under the lease.
//!
//! Names of events are derived from turn, step and attempt, so an append that is made again is one event. Each
//! event follows from the one before it.

use crate::erased::none_erased;
use crate::error::Error;
use crate::open::turn_stream;
use event::{
    Actor, Event, EventId, Expected, Fact, FinishAccepted, GlobalPosition, Label, Position, Proposed,
    StreamName, Timestamp, TurnId,
};
use fold::Projection;
use fold::inbox::{InboxRow, Inboxes, turn_key};
use fold::turn::TurnState;
use record::{Append, Decided, Fence, Record, RowKey};
use std::collections::BTreeMap;

/// Events read at once.
const PAGE_EVENTS: usize = 500;

/// A fact to be appended: what its event is named after, its label, and itself.
pub(crate) type Said = (Vec<String>, Label, Fact);

/// A turn's stream as this run has it.
pub(crate) struct TurnStream {
    pub turn: TurnId,
    /// What the events come to.
    pub state: TurnState,
    /// The messages that it took up of its inbox, by where they stand.
    pub taken_up: BTreeMap<GlobalPosition, Event>,
    /// When it began.
    began: Timestamp,
    /// The lease every append is made under.
    pub fence: Fence,
    record: Record,
    name: StreamName,
    position: Position,
    newest: EventId,
}

impl TurnStream {
    /// Reads the whole stream of `turn`.
    ///
    /// # Errors
    /// [`Error::NoTurn`] when it has no event; otherwise what the record answers.
    pub async fn load(record: &Record, turn: &TurnId, fence: Fence) -> Result<Self, Error> {
        let name = turn_stream(turn);
        let mut state = TurnState::default();
        let mut newest: Option<(Position, EventId)> = None;
        let mut began = None;
        loop {
            let from =
                newest.as_ref().map_or(Position(1), |(position, _)| Position(position.0.saturating_add(1)));
            let page: Vec<Event> = record.read_stream(&name, from, PAGE_EVENTS).await?;
            page.iter().for_each(|event| state.happened(event));
            began = began.or_else(|| page.first().map(|event| event.at));
            newest = page.last().map(|event| (event.position, event.id.clone())).or(newest);
            if page.len() < PAGE_EVENTS {
                break;
            }
        }
        let (position, newest) = newest.ok_or_else(|| Error::NoTurn(turn.clone()))?;
        let began = began.unwrap_or_default();
        let taken_up = BTreeMap::new();
        let record = record.clone();
        let turn = turn.clone();
        let mut stream = Self { turn, state, taken_up, began, fence, record, name, position, newest };
        stream.read_taken_up().await?;
        Ok(stream)
    }

    /// Reads the messages that the turn has taken up and that this run has not read yet.
    async fn read_taken_up(&mut self) -> Result<(), Error> {
        let items = self.state.drains.iter().flat_map(|drained| &drained.items);
        let missing: Vec<GlobalPosition> =
            items.map(|item| item.at).filter(|at| !self.taken_up.contains_key(at)).collect();
        if !missing.is_empty() {
            let events = self.record.events_at(&missing).await?;
            self.taken_up.extend(events.into_iter().map(|event| (event.global_position, event)));
        }
        Ok(())
    }

    /// The newest event: what comes next follows from it.
    pub fn newest(&self) -> &EventId {
        &self.newest
    }

    /// What came into its inbox, as it stands now.
    ///
    /// # Errors
    /// What the record answers.
    pub async fn inbox(&self) -> Result<Option<InboxRow>, Error> {
        let row = self.record.row(Inboxes.name(), &turn_key(&self.turn)).await?;
        Ok(fold::decode(row.as_ref()))
    }

    /// Appends one fact, named after what it is.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] when the lease is another's or another wrote here; otherwise what the record
    /// answers.
    pub async fn append(
        &mut self,
        actor: &Actor,
        name: &[String],
        label: Label,
        fact: Fact,
    ) -> Result<(), Error> {
        self.append_all(actor, vec![(name.to_vec(), label, fact)], Vec::new()).await
    }

    /// Appends facts, and what goes with them on other streams, in one commit.
    ///
    /// # Errors
    /// As [`TurnStream::append`].
    pub async fn append_all(
        &mut self,
        actor: &Actor,
        facts: Vec<Said>,
        beside: Vec<Append>,
    ) -> Result<(), Error> {
        let mut appends = vec![self.proposed(actor, facts).await?];
        appends.extend(beside);
        let events = self.record.append_all(appends).await?;
        self.happened(&events);
        self.read_taken_up().await
    }

    /// Lets a finish stand, unless more lies in the inbox than it has seen; says whether it stands. `anyway` lets it
    /// stand in any case.
    ///
    /// # Errors
    /// As [`TurnStream::append`].
    pub async fn accept(&mut self, actor: &Actor, fact: FinishAccepted, anyway: bool) -> Result<bool, Error> {
        let (key, revision) = (turn_key(&self.turn), fact.revision);
        let name = vec![fact.step.to_string()];
        let append = self.proposed(actor, vec![(name, Label::host(), fact.into())]).await?;
        let reads = vec![RowKey::new(Inboxes.name(), &key)];
        let decided = self
            .record
            .decide(reads, move |rows, _| {
                let inbox: Option<InboxRow> = rows.state(Inboxes.name(), &key);
                let unread = inbox.is_some_and(|inbox| inbox.revision() > revision);
                if unread && !anyway { Err(()) } else { Ok((vec![append], ())) }
            })
            .await?;
        match decided {
            Decided::Appended { events, .. } => {
                self.happened(&events);
                Ok(true)
            }
            Decided::Rejected(()) => Ok(false),
        }
    }

    async fn proposed(&self, actor: &Actor, facts: Vec<Said>) -> Result<Append, Error> {
        let mut cause = self.newest.clone();
        let mut events = Vec::with_capacity(facts.len());
        for (name, label, fact) in facts {
            let mut parts = vec![self.turn.as_str(), fact.kind()];
            parts.extend(name.iter().map(String::as_str));
            let id = EventId::derived(&parts);
            none_erased(&self.record, self.began, &id, &fact).await?;
            let event = Proposed { id: id.clone(), actor: actor.clone(), cause: Some(cause), label, fact };
            cause = id;
            events.push(event);
        }
        Ok(Append {
            stream: self.name.clone(),
            expected: Expected::At(self.position),
            events,
            fence: Some(self.fence.clone()),
        })
    }

    fn happened(&mut self, events: &[Event]) {
        for event in events.iter().filter(|event| event.stream == self.name) {
            self.position = event.position;
            self.newest = event.id.clone();
            self.state.happened(event);
        }
    }
}
