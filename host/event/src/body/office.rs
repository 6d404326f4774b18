//! Seats, policies, prices, budgets and plugins, as facts.

use crate::{Digest, NanoUsd, PrincipalId, SeatId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A seat exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeatCreated {
    /// The seat.
    pub seat: SeatId,
    /// The role that policies speak of, such as `assistant`.
    pub role: String,
    /// The department, when it has one.
    pub department: Option<String>,
    /// The seat it reports to, when it reports to one.
    pub line: Option<SeatId>,
    /// What it may call: tool names, or a family as `web.*`. Policy still decides each call.
    pub grants: Vec<String>,
}

/// A principal holds a seat from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeatHeld {
    /// The seat.
    pub seat: SeatId,
    /// Its holder.
    pub principal: PrincipalId,
}

/// One policy file as it was applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyText {
    /// File name, such as `seat.cedar`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A set of policies is in force. Every node evaluates the newest set of the record, never a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyApplied {
    /// Digest of the whole set; every decision names it.
    pub digest: Digest,
    /// The files, in order of name.
    pub files: Vec<PolicyText>,
}

/// What a key costs. An amount that is absent means that this kind of use is not sold, not that it is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// For a million input tokens.
    pub input_per_mtok: Option<NanoUsd>,
    /// For a million input tokens read from the provider's cache.
    pub cached_input_per_mtok: Option<NanoUsd>,
    /// For a million output tokens.
    pub output_per_mtok: Option<NanoUsd>,
    /// For one call.
    pub per_call: Option<NanoUsd>,
}

/// A price list is in force. What is not on it is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricesListed {
    /// Digest of the list.
    pub digest: Digest,
    /// Price by key, such as `scripted/story`.
    pub prices: BTreeMap<String, Price>,
}

/// When a budget starts anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// At midnight UTC.
    Day,
    /// At midnight UTC of the first of the month.
    Month,
}

/// A budget has a limit. Zero means zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetSet {
    /// Its name, such as `organisation-day`.
    pub budget: String,
    /// When it starts anew.
    pub period: Period,
    /// The most that may be settled, held and unknown together in one period.
    pub limit: NanoUsd,
}

/// A plugin is known by digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginInstalled {
    /// Its name, such as `web`.
    pub plugin: String,
    /// Its version as it states it.
    pub version: String,
    /// SHA-256 of the component.
    pub digest: Digest,
    /// The world it is for, such as `tool`.
    pub world: String,
    /// The tools or models it offers.
    pub tools: Vec<String>,
}

/// One way out: method, origin, path and credential.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Route {
    /// HTTP methods, upper case.
    pub methods: Vec<String>,
    /// Scheme, host and port, such as `https://api.example.com`.
    pub origin: String,
    /// What the path must start with; `/` allows every path.
    pub path_prefix: String,
    /// Reference of the credential that is put into requests on this route, under the guest.
    pub credential: Option<String>,
}

/// The operator granted a plugin what it may reach. Replaces what was granted before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PluginGranted {
    /// The plugin.
    pub plugin: String,
    /// The component this grant is for; another digest has no grant.
    pub digest: Digest,
    /// Where it may go.
    pub routes: Vec<Route>,
    /// Its settings as the guest reads them: never a secret.
    pub settings: BTreeMap<String, Value>,
}

/// Who the office is on a connected service, as that service says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionIdentified {
    /// The service, such as `slack`.
    pub source: String,
    /// The workspace, `T…`.
    pub team: String,
    /// The office's own user there, `U…`.
    pub user: String,
    /// Its bot id, `B…`; empty when the service named none.
    pub bot: String,
    /// Its app id, `A…`; empty when the service named none.
    pub app: String,
}

/// A host process began to work on this record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStarted {
    /// The process: its name and a part that differs at each start.
    pub node: String,
    /// The version of the host.
    pub version: String,
}
