//! What comes next in a turn: a pure function of the steps that ended.
//!
//! It is asked again after every step and after every crash, and gives the same answer for the same steps:
//! that is the whole of replay.

use crate::finish::{Finish, Outcome, report, send_input, sources, summary};
use crate::pace::{EMPTY_TRIES_MAX, STEPS_FOR_A_TOOL, UNFINISHED_MAX, is_passing, wait_ms};
use crate::step::EMPTY;
use crate::trail::{Ask, Round, Trail};
use event::{ReceiptId, StepEnded, StepOutcome, TurnEnding};
use gate::{FailureKind, StopReason, ToolCall};
use serde::Deserialize;
use serde_json::Value;

/// Which tools the model may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Whatever its seat may call, and `finish`.
    All,
    /// `finish` alone.
    FinishOnly,
}

/// What comes next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// Ask the model.
    Infer {
        step: u32,
        offer: Offer,
        /// Steps left, this one included.
        left: u32,
        wait_ms: u64,
    },
    /// Make a call the model wants.
    Tool {
        step: u32,
        call: ToolCall,
        /// Whether the tool was on offer; a call of another does not reach the gate.
        offered: bool,
    },
    /// Send the answer.
    Send { step: u32, tool: String, input: Value, wait_ms: u64 },
    /// End the turn.
    End(End),
}

/// How a turn ends.
#[derive(Debug, PartialEq)]
pub(crate) struct End {
    pub ending: TurnEnding,
    pub summary: String,
    pub sources: Vec<ReceiptId>,
}

impl End {
    fn of(ending: TurnEnding, text: &str) -> Next {
        Next::End(Self { ending, summary: summary(text), sources: Vec::new() })
    }
}

/// What comes next after the steps of `trail`.
pub(crate) fn next(trail: &Trail<'_>) -> Next {
    if let Some(send) = trail.sends.last() {
        return after_send(trail, send);
    }
    if let Some(refused) = trail.refused {
        let reason = reason_of(refused.output.json());
        return send(trail, &report(refused.output.json()), 0)
            .unwrap_or_else(|| End::of(TurnEnding::Refused, &reason));
    }
    if let Some(failure) = trail.failures.last() {
        return after_failure(trail, failure);
    }
    match trail.rounds.last() {
        None => infer(trail, 0),
        Some(Round { denied_send: Some(denied), .. }) if trail.left() == 0 => not_sent(trail, denied),
        Some(Round { denied_send: Some(_), .. }) => infer(trail, 0),
        Some(round) => match round.ask() {
            Ask::Finish(finish) => finished(trail, &finish),
            Ask::Tools(calls) => tool(trail, round, calls),
            Ask::Nothing => infer(trail, 0),
        },
    }
}

fn finished(trail: &Trail<'_>, finish: &Finish) -> Next {
    let nothing_sent = match finish.outcome {
        Outcome::Silent => "finished with nothing to say",
        Outcome::Answered => match send(trail, &finish.text, 0) {
            Some(send) => return send,
            None => "finished, and the turn has no address to answer to",
        },
    };
    End::of(ending(trail, TurnEnding::Silent), nothing_sent)
}

/// The send of `text` to the turn's reply address, when it has one.
fn send(trail: &Trail<'_>, text: &str, wait_ms: u64) -> Option<Next> {
    let reply_to = trail.opened.reply_to.as_ref()?;
    let input = send_input(&reply_to.destination, text);
    Some(Next::Send { step: trail.last.saturating_add(1), tool: reply_to.tool.clone(), input, wait_ms })
}

fn after_send(trail: &Trail<'_>, send: &StepEnded) -> Next {
    match send.outcome {
        StepOutcome::Succeeded => sent(trail),
        StepOutcome::Failed => send_again(trail, send),
        StepOutcome::Denied | StepOutcome::Refused => not_sent(trail, send),
    }
}

fn sent(trail: &Trail<'_>) -> Next {
    let Some(finish) = accepted(trail) else {
        let reason = trail.refused.map(|refused| reason_of(refused.output.json())).unwrap_or_default();
        return End::of(ending(trail, TurnEnding::Failed), &reason);
    };
    Next::End(End {
        ending: ending(trail, TurnEnding::Answered),
        summary: summary(&finish.text),
        sources: sources(&finish.sources, &trail.receipts()),
    })
}

/// The finish the turn ended with; nothing when a refusal ended it.
fn accepted(trail: &Trail<'_>) -> Option<Finish> {
    match trail.rounds.last()?.ask() {
        Ask::Finish(finish) if trail.refused.is_none() => Some(finish),
        _ => None,
    }
}

