//! The steps of a turn, each recorded as it starts and as it ends: asking the model, calling tools, sending.
//!
//! A step starts in the commit in which its call begins, and that is mostly the one in which the step before it ends.
//! Tools that change nothing and are wanted in one answer run at once, each through the gate by itself; their ends are
//! written in the order of the calls. A model, and a tool that changes nothing, is let go of when somebody says stop; an
//! effect never is.

use crate::compact;
use crate::door::Door;
use crate::error::Error;
use crate::inbox::{Unread, interrupted};
use crate::next::{Asking, Wanted};
use crate::pace::TOOLS_AT_ONCE_MAX;
use crate::run::Running;
use crate::scene::MESSAGES;
use crate::step::{self, CameOut, as_kept, came_out, not_attached, not_offered};
use crate::stream::{Said, TurnStream};
use crate::tools::on_offer;
use crate::trail::Trail;
use event::{
    ApprovalId, EventId, GlobalPosition, Label, Origin, Personal, ReceiptId, SeatId, StepEnded, StepKind,
    StepStarted, Topic,
};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream as streams};
use gate::{Begins, Call, EffectClass, ModelRequest, Owed, Payload, ToolCall};
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::Instrument;

/// One step as it is about to start.
pub(crate) struct Planned {
    step: u32,
    kind: StepKind,
    tool: String,
    input: Value,
    call_id: Option<String>,
    /// The join of the labels of everything the asker has read.
    label: Label,
    /// Receipts of what the step stands for.
    receipts: Vec<ReceiptId>,
    way: Way,
}

/// What becomes of a step that is about to start.
enum Way {
    /// Its call passes the gate.
    Call(Payload),
    /// It comes to this without passing anything.
    Out(CameOut),
}

/// What came of some steps.
pub(crate) enum Stepped {
    /// They have ended.
    Ended,
    /// Nothing was begun: it is to be decided anew.
    Anew,
    /// The first that has not ended waits for this approval.
    Waits(ApprovalId),
}

/// When it is decided what comes next: how the inbox was read, and what is watched for from then on.
pub(crate) struct Moment {
    pub unread: Unread,
    pub news: watch::Receiver<GlobalPosition>,
}

/// How one call came out, and what the record is owed of it.
type Out = Result<(Result<CameOut, ApprovalId>, Owed), Error>;

