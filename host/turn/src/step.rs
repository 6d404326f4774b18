//! How one step came out: what the gate gave back, as what the record keeps.

use crate::tools::ENABLE_TOOLS;
use event::{ApprovalId, Label, PrincipalId, ReceiptId, StepKind, StepOutcome};
use gate::{Failure, FailureKind, InferResponse, Output, Part, Passed, StopReason};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The word of a model that answered nothing at all: a failed step, never a success.
pub(crate) const EMPTY: &str = "empty";

/// The word of a call that was let go of because somebody wanted the turn to stop or to do another thing.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// The word of an effect whose outcome nobody knows.
const UNKNOWN: &str = "unknown";

/// How a step came out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CameOut {
    pub outcome: StepOutcome,
    pub output: Value,
    pub label: Label,
    pub receipts: Vec<ReceiptId>,
    /// The persons whose words it quotes that the turn had not been shown before.
    pub quotes: BTreeSet<PrincipalId>,
}

/// What `passed` means for a step of `kind`. `asked` is the label of the call.
///
/// # Errors
/// The approval that the call waits for: the step has not come out yet.
pub(crate) fn came_out(kind: StepKind, passed: Passed, asked: &Label) -> Result<CameOut, ApprovalId> {
    Ok(match passed {
        Passed::Waits { approval, .. } => return Err(approval),
        Passed::Done { output, label, receipts, of } => {
            CameOut { quotes: of, ..done(kind, output, label, receipts, asked) }
        }
        Passed::Failed { failure, label, receipts, of } => {
            CameOut { quotes: of, ..failed(&failure, receipts, &asked.join(&label)) }
        }
        // A no speaks of the call, so it is labelled like the call.
        Passed::Denied(denial) => CameOut {
            quotes: denial.quotes.iter().cloned().collect(),
            ..no(StepOutcome::Denied, denial.to_output(), asked)
        },
        Passed::Refused(refusal) => no(StepOutcome::Refused, refusal.to_output(), asked),
        Passed::Unknown { reason } => failed(&other(UNKNOWN, reason), Vec::new(), asked),
    })
}

/// A call of a tool that was not on offer: denied by the turn itself, and never at the gate, because the reply
/// tool is one that the seat may call and the model may not.
pub(crate) fn not_offered(tool: &str, hidden: bool, asked: &Label) -> CameOut {
    let reason = match hidden {
        true => format!("`{tool}` is not on offer yet: ask for its family with `{ENABLE_TOOLS}` first"),
        false => format!("`{tool}` is not on offer in this turn: call only the tools you were given"),
    };
    no(StepOutcome::Denied, json!({"no": "denied", "by": "offer", "reason": reason}), asked)
}

/// A file that came with nothing the turn is shown: who may read it is not known here, so the turn itself says no.
pub(crate) fn not_attached(asked: &Label) -> CameOut {
    let reason = "no such file came with the messages of this conversation: only those that are named here can be read";
    no(StepOutcome::Denied, json!({"no": "denied", "by": "offer", "reason": reason}), asked)
}

/// A call that was let go of.
pub(crate) fn interrupted(asked: &Label) -> CameOut {
    let message = "somebody said something that makes this needless, and it was let go of".to_owned();
    failed(&other(INTERRUPTED, message), Vec::new(), asked)
}

/// A result that the record does not take, such as a number it would change or an object nested too deeply: the
/// step failed, or the turn would never get past it.
pub(crate) fn not_kept(why: &record::Error, asked: &Label) -> CameOut {
    failed(&malformed(format!("the result cannot be kept: {why}")), Vec::new(), asked)
}

/// `output` as it will be when it is read again: the same number has one spelling, the same object one order. What cannot
/// be kept stays as it is, and is told by the record.
pub(crate) fn as_kept(output: Value) -> Value {
    if event::inexact(&output).is_some() {
        return output;
    }
    serde_json::from_slice(&event::canonical(&output)).unwrap_or(output)
}

fn no(outcome: StepOutcome, output: Value, asked: &Label) -> CameOut {
    CameOut { outcome, output, label: asked.clone(), receipts: Vec::new(), quotes: BTreeSet::new() }
}

/// The sentence of a failure may be the other side's own, so nobody vouches for it.
fn failed(failure: &Failure, receipts: Vec<ReceiptId>, asked: &Label) -> CameOut {
    let label = asked.join(&Label::public_untrusted());
    CameOut {
        outcome: StepOutcome::Failed,
        output: failure.to_output(),
        label,
        receipts,
        quotes: BTreeSet::new(),
    }
}

