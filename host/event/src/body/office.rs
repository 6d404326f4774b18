//! Policies, prices, budgets and plugins, as facts.

use crate::{AppliesTo, Digest, NanoUsd, PrincipalId, RoutePath, SeatId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One policy file as it was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyText {
    /// File name, such as `seat.cedar`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A set of policies is in force. Every node evaluates the newest set of the record, never a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyApplied {
    /// Digest of the whole set; every decision names it.
    pub digest: Digest,
    /// The files, in order of name: policies (`*.cedar`) and the cases they must decide (`cases/…/*.json`).
    pub files: Vec<PolicyText>,
    /// The set it was made from: applied only while that one is in force. Nothing for a first set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Digest>,
    /// Why it was changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether it was applied as a correction, which may only narrow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub corrective: bool,
    /// Whose wish it is, in the seat that the gate states it for. Nothing for what the host states by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<PrincipalId>,
}

/// Somebody proposes another set of policies. Nothing is in force until a seat with the right applies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyProposed {
    /// Digest of the proposed set: the proposal's name.
    pub digest: Digest,
    /// The set in force when it was made.
    pub base: Digest,
    /// The files, in order of name.
    pub files: Vec<PolicyText>,
    /// Why.
    pub reason: String,
    /// Whether it claims only to narrow; held against what it does.
    pub corrective: bool,
    /// Whose wish it is, in the seat that the gate states it for. Nothing for what the host states by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<PrincipalId>,
}

/// A permit counts no more, in any set, now or applied later: what was revoked stays revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRevoked {
    /// The id of the policy, which permits. A forbid cannot be revoked: that would widen.
    pub policy: String,
    /// Why.
    pub reason: String,
}

/// What a key costs. An amount that is absent means that this kind of use is not sold, not that it is free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// For a million input tokens.
    pub input_per_mtok: Option<NanoUsd>,
    /// For a million input tokens read from the provider's cache.
    pub cached_input_per_mtok: Option<NanoUsd>,
    /// For a million input tokens written to it; absent where they cost as input does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_per_mtok: Option<NanoUsd>,
    /// For a million output tokens.
    pub output_per_mtok: Option<NanoUsd>,
    /// For one call.
    pub per_call: Option<NanoUsd>,
    /// For each second, begun ones counted whole, that the call lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<NanoUsd>,
    /// What the tokens of a call cost instead when its input is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContext>,
}

/// Prices of all tokens of a call whose input is longer than a threshold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongContext {
    /// They hold for the whole call when its input, cached tokens included, has more tokens than this.
    pub above_input_tokens: u64,
    /// For a million input tokens.
    pub input_per_mtok: Option<NanoUsd>,
    /// For a million input tokens read from the provider's cache.
    pub cached_input_per_mtok: Option<NanoUsd>,
    /// For a million input tokens written to it; absent where they cost as input does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_per_mtok: Option<NanoUsd>,
    /// For a million output tokens.
    pub output_per_mtok: Option<NanoUsd>,
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
    /// At midnight in the budget's time zone.
    Day,
    /// At midnight of the first of the month there.
    Month,
    /// Never.
    Lifetime,
}

/// A budget has a limit. Zero means zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetSet {
    /// Its name, such as `organisation-day`: what it applies to and its period, see [`AppliesTo::budget`].
    pub budget: String,
    /// When it starts anew.
    pub period: Period,
    /// The most that may be settled, held and unknown together in one period.
    pub limit: NanoUsd,
    /// The paid calls that are held on it.
    #[serde(default, skip_serializing_if = "AppliesTo::is_organisation")]
    pub applies_to: AppliesTo,
    /// The time zone its days and months are those of, such as `Europe/Oslo`; UTC when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Why it was set; empty for a budget of the configuration.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
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
    /// The same tools as policies see them, so that a decision of the past can be told from the record alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<ToolOffered>,
    /// Where it came from, when a command installed it: a path, an address or a reference, without its digest. Empty
    /// for a file that the configuration names.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The ways out its manifest asks for, when a command installed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Route>,
    /// The interfaces it imports, in order, when a command installed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
    /// The folders its manifest asks for, when a command installed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<DirectoryAsked>,
    /// What of the office its manifest asks for, when a command installed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handles: Vec<Handle>,
    /// The documents of GraphQL that its reads send, when a command installed it. Without any, a read sends whatever the
    /// grant of its path lets out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphql_reads: Vec<Digest>,
    /// The key whose signature of the component was good when it was installed, by its short name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
}

