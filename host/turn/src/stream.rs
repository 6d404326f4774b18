//! The turn's own stream: read once, then appended to, always at the position last seen and under the lease.
//!
//! What the turn says is counted in at once and written with the next commit: mostly the one with which its next call
//! begins ([`TurnStream::begin`]), with what the record is owed of the call before. So a step is one commit, and an
//! answer that was paid for is in the record exactly when its payment is. What cannot be written together is written by
//! itself ([`TurnStream::flush`]), and then the turn decides anew.
//!
//! Names of events are derived from turn, step and attempt, so an append that is made again is one event. Each
//! event follows from the one before it.

use crate::door::Door;
use crate::erased::Alive;
use crate::error::Error;
use crate::inbox::Unread;
use crate::open::turn_stream;
use crate::parts::Files;
use crate::scene;
use crate::step::not_kept;
use event::{
    Actor, Event, EventId, Expected, Fact, GlobalPosition, Label, Personal, Position, Proposed, StepEnded,
    StreamName, Timestamp, TurnId,
};
use fold::Projection;
use fold::inbox::{InboxRow, Inboxes, turn_key};
use fold::message::Attached;
use fold::turn::TurnState;
use gate::{Began, Begins, Call, Carried, Condition, GateError, Owed, tell, tell_alone};
use record::{Append, Fence, Record};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Events read at once.
const PAGE_EVENTS: usize = 500;

/// A fact to be said: what its event is named after, its label, and itself.
pub(crate) type Said = (Vec<String>, Label, Fact);

/// A turn's stream as this run has it.
pub(crate) struct TurnStream {
    pub turn: TurnId,
    /// What the events come to, those that wait to be written among them.
    pub state: TurnState,
    /// The messages that it took up of its inbox, by where they stand.
    pub taken_up: BTreeMap<GlobalPosition, Event>,
    /// The files that came with them.
    pub files: BTreeMap<GlobalPosition, Vec<Attached>>,
    /// The lease every append is made under.
    pub fence: Fence,
    /// Whether its inbox has to be read before anything is decided: nothing says yet that it is as it was.
    pub must_look: bool,
    /// Where the record stood when it last wrote.
    pub wrote_at: GlobalPosition,
    /// When it began.
    began: Timestamp,
    record: Record,
    name: StreamName,
    position: Position,
    newest: EventId,
    /// What waits to be written, oldest first.
    waiting: Vec<Proposed>,
    /// What the record is owed of the calls whose ends wait.
    owed: Vec<Owed>,
    /// Whether a step has begun in this run.
    has_begun: bool,
}

impl TurnStream {
    /// Reads the whole stream of `turn`. `files` says how it learns of files that came with messages.
    ///
    /// # Errors
    /// [`Error::NoTurn`] when it has no event; otherwise what the record answers.
    pub async fn load(
        record: &Record,
        turn: &TurnId,
        fence: Fence,
        files: Option<Files>,
    ) -> Result<Self, Error> {
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
        let mut stream = Self {
            turn: turn.clone(),
            state,
            taken_up: BTreeMap::new(),
            files: BTreeMap::new(),
            fence,
            must_look: true,
            wrote_at: GlobalPosition(0),
            began: began.unwrap_or_default(),
            record: record.clone(),
            name,
            position,
            newest,
            waiting: Vec::new(),
            owed: Vec::new(),
            has_begun: false,
        };
        stream.read_taken_up(files).await?;
        Ok(stream)
    }

    /// Reads the messages that the turn has taken up and that this run has not read yet, and which files came with them.
    pub async fn read_taken_up(&mut self, files: Option<Files>) -> Result<(), Error> {
        let items = self.state.drains.iter().flat_map(|drained| &drained.items);
        let missing: Vec<GlobalPosition> =
            items.map(|item| item.at).filter(|at| !self.taken_up.contains_key(at)).collect();
        if !missing.is_empty() {
            let events = self.record.events_at(&missing).await?;
            self.files.extend(scene::files(&self.record, &events, files).await?);
            self.taken_up.extend(events.into_iter().map(|event| (event.global_position, event)));
        }
        Ok(())
    }

    /// The newest event: what comes next follows from it.
    pub fn newest(&self) -> &EventId {
        &self.newest
    }

    /// About when what is said now will have been said; never before what stands.
    pub fn now(&self) -> Timestamp {
        self.state.newest_at.map_or_else(|| self.record.now(), |newest| self.record.now().max(newest))
    }

    /// How long the turn has worked, what is not written yet counted in.
    pub fn active_ms(&self) -> u64 {
        if self.waiting.is_empty() {
            self.state.active_ms
        } else {
            self.state.active_ms_at(self.record.now())
        }
    }

    /// What came into its inbox, as it stands now.
    ///
    /// # Errors
    /// What the record answers.
    pub async fn inbox(&self) -> Result<Option<InboxRow>, Error> {
        let row = self.record.row(Inboxes.name(), &turn_key(&self.turn)).await?;
        Ok(fold::decode(row.as_ref()))
    }

