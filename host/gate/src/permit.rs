//! The sealed proof that one call was admitted. Made here alone, spent by value on [`crate::Reach::reach`].

use crate::account::Lacking;
use crate::call::{Call, Payload};
use crate::catalogue::{EffectClass, Resource};
use crate::deltas::Deltas;
use crate::office::Verbs;
use event::{
    ApprovalId, Digest, EffectId, EventId, Handle, NanoUsd, Origin, PrincipalId, Route, Timestamp, WorstCase,
};
use std::fmt;
use std::sync::Arc;

/// What the pure half settled about a call: read by the acting half, never made outside this crate.
#[derive(Clone, Debug, PartialEq)]
pub struct Admission {
    pub(crate) plugin: String,
    pub(crate) digest: Digest,
    pub(crate) resource: Resource,
    pub(crate) effect: EffectClass,
    pub(crate) routes: Vec<Route>,
    /// What of the office it is given; it then reaches nothing outside the record.
    pub(crate) handles: Vec<Handle>,
    pub(crate) hold: Option<Box<Price>>,
    pub(crate) policy_set: Digest,
    pub(crate) policies: Vec<String>,
    /// The person whose account the routes use, if they use one.
    pub(crate) account: Option<PrincipalId>,
    /// The account that whoever asked would have to connect, should it turn out that there is none to make the call with.
    pub(crate) connectable: Option<Lacking>,
    /// Whether it tells somebody what was read with another's account, as policy lets it.
    pub(crate) violates_flow: bool,
    /// The yes that is used up when the call begins.
    pub(crate) approval: Option<ApprovalId>,
    /// The yes given ahead without which it would wait for one.
    pub(crate) ahead: Option<EventId>,
}

/// What must be held before the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    pub(crate) key: String,
    pub(crate) amount: NanoUsd,
    /// What the key costs: the hold is settled by it, whatever list is in force by then.
    pub(crate) listed: event::Price,
    pub(crate) worst: WorstCase,
    /// Where it would be held: looked up again when the call begins.
    pub(crate) accounts: Vec<event::Account>,
}

/// The right to make one call, once. Its fields are private to the gate: there is no other way to get one.
pub struct Permit {
    pub(crate) call: Arc<Call>,
    pub(crate) admission: Admission,
    pub(crate) effect_id: Option<EffectId>,
    pub(crate) at: Timestamp,
    pub(crate) deltas: Option<Arc<dyn Deltas>>,
    pub(crate) verbs: Option<Verbs>,
}

impl Permit {
    /// Where the call comes from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.call.origin
    }

    /// The tool or model.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.call.tool
    }

    /// The plugin whose component runs.
    #[must_use]
    pub fn plugin(&self) -> &str {
        &self.admission.plugin
    }

    /// Digest of the component that was admitted; another must not run.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.admission.digest
    }

    /// What is passed.
    #[must_use]
    pub fn payload(&self) -> &Payload {
        &self.call.payload
    }

    /// The workspace the call is made in, see [`Call::workspace`].
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        self.call.workspace()
    }

    /// What the call may do outside.
    #[must_use]
    pub fn effect(&self) -> EffectClass {
        self.admission.effect
    }

    /// What the call touches.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.admission.resource
    }

    /// The ways out it may use.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.admission.routes
    }

    /// The effect's name, the same for every try of the same deed; nothing for a read.
    #[must_use]
    pub fn effect_id(&self) -> Option<&EffectId> {
        self.effect_id.as_ref()
    }

    /// The call's recorded time: the only clock a guest sees.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// What of the office it may use, if anything.
    #[must_use]
    pub fn verbs(&self) -> Option<&Verbs> {
        self.verbs.as_ref()
    }

    /// Where text goes as a model writes it.
    #[must_use]
    pub fn deltas(&self) -> Option<&Arc<dyn Deltas>> {
        self.deltas.as_ref()
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("origin", &self.call.origin)
            .field("tool", &self.call.tool)
            .finish_non_exhaustive()
    }
}
