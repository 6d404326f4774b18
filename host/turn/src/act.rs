//! The steps of a turn, each recorded as it starts and as it ends: asking the model, calling tools, sending.
//!
//! Tools that change nothing and are wanted in one answer run at once, each through the gate by itself; their ends are
//! written in the order of the calls. A model, and a tool that changes nothing, is let go of when somebody says stop; an
//! effect never is.

use crate::compact;
use crate::door::Door;
use crate::error::Error;
use crate::inbox::interrupted;
use crate::next::{Asking, Wanted};
use crate::pace::TOOLS_AT_ONCE_MAX;
use crate::run::Running;
use crate::scene::MESSAGES;
use crate::step::{self, CameOut, came_out, not_attached, not_kept, not_offered};
use crate::stream::{Said, TurnStream};
use crate::tools::on_offer;
use crate::trail::Trail;
use event::canon::canonical_digest;
use event::{
    ApprovalId, GlobalPosition, Label, Origin, Personal, ReceiptId, StepEnded, StepKind, StepStarted, TurnId,
};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream as streams};
use gate::{Call, EffectClass, InferRequest, Passed, Payload};
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::Instrument;

/// One step as it is about to start.
struct Planned {
    step: u32,
    kind: StepKind,
    tool: String,
    input: Value,
    call_id: Option<String>,
    /// The join of the labels of everything the asker has read.
    label: Label,
    /// Receipts of what the step stands for.
    receipts: Vec<ReceiptId>,
}

/// A step that has started: what is passed, or what came of it without passing anything.
enum Passing {
    Call(Box<Call>),
    Out(CameOut),
}

