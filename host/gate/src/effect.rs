//! Effects at the door: what names one, what a drill gives back for one, and how one that nobody knows the outcome
//! of becomes known: read back ([`Gate::read_back`]), or stated by a person ([`Gate::state_effect`]).
//!
//! Always holds: reading back is a call like any other, admitted and receipted; what it says is judged by
//! `fold::effect::recall`; whatever is learned is decided on the effect as it stands in that moment, so what two
//! hosts or a host and a person say at once is taken once. Deliberately absent: sending anything again.

mod state;

pub use state::{SAW_BYTES_MAX, StateError};

use crate::call::{Call, Payload};
use crate::catalogue::recall_tool;
use crate::outcome::owners;
use crate::pass::{Gate, GateError, Passed};
use crate::permit::Admission;
use crate::reach::{FailureKind, Output};
use event::{
    Actor, EffectFailed, EffectId, EffectIntended, EffectRecalled, EffectSent, Event, EventId, Expected,
    Fact, Label, Origin, Personal, Position, PrincipalId, Proposed, ReadBack, RequestAsked, RequestId,
    SeatId, StreamName, Timestamp, Topic,
};
use fold::effect::recall::{Follows, follows};
use fold::effect::{EffectRow, EffectState, Effects, Recalling, effect_id, meaning, stream};
use fold::request::Requests;
use fold::turn::{TurnRow, Turns};
use fold::{Projection, decode};
use record::{Append, Decided, Fence, RowKey};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What reading back is: the kind of the duty.
pub const RECALL: &str = "recall";

/// Events of the calls that read one effect back: six tries leave about thirty.
const STORY_EVENTS_MAX: usize = 256;

/// How long a person has to say what became of an effect, before the request lapses: a day and a night, so that
/// whoever comes to work finds it.
const PERSON_MS: i64 = 24 * 60 * 60 * 1_000;

/// Who reads effects back, and who is asked when that tells nothing.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The system seat that makes the call.
    pub seat: SeatId,
    /// The seat that is asked.
    pub holder: SeatId,
    /// The lease under which it is done.
    pub fence: Option<Fence>,
}

/// What came of reading back.
#[derive(Clone, Debug, PartialEq)]
pub enum Recalled {
    /// It happened: `effect.sent` stands.
    Sent,
    /// It did not happen: `effect.failed` stands.
    Failed,
    /// Not known yet; it is read back again at this moment.
    Again(Timestamp),
    /// Nobody can tell but a person: a request stands.
    Person,
    /// There was nothing to read back: its outcome is known, or somebody else did.
    NotWanted,
}

/// What a drill gives back for an effect: the result of a call that worked, and says that nothing was sent.
#[must_use]
pub fn captured(effect: &EffectId) -> Value {
    json!({"captured": effect, "note": "this is a drill: the call was let through, and nothing was sent"})
}

/// What one reading back told.
struct Told {
    said: ReadBack,
    reason: Personal<String>,
    /// Whether reading it back again might tell more.
    helps: bool,
    origin: Origin,
}

impl Gate {
    /// The name of the effect that `call` is, when it is one.
    pub(crate) fn effect_of(&self, call: &Call, admission: &Admission) -> Option<EffectId> {
        let exact = || self.parts.catalogue.tool(&call.tool).is_some_and(|spec| spec.exact);
        let name = || effect_id(&call.origin, &call.tool, &meaning(call.input(), exact()));
        admission.effect.is_effect().then(name)
    }

