//! What the gate said no to, as facts.

use crate::{Digest, EventId, Origin, Personal, PrincipalId, Timestamp};
use serde::{Deserialize, Serialize};

/// Which check said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeniedBy {
    /// The call has not the shape the tool takes, or the tool does not exist.
    Shape,
    /// The seat holds no grant for the tool.
    Grant,
    /// A Cedar policy forbids it, no policy permits it, or a policy's evaluation failed.
    Policy,
    /// It goes with an account of whoever asked, and none is connected.
    Account,
    /// A guard module.
    Guard,
    /// A person said no, or nobody said yes in time.
    Approval,
    /// Flow: a reader of the destination may not read a source.
    Flow,
}

/// The pure half of the gate let a call through. What follows on the same stream is what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAdmitted {
    /// The call.
    pub origin: Origin,
    /// The tool or model.
    pub tool: String,
    /// What it touches.
    pub resource: Personal<String>,
    /// Digest of the canonical arguments.
    pub content: Digest,
    /// Digest of the component that may run.
    pub component: Digest,
    /// Ids of the policies that permitted it.
    pub policies: Vec<String>,
    /// Digest of the policy set that was asked.
    pub policy_set: Digest,
    /// The yes given ahead without which it would have waited for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<EventId>,
    /// The person whose account it uses, if it uses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<PrincipalId>,
    /// Whether it would tell somebody what was read with another's account.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub violates_flow: bool,
}

/// No to this call. It goes back to the model, which may try another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDenied {
    /// The call.
    pub origin: Origin,
    /// The tool asked for.
    pub tool: String,
    /// What it would have touched.
    pub resource: Personal<String>,
    /// Digest of the canonical arguments.
    pub content: Digest,
    /// Which check said no.
    pub by: DeniedBy,
    /// Ids of the policies that said no; empty when none permitted.
    pub policies: Vec<String>,
    /// Digest of the policy set that was asked.
    pub policy_set: Digest,
    /// The reason, for a model and a person: what was missing and what would be allowed.
    pub reason: Personal<String>,
    /// The person whose account it would use, if it would use one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<PrincipalId>,
    /// Whether it would tell somebody what was read with another's account.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub violates_flow: bool,
}

/// A standing no to a subject, by budget or price. It ends the turn without further inference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRefused {
    /// The call.
    pub origin: Origin,
    /// The tool asked for.
    pub tool: String,
    /// What is refused: a budget or a price key.
    pub subject: String,
    /// The reason: which budget, how much is settled, held and unknown.
    pub reason: String,
    /// When it lifts by itself, if it does.
    pub lifts_at: Option<Timestamp>,
}

/// What one call may do outside, judged by a model because its tool declares no effect class. It stands for every try
/// of the call with these arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallClassified {
    /// The call.
    pub origin: Origin,
    /// The tool.
    pub tool: String,
    /// Digest of the canonical arguments.
    pub content: Digest,
    /// Digest of the component that would run.
    pub component: Digest,
    /// The effect class; nothing when none was found out, and then a person is asked.
    pub class: Option<String>,
    /// Why it has this class, or none.
    pub why: Personal<String>,
    /// The model that judged, when one was asked.
    pub model: Option<String>,
}