impl<'a, D: Door + ?Sized> Running<'a, D> {
    /// How the model is asked, or has older rounds said shortly first where they no longer fit.
    pub(crate) fn planned(
        &self,
        stream: &TurnStream,
        trail: &Trail<'_>,
        asking: &Asking,
        label: Label,
    ) -> Planned {
        let (catalogue, hides) = (self.parts.catalogue.as_ref(), &self.parts.hidden_families);
        let enabled = trail.enabled();
        let asked = (asking.offer, enabled.as_slice());
        let withheld = self.withheld(stream);
        let offer = on_offer(catalogue, &self.scene.seat, &withheld, hides, asked, self.scene.manner);
        let names: Vec<String> = offer.tools.iter().map(|tool| tool.name.clone()).collect();
        let model = catalogue.model(&self.opened.model);
        let output_tokens_max = model.as_ref().map(|model| model.output_tokens_max);
        let window = self.scene.window_tokens;
        let request = self.context(trail, stream).request(offer.tools, asking, output_tokens_max);
        let tool = self.opened.model.clone();
        let estimated = compact::estimate(&request);
        let size = (estimated, request.output_tokens_max);
        if let Some(through) = compact::due(trail, size, window, asking.too_long) {
            let request = compact::request(trail, through, window);
            let receipts = compact::receipts(trail, through);
            let request = ModelRequest::from(request);
            let input = json!({compact::THROUGH: through, "request": request.digest()});
            let kind = StepKind::Compact;
            let step = asking.step;
            let way = Way::Call(Payload::Infer(request));
            return Planned { step, kind, tool, input, call_id: None, label, receipts, way };
        }
        let request = ModelRequest::from(request);
        // What the request is made of stands in the record; only what does not is kept here.
        let mut input = json!({
            "offered": names, "steps_left": asking.left, "request": request.digest(),
            "tokens": estimated, "schema_tokens": offer.schema_tokens,
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
        let (kind, step, way) = (StepKind::Infer, asking.step, Way::Call(Payload::Infer(request)));
        Planned { step, kind, tool, input, call_id: None, label, receipts: Vec::new(), way }
    }

    /// Makes the first of the calls, and those after it that can be made at the same time.
    pub(crate) async fn tools(
        &self,
        stream: &mut TurnStream,
        wanted: Vec<Wanted>,
        label: &Label,
        moment: Moment,
    ) -> Result<Stepped, Error> {
        let together = self.together(&wanted);
        let planned = wanted.into_iter().take(together).map(|wanted| {
            let Wanted { step, call, offered, hidden } = wanted;
            let way = match offered {
                false => Way::Out(not_offered(&call.name, hidden, label)),
                true if self.is_anothers_file(stream, &call) => Way::Out(not_attached(label)),
                true => Way::Call(Payload::Tool(call.input.clone())),
            };
            let (kind, tool, input, call_id) = (StepKind::Tool, call.name, call.input, Some(call.id));
            Planned { step, kind, tool, input, call_id, label: label.clone(), receipts: Vec::new(), way }
        });
        let planned = planned.collect();
        self.pass(stream, Vec::new(), planned, moment).await
    }

    /// Tools that are never on offer, and what reads files where no file came with what the turn is shown.
    fn withheld(&self, stream: &TurnStream) -> Vec<&'static str> {
        let none = self.scene.files.is_empty() && stream.files.is_empty();
        let reads = self.parts.files.filter(|_| none).map(|files| files.tool);
        self.parts.answer_tools.iter().copied().chain(reads).collect()
    }

    /// Whether it would read a file that came with nothing that the turn is shown.
    fn is_anothers_file(&self, stream: &TurnStream, call: &ToolCall) -> bool {
        let Some(files) = self.parts.files.filter(|files| files.tool == call.name) else { return false };
        let wanted = call.input.get(files.argument).and_then(Value::as_str);
        let mut came = self.scene.files.values().chain(stream.files.values()).flatten();
        !came.any(|file| Some(file.id.as_str()) == wanted)
    }

    /// Sends the answer, after `before` is said.
    pub(crate) async fn send(
        &self,
        stream: &mut TurnStream,
        before: Vec<Said>,
        (step, tool, input): (u32, String, Value),
        label: Label,
        moment: Moment,
    ) -> Result<Stepped, Error> {
        let way = Way::Call(Payload::Tool(input.clone()));
        let kind = StepKind::Send;
        let planned = Planned { step, kind, tool, input, call_id: None, label, receipts: Vec::new(), way };
        self.pass(stream, before, vec![planned], moment).await
    }

    /// Steps start, their calls pass the gate at the same time, and they end in their order. From the first on that waits
    /// for a person, none ends: they are made again when the turn goes on.
    pub(crate) async fn pass(
        &self,
        stream: &mut TurnStream,
        before: Vec<Said>,
        planned: Vec<Planned>,
        moment: Moment,
    ) -> Result<Stepped, Error> {
        let (facts, attempts) = self.starts(stream, before, &planned);
        let Some(begins) = self.begin(stream, facts, (&planned, &attempts), moment.unread.clone()).await?
        else {
            return Ok(Stepped::Anew);
        };
        let mut begins = begins.into_iter();
        let (mut started, mut runs) = (Vec::with_capacity(planned.len()), Vec::new());
        let mut waits = None;
        for (planned, attempt) in planned.into_iter().zip(attempts) {
            let run: BoxFuture<'_, Out> = match &planned.way {
                Way::Out(out) => std::future::ready(Ok((Ok(out.clone()), Owed::nothing()))).boxed(),
                Way::Call(payload) => match begins.next() {
                    Some(Begins::Goes(going)) => {
                        self.go(stream, (&planned, attempt, payload), *going, &moment).boxed()
                    }
                    Some(Begins::Came(came)) => {
                        let out = came_out(planned.kind, came.passed, &planned.label);
                        std::future::ready(Ok((out, came.owed))).boxed()
                    }
                    Some(Begins::Waits { approval, .. }) => {
                        waits = Some(approval);
                        break;
                    }
                    Some(Begins::Behind) | None => break,
                },
            };
            runs.push(run);
            started.push((planned, attempt));
        }
        self.ends(stream, started, runs).await?;
        match waits {
            Some(approval) => {
                stream.flush(Vec::new()).await?;
                Ok(Stepped::Waits(approval))
            }
            None => Ok(Stepped::Ended),
        }
    }