    /// Where an effect stands.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn effect(&self, effect: &EffectId) -> Result<Option<EffectRow>, GateError> {
        Ok(decode(self.parts.record.row(Effects.name(), effect.as_str()).await?.as_ref()))
    }

    /// Reads back an unknown effect and writes down what follows: that it happened, that it did not, when it is read
    /// back again, or that a person is asked.
    ///
    /// # Errors
    /// [`GateError`]; the effect is due as before.
    pub async fn read_back(&self, effect: &EffectId, reader: &Reader) -> Result<Recalled, GateError> {
        let Some(row) = self.effect(effect).await?.filter(|row| row.state == EffectState::Unknown) else {
            return Ok(Recalled::NotWanted);
        };
        let Some(recalling) = row.recalling.clone().filter(|recalling| recalling.next_at.is_some()) else {
            return Ok(Recalled::NotWanted);
        };
        let intended = self.intended(&row).await?;
        let told = self.ask_back(effect, &row, &recalling, intended.as_ref(), reader).await?;
        let of = |(event, body): &(Event, EffectIntended)| owners(&event.label, body.account.as_ref());
        let label = intended.as_ref().map_or_else(Label::unknown, of);
        self.write_back((effect, &row), &recalling, told, label, reader).await
    }

    /// The event that intended it, and its body.
    pub(crate) async fn intended(
        &self,
        row: &EffectRow,
    ) -> Result<Option<(Event, EffectIntended)>, GateError> {
        let Some(id) = &row.intended_as else { return Ok(None) };
        let event = self.parts.record.event(id).await?;
        Ok(event.and_then(|event| match event.fact.clone() {
            Fact::EffectIntended(body) => Some((event, body)),
            _ => None,
        }))
    }

    /// Makes the call that reads it back, where one can be made.
    async fn ask_back(
        &self,
        effect: &EffectId,
        row: &EffectRow,
        recalling: &Recalling,
        intended: Option<&(Event, EffectIntended)>,
        reader: &Reader,
    ) -> Result<Told, GateError> {
        let attempt = self.tried(&recalling.unknown_as).await?.saturating_add(1);
        let origin = duty(&recalling.unknown_as, attempt);
        let cannot = |reason: String| Told {
            said: ReadBack::CannotSay,
            reason: reason.into(),
            helps: false,
            origin: origin.clone(),
        };
        let spec = self.parts.catalogue.tool(&row.tool).filter(|spec| spec.recall);
        let Some(spec) = spec else {
            return Ok(cannot(format!("nothing that is loaded reads back `{}`", row.tool)));
        };
        let Some((event, body)) = intended else {
            return Ok(cannot("the record does not hold what was sent".to_owned()));
        };
        let Some(input) = body.input.value() else {
            return Ok(cannot("what was sent is erased, so nothing is there to look for".to_owned()));
        };
        let of: BTreeSet<PrincipalId> = body.input.subjects().clone();
        let mut asked = json!({
            "tool": row.tool, "key": effect, "input": input, "around_ms": row.intended_at.0,
        });
        if let (Some(team), Some(fields)) = (self.workspace_of(row, body).await?, asked.as_object_mut()) {
            fields.insert("team".to_owned(), Value::String(team));
        }
        let call = Call {
            origin: origin.clone(),
            label: event.label.clone(),
            of: of.clone(),
            // Looking needs the same account as doing it did.
            asker: body.account.clone(),
            fence: reader.fence.clone(),
            ..Call::duty(
                reader.seat.clone(),
                (&recalling.unknown_as, RECALL, attempt),
                &recall_tool(&spec.plugin),
                Payload::Tool(asked),
            )
        };
        let (said, reason, helps) = understood(Box::pin(self.pass(call, None)).await?);
        Ok(Told { said, reason: Personal::of(reason, of), helps, origin })
    }

    /// The workspace that an effect was made in, where its arguments do not say; nothing where it was made in none. Where
    /// an older host did not write it down, the topic of its turn says so.
    async fn workspace_of(
        &self,
        row: &EffectRow,
        body: &EffectIntended,
    ) -> Result<Option<String>, GateError> {
        if body.workspace.is_some() || body.input.json().get("team").is_some() {
            return Ok(body.workspace.clone());
        }
        let Some(turn) = row.origin.turn() else { return Ok(None) };
        let turn: Option<TurnRow> =
            decode(self.parts.record.row(Turns.name(), turn.as_str()).await?.as_ref());
        Ok(turn.and_then(|turn| turn.topic.workspace().map(str::to_owned)))
    }

    /// The number of the last try that stands on the record, whoever made it; 0 when there was none. A host that was
    /// killed while it read back leaves one that came to nothing.
    async fn tried(&self, unknown_as: &EventId) -> Result<u32, GateError> {
        let stream = stream(&duty(unknown_as, 1));
        let events = self.parts.record.read_stream(&stream, Position(1), STORY_EVENTS_MAX).await?;
        let tries = events.iter().filter_map(|event| match &event.fact {
            Fact::CallAdmitted(body) => Some(body.origin.attempt()),
            Fact::CallDenied(body) => Some(body.origin.attempt()),
            Fact::CallRefused(body) => Some(body.origin.attempt()),
            _ => None,
        });
        Ok(tries.max().unwrap_or_default())
    }

    /// Appends what follows from what was told, unless the effect stands otherwise by now.
    async fn write_back(
        &self,
        (effect, row): (&EffectId, &EffectRow),
        recalling: &Recalling,
        told: Told,
        label: Label,
        reader: &Reader,
    ) -> Result<Recalled, GateError> {
        let request = request_id(&recalling.unknown_as);
        let reads = vec![
            RowKey::new(Effects.name(), effect.as_str()),
            RowKey::new(Requests.name(), request.as_str()),
        ];
        let (effect, row, recalling) = (effect.clone(), row.clone(), recalling.clone());
        let writing = Writing { effect, row, recalling, told, label, reader: reader.clone(), request };
        let decided = self
            .parts
            .record
            .decide(reads, move |rows, now| {
                let stands: Option<EffectRow> = rows.state(Effects.name(), writing.effect.as_str());
                let same = stands.is_some_and(|stands| stands.recalling.as_ref() == Some(&writing.recalling));
                let asked = rows.get(Requests.name(), writing.request.as_str()).is_some();
                let outcome =
                    if same { writing.appends(asked, now) } else { (Vec::new(), Recalled::NotWanted) };
                Ok::<_, std::convert::Infallible>(outcome)
            })
            .await?;
        match decided {
            Decided::Appended { value, .. } => Ok(value),
            Decided::Rejected(never) => match never {},
        }
    }
}

