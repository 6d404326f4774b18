//! A turn as far as it came: its ended steps, read as what they were.
//!
//! A *round* is one answer of the model and the tool steps it led to. Steps with no end are not here: what
//! comes next is decided from what ended, so the first step with no end is simply decided again.

use crate::compact::THROUGH;
use crate::error::Error;
use crate::finish::{FINISH, Finish, parse};
use crate::inbox::interrupts;
use crate::pace::{SENDS_DENIED_MAX, STEPS_MAX_CEILING};
use crate::step::INTERRUPTED;
use crate::tools::{ENABLE_TOOLS, families};
use event::canon::canonical_digest;
use event::{
    Digest, InboxDrained, InboxItem, Label, ReceiptId, Steering, StepEnded, StepKind, StepOutcome,
    StepStarted, TurnOpened,
};
use fold::turn::TurnState;
use gate::{InferResponse, Part, ToolCall};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;

/// One answer of the model, and the tool steps it led to, in the order of its calls.
pub(crate) struct Round<'a> {
    /// The step in which the model gave it.
    pub step: u32,
    pub response: InferResponse,
    pub label: &'a Label,
    pub tools: Vec<&'a StepEnded>,
    /// The send of its answer, when that was denied and the model is to be told.
    pub denied_send: Option<&'a StepEnded>,
    /// Whether people said more after it was given.
    pub overtaken: bool,
    /// Whether they want another thing since.
    pub replaced: bool,
    /// Families of tools that were there and not shown.
    pub hidden: Vec<&'a str>,
    /// The first source its `finish` names that is no receipt of this turn.
    pub made_up: Option<String>,
    offered: Vec<&'a str>,
}

/// What older rounds came to, said shortly.
pub(crate) struct Summary<'a> {
    /// The last step that it stands for.
    pub through: u32,
    pub text: String,
    pub label: &'a Label,
}

/// What a model's answer asks of the host.
pub(crate) enum Ask {
    /// End the turn so.
    Finish(Finish),
    /// Make these calls, in this order.
    Tools(Vec<ToolCall>),
    /// Show more tools, and ask again.
    Enable,
    /// Nothing the host can do: text alone, or a `finish` that does not fit.
    Nothing,
}

impl Round<'_> {
    /// What it asks. `finish` beside other calls is none: it was written before their results were read. Nor is one that
    /// rests on a receipt nobody has.
    pub fn ask(&self) -> Ask {
        let own = |call: &&ToolCall| call.name == FINISH || call.name == ENABLE_TOOLS;
        let calls: Vec<ToolCall> = self.calls().filter(|call| !own(call)).cloned().collect();
        let enables = self.was_offered(ENABLE_TOOLS) && self.calls().any(|call| call.name == ENABLE_TOOLS);
        match self.finish() {
            // With nothing else left to do, a source that is none is left out, and the answer stands.
            Some(Ok(finish))
                if (calls.is_empty() && !enables && self.made_up.is_none()) || self.is_finish_only() =>
            {
                Ask::Finish(finish)
            }
            _ if calls.is_empty() && enables => Ask::Enable,
            _ if calls.is_empty() || self.is_finish_only() => Ask::Nothing,
            _ => Ask::Tools(calls),
        }
    }

    /// Every call it makes, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.response.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Its first call of `finish`, read.
    pub fn finish(&self) -> Option<Result<Finish, String>> {
        self.calls().find(|call| call.name == FINISH).map(|call| parse(&call.input))
    }

    /// Whether `tool` was on offer when the model answered.
    pub fn was_offered(&self, tool: &str) -> bool {
        self.offered.contains(&tool)
    }

    /// Whether nothing but `finish` was on offer.
    pub fn is_finish_only(&self) -> bool {
        self.offered == [FINISH]
    }

    /// The families it asks to be shown that are there.
    fn enables(&self) -> impl Iterator<Item = &str> {
        let calls = self.calls().filter(|call| call.name == ENABLE_TOOLS && self.was_offered(ENABLE_TOOLS));
        calls.flat_map(|call| families(&call.input)).filter(|family| self.hidden.contains(family))
    }

    /// The last step it led to: its own when it led to none.
    pub fn last_step(&self) -> u32 {
        self.tools.last().map_or(self.step, |step| step.step)
    }

    /// Whether it neither finished nor led to a step, with nothing said since that could change that.
    fn is_unfinished(&self) -> bool {
        self.tools.is_empty() && !self.overtaken && matches!(self.ask(), Ask::Tools(_) | Ask::Nothing)
    }
}

