//! The turn's own stream: read once, then appended to, always at the position last seen and under the lease.
//!
//! Names of events are derived from turn, step and attempt, so an append that is made again is one event. Each
//! event follows from the one before it.

use crate::erased::none_erased;
use crate::error::Error;
use crate::open::turn_stream;
use event::{
    Actor, Event, EventId, Expected, Fact, Label, Position, Proposed, StreamName, Timestamp, TurnId,
};
use fold::turn::TurnState;
use record::{Append, Fence, Record};

/// Events read at once.
const PAGE_EVENTS: usize = 500;

/// A turn's stream as this run has it.
pub(crate) struct TurnStream {
    pub turn: TurnId,
    /// What the events come to.
    pub state: TurnState,
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
            page.iter().for_each(|event| state.evolve(&event.fact));
            began = began.or_else(|| page.first().map(|event| event.at));
            newest = page.last().map(|event| (event.position, event.id.clone())).or(newest);
            if page.len() < PAGE_EVENTS {
                break;
            }
        }
        let (position, newest) = newest.ok_or_else(|| Error::NoTurn(turn.clone()))?;
        let began = began.unwrap_or_default();
        Ok(Self { turn: turn.clone(), state, began, fence, record: record.clone(), name, position, newest })
    }

    /// The newest event: what comes next follows from it.
    pub fn newest(&self) -> &EventId {
        &self.newest
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
        let mut parts = vec![self.turn.as_str(), fact.kind()];
        parts.extend(name.iter().map(String::as_str));
        let id = EventId::derived(&parts);
        none_erased(&self.record, self.began, &id, &fact).await?;
        let proposed = Proposed { id, actor: actor.clone(), cause: Some(self.newest.clone()), label, fact };
        let append = Append {
            stream: self.name.clone(),
            expected: Expected::At(self.position),
            events: vec![proposed],
            fence: Some(self.fence.clone()),
        };
        for event in self.record.append_all(vec![append]).await? {
            self.position = event.position;
            self.newest = event.id.clone();
            self.state.evolve(&event.fact);
        }
        Ok(())
    }
}
