//! Turns and their steps, as facts.

use crate::{Audience, EventId, Label, Personal, ReceiptId, SeatId, Topic, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a turn's answer goes: a tool, and its arguments without the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplyTo {
    /// The sending tool, such as `slack.post`.
    pub tool: String,
    /// Its arguments but for the text, such as channel and thread.
    pub destination: Value,
    /// Who reads what arrives there.
    pub audience: Audience,
}

/// A turn began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnOpened {
    /// The turn.
    pub turn: TurnId,
    /// The seat whose turn it is.
    pub seat: SeatId,
    /// What it is about.
    pub topic: Topic,
    /// The message or request that woke the seat.
    pub woken_by: EventId,
    /// Where its answer goes; a turn without one publishes nothing.
    pub reply_to: Option<ReplyTo>,
    /// The model it thinks with, such as `scripted/story`.
    pub model: String,
    /// The most steps it may take.
    pub steps_max: u32,
    /// How long it may work, in milliseconds; waiting for a person does not count. Nothing where it is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms_max: Option<u64>,
    /// The seat that was asked, when it is vacant and `seat` works for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<SeatId>,
    /// Whether it is a drill: its effects are captured, and nothing of it is sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drill: bool,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnding {
    /// It finished, and what it said was sent.
    Answered,
    /// It finished with nothing to say.
    Silent,
    /// A standing no ended it.
    Refused,
    /// The same denial came twice with nothing new in between.
    DeniedAgain,
    /// Its steps ran out without an answer.
    StepsSpent,
    /// The model or the send failed and retrying did not help.
    Failed,
    /// Somebody who may said stop.
    Stopped,
    /// Its time ran out without an answer.
    OutOfTime,
}

impl TurnEnding {
    /// One word, as the record has it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Silent => "silent",
            Self::Refused => "refused",
            Self::DeniedAgain => "denied_again",
            Self::StepsSpent => "steps_spent",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::OutOfTime => "out_of_time",
        }
    }
}

/// A turn ended. Its words, as those of its steps, are of everyone whose words it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// The turn.
    pub turn: TurnId,
    /// What it was about.
    pub topic: Topic,
    /// How.
    pub ending: TurnEnding,
    /// What it comes to, for people.
    pub summary: Personal<String>,
    /// The receipts its answer names as sources.
    pub sources: Vec<ReceiptId>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Asks the model.
    Infer,
    /// Calls a tool.
    Tool,
    /// Sends the turn's answer.
    Send,
    /// Asks the model to say shortly what older steps came to, so that the rest fits.
    Compact,
}

/// A try of a step began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepStarted {
    /// The turn.
    pub turn: TurnId,
    /// The step, from 1.
    pub step: u32,
    /// The try, from 1.
    pub attempt: u32,
    /// What it does.
    pub kind: StepKind,
    /// The tool or model called.
    pub tool: String,
    /// The arguments; for a model, what is not already in the record.
    pub input: Personal<Value>,
    /// The model's own name for the call it made, so that the result can be matched to it.
    pub call_id: Option<String>,
}

/// How a step came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// It has a result.
    Succeeded,
    /// It was tried and did not work; the output says why.
    Failed,
    /// Not this call; the output says why.
    Denied,
    /// A standing no; the output says until when.
    Refused,
}

/// A step has its output. Replay returns it and runs nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepEnded {
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: u32,
    /// The try that ended it.
    pub attempt: u32,
    /// How it came out.
    pub outcome: StepOutcome,
    /// The result, or the reason as data.
    pub output: Personal<Value>,
    /// The label of the output alone.
    pub output_label: Label,
    /// Receipts this step left.
    pub receipts: Vec<ReceiptId>,
}
