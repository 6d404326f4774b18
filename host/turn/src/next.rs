//! What comes next in a turn: a pure function of the steps that ended.
//!
//! It is asked again after every step and after every crash, and gives the same answer for the same steps:
//! that is the whole of replay.

use crate::compact::can_shorten;
use crate::finish::{Finish, Outcome, report, send_input, sources, summary};
use crate::pace::{
    EMPTY_TRIES_MAX, FINISH_MS_MAX, SILENCE_MS_MAX, STEPS_FOR_A_TOOL, UNFINISHED_MAX, is_passing, wait_ms,
};
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

/// How the model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asking {
    pub step: u32,
    pub offer: Offer,
    /// Steps left, this one included.
    pub left: u32,
    pub wait_ms: u64,
    /// How long the people have heard nothing, when the model is to be told.
    pub silent_ms: Option<u64>,
    /// Whether its provider has said that the conversation does not fit.
    pub too_long: bool,
}

/// A call the model wants made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    pub step: u32,
    pub call: ToolCall,
    /// Whether the tool was on offer; a call of another does not reach the gate.
    pub offered: bool,
    /// Whether it would be, had the model asked for its family.
    pub hidden: bool,
}

/// What comes next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// Ask the model.
    Infer(Asking),
    /// Make calls the model wants: as many of them, from the first on, as can be made together.
    Tools(Vec<Wanted>),
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
    /// In how many minutes the seat looks again.
    pub look_again_minutes: Option<u64>,
}

impl End {
    fn of(ending: TurnEnding, text: &str) -> Next {
        Next::End(Self { ending, summary: summary(text), sources: Vec::new(), look_again_minutes: None })
    }
}

/// What comes next after the steps of `trail`. `is_progress` says whether a text only says that somebody is at work.
pub(crate) fn next(trail: &Trail<'_>, is_progress: fn(&str) -> bool) -> Next {
    if trail.stopped.is_some() && trail.sends.is_empty() {
        return End::of(TurnEnding::Stopped, "somebody who may said stop");
    }
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
            // People said more since it was written, and there is a step left to read it with.
            Ask::Finish(_) if round.overtaken && trail.left() > 0 => infer(trail, 0),
            Ask::Finish(finish) if is_progress(&finish.text) => salvage(trail, is_progress),
            Ask::Finish(finish) => finished(trail, &finish),
            Ask::Tools(calls) if !round.replaced => tools(trail, round, calls),
            Ask::Tools(_) | Ask::Nothing | Ask::Enable => infer(trail, 0),
        },
    }
}

/// To be at work is no answer: one pass more, with `finish` alone, and then the turn has failed.
fn salvage(trail: &Trail<'_>, is_progress: fn(&str) -> bool) -> Next {
    let at_work =
        |round: &&Round<'_>| matches!(round.ask(), Ask::Finish(finish) if is_progress(&finish.text));
    if trail.rounds.iter().rev().take_while(at_work).count() > 1 {
        return End::of(
            ending(trail, TurnEnding::Failed),
            "it never came further than to say that it works on it",
        );
    }
    match infer(trail, 0) {
        Next::Infer(asking) => Next::Infer(Asking { offer: Offer::FinishOnly, ..asking }),
        other => other,
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
    match End::of(ending(trail, TurnEnding::Silent), nothing_sent) {
        Next::End(end) => Next::End(End { look_again_minutes: finish.look_again_minutes, ..end }),
        other => other,
    }
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
        look_again_minutes: finish.look_again_minutes,
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
        // Said shortly, it may fit.
        (_, Some(FailureKind::TooLong)) if failures == 1 && can_shorten(trail) => {
            return match infer(trail, 0) {
                Next::Infer(asking) => Next::Infer(Asking { too_long: true, ..asking }),
                other => other,
            };
        }
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

/// The calls of `round` that have no step yet, as far as there is room; when there is none, the model is asked.
fn tools(trail: &Trail<'_>, round: &Round<'_>, calls: Vec<ToolCall>) -> Next {
    // One step stays, to answer with.
    let room = usize::try_from(trail.left().saturating_sub(1)).unwrap_or(usize::MAX);
    let room = if trail.denied_again.is_none() && !is_out_of_time(trail, 0) { room } else { 0 };
    let steps = trail.last.saturating_add(1)..;
    let wanted: Vec<Wanted> = calls
        .into_iter()
        .skip(round.tools.len())
        .take(room)
        .zip(steps)
        .map(|(call, step)| {
            let family = call.name.split('.').next().unwrap_or_default();
            let offered = round.was_offered(&call.name);
            Wanted { step, offered, hidden: !offered && round.hidden.contains(&family), call }
        })
        .collect();
    if wanted.is_empty() { infer(trail, 0) } else { Next::Tools(wanted) }
}

/// Whether the turn has worked so much longer than it may.
fn is_out_of_time(trail: &Trail<'_>, beyond_ms: u64) -> bool {
    trail.opened.ms_max.is_some_and(|ms_max| trail.active_ms >= ms_max.saturating_add(beyond_ms))
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
    if is_out_of_time(trail, FINISH_MS_MAX) {
        return End::of(TurnEnding::OutOfTime, "its time ran out and no answer was finished");
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
    let last_chance = trail.denied_again.is_some()
        || unfinished == UNFINISHED_MAX
        || is_out_of_time(trail, 0)
        || left < STEPS_FOR_A_TOOL;
    let offer = if last_chance { Offer::FinishOnly } else { Offer::All };
    let waited = trail.active_ms.saturating_sub(trail.told_ms) >= SILENCE_MS_MAX;
    Next::Infer(Asking {
        step: trail.last.saturating_add(1),
        offer,
        left,
        wait_ms,
        silent_ms: waited.then_some(trail.active_ms),
        too_long: false,
    })
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
