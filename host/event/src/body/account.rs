//! Accounts at other services, as facts: whose they are, and what was let out of what is read with them. What opens
//! an account stands nowhere here.

use crate::{Origin, PrincipalId, SeatId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Somebody's account at another service may be used: what opens it is kept, sealed, beside the record. Replaces what
/// was connected before for the same credential and owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountConnected {
    /// The reference by which routes of plugins name it, such as `mail.token`.
    pub credential: String,
    /// Whose it is: a person, or [`PrincipalId::organisation`].
    pub owner: PrincipalId,
    /// Who connected it.
    pub by: PrincipalId,
    /// The seats that may use it, as far as policy lets them; any seat when there is none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub seats: BTreeSet<SeatId>,
    /// What the service says it may be used for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// The credential of a route that means somebody's account: the reference by which plugins know it, and whose it is.
#[must_use]
pub fn account_reference(credential: &str, owner: &PrincipalId) -> String {
    format!("{credential}@{owner}")
}

/// A call would be made with an account of the person who asked for it, and none is connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountWanted {
    /// The call.
    pub origin: Origin,
    /// The tool.
    pub tool: String,
    /// The reference by which its routes name the account.
    pub credential: String,
    /// Where such an account is connected, as people call it.
    pub service: String,
    /// Who asked, and would have to connect it.
    pub owner: PrincipalId,
}

/// An account is not used any more, from the next call on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountDisconnected {
    /// The reference.
    pub credential: String,
    /// Whose it was.
    pub owner: PrincipalId,
    /// Who took it back.
    pub by: PrincipalId,
    /// Why.
    pub reason: String,
}

/// A person says where may be told what was read with their accounts. Replaces what they said before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisclosureSet {
    /// Whose accounts.
    pub owner: PrincipalId,
    /// The destinations, as tools name them, such as a channel; none means nowhere but to its owner.
    pub destinations: BTreeSet<String>,
}
