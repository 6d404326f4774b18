//! One request that owns what it is made of: for cases, for what is told of the past, and for what is tried.
//!
//! Always holds: it is put to a set exactly as a call is. Deliberately absent: where it comes from.

use super::{Decision, Explained, PolicySet};
use crate::account::AccountKind;
use crate::catalogue::{EffectClass, Resource};
use crate::entities::{Asked, Flow, OriginKind};
use event::{Integrity, SeatCreated};
use serde_json::Value;
use std::fmt;

/// One request; each field as [`Asked`] has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Who asks.
    pub seat: SeatCreated,
    /// The seats above, nearest first.
    pub line: Vec<SeatCreated>,
    /// The tool, `infer` or `approve`.
    pub tool: String,
    /// What it touches.
    pub resource: Resource,
    /// The plugin that offers it.
    pub plugin: String,
    /// The arguments.
    pub input: Value,
    /// What the tool may do outside.
    pub effect: EffectClass,
    /// What the call is made for.
    pub origin_kind: OriginKind,
    /// What flow found.
    pub flow: Flow,
    /// The integrity of what the asker has read.
    pub integrity: Integrity,
    /// What it would be made with.
    pub account: AccountKind,
    /// The person whose account that is; empty when it is nobody's.
    pub account_of: String,
    /// Whether a person said yes to exactly this.
    pub approved: bool,
    /// The origins granted to the plugin, for the reason of a no.
    pub granted_text: Vec<String>,
}

impl Question {
    /// What `set` decides.
    #[must_use]
    pub fn decided_by(&self, set: &PolicySet) -> Decision {
        self.put(|asked| set.decide(asked))
    }

    /// What `set` decides, and what each of its policies had to do with it.
    #[must_use]
    pub fn explained_by(&self, set: &PolicySet) -> Explained {
        self.put(|asked| set.explain(asked))
    }

    fn put<T>(&self, ask: impl FnOnce(&Asked<'_>) -> T) -> T {
        let line: Vec<&SeatCreated> = self.line.iter().collect();
        ask(&Asked {
            seat: &self.seat,
            line: &line,
            tool: &self.tool,
            resource: &self.resource,
            plugin: &self.plugin,
            input: &self.input,
            effect: self.effect,
            origin_kind: self.origin_kind,
            flow: self.flow,
            integrity: self.integrity,
            account: self.account,
            account_of: self.account_of.clone(),
            approved: self.approved,
            granted_text: self.granted_text.clone(),
        })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let integrity = match self.integrity {
            Integrity::Trusted => "trusted",
            Integrity::Untrusted => "untrusted",
            Integrity::Unknown => "unknown",
        };
        write!(
            f,
            "{} (role {}) calls {} on {} with {}: effect {}, {}, flow {}, integrity {integrity}, {}",
            self.seat.seat,
            self.seat.role,
            self.tool,
            self.resource.text(),
            self.input,
            self.effect.word(),
            self.origin_kind.word(),
            self.flow.word(),
            if self.approved { "approved" } else { "not approved" },
        )?;
        match self.resource {
            Resource::Origin { granted: false, .. } => f.write_str(", not granted"),
            Resource::Origin { granted: true, .. } => f.write_str(", granted"),
            _ => Ok(()),
        }
    }
}