    /// Says facts: they count from now on, and are written with the next commit.
    pub fn say(&mut self, actor: &Actor, facts: Vec<Said>) {
        let proposed = self.proposed(actor, facts);
        self.counts(proposed);
    }

    /// Says how a call's step ended, and what the record is owed of that call: neither is written without the other.
    pub fn say_ended(&mut self, actor: &Actor, said: Said, owed: Owed) {
        self.say(actor, vec![said]);
        if !owed.is_nothing() {
            self.owed.push(owed);
        }
    }

    /// Whether something waits that may not wait for the next call.
    pub fn must_write(&self) -> bool {
        self.owed.iter().any(|owed| !owed.can_wait())
    }

    fn proposed(&self, actor: &Actor, facts: Vec<Said>) -> Vec<Proposed> {
        let mut cause = self.newest.clone();
        let mut events = Vec::with_capacity(facts.len());
        for (name, label, fact) in facts {
            let mut parts = vec![self.turn.as_str(), fact.kind()];
            parts.extend(name.iter().map(String::as_str));
            let id = EventId::derived(&parts);
            events.push(Proposed { id: id.clone(), actor: actor.clone(), cause: Some(cause), label, fact });
            cause = id;
        }
        events
    }

    fn counts(&mut self, proposed: Vec<Proposed>) {
        for event in proposed {
            self.state.evolve(&event.fact);
            self.newest = event.id.clone();
            self.waiting.push(event);
        }
    }

    /// Lets calls begin, in one commit with `facts` and all that waits, as long as the inbox is `unread` as it was.
    /// Nothing, where that was not to be: then `facts` are not said, everything else is written, and it has to be decided
    /// anew.
    ///
    /// The first step of a run is written before its call is judged: what takes the host down there is counted.
    ///
    /// # Errors
    /// As [`TurnStream::flush`], and what the door says.
    pub async fn begin<D: Door + ?Sized>(
        &mut self,
        door: &D,
        (actor, facts): (&Actor, Vec<Said>),
        calls: impl FnOnce(&EventId) -> Vec<Call>,
        unread: Unread,
    ) -> Result<Option<Vec<Begins<D::Going>>>, Error> {
        let accepts = facts.iter().any(|(_, _, fact)| matches!(fact, Fact::FinishAccepted(_)));
        let proposed = self.proposed(actor, facts);
        let cause = proposed.last().map_or_else(|| self.newest.clone(), |event| event.id.clone());
        let calls = calls(&cause);
        let carried = self.carried(&proposed, unread);
        if !std::mem::replace(&mut self.has_begun, true) {
            if !self.write_if(proposed, carried).await? {
                return Ok(None);
            }
            return match door.begin(calls, Carried::default()).await? {
                Began::Judged { calls, .. } => Ok(Some(calls)),
                Began::Overtaken | Began::Apart => Ok(None),
            };
        }
        match door.begin(calls, carried.clone()).await {
            Ok(Began::Judged { calls, events: Some(events) }) => {
                self.counts(proposed);
                self.written(&events);
                Ok(Some(calls))
            }
            Ok(Began::Judged { calls, events: None }) if accepts => {
                Ok(self.write_if(proposed, carried).await?.then_some(calls))
            }
            Ok(Began::Judged { calls, events: None }) => {
                self.counts(proposed);
                Ok(Some(calls))
            }
            Ok(Began::Overtaken | Began::Apart) => {
                self.alive(&proposed).check(&self.record).await?;
                self.apart().await?;
                Ok(None)
            }
            Err(GateError::Record(why)) => match (is_lost(&why), self.has_waiting()) {
                (false, true) => {
                    self.apart().await?;
                    Ok(None)
                }
                _ => Err(why.into()),
            },
            Err(why) => {
                // That it was tried counts.
                self.counts(proposed);
                self.flush(Vec::new()).await?;
                Err(why.into())
            }
        }
    }

    /// Says `fact` and writes it with all that waits, unless more lies in the inbox than is `unread`; says whether it is
    /// said.
    ///
    /// # Errors
    /// As [`TurnStream::flush`].
    pub async fn say_unless(&mut self, actor: &Actor, said: Said, unread: Unread) -> Result<bool, Error> {
        let proposed = self.proposed(actor, vec![said]);
        let carried = self.carried(&proposed, unread);
        self.write_if(proposed, carried).await
    }

    async fn write_if(&mut self, proposed: Vec<Proposed>, carried: Carried) -> Result<bool, Error> {
        match carried.write(&self.record).await {
            Ok(Some(events)) => {
                self.counts(proposed);
                self.written(&events);
                Ok(true)
            }
            Ok(None) => {
                self.alive(&proposed).check(&self.record).await?;
                self.apart().await?;
                Ok(false)
            }
            Err(why) if !is_lost(&why) && self.has_waiting() => {
                self.apart().await?;
                Ok(false)
            }
            Err(why) => Err(why.into()),
        }
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.owed.is_empty()
    }