impl<D: Door + ?Sized> Running<'_, D> {
    /// Asks the model, or has older rounds said shortly first where they no longer fit.
    pub(crate) async fn infer(
        &self,
        stream: &mut TurnStream,
        asking: Asking,
        label: Label,
        news: watch::Receiver<GlobalPosition>,
    ) -> Result<Option<ApprovalId>, Error> {
        let (planned, request) = {
            let trail = Trail::of(self.opened, &stream.state)?;
            self.planned(stream, &trail, &asking, label)
        };
        self.pass(stream, planned, Payload::Infer(request), news).await
    }

    fn planned(
        &self,
        stream: &TurnStream,
        trail: &Trail<'_>,
        asking: &Asking,
        label: Label,
    ) -> (Planned, InferRequest) {
        let (catalogue, hides) = (self.parts.catalogue.as_ref(), &self.parts.hidden_families);
        let enabled = trail.enabled();
        let asked = (asking.offer, enabled.as_slice());
        let answer_tools = self.parts.answer_tools;
        let offer = on_offer(catalogue, &self.scene.seat, answer_tools, hides, asked, self.scene.manner);
        let names: Vec<String> = offer.tools.iter().map(|tool| tool.name.clone()).collect();
        let model = catalogue.model(&self.opened.model);
        let output_tokens_max = model.as_ref().map(|model| model.output_tokens_max);
        let window = self.scene.window_tokens;
        let request = self.context(trail, stream).request(offer.tools, asking, output_tokens_max);
        let tool = self.opened.model.clone();
        if let Some(through) = compact::due(trail, &request, window, asking.too_long) {
            let request = compact::request(trail, through, window);
            let receipts = compact::receipts(trail, through);
            let input = json!({compact::THROUGH: through, "request": digest_of(&request)});
            let kind = StepKind::Compact;
            let step = asking.step;
            return (Planned { step, kind, tool, input, call_id: None, label, receipts }, request);
        }
        // What the request is made of stands in the record; only what does not is kept here.
        let mut input = json!({
            "offered": names, "steps_left": asking.left, "request": digest_of(&request),
            "tokens": compact::estimate(&request), "schema_tokens": offer.schema_tokens,
        });
        if let Some(fields) = input.as_object_mut() {
            if asking.step == 1 {
                fields.insert(MESSAGES.to_owned(), json!(self.scene.positions));
            }
            if !offer.hidden.is_empty() {
                fields.insert("hidden".to_owned(), json!(offer.hidden));
            }
            if let Some(silent_ms) = asking.silent_ms {
                fields.insert("silent_ms".to_owned(), json!(silent_ms));
            }
        }
        let kind = StepKind::Infer;
        (
            Planned { step: asking.step, kind, tool, input, call_id: None, label, receipts: Vec::new() },
            request,
        )
    }

    /// Makes the first of the calls, and those after it that can be made at the same time.
    pub(crate) async fn tools(
        &self,
        stream: &mut TurnStream,
        wanted: Vec<Wanted>,
        label: &Label,
        news: watch::Receiver<GlobalPosition>,
    ) -> Result<Option<ApprovalId>, Error> {
        let together = self.together(&wanted);
        let mut planned = Vec::with_capacity(together);
        let mut offered = Vec::with_capacity(together);
        for Wanted { step, call, offered: on_offer, hidden } in wanted.into_iter().take(together) {
            offered.push((on_offer, hidden));
            planned.push(Planned {
                step,
                kind: StepKind::Tool,
                tool: call.name,
                input: call.input,
                call_id: Some(call.id),
                label: label.clone(),
                receipts: Vec::new(),
            });
        }
        let attempts = self.start(stream, &planned).await?;
        let passing: Vec<Passing> = planned
            .iter()
            .zip(&attempts)
            .zip(offered)
            .map(|((planned, attempt), (on_offer, hidden))| match on_offer {
                false => Passing::Out(not_offered(&planned.tool, hidden, &planned.label)),
                true if self.is_anothers_file(planned) => Passing::Out(not_attached(&planned.label)),
                true => {
                    let payload = Payload::Tool(planned.input.clone());
                    Passing::Call(Box::new(self.call(stream, planned, *attempt, payload)))
                }
            })
            .collect();
        let started: Vec<(Planned, u32)> = planned.into_iter().zip(attempts).collect();
        self.pass_all(stream, started, passing, news).await
    }

    /// Whether it would read a file that came with nothing that the turn is shown.
    fn is_anothers_file(&self, planned: &Planned) -> bool {
        let Some(files) = self.parts.files.filter(|files| files.tool == planned.tool) else { return false };
        let wanted = planned.input.get(files.argument).and_then(Value::as_str);
        !self.scene.files.values().flatten().any(|file| Some(file.id.as_str()) == wanted)
    }

    /// How many of the calls run at once, from the first on: as many as change nothing, or the first alone.
    fn together(&self, wanted: &[Wanted]) -> usize {
        let reads = |wanted: &&Wanted| !wanted.offered || self.is_read(&wanted.call.name);
        wanted.iter().take(TOOLS_AT_ONCE_MAX).take_while(reads).count().max(1)
    }

    fn is_read(&self, tool: &str) -> bool {
        self.parts.catalogue.tool(tool).is_some_and(|tool| tool.effect == EffectClass::Read)
    }

    /// Sends the answer.
    pub(crate) async fn send(
        &self,
        stream: &mut TurnStream,
        (step, tool, input): (u32, String, Value),
        label: Label,
        news: watch::Receiver<GlobalPosition>,
    ) -> Result<Option<ApprovalId>, Error> {
        let payload = Payload::Tool(input.clone());
        let kind = StepKind::Send;
        let planned = Planned { step, kind, tool, input, call_id: None, label, receipts: Vec::new() };
        self.pass(stream, planned, payload, news).await
    }

    /// One step: it starts, passes the gate, and ends; or it waits for the approval that comes back.
    async fn pass(
        &self,
        stream: &mut TurnStream,
        planned: Planned,
        payload: Payload,
        news: watch::Receiver<GlobalPosition>,
    ) -> Result<Option<ApprovalId>, Error> {
        let planned = [planned];
        let attempts = self.start(stream, &planned).await?;
        let [planned] = planned;
        let attempt = attempts.first().copied().unwrap_or(1);
        let passing = Passing::Call(Box::new(self.call(stream, &planned, attempt, payload)));
        self.pass_all(stream, vec![(planned, attempt)], vec![passing], news).await
    }

    /// Steps that have started pass the gate at the same time, and end in their order. From the first on that waits
    /// for a person, none ends: they are made again when the turn goes on.
    async fn pass_all(
        &self,
        stream: &mut TurnStream,
        started: Vec<(Planned, u32)>,
        passing: Vec<Passing>,
        news: watch::Receiver<GlobalPosition>,
    ) -> Result<Option<ApprovalId>, Error> {
        let (turn, revision) = (stream.turn.clone(), stream.state.revision());
        let kinds: Vec<StepKind> = started.iter().map(|(planned, _)| planned.kind).collect();
        let mut runs: Vec<BoxFuture<'_, Result<Result<CameOut, ApprovalId>, Error>>> = Vec::new();
        for (kind, passing) in kinds.into_iter().zip(passing) {
            runs.push(match passing {
                Passing::Out(out) => std::future::ready(Ok(Ok(out))).boxed(),
                Passing::Call(call) => {
                    self.reach(kind, *call, (turn.clone(), revision), news.clone()).boxed()
                }
            });
        }
        let mut runs = streams::iter(runs).buffered(TOOLS_AT_ONCE_MAX);
        let mut waits = None;
        for (planned, attempt) in started {
            match runs.next().await {
                Some(Ok(Ok(out))) if waits.is_none() => self.ended(stream, &planned, attempt, out).await?,
                Some(Ok(Ok(_))) => {}
                Some(Ok(Err(approval))) => waits = waits.or(Some(approval)),
                Some(Err(error)) => return Err(error),
                None => break,
            }
        }
        Ok(waits)
    }

    /// Passes one call, and lets go of it when somebody interrupts and it changes nothing outside.
    async fn reach(
        &self,
        kind: StepKind,
        call: Call,
        (turn, revision): (TurnId, u64),
        news: watch::Receiver<GlobalPosition>,
    ) -> Result<Result<CameOut, ApprovalId>, Error> {
        let label = call.label.clone();
        let deltas = match (&self.parts.deltas, kind, &call.origin) {
            (Some(deltas_for), StepKind::Infer, Origin::Step { step, .. }) => Some(deltas_for(&turn, *step)),
            _ => None,
        };
        let lets_go = match kind {
            StepKind::Infer | StepKind::Compact => true,
            StepKind::Tool => self.is_read(&call.tool),
            StepKind::Send => false,
        };
        let span = span(kind, &call);
        if !lets_go {
            let passed = self.parts.door.pass(call, deltas).instrument(span).await?;
            return Ok(came_out(kind, passed, &label));
        }
        let passed: Passed = tokio::select! {
            passed = self.parts.door.pass(call.clone(), deltas).instrument(span) => passed?,
            () = interrupted(&self.parts.record, &turn, revision, news) => {
                tracing::info!(%turn, tool = call.tool, "let go of");
                self.parts.door.abandon(&call).await?;
                return Ok(Ok(step::interrupted(&label)));
            }
        };
        Ok(came_out(kind, passed, &label))
    }

    fn call(&self, stream: &TurnStream, planned: &Planned, attempt: u32, payload: Payload) -> Call {
        Call {
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
        }
    }

    /// Records that steps start, in one commit; the attempt of each.
    async fn start(&self, stream: &mut TurnStream, planned: &[Planned]) -> Result<Vec<u32>, Error> {
        let of = self.of(stream);
        let mut attempts = Vec::with_capacity(planned.len());
        let mut facts = Vec::with_capacity(planned.len());
        for planned in planned {
            let attempt = stream.state.next_attempt(planned.step);
            tracing::debug!(turn = %stream.turn, step = planned.step, attempt, tool = planned.tool, "step starts");
            let fact = StepStarted {
                turn: stream.turn.clone(),
                step: planned.step,
                attempt,
                kind: planned.kind,
                tool: planned.tool.clone(),
                input: Personal::of(planned.input.clone(), of.clone()),
                call_id: planned.call_id.clone(),
            };
            let name = vec![planned.step.to_string(), attempt.to_string()];
            facts.push((name, planned.label.clone(), fact.into()));
            attempts.push(attempt);
        }
        stream.append_all(&self.scene.actor, facts, Vec::new()).await?;
        Ok(attempts)
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
        let (name, label, fact) = self.end_fact(stream, planned, attempt, out);
        stream.append(&self.scene.actor, &name, label, fact).await
    }

    fn end_fact(&self, stream: &TurnStream, planned: &Planned, attempt: u32, out: CameOut) -> Said {
        let label = out.label.clone();
        let receipts = out.receipts.into_iter().chain(planned.receipts.iter().cloned()).collect();
        let fact = StepEnded {
            turn: stream.turn.clone(),
            step: planned.step,
            attempt,
            outcome: out.outcome,
            output: Personal::of(out.output, self.of(stream).into_iter().chain(out.quotes)),
            output_label: out.label,
            receipts,
        };
        (vec![planned.step.to_string(), attempt.to_string()], label, fact.into())
    }
}

/// What a tracer is told of one call: the names are those of OpenTelemetry's conventions for generative AI.
fn span(kind: StepKind, call: &Call) -> tracing::Span {
    match (kind, &call.payload) {
        (StepKind::Infer | StepKind::Compact, Payload::Infer(request)) => tracing::debug_span!(
            "chat",
            "gen_ai.operation.name" = "chat",
            "gen_ai.provider.name" = call.tool.split('/').next().unwrap_or_default(),
            "gen_ai.request.model" = request.model,
            "gen_ai.request.max_tokens" = request.output_tokens_max,
            "gen_ai.agent.name" = %call.seat,
            "gen_ai.conversation.id" = call.topic.as_ref().map(event::Topic::as_str),
        ),
        _ => tracing::debug_span!(
            "execute_tool",
            "gen_ai.operation.name" = "execute_tool",
            "gen_ai.tool.name" = call.tool,
            "gen_ai.tool.call.id" = %call.origin,
            "gen_ai.agent.name" = %call.seat,
        ),
    }
}

fn digest_of(request: &InferRequest) -> event::Digest {
    // Serialising plain records of strings and integers cannot fail.
    canonical_digest(&serde_json::to_value(request).unwrap_or(Value::Null))
}
