//! The three noes. Denied: not this call. Refused: a standing no to a subject. Failed is not here: it is
//! what [`crate::reach`] returns, as data.

use crate::account::Lacking;
use crate::catalogue::{EffectClass, Resource};
use crate::permit::Admission;
use event::{ApprovalId, DeniedBy, Digest, PrincipalId, Timestamp};
use serde_json::{Value, json};

/// No to this call. It goes back to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Which check said no.
    pub by: DeniedBy,
    /// What the call would have touched, as far as that could be told.
    pub resource: String,
    /// Ids of the policies that said no; empty when none permitted.
    pub policies: Vec<String>,
    /// Digest of the policy set that was asked.
    pub policy_set: Digest,
    /// What was missing and what would be allowed, for a model and a person.
    pub reason: String,
    /// The person whose words the reason quotes, when it quotes any.
    pub quotes: Option<PrincipalId>,
    /// The person whose account the call would use, if it would use one.
    pub account: Option<PrincipalId>,
    /// Whether it would tell somebody what was read with another's account.
    pub violates_flow: bool,
    /// The account for want of which it is denied.
    pub lacking: Option<Lacking>,
}

impl Denial {
    /// The denial as the result of a tool call.
    #[must_use]
    pub fn to_output(&self) -> Value {
        json!({"no": "denied", "by": self.by, "resource": self.resource, "policies": self.policies, "reason": self.reason})
    }
}

/// A standing no to a subject. It ends the turn without further inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is refused: a [`event::RefusalSubject`] as text, a budget or a price key.
    pub subject: String,
    /// Figures and remedy.
    pub reason: String,
    /// When it lifts by itself.
    pub lifts_at: Option<Timestamp>,
}

impl Refusal {
    /// The refusal as the output of a step.
    #[must_use]
    pub fn to_output(&self) -> Value {
        let lifts_at = self.lifts_at.map(|at| at.to_string());
        json!({"no": "refused", "subject": self.subject, "reason": self.reason, "lifts_at": lifts_at})
    }
}

/// A call that nothing forbids but the want of a person's yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The approval that is wanted: of this deed, these arguments and this component.
    pub approval: ApprovalId,
    /// What the call would touch.
    pub resource: Resource,
    /// The component that would run.
    pub component: Digest,
    /// What the tool may do outside.
    pub effect: EffectClass,
    /// Ids of the policies that want a yes.
    pub policies: Vec<String>,
    /// Why one is wanted.
    pub reason: String,
    /// The person whose yes is wanted and nobody else's: it would tell others what was read with their account.
    pub discloses: Option<PrincipalId>,
}

/// What the pure half of the gate says.
#[derive(Debug)]
pub enum Verdict {
    /// The call may be made, if its hold can be taken.
    Admitted(Admission),
    /// Only with a person's yes, or with that of one person.
    Asks(Asking),
    /// Not this call.
    Denied(Denial),
    /// A standing no.
    Refused(Refusal),
}
