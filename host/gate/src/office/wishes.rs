//! What the seat of a call may wish: to look again, to ask another seat, to answer one.
//!
//! A wish is held against the record when it is made, and written with the outcome of its call, in one commit: nothing of
//! it stands before. Its names follow from the effect that the call is, so that the same wish is the same fact however
//! often it is made.

use super::{Given, no, unread};
use crate::reach::{Failure, FailureKind};
use event::{
    Actor, EffectId, EventId, Expected, Fact, Label, MomentSet, Personal, Proposed, RequestAsked, RequestId,
    SeatHeld, SeatId, StreamName, Timestamp,
};
use fold::request::{Command, RequestRow, Requests, decide};
use fold::seat::{SeatState, Seats, works};
use fold::setting::{self, Settings};
use fold::{Projection, decode};
use record::Append;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The latest moment at which a seat may want to look again, in minutes: a month, as at the end of a turn.
pub const LOOK_AGAIN_MINUTES_MAX: u32 = 44_640;
/// The longest that a request may wait for its answer, in minutes: a month.
pub const REQUEST_MINUTES_MAX: u32 = 44_640;
/// The most wishes of one call: a tool does one thing.
pub const WISHES_MAX: usize = 4;
/// How far a line of stand-ins is followed.
const STAND_INS_MAX: usize = 32;

/// What the seat of a call may wish.
pub struct Wishes {
    pub(super) given: Arc<Given>,
    pub(super) effect: EffectId,
}

impl Wishes {
    /// That the seat is woken about this again, so many minutes after the call; an earlier such wish is replaced. Says
    /// when.
    ///
    /// # Errors
    /// When the moment is none that may be set, or the call is about nothing.
    pub async fn look_again(&self, minutes: u32) -> Result<Timestamp, Failure> {
        let at = self.moment(minutes, LOOK_AGAIN_MINUTES_MAX)?;
        let (seat, topic) = (self.given.call.seat.clone(), self.topic()?);
        let stream = StreamName::new("moment", format!("{seat}|{topic}"));
        self.wish("moment.set", stream, Label::host(), MomentSet { seat, topic, at }.into()).await?;
        Ok(at)
    }

    /// That another seat answers something, by a moment so many minutes after the call. Gives the request's name.
    ///
    /// # Errors
    /// When there is no such seat, nobody works for it, or it is not to be asked so.
    pub async fn ask(&self, holder: &str, wanted: String, minutes: u32) -> Result<RequestId, Failure> {
        let due_at = self.moment(minutes, REQUEST_MINUTES_MAX)?;
        let holder = SeatId::parse(holder).map_err(|_| {
            no(FailureKind::InvalidInput, "a seat is named as `seat_…`, as the list of seats says")
        })?;
        if self.works(&holder).await?.is_none() {
            let message = format!("there is no seat `{holder}` that anybody works for now: ask another");
            return Err(no(FailureKind::NotFound, message));
        }
        let request = RequestId::derived(&[self.effect.as_str(), holder.as_str()]);
        let asked = RequestAsked {
            request: request.clone(),
            asker: self.given.call.seat.clone(),
            holder,
            topic: self.topic()?,
            wanted: self.given.call.personal(wanted),
            due_at,
        };
        let row = self.request(&request).await?;
        self.state(&request, row.as_ref(), Command::Ask(asked)).await?;
        Ok(request)
    }

    /// The answer to a request that the seat owes one to, or the seat it works for.
    ///
    /// # Errors
    /// When there is no such open request, or it is another's to answer.
    pub async fn answer(&self, request: &str, answer: String) -> Result<RequestId, Failure> {
        let request = RequestId::parse(request)
            .map_err(|_| no(FailureKind::InvalidInput, "a request is named as `req_…`"))?;
        let row = self.request(&request).await?;
        // What is another's is told as what is not there: a name that was guessed says nothing.
        let unknown = || no(FailureKind::NotFound, "there is no such request that is yours to answer");
        let holder = row.as_ref().map(|row| row.asked.holder.clone()).ok_or_else(unknown)?;
        let works = self.works(&holder).await?;
        let by = self.given.call.seat.clone();
        if by != holder && works.as_ref() != Some(&by) {
            return Err(unknown());
        }
        let answer: Personal<String> = self.given.call.personal(answer);
        self.state(&request, row.as_ref(), Command::AnswerInstead { by, works, answer }).await?;
        Ok(request)
    }