    /// What waits is written by itself, and the inbox is read before anything is decided.
    async fn apart(&mut self) -> Result<(), Error> {
        self.must_look = true;
        self.flush(Vec::new()).await
    }

    /// Whose words `more` and what waits may repeat.
    fn alive(&self, more: &[Proposed]) -> Alive {
        Alive::of(self.began, self.waiting.iter().chain(more))
    }

    fn own(&self, more: &[Proposed]) -> Option<Append> {
        let events: Vec<Proposed> = self.waiting.iter().chain(more).cloned().collect();
        let (expected, fence) = (Expected::At(self.position), Some(self.fence.clone()));
        (!events.is_empty()).then(|| Append { stream: self.name.clone(), expected, events, fence })
    }

    fn carried(&self, more: &[Proposed], unread: Unread) -> Carried {
        let alive = self.alive(more);
        let reads = unread.reads().chain(alive.reads()).collect();
        let is_met = move |rows: &record::Rows| unread.stands(rows) && alive.stands(rows);
        let condition = Some(Condition { reads, is_met: Arc::new(is_met) });
        Carried { owed: self.owed.clone(), appends: self.own(more).into_iter().collect(), condition }
    }

    /// Writes what waits, with `beside` it.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] when the lease is another's or another wrote here; otherwise what the record answers. What
    /// the record is owed of calls stands all the same where it takes that alone.
    pub async fn flush(&mut self, beside: Vec<Append>) -> Result<(), Error> {
        if !self.has_waiting() && beside.is_empty() {
            return Ok(());
        }
        if let Err(why) = self.alive(&[]).check(&self.record).await {
            self.settle_alone().await?;
            return Err(why);
        }
        // Ends because each round leaves one end of a step shorter, and there are so many.
        loop {
            let with = self.own(&[]).into_iter().chain(beside.iter().cloned()).collect();
            match tell(&self.record, self.owed.clone(), with).await {
                Ok(events) => {
                    self.written(&events);
                    return Ok(());
                }
                Err(why) if self.cannot_keep(&why) => {}
                Err(why) if is_lost(&why) || matches!(why, record::Error::Unavailable { .. }) => {
                    return Err(why.into());
                }
                Err(why) => {
                    self.settle_alone().await?;
                    return Err(why.into());
                }
            }
        }
    }

    /// Forgets what waits: words in it are erased. What the record is owed of calls is written.
    ///
    /// # Errors
    /// What the record answers.
    pub async fn forget_waiting(&mut self) -> Result<(), Error> {
        let first = self.waiting.first().and_then(|event| event.cause.clone());
        self.newest = first.unwrap_or_else(|| self.newest.clone());
        self.waiting.clear();
        self.settle_alone().await
    }

    async fn settle_alone(&mut self) -> Result<(), Error> {
        let owed = std::mem::take(&mut self.owed);
        Ok(tell_alone(&self.record, owed).await?)
    }

    /// Puts in place of the end of a step that the record does not take, such as a number it would change or an object
    /// nested too deeply, that its step failed for that; says whether there was one.
    fn cannot_keep(&mut self, why: &record::Error) -> bool {
        let bytes = |event: &Proposed| match &event.fact {
            Fact::StepEnded(ended) => Some(ended.output.json().to_string().len()),
            _ => None,
        };
        let unkept = match why {
            record::Error::Inexact { id, .. } | record::Error::Unreadable { id, .. } => {
                self.waiting.iter_mut().find(|event| event.id == *id)
            }
            record::Error::TooLarge { size, .. } => {
                // Its body is the largest, if it is one of ours at all.
                let largest = self.waiting.iter_mut().max_by_key(|event| bytes(event));
                largest.filter(|event| bytes(event).is_some_and(|bytes| bytes.saturating_mul(4) > *size))
            }
            _ => None,
        };
        let Some(event) = unkept else { return false };
        let Fact::StepEnded(ended) = &event.fact else { return false };
        let out = not_kept(why, &ended.output_label);
        if ended.output.json() == &out.output {
            return false;
        }
        let subjects = ended.output.subjects().clone();
        let (outcome, output) = (out.outcome, Personal::of(out.output, subjects));
        let ended = StepEnded { outcome, output, output_label: out.label.clone(), ..ended.clone() };
        (event.label, event.fact) = (out.label, ended.into());
        self.state.evolve(&event.fact);
        true
    }

    fn written(&mut self, events: &[Event]) {
        for event in events.iter().filter(|event| event.stream == self.name) {
            self.position = event.position;
            self.state.passed(event);
        }
        self.wrote_at = events.last().map_or(self.wrote_at, |event| event.global_position.max(self.wrote_at));
        self.waiting.clear();
        self.owed.clear();
    }
}

/// Whether somebody else runs the turn.
fn is_lost(why: &record::Error) -> bool {
    matches!(why, record::Error::LeaseLost { .. } | record::Error::Conflict { .. })
}
