//! Where a call comes from. Holds, receipts, effects and replay are keyed by it.

use crate::{EventId, TurnId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Every call has one: a step of a turn, or a duty done for an event outside any turn.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// One try of one step of a turn.
    Step {
        /// The turn.
        turn: TurnId,
        /// Its step, from 1.
        step: u32,
        /// The try, from 1.
        attempt: u32,
    },
    /// A call made for an event outside a turn, under a system seat: triage, a card, a probe.
    Duty {
        /// The event it is made for.
        event: EventId,
        /// What is done: one word, such as `probe`.
        kind: String,
        /// The try, from 1.
        attempt: u32,
    },
    /// A call that something running for another call makes: a plugin, a worker, a script. It is that call's child:
    /// it may do no more than its parent, and is the same child whenever the parent runs again.
    Child {
        /// The call it is made for.
        of: Box<Origin>,
        /// Which of its calls, from 1, in the order in which they are made.
        ordinal: u32,
        /// The try, from 1.
        attempt: u32,
    },
}

impl Origin {
    /// What is done, whichever the try: holds and effects of one deed share it.
    #[must_use]
    pub fn deed(&self) -> String {
        match self {
            Self::Step { turn, step, .. } => format!("{turn}/{step}"),
            Self::Duty { event, kind, .. } => format!("{event}/{kind}"),
            Self::Child { of, ordinal, .. } => format!("{}/c{ordinal}", of.deed()),
        }
    }

    /// The try, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Step { attempt, .. } | Self::Duty { attempt, .. } | Self::Child { attempt, .. } => *attempt,
        }
    }

    /// The turn, when the call is a step of one, or made for such a step.
    #[must_use]
    pub fn turn(&self) -> Option<&TurnId> {
        match self {
            Self::Step { turn, .. } => Some(turn),
            Self::Duty { .. } => None,
            Self::Child { of, .. } => of.turn(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.deed(), self.attempt())
    }
}