    /// The facts that steps start, and the attempt of each.
    fn starts(&self, stream: &TurnStream, before: Vec<Said>, planned: &[Planned]) -> (Vec<Said>, Vec<u32>) {
        let (of, mut facts) = (self.of(stream), before);
        let mut attempts = Vec::with_capacity(planned.len());
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
        (facts, attempts)
    }

    /// Says that the steps start, and lets the calls of those begin that make one; nothing where it is to be decided
    /// anew.
    async fn begin(
        &self,
        stream: &mut TurnStream,
        facts: Vec<Said>,
        (planned, attempts): (&[Planned], &[u32]),
        unread: Unread,
    ) -> Result<Option<Vec<Begins<D::Going>>>, Error> {
        let (of, turn, fence) = (self.of(stream), stream.turn.clone(), stream.fence.clone());
        let call = |planned: &Planned, attempt: u32, payload: &Payload, cause: &EventId| Call {
            origin: Origin::Step { turn: turn.clone(), step: planned.step, attempt },
            seat: self.opened.seat.clone(),
            tool: planned.tool.clone(),
            topic: Some(self.opened.topic.clone()),
            asker: self.scene.asker.clone(),
            unasked: self.scene.manner.is_unasked(),
            goal: None,
            payload: payload.clone(),
            label: planned.label.clone(),
            of: of.clone(),
            cause: cause.clone(),
            fence: Some(fence.clone()),
            within: Vec::new(),
            drill: self.opened.drill,
        };
        let calls = |cause: &EventId| {
            let passing = planned.iter().zip(attempts).filter_map(|(planned, attempt)| match &planned.way {
                Way::Call(payload) => Some(call(planned, *attempt, payload, cause)),
                Way::Out(_) => None,
            });
            passing.collect()
        };
        stream.begin(self.parts.door.as_ref(), (&self.scene.actor, facts), calls, unread).await
    }

    /// Ends the steps in their order, as they come out. What is ready is written while others are not.
    async fn ends(
        &self,
        stream: &mut TurnStream,
        started: Vec<(Planned, u32)>,
        runs: Vec<BoxFuture<'_, Out>>,
    ) -> Result<(), Error> {
        let mut runs = streams::iter(runs).buffered(TOOLS_AT_ONCE_MAX);
        for (planned, attempt) in started {
            let out = match runs.next().now_or_never() {
                Some(out) => out,
                None => {
                    stream.flush(Vec::new()).await?;
                    runs.next().await
                }
            };
            let Some(out) = out else { break };
            match out? {
                (Ok(out), owed) => {
                    let said = self.end_fact(stream, &planned, attempt, out);
                    stream.say_ended(&self.scene.actor, said, owed);
                }
                (Err(_), _) => break,
            }
        }
        // Once the finish stands nothing is left but to end the turn, and that is written with it.
        if stream.must_write() && stream.state.accepted.is_none() {
            stream.flush(Vec::new()).await?;
        }
        Ok(())
    }

    /// How many of the calls run at once, from the first on: as many as change nothing, or the first alone.
    fn together(&self, wanted: &[Wanted]) -> usize {
        let reads = |wanted: &&Wanted| !wanted.offered || self.is_read(&wanted.call.name);
        wanted.iter().take(TOOLS_AT_ONCE_MAX).take_while(reads).count().max(1)
    }

