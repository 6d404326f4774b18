//! What people say into a running turn, and what it does to that turn, as facts.

use crate::{EventId, GlobalPosition, PrincipalId, SeatId, Topic, TurnId};
use serde::{Deserialize, Serialize};

/// What a message into a running turn does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    /// Nothing: it has nothing to do with the turn.
    Ignore,
    /// It adds to what the turn knows.
    Append,
    /// What was asked is another thing from now on.
    Replace,
    /// The turn ends.
    Stop,
}

/// A message came into a running turn. It is in the turn's inbox from now on, unless it does nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSteered {
    /// The turn.
    pub turn: TurnId,
    /// What it is about.
    pub topic: Topic,
    /// The `message.received`.
    pub message: EventId,
    /// Where that stands in the record.
    pub at: GlobalPosition,
    /// Who said it, when it was a person that is known.
    pub by: Option<PrincipalId>,
    /// What it does.
    pub steering: Steering,
    /// Why: a stable word, such as `stop-word`, `correction`, `said`, `not-asker`.
    pub reason: String,
    /// The seat it asks something by itself, when it asks one: read by the turn, it needs no turn of its own.
    pub asks: Option<SeatId>,
    /// Whether nothing else has told that seat: a message into a running turn is not weighed by triage.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
}

/// One message of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxItem {
    /// The `message.received`.
    pub message: EventId,
    /// Where that stands in the record.
    pub at: GlobalPosition,
    /// What it does to the turn.
    pub steering: Steering,
    /// The seat it asks something by itself, when it asks one.
    pub asks: Option<SeatId>,
}

/// A turn took up what lay in its inbox, before a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxDrained {
    /// The turn.
    pub turn: TurnId,
    /// What it is about.
    pub topic: Topic,
    /// The step that comes next.
    pub before_step: u32,
    /// How many messages of the inbox the turn has taken up by now.
    pub revision: u64,
    /// What it took up, in the order in which it came.
    pub items: Vec<InboxItem>,
}

/// A turn's finish stands: nothing lay unread in its inbox, and nothing comes into it any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishAccepted {
    /// The turn.
    pub turn: TurnId,
    /// The step in which the model finished.
    pub step: u32,
    /// How many messages of the inbox had been taken up: all that there were.
    pub revision: u64,
}