/// What is decided inside the writer when an effect was read back.
struct Writing {
    effect: EffectId,
    row: EffectRow,
    recalling: Recalling,
    told: Told,
    label: Label,
    reader: Reader,
    request: RequestId,
}

impl Writing {
    fn appends(self, asked: bool, now: Timestamp) -> (Vec<Append>, Recalled) {
        let tries = self.recalling.tries.saturating_add(1);
        let follows = follows(&self.told.said, self.recalling.since, tries, self.told.helps, now);
        let again_at = if let Follows::Again(at) = follows { Some(at) } else { None };
        let effect = self.effect.clone();
        let recalled = EffectRecalled {
            effect: effect.clone(),
            origin: self.told.origin.clone(),
            said: self.told.said.clone(),
            reason: self.told.reason.clone(),
            again_at,
        };
        let mut events = vec![self.say("recalled", recalled.into())];
        let outcome = match follows {
            Follows::Sent(reference) => {
                events.push(self.say("sent", EffectSent { effect, reference }.into()));
                Recalled::Sent
            }
            Follows::Failed => {
                let reason = "it was read back and is not there, and nothing can arrive any more".to_owned();
                events.push(self.say("failed", EffectFailed { effect, reason: reason.into() }.into()));
                Recalled::Failed
            }
            Follows::Again(at) => Recalled::Again(at),
            Follows::Person => Recalled::Person,
        };
        let fence = self.reader.fence.clone();
        let own = Append { stream: stream(&self.row.origin), expected: Expected::Any, events, fence };
        let request = if outcome == Recalled::Person && !asked { self.ask(now) } else { None };
        ([own].into_iter().chain(request).collect(), outcome)
    }

    fn say(&self, what: &str, fact: Fact) -> Proposed {
        Proposed {
            id: EventId::derived(&[&self.told.origin.to_string(), "effect", what]),
            actor: Actor { principal: PrincipalId::gate(), seat: Some(self.reader.seat.clone()) },
            cause: Some(self.recalling.unknown_as.clone()),
            label: self.label.clone(),
            fact,
        }
    }

    /// The request to a person. It names the effect and quotes nobody: what was to be sent is looked up by its id.
    fn ask(&self, now: Timestamp) -> Option<Append> {
        let effect = &self.effect;
        let wanted = format!(
            "Nobody knows whether a call of `{}` happened, and it cannot be read back. Look where it goes, then say \
             what you saw: chancery effect show {effect}, then chancery effect settle {effect} --happened or \
             --did-not-happen",
            self.row.tool
        );
        let asked = RequestAsked {
            request: self.request.clone(),
            asker: self.reader.seat.clone(),
            holder: self.reader.holder.clone(),
            topic: Topic::parse(&format!("effect:{effect}")).ok()?,
            wanted: wanted.into(),
            due_at: now.plus_ms(PERSON_MS),
        };
        let fact = fold::request::decide(None, fold::request::Command::Ask(asked), now).ok()?;
        let event = Proposed { label: Label::host(), ..self.say("request", fact) };
        Some(Append::new(StreamName::new("request", &self.request), Expected::Any, vec![event]))
    }
}

fn duty(unknown_as: &EventId, attempt: u32) -> Origin {
    Origin::Duty { event: unknown_as.clone(), kind: RECALL.to_owned(), attempt }
}

/// The request that a person say what became of the effect that was left unknown by this event.
#[must_use]
pub fn request_id(unknown_as: &EventId) -> RequestId {
    RequestId::derived(&[unknown_as.as_str(), "effect"])
}

/// What a call that reads back came to: what it says, why it says no more, and whether another try might.
fn understood(passed: Passed) -> (ReadBack, String, bool) {
    let cannot = |reason: String, helps: bool| (ReadBack::CannotSay, reason, helps);
    match passed {
        Passed::Done { output: Output::Tool(output), .. } => said(&output),
        Passed::Done { .. } => cannot("a model answered where a tool was called".to_owned(), false),
        Passed::Failed { failure, .. } => {
            let gone = matches!(failure.kind, FailureKind::InvalidInput);
            cannot(failure.message, !gone)
        }
        Passed::Denied(denial) => cannot(format!("reading it back is denied: {}", denial.reason), false),
        Passed::Refused(refusal) => cannot(format!("reading it back is refused: {}", refusal.reason), true),
        Passed::Waits { approval, .. } => {
            cannot(format!("reading it back waits for a yes itself (`{approval}`)"), false)
        }
        Passed::Unknown { reason } => cannot(reason, true),
    }
}

/// What a plugin says: `{"found": reference}`, `{"absent": true}` or `{"cannot_say": why}`.
fn said(output: &Value) -> (ReadBack, String, bool) {
    if let Some(reference) = output.get("found") {
        return (ReadBack::Found { reference: reference.clone() }, String::new(), true);
    }
    if output.get("absent") == Some(&Value::Bool(true)) {
        return (ReadBack::Absent, String::new(), true);
    }
    let why = output.get("cannot_say").and_then(Value::as_str).unwrap_or("its plugin says nothing");
    (ReadBack::CannotSay, why.to_owned(), true)
}