    async fn state(
        &self,
        request: &RequestId,
        row: Option<&RequestRow>,
        command: Command,
    ) -> Result<(), Failure> {
        let fact = decide(row, command, self.given.at)
            .map_err(|why| no(FailureKind::InvalidInput, why.to_string()))?;
        let label = self.given.call.label.clone();
        self.wish(fact.kind(), StreamName::new("request", request), label, fact).await
    }

    /// Keeps one wish, for the commit in which the call's outcome stands.
    async fn wish(&self, what: &str, stream: StreamName, label: Label, fact: Fact) -> Result<(), Failure> {
        let call = &self.given.call;
        let key = setting::holder(&call.seat);
        let held = self.given.record.row(Settings.name(), &key).await.map_err(|error| unread(&error))?;
        let held: Option<SeatHeld> = decode(held.as_ref());
        let vacant = || no(FailureKind::NotAllowed, "nobody holds the seat any more: it wishes nothing");
        let actor = Actor { principal: held.ok_or_else(vacant)?.principal, seat: Some(call.seat.clone()) };
        let mut kept = Ok(());
        self.given.take(|taken| {
            if taken.wishes.len() == WISHES_MAX {
                kept = Err(no(FailureKind::TooLarge, format!("one call wishes at most {WISHES_MAX} things")));
                return;
            }
            let ordinal = taken.wishes.len().to_string();
            let id = EventId::derived(&[self.effect.as_str(), what, &ordinal]);
            let event = Proposed { id, actor, cause: Some(call.cause.clone()), label, fact };
            let fence = call.fence.clone();
            taken.wishes.push(Append { stream, expected: Expected::Any, events: vec![event], fence });
        });
        kept
    }

    fn moment(&self, minutes: u32, minutes_max: u32) -> Result<Timestamp, Failure> {
        if !(1..=minutes_max).contains(&minutes) {
            let message = format!("a moment lies between 1 and {minutes_max} minutes ahead, not {minutes}");
            return Err(no(FailureKind::InvalidInput, message));
        }
        Ok(self.given.at.plus_ms(i64::from(minutes).saturating_mul(60_000)))
    }

    fn topic(&self) -> Result<event::Topic, Failure> {
        let none =
            || no(FailureKind::NotAllowed, "this call is about nothing that could be asked about again");
        self.given.topic().cloned().ok_or_else(none)
    }

    async fn request(&self, request: &RequestId) -> Result<Option<RequestRow>, Failure> {
        let row = self.given.record.row(Requests.name(), request.as_str()).await;
        Ok(decode(row.map_err(|error| unread(&error))?.as_ref()))
    }

    /// The seat that does the work of `seat` now; nothing when nobody does, or there is no such seat.
    async fn works(&self, seat: &SeatId) -> Result<Option<SeatId>, Failure> {
        let mut known = BTreeMap::new();
        let mut next = Some(seat.clone());
        while let Some(id) = next.take().filter(|id| !known.contains_key(id) && known.len() < STAND_INS_MAX) {
            let row = self.given.record.row(Seats.name(), id.as_str()).await;
            let state: Option<SeatState> = decode(row.map_err(|error| unread(&error))?.as_ref());
            next =
                state.as_ref().filter(|state| state.holder.is_none()).and_then(|state| state.next().cloned());
            known.insert(id, state);
        }
        let Ok(works) = works(seat, |id| Ok::<_, std::convert::Infallible>(known.get(id).cloned().flatten()));
        Ok(works)
    }
}
