//! The loop: decide, record, pass the gate, record, again.
//!
//! A step is recorded as it starts and as it ends, under the lease. Between the two stands the gate's own
//! account of the call. A run that stops anywhere is taken up by calling [`run`] again.

use crate::context::{label, request};
use crate::door::Door;
use crate::erased::{WHY, is_erased};
use crate::error::Error;
use crate::next::{End, Next, Offer, next};
use crate::pace::ATTEMPTS_MAX;
use crate::parts::TurnParts;
use crate::scene::{MESSAGES, Scene};
use crate::step::{CameOut, came_out, not_kept, not_offered};
use crate::stream::TurnStream;
use crate::tools::on_offer;
use crate::trail::Trail;
use event::canon::canonical_digest;
use event::{
    ApprovalId, Label, Origin, Personal, PrincipalId, ReceiptId, StepEnded, StepKind, StepStarted, TurnEnded,
    TurnEnding, TurnId, TurnOpened,
};
use gate::{Call, InferRequest, Payload, ToolCall};
use record::Fence;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How far a run of a turn came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// To its end.
    Ended(TurnEnding),
    /// To a call that waits for a person's yes. The step has no end; once somebody has answered, the turn goes on
    /// with it as its next attempt. Waiting costs no step and no lease.
    Waits(ApprovalId),
}

impl Ran {
    /// How the turn ended, when it has.
    #[must_use]
    pub fn ending(self) -> Option<TurnEnding> {
        match self {
            Self::Ended(ending) => Some(ending),
            Self::Waits(_) => None,
        }
    }
}

/// Runs `turn` to its end, or to a call that waits for a person, from wherever the record says it stands, under the lease that `fence` names. The
/// caller renews the lease meanwhile. A turn that has ended is not run again.
///
/// # Errors
/// [`Error::LeaseLost`] when another runs it; otherwise what stopped it, and the same turn can be run again.
pub async fn run<D: Door + ?Sized>(parts: &TurnParts<D>, turn: &TurnId, fence: Fence) -> Result<Ran, Error> {
    let mut stream = TurnStream::load(&parts.record, turn, fence).await?;
    let opened = stream.state.opened.clone().ok_or_else(|| Error::NoTurn(turn.clone()))?;
    if let Some(ended) = &stream.state.ended {
        return Ok(Ran::Ended(ended.ending));
    }
    let scene = Scene::load(parts, &opened, &stream.state).await?;
    let running = Running { parts, opened: &opened, scene: &scene };
    match running.go_on(&mut stream).await {
        // Words of it were erased between two looks.
        Err(Error::Record(record::Error::Erased { .. })) => running.end_erased(&mut stream).await,
        other => other,
    }
}

/// A turn while this host runs it.
struct Running<'a, D: ?Sized> {
    parts: &'a TurnParts<D>,
    opened: &'a TurnOpened,
    scene: &'a Scene,
}

/// One step as it is about to start.
struct Planned {
    step: u32,
    kind: StepKind,
    tool: String,
    input: Value,
    call_id: Option<String>,
    /// The join of the labels of everything the asker has read.
    label: Label,
}

