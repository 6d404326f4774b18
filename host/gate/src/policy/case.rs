//! Cases: one request a file, in `ALLOW` or `DENY`, that a set must decide so and for the named policies.
//! The name of the file says why.
//!
//! Always holds: a case is put to the set exactly as a call is. Deliberately absent: cases for what a tool
//! does; these are about who may call it.

use super::{Decision, PolicyError, PolicySet, Question};
use crate::account::AccountKind;
use crate::catalogue::{EffectClass, Resource};
use crate::entities::{Flow, OriginKind};
use event::{Integrity, SeatCreated, SeatId};
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// One request, and what must be said to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    name: String,
    allowed: bool,
    written: Written,
}

/// What a case came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseResult {
    /// The case: `cases/ALLOW/….json` or `cases/DENY/….json`.
    pub name: String,
    /// Whether the decision and the policies behind it are those the case names.
    pub passed: bool,
    /// What the case names: allow or deny, and the ids of the policies.
    pub expected: (bool, Vec<String>),
    /// What was decided.
    pub decision: Decision,
}

impl fmt::Display for CaseResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.passed {
            return write!(f, "`{}` holds", self.name);
        }
        let (allowed, because) = &self.expected;
        let word = if *allowed { "allow" } else { "deny" };
        write!(f, "`{}` fails: expected {word} because of {because:?}; {}", self.name, self.decision.reason)
    }
}

/// A case as its file has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    seat: WrittenSeat,
    /// The seats above it, nearest first.
    #[serde(default)]
    line: Vec<WrittenSeat>,
    action: String,
    plugin: String,
    resource: WrittenResource,
    input: Value,
    context: WrittenContext,
    /// Ids of the policies that decide: those that permit, or those that forbid; none when none permits.
    because: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSeat {
    seat: SeatId,
    role: String,
    department: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum WrittenResource {
    Origin { origin: String, granted: bool },
    Destination(String),
    Model(String),
    Plugin(String),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenContext {
    origin_kind: OriginKind,
    flow: Flow,
    integrity: Integrity,
    effect: EffectClass,
    /// What it would be made with.
    #[serde(default = "no_account")]
    account: AccountKind,
    /// The person whose account that is.
    #[serde(default)]
    account_of: String,
    /// Whether a person said yes to it.
    #[serde(default)]
    approved: bool,
}

fn no_account() -> AccountKind {
    AccountKind::None
}

impl Case {
    /// Its file: `cases/ALLOW/….json` or `cases/DENY/….json`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the case `name`, which stands in the folder `ALLOW` or `DENY`.
    ///
    /// # Errors
    /// [`PolicyError::Case`] when the name or the text is not that of a case.
    pub fn parse(name: &str, text: &str) -> Result<Self, PolicyError> {
        let fault = |why: String| PolicyError::Case { name: name.to_owned(), why };
        let allowed = match name.rsplit('/').nth(1) {
            Some("ALLOW") => true,
            Some("DENY") => false,
            _ => return Err(fault("a case stands in `ALLOW` or in `DENY`".to_owned())),
        };
        let written = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
        Ok(Self { name: name.to_owned(), allowed, written })
    }

    /// The request.
    #[must_use]
    pub fn question(&self) -> Question {
        let written = &self.written;
        let line = seats(&written.line);
        Question {
            seat: written.seat.created(line.first().map(|above| above.seat.clone())),
            line,
            tool: written.action.clone(),
            resource: written.resource.resource(),
            plugin: written.plugin.clone(),
            input: written.input.clone(),
            effect: written.context.effect,
            origin_kind: written.context.origin_kind,
            flow: written.context.flow,
            integrity: written.context.integrity,
            account: written.context.account,
            account_of: written.context.account_of.clone(),
            approved: written.context.approved,
            granted_text: Vec::new(),
        }
    }

    fn run(&self, set: &PolicySet) -> CaseResult {
        let decision = self.question().decided_by(set);
        let mut because = self.written.because.clone();
        because.sort();
        let passed =
            decision.allowed == self.allowed && decision.policies == because && decision.errors.is_empty();
        CaseResult { name: self.name.clone(), passed, expected: (self.allowed, because), decision }
    }
}

/// Puts every case to `set`. One result a case, in their order.
#[must_use]
pub fn run_cases(set: &PolicySet, cases: &[Case]) -> Vec<CaseResult> {
    cases.iter().map(|case| case.run(set)).collect()
}

impl WrittenSeat {
    fn created(&self, line: Option<SeatId>) -> SeatCreated {
        SeatCreated {
            seat: self.seat.clone(),
            role: self.role.clone(),
            department: self.department.clone(),
            line,
            grants: Vec::new(),
            accountabilities: Vec::new(),
            stands_in: None,
        }
    }
}

/// The line, each seat reporting to the next.
fn seats(line: &[WrittenSeat]) -> Vec<SeatCreated> {
    let next = line.iter().skip(1).map(|above| Some(above.seat.clone())).chain([None]);
    line.iter().zip(next).map(|(seat, above)| seat.created(above)).collect()
}

impl WrittenResource {
    fn resource(&self) -> Resource {
        match self {
            Self::Origin { origin, granted } => {
                Resource::Origin { origin: origin.clone(), granted: *granted }
            }
            Self::Destination(text) => Resource::Destination(text.clone()),
            Self::Model(name) => Resource::Model(name.clone()),
            Self::Plugin(name) => Resource::Plugin(name.clone()),
        }
    }
}