/// The ended steps of a turn.
pub(crate) struct Trail<'a> {
    pub opened: &'a TurnOpened,
    /// Answers of the model that came.
    pub rounds: Vec<Round<'a>>,
    /// Calls of the model that gave none, since the last that did.
    pub failures: Vec<&'a StepEnded>,
    /// Sends of the answer but for the denied ones that the model was told of, oldest first.
    pub sends: Vec<&'a StepEnded>,
    /// The step that met a standing no.
    pub refused: Option<&'a StepEnded>,
    /// How many rounds there were when a denial was repeated with nothing new in between.
    pub denied_again: Option<usize>,
    /// What it took up of its inbox, in order.
    pub drains: Vec<&'a InboxDrained>,
    /// The message that stopped it.
    pub stopped: Option<&'a InboxItem>,
    /// What its older rounds came to.
    pub summary: Option<Summary<'a>>,
    /// What the newest answered request was estimated at, and what the provider counted, in tokens.
    pub measured: Option<(usize, usize)>,
    /// How long it has worked, in milliseconds.
    pub active_ms: u64,
    /// How long it had worked when the model was last told that people wait.
    pub told_ms: u64,
    /// The number of the last step that ended; 0 before the first.
    pub last: u32,
    used: u32,
    denials: Denials,
}

impl<'a> Trail<'a> {
    /// Reads the ended steps of `state`.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when a step holds no answer of a model where one belongs.
    pub fn of(opened: &'a TurnOpened, state: &'a TurnState) -> Result<Self, Error> {
        let mut trail = Self {
            opened,
            rounds: Vec::new(),
            failures: Vec::new(),
            sends: Vec::new(),
            refused: None,
            denied_again: None,
            drains: Vec::new(),
            stopped: None,
            summary: None,
            measured: None,
            active_ms: state.active_ms,
            told_ms: 0,
            last: 0,
            used: 0,
            denials: Denials::default(),
        };
        let mut drains = state.drains.iter().peekable();
        for (number, step) in &state.steps {
            while let Some(drained) = drains.next_if(|drained| drained.before_step <= *number) {
                trail.add_news(drained);
            }
            if let Some(ended) = &step.ended {
                trail.add(&step.started, ended)?;
            }
        }
        drains.for_each(|drained| trail.add_news(drained));
        Ok(trail)
    }

    /// What people said may make an old call worth trying, and an answer out of date.
    fn add_news(&mut self, drained: &'a InboxDrained) {
        self.drains.push(drained);
        self.denials.news();
        let stop = |item: &&InboxItem| item.steering == Steering::Stop;
        self.stopped = self.stopped.or_else(|| drained.items.iter().find(stop));
        if let Some(round) = self.rounds.last_mut() {
            round.overtaken = true;
            round.replaced |= drained.items.iter().any(interrupts);
        }
    }

    fn add(&mut self, started: &'a StepStarted, ended: &'a StepEnded) -> Result<(), Error> {
        self.last = ended.step;
        match started.kind {
            StepKind::Send => self.add_send(started, ended),
            StepKind::Infer => self.add_infer(started, ended)?,
            StepKind::Tool => self.add_tool(started, ended),
            StepKind::Compact => self.add_summary(started, ended)?,
        }
        Ok(())
    }

