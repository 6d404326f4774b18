//! Seats and who holds them, as facts.

use crate::{PrincipalId, SeatId};
use serde::{Deserialize, Serialize};

/// A seat exists. What it holds is also what a seat *is*: [`SeatChanged`] carries it whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatCreated {
    /// The seat.
    pub seat: SeatId,
    /// The role that policies speak of, such as `assistant`.
    pub role: String,
    /// The department, when it has one.
    pub department: Option<String>,
    /// The seat it reports to, when it reports to one.
    pub line: Option<SeatId>,
    /// What it may call: tool names, or a family as `web.*`; what it may state: `record:<kind>`. Policy still
    /// decides each call.
    pub grants: Vec<String>,
    /// What it answers for, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accountabilities: Vec<String>,
    /// The seat that does its work while it is vacant. Without one, the seat it reports to does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_in: Option<SeatId>,
}

/// A seat is another from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatChanged {
    /// The whole seat as it is now.
    pub now: SeatCreated,
    /// Why.
    pub reason: String,
}

/// A principal holds a seat from now on. A new holder keeps the seat's queue, page and learnings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatHeld {
    /// The seat.
    pub seat: SeatId,
    /// Its holder.
    pub principal: PrincipalId,
}

/// Nobody holds a seat from now on: it takes no turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatVacated {
    /// The seat.
    pub seat: SeatId,
    /// Who held it.
    pub principal: PrincipalId,
    /// Why.
    pub reason: String,
}