fn done(kind: StepKind, output: Output, label: Label, receipts: Vec<ReceiptId>, asked: &Label) -> CameOut {
    let checked = match (kind, output) {
        (StepKind::Infer | StepKind::Compact, Output::Model(response)) => answer(&response),
        (StepKind::Tool | StepKind::Send, Output::Tool(output)) => Ok(output),
        (StepKind::Infer | StepKind::Compact, Output::Tool(_)) => {
            Err(malformed("a tool answered where a model was asked"))
        }
        (_, Output::Model(_)) => Err(malformed("a model answered where a tool was called")),
        (_, Output::Unusable { failure, .. }) => Err(failure),
    };
    match checked {
        // What a model writes derives from all that it was shown.
        Ok(output) if matches!(kind, StepKind::Infer | StepKind::Compact) => {
            succeeded(output, label.join(asked), receipts)
        }
        Ok(output) => succeeded(output, label, receipts),
        Err(failure) => failed(&failure, receipts, asked),
    }
}

fn succeeded(output: Value, label: Label, receipts: Vec<ReceiptId>) -> CameOut {
    CameOut { outcome: StepOutcome::Succeeded, output, label, receipts, quotes: BTreeSet::new() }
}

fn answer(response: &InferResponse) -> Result<Value, Failure> {
    let says_something = |part: &Part| match part {
        Part::Text(text) => !text.trim().is_empty(),
        Part::ToolCall(_) => true,
        _ => false,
    };
    if !response.parts.iter().any(says_something) {
        let why = match response.stop {
            StopReason::Length => "the model wrote as much as it may before it had said anything whole",
            _ => "the model answered nothing",
        };
        return Err(other(EMPTY, why.to_owned()));
    }
    // Serialising plain records of strings and integers cannot fail.
    Ok(serde_json::to_value(response).unwrap_or(Value::Null))
}

fn malformed(message: impl Into<String>) -> Failure {
    Failure { kind: FailureKind::Malformed, message: message.into(), retry_after_ms: None }
}

fn other(word: &str, message: String) -> Failure {
    Failure { kind: FailureKind::Other(word.to_owned()), message, retry_after_ms: None }
}

#[cfg(test)]
mod tests {
    use super::{came_out, not_offered};
    use event::{Audience, Integrity, Label, StepKind, StepOutcome};
    use gate::{InferResponse, Output, Part, Passed, StopReason};
    use serde_json::json;
    use std::collections::BTreeSet;

    fn asked() -> Label {
        Label::within(Audience::Terminal("s".into()), Integrity::Unknown)
    }

    fn said(parts: Vec<Part>) -> Passed {
        let output = Output::Model(InferResponse { parts, stop: StopReason::End, usage: None });
        said_as(output, Label::public_untrusted())
    }

    fn said_as(output: Output, label: Label) -> Passed {
        Passed::Done { output, label, receipts: Vec::new(), of: BTreeSet::new() }
    }

    #[test]
    fn an_answer_of_nothing_is_a_failed_step() {
        for nothing in [vec![], vec![Part::Text(" \n".into())]] {
            assert_eq!(
                came_out(StepKind::Infer, said(nothing), &asked()).unwrap().outcome,
                StepOutcome::Failed
            );
        }
        let response = InferResponse { parts: vec![], stop: StopReason::Length, usage: None };
        let cut = said_as(Output::Model(response), Label::unknown());
        let cut = came_out(StepKind::Infer, cut, &asked()).unwrap();
        assert_eq!(cut.outcome, StepOutcome::Failed);
        assert!(cut.output["message"].as_str().unwrap().contains("as much as it may"), "{}", cut.output);
        let words = came_out(StepKind::Infer, said(vec![Part::Text("x".into())]), &asked()).unwrap();
        assert_eq!(words.outcome, StepOutcome::Succeeded);
        assert_eq!(words.label, asked().join(&Label::public_untrusted()));
    }

    #[test]
    fn an_effect_nobody_knows_of_failed_and_says_so() {
        let out = came_out(StepKind::Send, Passed::Unknown { reason: "it left".into() }, &asked()).unwrap();
        assert_eq!(out.outcome, StepOutcome::Failed);
        assert_eq!(out.output["failed"], json!({"other": "unknown"}));
    }

    #[test]
    fn a_call_off_the_offer_is_denied_with_a_reason() {
        let out = not_offered("slack.post", false, &asked());
        assert_eq!(out.outcome, StepOutcome::Denied);
        assert!(out.output["reason"].as_str().unwrap().contains("slack.post"));
    }
}