    fn is_read(&self, tool: &str) -> bool {
        self.parts.catalogue.tool(tool).is_some_and(|tool| tool.effect == EffectClass::Read)
    }

    /// Makes one call that has begun, and lets go of it when somebody interrupts and it changes nothing outside.
    fn go<'b>(
        &'b self,
        stream: &TurnStream,
        (planned, attempt, payload): (&Planned, u32, &Payload),
        going: D::Going,
        moment: &Moment,
    ) -> impl Future<Output = Out> + Send + use<'a, 'b, D> {
        let (kind, label, turn) = (planned.kind, planned.label.clone(), stream.turn.clone());
        let deltas = match (&self.parts.deltas, kind) {
            (Some(deltas_for), StepKind::Infer) => Some(deltas_for(&turn, planned.step)),
            _ => None,
        };
        let lets_go = match kind {
            StepKind::Infer | StepKind::Compact => true,
            StepKind::Tool => self.is_read(&planned.tool),
            StepKind::Send => false,
        };
        let origin = Origin::Step { turn: turn.clone(), step: planned.step, attempt };
        let span = span(kind, (&self.opened.seat, &self.opened.topic), &planned.tool, payload, &origin);
        // Whoever lets go of a call says which, and not what was passed.
        let let_go = Call {
            origin,
            fence: Some(stream.fence.clone()),
            cause: stream.newest().clone(),
            topic: Some(self.opened.topic.clone()),
            ..Call::duty(
                self.opened.seat.clone(),
                (stream.newest(), "", attempt),
                &planned.tool,
                Payload::Tool(Value::Null),
            )
        };
        let watched = (stream.state.revision(), stream.wrote_at);
        let news = moment.news.clone();
        async move {
            let made = self.parts.door.go(going, deltas).instrument(span);
            if !lets_go {
                let came = made.await;
                return Ok((came_out(kind, came.passed, &label), came.owed));
            }
            tokio::select! {
                came = made => Ok((came_out(kind, came.passed, &label), came.owed)),
                () = interrupted(&self.parts.record, &turn, watched, news) => {
                    tracing::info!(%turn, tool = let_go.tool, "let go of");
                    self.parts.door.abandon(&let_go).await?;
                    Ok((Ok(step::interrupted(&label)), Owed::nothing()))
                }
            }
        }
    }

    fn end_fact(&self, stream: &TurnStream, planned: &Planned, attempt: u32, out: CameOut) -> Said {
        let label = out.label.clone();
        let receipts = out.receipts.into_iter().chain(planned.receipts.iter().cloned()).collect();
        let fact = StepEnded {
            turn: stream.turn.clone(),
            step: planned.step,
            attempt,
            outcome: out.outcome,
            output: Personal::of(as_kept(out.output), self.of(stream).into_iter().chain(out.quotes)),
            output_label: out.label,
            receipts,
        };
        (vec![planned.step.to_string(), attempt.to_string()], label, fact.into())
    }
}

/// What a tracer is told of one call: the names are those of OpenTelemetry's conventions for generative AI.
fn span(
    kind: StepKind,
    (seat, topic): (&SeatId, &Topic),
    tool: &str,
    payload: &Payload,
    origin: &Origin,
) -> tracing::Span {
    match (kind, payload) {
        (StepKind::Infer | StepKind::Compact, Payload::Infer(request)) => tracing::debug_span!(
            "chat",
            "gen_ai.operation.name" = "chat",
            "gen_ai.provider.name" = tool.split('/').next().unwrap_or_default(),
            "gen_ai.request.model" = request.model,
            "gen_ai.request.max_tokens" = request.output_tokens_max,
            "gen_ai.agent.name" = %seat,
            "gen_ai.conversation.id" = topic.as_str(),
        ),
        _ => tracing::debug_span!(
            "execute_tool",
            "gen_ai.operation.name" = "execute_tool",
            "gen_ai.tool.name" = tool,
            "gen_ai.tool.call.id" = %origin,
            "gen_ai.agent.name" = %seat,
        ),
    }
}
