//! A person says what became of an effect: the last word where reading back has none.
//!
//! Who may is policy: whoever may answer for a call of the tool. The statement stands in the person's name, and what
//! follows from it, that the effect was sent or failed, stands beside it in the same commit.

use super::request_id;
use crate::approval::AnswerError;
use crate::pass::{Gate, GateError};
use event::{
    Actor, EffectFailed, EffectId, EffectSent, EffectStated, Event, EventId, Expected, Fact, Label, Personal,
    PrincipalId, Proposed, RequestId, SeatId, StreamName, Timestamp,
};
use fold::effect::{EffectRow, EffectState, Effects, stream};
use fold::request::{Command, RequestRow, Requests};
use fold::{Projection, decode};
use record::{Append, Decided, RowKey, Rows};
use serde_json::Value;

/// Longest account of what somebody saw, in bytes: a paragraph.
pub const SAW_BYTES_MAX: usize = 2 * 1024;

/// Why a person's statement is not taken. Each is something to tell them.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// There is no such effect.
    #[error("the record has no effect `{0}`: `chancery effect list` shows what is not known")]
    NoSuch(EffectId),
    /// Its outcome is known, or it may still be under way.
    #[error("nobody has to say what became of `{effect}`: it is {state:?}")]
    Known {
        /// The effect.
        effect: EffectId,
        /// Where it stands.
        state: EffectState,
    },
    /// What they saw is not said, or too long.
    #[error("what you saw is said in 1 to {SAW_BYTES_MAX} bytes, and not in {0}")]
    Length(usize),
    /// They may not answer for it, or the gate could not be used.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

impl From<GateError> for StateError {
    fn from(error: GateError) -> Self {
        Self::Answer(error.into())
    }
}

impl From<record::Error> for StateError {
    fn from(error: record::Error) -> Self {
        Self::Answer(GateError::from(error).into())
    }
}

impl Gate {
    /// Takes a person's word that an unknown effect happened, or did not, with what they saw. Where a request for it
    /// stands open, it is answered.
    ///
    /// # Errors
    /// [`StateError`], for whoever says it.
    pub async fn state_effect(
        &self,
        effect: &EffectId,
        by: &PrincipalId,
        happened: bool,
        saw: &str,
    ) -> Result<Vec<Event>, StateError> {
        let row = self.effect(effect).await?.ok_or_else(|| StateError::NoSuch(effect.clone()))?;
        if !(1..=SAW_BYTES_MAX).contains(&saw.trim().len()) {
            return Err(StateError::Length(saw.trim().len()));
        }
        let seat = self.may_state(&row, by).await?;
        let unknown_as = row.recalling.as_ref().map(|recalling| recalling.unknown_as.clone());
        let request = unknown_as.as_ref().map(request_id);
        let reads = [RowKey::new(Effects.name(), effect.as_str())]
            .into_iter()
            .chain(request.iter().map(|request| RowKey::new(Requests.name(), request.as_str())));
        let reads = reads.collect();
        let saw = Personal::of(saw.trim().to_owned(), [by.clone()]);
        let (by, effect) = (by.clone(), effect.clone());
        let stated = EffectStated { effect, happened, by, seat, saw };
        let statement = Statement { stated, row, unknown_as, request };
        let decided = self.parts.record.decide(reads, move |rows, now| statement.appends(rows, now)).await?;
        match decided {
            Decided::Appended { events, .. } => Ok(events),
            Decided::Rejected(why) => Err(why),
        }
    }

    /// The seat in which `by` may say what became of it.
    async fn may_state(&self, row: &EffectRow, by: &PrincipalId) -> Result<SeatId, StateError> {
        let spec = self.parts.catalogue.tool(&row.tool);
        let intended = self.intended(row).await?;
        let input = intended.as_ref().and_then(|(_, body)| body.input.value());
        let resource = spec.as_ref().zip(input).and_then(|(spec, input)| {
            self.parts.catalogue.resource(spec, input).ok().map(|resource| resource.text().to_owned())
        });
        let class = spec.as_ref().map(|spec| spec.effect);
        let about = crate::approval::About {
            asker: row.seat.as_ref(),
            tool: &row.tool,
            resource: resource.as_deref().unwrap_or_default(),
            effect: class,
            origin: &row.origin,
        };
        Ok(self.entitled_to(&about, by).await?.0)
    }
}

/// What is decided inside the writer when a person has said what they saw.
struct Statement {
    stated: EffectStated,
    row: EffectRow,
    unknown_as: Option<EventId>,
    request: Option<RequestId>,
}

impl Statement {
    fn appends(self, rows: &Rows, now: Timestamp) -> Result<(Vec<Append>, ()), StateError> {
        let effect = self.stated.effect.clone();
        let stands: Option<EffectRow> = decode(rows.get(Effects.name(), effect.as_str()));
        let state = stands.map_or(self.row.state, |stands| stands.state);
        if state != EffectState::Unknown {
            return Err(StateError::Known { effect, state });
        }
        let by = self.stated.by.clone();
        let person = Actor { principal: by.clone(), seat: Some(self.stated.seat.clone()) };
        let gate = Actor { principal: PrincipalId::gate(), seat: None };
        let follows: Fact = if self.stated.happened {
            EffectSent { effect, reference: Value::Null }.into()
        } else {
            let reason = format!("`{by}` looked, and it did not happen");
            EffectFailed { effect, reason: reason.into() }.into()
        };
        let events = vec![
            self.say(person, "stated", self.stated.clone().into()),
            self.say(gate.clone(), "outcome", follows),
        ];
        let own = Append::new(stream(&self.row.origin), Expected::Any, events);
        let answered = self.answered(rows, gate, now);
        Ok(([own].into_iter().chain(answered).collect(), ()))
    }

    fn say(&self, actor: Actor, what: &str, fact: Fact) -> Proposed {
        let unknown_as = self.unknown_as.as_ref().map_or("", EventId::as_str);
        Proposed {
            id: EventId::derived(&[self.stated.effect.as_str(), unknown_as, what]),
            actor,
            cause: self.unknown_as.clone(),
            label: Label::host(),
            fact,
        }
    }

    /// The answer to the request that stands open for it.
    fn answered(&self, rows: &Rows, gate: Actor, now: Timestamp) -> Option<Append> {
        let request = self.request.as_ref()?;
        let open: RequestRow = decode(rows.get(Requests.name(), request.as_str()))?;
        let said = if self.stated.happened { "it happened" } else { "it did not happen" };
        let answer = format!("`{}` looked: {said}", self.stated.by);
        let command = Command::Answer { by: open.asked.holder.clone(), answer: answer.into() };
        let fact = fold::request::decide(Some(&open), command, now).ok()?;
        let event = self.say(gate, "answer", fact);
        Some(Append::new(StreamName::new("request", request), Expected::Any, vec![event]))
    }
}