    /// A denied answer goes back to the model, a few times and never twice for the same words; every other send ends
    /// the turn or is tried again.
    fn add_send(&mut self, started: &'a StepStarted, ended: &'a StepEnded) {
        let told = self.rounds.iter().filter(|round| round.denied_send.is_some()).count();
        let goes_back = ended.outcome == StepOutcome::Denied
            && self.refused.is_none()
            && told < SENDS_DENIED_MAX
            && !self.denials.add(&started.tool, started.input.json());
        match self.rounds.last_mut().filter(|_| goes_back) {
            Some(round) => round.denied_send = Some(ended),
            None => self.sends.push(ended),
        }
    }

    fn add_infer(&mut self, started: &'a StepStarted, ended: &'a StepEnded) -> Result<(), Error> {
        self.used = self.used.saturating_add(1);
        let input = started.input.json();
        if let Some(told_ms) = input.get("silent_ms").and_then(Value::as_u64) {
            self.told_ms = told_ms;
        }
        match ended.outcome {
            StepOutcome::Succeeded => {
                let response = answer(ended)?;
                self.measured = measured(input, &response).or(self.measured);
                let made_up = self.made_up(&response);
                self.rounds.push(Round {
                    step: ended.step,
                    response,
                    label: &ended.output_label,
                    tools: Vec::new(),
                    denied_send: None,
                    overtaken: false,
                    replaced: false,
                    hidden: words(input, "hidden"),
                    made_up,
                    offered: words(input, "offered"),
                });
                self.failures.clear();
                self.denials.were_read();
            }
            StepOutcome::Refused => self.refused = Some(ended),
            // It was let go of for what people said: it says nothing about the model.
            StepOutcome::Failed if is_interrupted(ended) => {}
            StepOutcome::Failed | StepOutcome::Denied => self.failures.push(ended),
        }
        Ok(())
    }

    fn add_summary(&mut self, started: &'a StepStarted, ended: &'a StepEnded) -> Result<(), Error> {
        self.used = self.used.saturating_add(1);
        let through = started.input.json().get(THROUGH).and_then(Value::as_u64);
        match (ended.outcome, through.and_then(|through| u32::try_from(through).ok())) {
            (StepOutcome::Succeeded, Some(through)) => {
                let text = text_of(&answer(ended)?);
                self.summary = Some(Summary { through, text, label: &ended.output_label });
                self.failures.clear();
            }
            (StepOutcome::Refused, _) => self.refused = Some(ended),
            _ if is_interrupted(ended) => {}
            _ => self.failures.push(ended),
        }
        Ok(())
    }

    fn add_tool(&mut self, started: &'a StepStarted, ended: &'a StepEnded) {
        self.used = self.used.saturating_add(1);
        match ended.outcome {
            StepOutcome::Succeeded | StepOutcome::Failed => self.denials.news(),
            StepOutcome::Refused => self.refused = Some(ended),
            StepOutcome::Denied => {
                let repeated = self.denials.add(&started.tool, started.input.json());
                if repeated && self.denied_again.is_none() {
                    self.denied_again = Some(self.rounds.len());
                }
            }
        }
        if let Some(round) = self.rounds.last_mut() {
            round.tools.push(ended);
        }
    }

    /// Steps that are left, the one to come included.
    pub fn left(&self) -> u32 {
        self.opened.steps_max.min(STEPS_MAX_CEILING).saturating_sub(self.used)
    }

    /// The step in which the model finished, when that is the newest thing it did.
    pub fn finish_step(&self) -> Option<u32> {
        let round = self.rounds.last()?;
        matches!(round.ask(), Ask::Finish(_)).then_some(round.step)
    }

    /// How many answers in a row neither finished nor led to a step.
    pub fn unfinished(&self) -> usize {
        self.rounds.iter().rev().take_while(|round| round.is_unfinished()).count()
    }