/// A folder that a manifest asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryAsked {
    /// Its name to the guest, such as `/notes`.
    pub at: String,
    /// Whether the guest wants to write there.
    pub write: bool,
}

/// A version of a plugin waits: it asks for more than the version in force, and somebody is to grant it first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginProposed {
    /// The version, as it would be installed.
    pub version: PluginInstalled,
    /// What it asks for beyond what the version in force has, a sentence each.
    pub more: Vec<String>,
}

/// A plugin is no longer there: none of its tools can be called, and what it was granted is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginRemoved {
    /// The plugin.
    pub plugin: String,
    /// Why.
    pub reason: String,
}

/// A component is never run again, under whatever name: no later event installs or grants it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentRevoked {
    /// SHA-256 of the component.
    pub digest: Digest,
    /// The plugin it was.
    pub plugin: String,
    /// Why.
    pub reason: String,
}

/// A person tries a tool by hand, in a seat of theirs. The gate decides the call like any other, and tells it on the
/// stream of its own; the arguments stand there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTried {
    /// Who.
    pub by: PrincipalId,
    /// In which seat.
    pub seat: SeatId,
    /// The tool.
    pub tool: String,
}

/// One tool as policies see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOffered {
    /// Its name, such as `web.fetch`.
    pub name: String,
    /// What it may do outside, as policies name it, such as `read`.
    pub effect: String,
    /// What a call touches: `origin`, `destination` or `plugin`.
    pub touches: String,
    /// The JSON pointers into its arguments that say which; none for `plugin`.
    pub at: Vec<String>,
    /// JSON Schema of its arguments; null where the record cannot keep it exactly.
    pub input_schema: Value,
}

/// One way out: method, origin, path and credential.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Route {
    /// HTTP methods, upper case.
    pub methods: Vec<String>,
    /// Scheme, host and port, such as `https://api.example.com`.
    pub origin: String,
    /// Which paths.
    #[serde(flatten)]
    pub path: RoutePath,
    /// Reference of the credential that is put into requests on this route, under the guest.
    pub credential: Option<String>,
}

/// A folder of this machine that a plugin may see.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Directory {
    /// Its name to the guest, such as `/notes`.
    pub at: String,
    /// The folder, by its absolute path.
    pub path: String,
    /// Whether the guest may also write there.
    pub write: bool,
}

/// What of the office itself a call may be given. Each is one thing that is in play for that call, and leads to no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Handle {
    /// The conversation it is made in: what was said there.
    Place,
    /// The seat that makes it: its own turns there, and the seats there are.
    Seat,
    /// The budgets it is held on, to be looked at.
    Purse,
    /// What waits in the conversation: for a person's yes, for an answer, for a moment.
    Agenda,
    /// What its seat may wish: to look again, to ask another seat, to answer one.
    Wishes,
}

impl Handle {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Place, Self::Seat, Self::Purse, Self::Agenda, Self::Wishes];

    /// The word that manifests and grants use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Place => "place",
            Self::Seat => "seat",
            Self::Purse => "purse",
            Self::Agenda => "agenda",
            Self::Wishes => "wishes",
        }
    }

    /// The handle of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|handle| handle.word() == word)
    }
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
    /// Folders it may see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<Directory>,
    /// What of the office its calls may be given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handles: Vec<Handle>,
    /// Why it was granted anew after it was revoked; empty for a grant of the configuration.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What a plugin was granted is taken back: from now on it reaches nothing. A later grant may give anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginRevoked {
    /// The plugin.
    pub plugin: String,
    /// Why.
    pub reason: String,
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
