//! Approvals, as facts: one consequential call, shown to a person before it runs. What is approved is the digest
//! of the exact arguments, once.

use crate::{ApprovalId, Digest, Origin, Personal, PrincipalId, SeatId, Timestamp, Topic};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call waits for a person's yes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalAsked {
    /// The approval: named after the deed and its content, so that asking twice is one approval.
    pub approval: ApprovalId,
    /// The call, in the try that first asked.
    pub origin: Origin,
    /// The seat that wants it.
    pub seat: SeatId,
    /// What it is about, when the call belongs to a topic.
    pub topic: Option<Topic>,
    /// The tool.
    pub tool: String,
    /// What it touches.
    pub resource: Personal<String>,
    /// The exact arguments, as they are shown and as they will run.
    pub input: Personal<Value>,
    /// Digest of the canonical arguments.
    pub content: Digest,
    /// Digest of the component that will run.
    pub component: Digest,
    /// Effect class of the tool.
    pub effect: String,
    /// Ids of the policies that want a person's yes.
    pub policies: Vec<String>,
    /// Why a person is asked.
    pub reason: Personal<String>,
    /// The person whose yes it is and nobody else's: the call would tell others what was read with their account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discloses: Option<PrincipalId>,
    /// When it expires; no answer is a no.
    pub expires_at: Timestamp,
}

/// A person said yes to the call as it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalGiven {
    /// The approval.
    pub approval: ApprovalId,
    /// The call, in the try that first asked.
    pub origin: Origin,
    /// Digest of the arguments that were shown.
    pub content: Digest,
    /// Who said yes.
    pub by: PrincipalId,
    /// The seat in which they may; nothing where they answer for what is their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<SeatId>,
    /// Ids of the policies that let them.
    pub policies: Vec<String>,
}

/// A person said no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDenied {
    /// The approval.
    pub approval: ApprovalId,
    /// The call, in the try that first asked.
    pub origin: Origin,
    /// Who said no.
    pub by: PrincipalId,
    /// The seat in which they may; nothing where they answer for what is their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seat: Option<SeatId>,
    /// Why, in their words; empty when they gave none.
    pub reason: Personal<String>,
}

/// Nobody answered in time: a no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalExpired {
    /// The approval.
    pub approval: ApprovalId,
    /// The call, in the try that first asked.
    pub origin: Origin,
}

/// The one use of an approval: the call it was given for began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalSpent {
    /// The approval.
    pub approval: ApprovalId,
    /// The call, in the try that began.
    pub origin: Origin,
    /// Digest of the arguments that ran.
    pub content: Digest,
}

/// A person said yes ahead to every later call of one seat to one tool on one resource: a repeated yes made a narrow
/// grant, by an explicit act. A later one for the same three replaces it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalGivenAhead {
    /// The seat that may.
    pub seat: SeatId,
    /// The tool.
    pub tool: String,
    /// What it may touch, for people.
    pub resource: Personal<String>,
    /// Digest of the resource as text: what a call is held against.
    pub resource_digest: Digest,
    /// Digest of the arguments, when only exactly these may run.
    pub content: Option<Digest>,
    /// Until when; nothing for as long as it is not withdrawn.
    pub until: Option<Timestamp>,
    /// Who said yes.
    pub by: PrincipalId,
    /// The seat in which they may.
    pub by_seat: SeatId,
    /// Why.
    pub reason: Personal<String>,
}

/// What was given ahead counts no more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalWithdrawn {
    /// The seat.
    pub seat: SeatId,
    /// The tool.
    pub tool: String,
    /// Digest of the resource as text.
    pub resource_digest: Digest,
    /// Who withdrew it.
    pub by: PrincipalId,
    /// The seat in which they may.
    pub by_seat: SeatId,
    /// Why.
    pub reason: Personal<String>,
}