    /// The rounds that are shown as they were.
    pub fn open_rounds(&self) -> &[Round<'a>] {
        let through = self.summary.as_ref().map_or(0, |summary| summary.through);
        let replaced = self.rounds.iter().take_while(|round| round.last_step() <= through).count();
        self.rounds.get(replaced..).unwrap_or_default()
    }

    /// The families of tools that were asked for, in the order in which they were.
    pub fn enabled(&self) -> Vec<String> {
        let mut enabled: Vec<String> = Vec::new();
        for family in self.rounds.iter().flat_map(Round::enables) {
            if !enabled.iter().any(|known| known == family) {
                enabled.push(family.to_owned());
            }
        }
        enabled
    }

    /// Every receipt that a step which worked has left, in order.
    pub fn receipts(&self) -> Vec<ReceiptId> {
        let steps = self.rounds.iter().flat_map(|round| &round.tools);
        let worked = steps.filter(|step| step.outcome == StepOutcome::Succeeded);
        worked.flat_map(|step| step.receipts.iter().cloned()).collect()
    }

    /// The first source that a `finish` of `response` names and no step of this turn has left.
    fn made_up(&self, response: &InferResponse) -> Option<String> {
        let calls = response.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) if call.name == FINISH => Some(call),
            _ => None,
        });
        let finish = calls.map(|call| parse(&call.input)).next()?.ok()?;
        let left = || self.rounds.iter().flat_map(|round| &round.tools).flat_map(|step| &step.receipts);
        finish.sources.into_iter().find(|source| !left().any(|receipt| receipt.as_str() == source))
    }

    /// The labels of everything the model has read or written in this turn; without the results of its newest calls, when
    /// those are still being made: it had not read them when it wanted the others.
    pub fn labels(&self, calling: bool) -> impl Iterator<Item = &Label> {
        let read = self.rounds.len().saturating_sub(usize::from(calling));
        let tools = self.rounds.iter().take(read).flat_map(|round| &round.tools);
        let written = self.rounds.iter().map(|round| round.label);
        let shortly = self.summary.iter().map(|summary| summary.label);
        tools.map(|step| &step.output_label).chain(written).chain(shortly)
    }
}

fn words<'a>(input: &'a Value, key: &str) -> Vec<&'a str> {
    input.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn answer(ended: &StepEnded) -> Result<InferResponse, Error> {
    let unreadable = |source| Error::Unreadable { turn: ended.turn.clone(), step: ended.step, source };
    InferResponse::deserialize(ended.output.json()).map_err(unreadable)
}

fn is_interrupted(ended: &StepEnded) -> bool {
    ended.output.json().pointer("/failed/other").and_then(Value::as_str) == Some(INTERRUPTED)
}

fn text_of(response: &InferResponse) -> String {
    let texts = response.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What a request was estimated at and what the provider counted of it.
fn measured(input: &Value, response: &InferResponse) -> Option<(usize, usize)> {
    let estimated = input.get("tokens").and_then(Value::as_u64)?;
    let counted = response.usage?.input_tokens;
    Some((usize::try_from(estimated).ok()?, usize::try_from(counted).ok()?))
}

/// Which calls were denied since there was last something new.
///
/// A denial counts as known once the model has been shown it: two equal calls in one answer are one mistake,
/// not a mistake repeated.
#[derive(Default)]
struct Denials {
    known: HashSet<(String, Digest)>,
    unread: HashSet<(String, Digest)>,
}

impl Denials {
    /// Adds one; says whether the model had read the very same before.
    fn add(&mut self, tool: &str, input: &Value) -> bool {
        let denial = (tool.to_owned(), canonical_digest(input));
        let repeated = self.known.contains(&denial);
        self.unread.insert(denial);
        repeated
    }

    fn were_read(&mut self) {
        self.known.extend(self.unread.drain());
    }

    /// A call that worked, or failed outside, tells something that may make an old call worth trying.
    fn news(&mut self) {
        self.known.clear();
        self.unread.clear();
    }
}
