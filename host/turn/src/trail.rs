//! A turn as far as it came: its ended steps, read as what they were.
//!
//! A *round* is one answer of the model and the tool steps it led to. Steps with no end are not here: what
//! comes next is decided from what ended, so the first step with no end is simply decided again.

use crate::error::Error;
use crate::finish::{FINISH, Finish, parse};
use crate::pace::{SENDS_DENIED_MAX, STEPS_MAX_CEILING};
use event::canon::canonical_digest;
use event::{Digest, Label, ReceiptId, StepEnded, StepKind, StepOutcome, StepStarted, TurnOpened};
use fold::turn::TurnState;
use gate::{InferResponse, Part, ToolCall};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;

/// One answer of the model, and the tool steps it led to, in the order of its calls.
pub(crate) struct Round<'a> {
    pub response: InferResponse,
    pub label: &'a Label,
    pub tools: Vec<&'a StepEnded>,
    /// The send of its answer, when that was denied and the model is to be told.
    pub denied_send: Option<&'a StepEnded>,
    offered: Vec<&'a str>,
}

/// What a model's answer asks of the host.
pub(crate) enum Ask {
    /// End the turn so.
    Finish(Finish),
    /// Make these calls, in this order.
    Tools(Vec<ToolCall>),
    /// Nothing the host can do: text alone, or a `finish` that does not fit.
    Nothing,
}

impl Round<'_> {
    /// What it asks. `finish` beside other calls is none: it was written before their results were read.
    pub fn ask(&self) -> Ask {
        let calls: Vec<ToolCall> = self.calls().filter(|call| call.name != FINISH).cloned().collect();
        match self.finish() {
            Some(Ok(finish)) if calls.is_empty() || self.is_finish_only() => Ask::Finish(finish),
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

    /// Whether it neither finished nor led to a step.
    fn is_unfinished(&self) -> bool {
        self.tools.is_empty() && !matches!(self.ask(), Ask::Finish(_))
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
            last: 0,
            used: 0,
            denials: Denials::default(),
        };
        for step in state.steps.values() {
            if let Some(ended) = &step.ended {
                trail.add(&step.started, ended)?;
            }
        }
        Ok(trail)
    }

    fn add(&mut self, started: &'a StepStarted, ended: &'a StepEnded) -> Result<(), Error> {
        self.last = ended.step;
        match started.kind {
            StepKind::Send => self.add_send(started, ended),
            StepKind::Infer => self.add_infer(started, ended)?,
            StepKind::Tool => self.add_tool(started, ended),
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
        match ended.outcome {
            StepOutcome::Succeeded => {
                let response = InferResponse::deserialize(ended.output.json()).map_err(|source| {
                    Error::Unreadable { turn: ended.turn.clone(), step: ended.step, source }
                })?;
                let label = &ended.output_label;
                self.rounds.push(Round {
                    response,
                    label,
                    tools: Vec::new(),
                    denied_send: None,
                    offered: offered(started.input.json()),
                });
                self.failures.clear();
                self.denials.were_read();
            }
            StepOutcome::Refused => self.refused = Some(ended),
            StepOutcome::Failed | StepOutcome::Denied => self.failures.push(ended),
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

    /// How many answers in a row neither finished nor led to a step.
    pub fn unfinished(&self) -> usize {
        self.rounds.iter().rev().take_while(|round| round.is_unfinished()).count()
    }

    /// Every receipt that a step which worked has left, in order.
    pub fn receipts(&self) -> Vec<ReceiptId> {
        let steps = self.rounds.iter().flat_map(|round| &round.tools);
        let worked = steps.filter(|step| step.outcome == StepOutcome::Succeeded);
        worked.flat_map(|step| step.receipts.iter().cloned()).collect()
    }

    /// The labels of everything the model has read or written in this turn.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        self.rounds.iter().flat_map(|round| {
            let tools = round.tools.iter().map(|step| &step.output_label);
            std::iter::once(round.label).chain(tools)
        })
    }
}

fn offered(input: &Value) -> Vec<&str> {
    input.get("offered").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
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
