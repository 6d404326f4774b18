//! The loop: decide, record, pass the gate, record, again.
//!
//! A step is recorded as it starts and as it ends, under the lease. Between the two stands the gate's own
//! account of the call. A run that stops anywhere is taken up by calling [`run`] again.

use crate::context::{label, request};
use crate::door::Door;
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
use event::{Label, Origin, StepEnded, StepKind, StepStarted, TurnEnded, TurnEnding, TurnId, TurnOpened};
use gate::{Call, InferRequest, Payload, ToolCall};
use record::Fence;
use serde_json::{Value, json};

/// Runs `turn` to its end, from wherever the record says it stands, under the lease that `fence` names. The
/// caller renews the lease meanwhile. A turn that has ended is not run again.
///
/// # Errors
/// [`Error::LeaseLost`] when another runs it; otherwise what stopped it, and the same turn can be run again.
pub async fn run<D: Door + ?Sized>(
    parts: &TurnParts<D>,
    turn: &TurnId,
    fence: Fence,
) -> Result<TurnEnding, Error> {
    let mut stream = TurnStream::load(&parts.record, turn, fence).await?;
    let opened = stream.state.opened.clone().ok_or_else(|| Error::NoTurn(turn.clone()))?;
    if let Some(ended) = &stream.state.ended {
        return Ok(ended.ending);
    }
    let scene = Scene::load(parts, &opened, &stream.state).await?;
    let running = Running { parts, opened: &opened, scene: &scene };
    // Ends because every pass ends a step, and `next` ends the turn when the steps are spent.
    loop {
        let (next, label) = running.decide(&stream)?;
        match next {
            Next::End(end) => return running.end(&mut stream, end, label).await,
            Next::Infer { step, offer, left, wait_ms } => {
                parts.pace.wait(wait_ms).await;
                running.infer(&mut stream, step, (offer, left), label).await?;
            }
            Next::Tool { step, call, offered } => {
                running.tool(&mut stream, step, call, offered, label).await?
            }
            Next::Send { step, tool, input, wait_ms } => {
                parts.pace.wait(wait_ms).await;
                let planned = Planned { step, kind: StepKind::Send, tool, input, call_id: None, label };
                let payload = Payload::Tool(planned.input.clone());
                running.pass(&mut stream, planned, payload).await?;
            }
        }
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
    ) -> Result<(), Error> {
        let tools = on_offer(self.parts.catalogue.as_ref(), &self.scene.seat, self.parts.answer_tools, offer);
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
    ) -> Result<(), Error> {
        let ToolCall { id, name, input } = call;
        let planned = Planned { step, kind: StepKind::Tool, tool: name, input, call_id: Some(id), label };
        if offered {
            let payload = Payload::Tool(planned.input.clone());
            return self.pass(stream, planned, payload).await;
        }
        let attempt = self.start(stream, &planned).await?;
        let denied = not_offered(&planned.tool, &planned.label);
        self.ended(stream, &planned, attempt, denied).await
    }

    /// One step: it starts, passes the gate, and ends.
    async fn pass(&self, stream: &mut TurnStream, planned: Planned, payload: Payload) -> Result<(), Error> {
        let attempt = self.start(stream, &planned).await?;
        let call = Call {
            origin: Origin::Step { turn: stream.turn.clone(), step: planned.step, attempt },
            seat: self.opened.seat.clone(),
            tool: planned.tool.clone(),
            payload,
            label: planned.label.clone(),
            cause: stream.newest().clone(),
            fence: Some(stream.fence.clone()),
        };
        let deltas = match (&self.parts.deltas, planned.kind) {
            (Some(deltas_for), StepKind::Infer) => Some(deltas_for(&stream.turn, planned.step)),
            _ => None,
        };
        let passed = self.parts.door.pass(call, deltas).await?;
        let out = came_out(planned.kind, passed, &planned.label);
        self.ended(stream, &planned, attempt, out).await
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
            input: planned.input.clone(),
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
            output: out.output,
            output_label: out.label,
            receipts: out.receipts,
        };
        let name = [planned.step.to_string(), attempt.to_string()];
        stream.append(&self.scene.actor, &name, label, fact.into()).await
    }

    async fn end(&self, stream: &mut TurnStream, end: End, label: Label) -> Result<TurnEnding, Error> {
        let End { ending, summary, sources } = end;
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