/// Only what the other side says it did not take is sent again: after any other failure the words may be out.
fn send_again(trail: &Trail<'_>, failed: &StepEnded) -> Next {
    let (kind, asked_ms) = failure_of(failed.output.json());
    let wait = wait_ms(trail.sends.len(), asked_ms).filter(|_| kind == Some(FailureKind::RateLimited));
    let text = accepted(trail)
        .map(|finish| finish.text)
        .or_else(|| trail.refused.map(|refused| report(refused.output.json())));
    wait.zip(text)
        .and_then(|(wait, text)| send(trail, &text, wait))
        .unwrap_or_else(|| not_sent(trail, failed))
}

fn not_sent(trail: &Trail<'_>, failed: &StepEnded) -> Next {
    let why = reason_of(failed.output.json());
    let reason = match trail.refused {
        Some(refused) => {
            format!("{}; and the report of it was not sent: {why}", reason_of(refused.output.json()))
        }
        None => format!("the answer was not sent: {why}"),
    };
    End::of(TurnEnding::Failed, &reason)
}

fn after_failure(trail: &Trail<'_>, failure: &StepEnded) -> Next {
    let failures = trail.failures.len();
    let (kind, asked_ms) = failure_of(failure.output.json());
    let wait = match (failure.outcome, kind) {
        // The model itself was denied: there is nobody to tell it to.
        (StepOutcome::Denied, _) => None,
        (_, Some(FailureKind::Other(word))) if word == EMPTY => (failures < EMPTY_TRIES_MAX).then_some(0),
        (_, Some(kind)) if is_passing(&kind) => wait_ms(failures, asked_ms),
        _ => None,
    };
    match wait {
        Some(wait) => infer(trail, wait),
        None => End::of(
            ending(trail, TurnEnding::Failed),
            &format!("the model could not be asked: {}", reason_of(failure.output.json())),
        ),
    }
}

/// The next call of `round` that has no step yet; when there is none, or no room for it, the model is asked.
fn tool(trail: &Trail<'_>, round: &Round<'_>, calls: Vec<ToolCall>) -> Next {
    let room = trail.left() >= 2 && trail.denied_again.is_none();
    match calls.into_iter().nth(round.tools.len()) {
        Some(call) if room => {
            let offered = round.was_offered(&call.name);
            Next::Tool { step: trail.last.saturating_add(1), call, offered }
        }
        _ => infer(trail, 0),
    }
}

fn infer(trail: &Trail<'_>, wait_ms: u64) -> Next {
    let left = trail.left();
    let unfinished = trail.unfinished();
    if trail.denied_again.is_some_and(|at| left == 0 || trail.rounds.len() > at) {
        return End::of(
            TurnEnding::DeniedAgain,
            "the same call was denied twice with nothing new in between",
        );
    }
    if left == 0 {
        return End::of(TurnEnding::StepsSpent, "every step was taken and no answer was finished");
    }
    if unfinished > 0 && trail.rounds.last().is_some_and(|round| round.response.stop == StopReason::Declined)
    {
        return End::of(TurnEnding::Failed, "the model's provider declined to go on");
    }
    if unfinished > UNFINISHED_MAX {
        return End::of(
            TurnEnding::Failed,
            "the model ended without `finish` although it was asked to call it",
        );
    }
    let last_chance = trail.denied_again.is_some() || unfinished == UNFINISHED_MAX;
    let offer = if last_chance || left < STEPS_FOR_A_TOOL { Offer::FinishOnly } else { Offer::All };
    Next::Infer { step: trail.last.saturating_add(1), offer, left, wait_ms }
}

/// `otherwise`, unless a no had already decided how this turn ends.
fn ending(trail: &Trail<'_>, otherwise: TurnEnding) -> TurnEnding {
    match (trail.refused, trail.denied_again) {
        (Some(_), _) => TurnEnding::Refused,
        (None, Some(_)) => TurnEnding::DeniedAgain,
        (None, None) => otherwise,
    }
}

fn failure_of(output: &Value) -> (Option<FailureKind>, Option<u64>) {
    let kind = output.get("failed").and_then(|kind| FailureKind::deserialize(kind).ok());
    (kind, output.get("retry_after_ms").and_then(Value::as_u64))
}

/// The sentence that says why, in the output of a step that did not work.
fn reason_of(output: &Value) -> String {
    let text = |key: &str| output.get(key).and_then(Value::as_str);
    text("reason").or_else(|| text("message")).unwrap_or("no reason was given").to_owned()
}