impl<D: Door + ?Sized> Running<'_, D> {
    /// The persons whose words the turn has been shown: what it writes down may repeat them.
    fn of(&self, stream: &TurnStream) -> BTreeSet<PrincipalId> {
        let ended = stream.state.steps.values().filter_map(|step| step.ended.as_ref());
        let shown = ended.flat_map(|ended| ended.output.subjects());
        self.scene.of.iter().chain(shown).cloned().collect()
    }

    /// Step by step, to its end or to a call that waits for a person.
    async fn go_on(&self, stream: &mut TurnStream) -> Result<Ran, Error> {
        // Ends because every pass ends a step, and `next` ends the turn when the steps are spent.
        loop {
            if is_erased(self.scene, &stream.state) {
                return self.end_erased(stream).await;
            }
            let (next, label) = self.decide(stream)?;
            let waits = match next {
                Next::End(end) => return self.end(stream, end, label).await.map(Ran::Ended),
                Next::Infer { step, offer, left, wait_ms } => {
                    self.parts.pace.wait(wait_ms).await;
                    self.infer(stream, step, (offer, left), label).await?
                }
                Next::Tool { step, call, offered } => self.tool(stream, step, call, offered, label).await?,
                Next::Send { step, tool, input, wait_ms } => {
                    self.parts.pace.wait(wait_ms).await;
                    let planned = Planned { step, kind: StepKind::Send, tool, input, call_id: None, label };
                    let payload = Payload::Tool(planned.input.clone());
                    self.pass(stream, planned, payload).await?
                }
            };
            if let Some(approval) = waits {
                tracing::info!(turn = %stream.turn, %approval, "turn waits for a person");
                return Ok(Ran::Waits(approval));
            }
        }
    }

    /// What comes next, and the label of everything read so far.
    fn decide(&self, stream: &TurnStream) -> Result<(Next, Label), Error> {
        let trail = Trail::of(self.opened, &stream.state)?;
        let next = match next(&trail) {
            Next::End(end) => Next::End(end),
            step if stream.state.next_attempt(trail.last.saturating_add(1)) > ATTEMPTS_MAX => given_up(&step),
            step => step,
        };
        Ok((next, label(self.scene, &trail)))
    }

    async fn infer(
        &self,
        stream: &mut TurnStream,
        step: u32,
        (offer, left): (Offer, u32),
        label: Label,
    ) -> Result<Option<ApprovalId>, Error> {
        let (seat, answer_tools) = (&self.scene.seat, self.parts.answer_tools);
        let tools = on_offer(self.parts.catalogue.as_ref(), seat, answer_tools, offer, self.scene.manner);
        let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
        let output_tokens_max =
            self.parts.catalogue.model(&self.opened.model).map(|model| model.output_tokens_max);
        let trail = Trail::of(self.opened, &stream.state)?;
        let request = request(self.scene, &trail, tools, (offer, left), output_tokens_max);
        // What the request is made of stands in the record; only what does not is kept here.
        let mut input = json!({"offered": names, "steps_left": left, "request": digest_of(&request)});
        if let (1, Some(fields)) = (step, input.as_object_mut()) {
            fields.insert(MESSAGES.to_owned(), json!(self.scene.positions));
        }
        let tool = self.opened.model.clone();
        let planned = Planned { step, kind: StepKind::Infer, tool, input, call_id: None, label };
        self.pass(stream, planned, Payload::Infer(request)).await
    }

    async fn tool(
        &self,
        stream: &mut TurnStream,
        step: u32,
        call: ToolCall,
        offered: bool,
        label: Label,
    ) -> Result<Option<ApprovalId>, Error> {
        let ToolCall { id, name, input } = call;
        let planned = Planned { step, kind: StepKind::Tool, tool: name, input, call_id: Some(id), label };
        if offered {
            let payload = Payload::Tool(planned.input.clone());
            return self.pass(stream, planned, payload).await;
        }
        let attempt = self.start(stream, &planned).await?;
        let denied = not_offered(&planned.tool, &planned.label);
        self.ended(stream, &planned, attempt, denied).await?;
        Ok(None)
    }

    /// One step: it starts, passes the gate, and ends; or it waits for the approval that comes back.
    async fn pass(
        &self,
        stream: &mut TurnStream,
        planned: Planned,
        payload: Payload,
    ) -> Result<Option<ApprovalId>, Error> {
        let attempt = self.start(stream, &planned).await?;
        let call = Call {
            origin: Origin::Step { turn: stream.turn.clone(), step: planned.step, attempt },
            seat: self.opened.seat.clone(),
            tool: planned.tool.clone(),
            topic: Some(self.opened.topic.clone()),
            asker: self.scene.asker.clone(),
            goal: None,
            payload,
            label: planned.label.clone(),
            of: self.of(stream),
            cause: stream.newest().clone(),
            fence: Some(stream.fence.clone()),
            within: Vec::new(),
            drill: self.opened.drill,
        };
        let deltas = match (&self.parts.deltas, planned.kind) {
            (Some(deltas_for), StepKind::Infer) => Some(deltas_for(&stream.turn, planned.step)),
            _ => None,
        };
        let passed = self.parts.door.pass(call, deltas).await?;
        let out = match came_out(planned.kind, passed, &planned.label) {
            Ok(out) => out,
            Err(approval) => return Ok(Some(approval)),
        };
        self.ended(stream, &planned, attempt, out).await?;
        Ok(None)
    }

    async fn start(&self, stream: &mut TurnStream, planned: &Planned) -> Result<u32, Error> {
        let attempt = stream.state.next_attempt(planned.step);
        tracing::debug!(turn = %stream.turn, step = planned.step, attempt, tool = planned.tool, "step starts");
        let fact = StepStarted {
            turn: stream.turn.clone(),
            step: planned.step,
            attempt,
            kind: planned.kind,
            tool: planned.tool.clone(),
            input: Personal::of(planned.input.clone(), self.of(stream)),
            call_id: planned.call_id.clone(),
        };
        let name = [planned.step.to_string(), attempt.to_string()];
        stream.append(&self.scene.actor, &name, planned.label.clone(), fact.into()).await?;
        Ok(attempt)
    }

    async fn ended(
        &self,
        stream: &mut TurnStream,
        planned: &Planned,
        attempt: u32,
        out: CameOut,
    ) -> Result<(), Error> {
        match self.end_step(stream, planned, attempt, out).await {
            Err(Error::Record(
                why @ (record::Error::Inexact { .. }
                | record::Error::Unreadable { .. }
                | record::Error::TooLarge { .. }),
            )) => self.end_step(stream, planned, attempt, not_kept(&why, &planned.label)).await,
            other => other,
        }
    }

    async fn end_step(
        &self,
        stream: &mut TurnStream,
        planned: &Planned,
        attempt: u32,
        out: CameOut,
    ) -> Result<(), Error> {
        let label = out.label.clone();
        let fact = StepEnded {
            turn: stream.turn.clone(),
            step: planned.step,
            attempt,
            outcome: out.outcome,
            output: Personal::of(out.output, self.of(stream).into_iter().chain(out.quotes)),
            output_label: out.label,
            receipts: out.receipts,
        };
        let name = [planned.step.to_string(), attempt.to_string()];
        stream.append(&self.scene.actor, &name, label, fact.into()).await
    }

    async fn end(&self, stream: &mut TurnStream, end: End, label: Label) -> Result<TurnEnding, Error> {
        let End { ending, summary, sources } = end;
        let summary = Personal::of(summary, self.of(stream));
        self.end_as(stream, (ending, summary, sources), label).await
    }

    /// Ends it with a sentence of the office's own: there is nothing left that it could say.
    async fn end_erased(&self, stream: &mut TurnStream) -> Result<Ran, Error> {
        let end = (TurnEnding::Failed, WHY.into(), Vec::new());
        self.end_as(stream, end, Label::host()).await.map(Ran::Ended)
    }

    async fn end_as(
        &self,
        stream: &mut TurnStream,
        (ending, summary, sources): (TurnEnding, Personal<String>, Vec<ReceiptId>),
        label: Label,
    ) -> Result<TurnEnding, Error> {
        tracing::info!(turn = %stream.turn, ?ending, "turn ended");
        let (turn, topic) = (stream.turn.clone(), self.opened.topic.clone());
        let fact = TurnEnded { turn, topic, ending, summary, sources };
        stream.append(&self.scene.actor, &[], label, fact.into()).await?;
        Ok(ending)
    }
}

fn digest_of(request: &InferRequest) -> event::Digest {
    // Serialising plain records of strings and integers cannot fail.
    canonical_digest(&serde_json::to_value(request).unwrap_or(Value::Null))
}

/// A step that was begun again and again and never ended takes the host down with it, or is taken down by it.
fn given_up(step: &Next) -> Next {
    let what = match step {
        Next::Infer { .. } => "asking the model",
        Next::Tool { .. } => "a call of a tool",
        Next::Send { .. } | Next::End(_) => "the send of the answer",
    };
    Next::End(End {
        ending: TurnEnding::Failed,
        summary: format!("{what} was begun {ATTEMPTS_MAX} times and never ended"),
        sources: Vec::new(),
    })
}
