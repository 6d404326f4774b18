//! Requests and moments, as facts. Every wait names a holder and a moment: there is no other way to write one.

use crate::{EventId, Personal, RequestId, SeatId, Timestamp, Topic};
use serde::{Deserialize, Serialize};

/// A seat asks another for something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestAsked {
    /// The request.
    pub request: RequestId,
    /// The seat that asks.
    pub asker: SeatId,
    /// The seat that owes an answer.
    pub holder: SeatId,
    /// What it is about.
    pub topic: Topic,
    /// What is wanted, for whoever answers.
    pub wanted: Personal<String>,
    /// When it lapses if nobody has answered.
    pub due_at: Timestamp,
}

/// The holder answered a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestAnswered {
    /// The request.
    pub request: RequestId,
    /// The seat that answered.
    pub by: SeatId,
    /// What it is about.
    pub topic: Topic,
    /// The seat that asked, and hears of it.
    pub asker: SeatId,
    /// The answer.
    pub answer: Personal<String>,
}

/// The moment of a request passed without an answer. It leaves the holder's count and goes to whoever must act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestLapsed {
    /// The request.
    pub request: RequestId,
    /// What it was about.
    pub topic: Topic,
    /// The seat that owed the answer.
    pub holder: SeatId,
    /// The seat that asked, and must act on the lapse.
    pub asker: SeatId,
}

/// A seat will look at a topic again at a moment: how a turn signs off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MomentSet {
    /// The seat that will look. A later moment for the same seat and topic replaces this one.
    pub seat: SeatId,
    /// What at.
    pub topic: Topic,
    /// When.
    pub at: Timestamp,
}

/// A moment that a seat had set came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MomentPassed {
    /// The seat that looks now.
    pub seat: SeatId,
    /// What at.
    pub topic: Topic,
    /// The moment it had set.
    pub at: Timestamp,
    /// The `moment.set`.
    pub set_by: EventId,
}
