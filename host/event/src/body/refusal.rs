//! Standing noes to a subject, as facts. A refusal stands until its moment or until someone lifts it.

use crate::{RefusalId, SeatId, Timestamp, Topic};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a refusal stands against.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalSubject {
    /// Every call of every seat: the office stands still.
    Office,
    /// Every call of one seat.
    Seat(SeatId),
    /// Every call of one tool or model, whoever asks.
    Tool(String),
    /// Every call through one plugin.
    Plugin(String),
    /// Every paid call on one budget.
    Budget(String),
    /// Whatever is done in one workspace, or for what was said there.
    Workspace(String),
    /// What one seat does about one topic.
    SeatTopic {
        /// The seat.
        seat: SeatId,
        /// The topic.
        topic: Topic,
    },
    /// What anyone does about one topic.
    Topic(Topic),
}

impl fmt::Display for RefusalSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Office => f.write_str("office"),
            Self::Seat(seat) => write!(f, "seat:{seat}"),
            Self::Tool(tool) => write!(f, "tool:{tool}"),
            Self::Plugin(plugin) => write!(f, "plugin:{plugin}"),
            Self::Budget(budget) => write!(f, "budget:{budget}"),
            Self::Workspace(team) => write!(f, "workspace:{team}"),
            Self::SeatTopic { seat, topic } => write!(f, "seat-topic:{seat}|{topic}"),
            Self::Topic(topic) => write!(f, "topic:{topic}"),
        }
    }
}

/// A subject is refused from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalRaised {
    /// The refusal.
    pub refusal: RefusalId,
    /// What it stands against. A later refusal of the same subject replaces this one.
    pub subject: RefusalSubject,
    /// Why, for a model and a person.
    pub reason: String,
    /// When it lifts by itself; nothing when only someone with the right lifts it.
    pub lifts_at: Option<Timestamp>,
}

/// A refusal stands no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalLifted {
    /// The refusal.
    pub refusal: RefusalId,
    /// What it stood against.
    pub subject: RefusalSubject,
    /// Why.
    pub reason: String,
}
