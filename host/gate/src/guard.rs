//! Guards: modules that see a call after policy has permitted it, and may only add a no.
//!
//! `component` implements [`Guards`]; the gate asks every guard that sees the call, in order of name, and the first
//! no is the answer. Always holds: a guard that faults is a no, a guard that should have been asked and was not is a
//! no, and a pass changes nothing. What a guard says is text from elsewhere: it is made one line, cut and quoted.
//!
//! Deliberately absent: a yes; any way for a guard to change a call; running one.

use crate::catalogue::{EffectClass, Resource};
use crate::entities::{Flow, OriginKind};
use event::{Digest, Integrity, SeatId};
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

/// Most guards in force. They are asked one after the other, each within a wall clock of its own, and all of them
/// together must end well within a turn's lease.
pub const GUARDS_MAX: usize = 16;
/// Longest reason of a guard that is kept, in characters: a sentence or two, and no room for a speech to the model.
pub const REASON_CHARS_MAX: usize = 400;

/// Which calls a guard sees: those that any of the three names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sees {
    /// Calls of tools of these classes.
    pub effects: Vec<EffectClass>,
    /// Calls of these tools, or of whole families (`web.*`).
    pub tools: Vec<String>,
    /// Calls of models.
    pub models: bool,
}

impl Sees {
    /// Every call.
    #[must_use]
    pub fn everything() -> Self {
        let effects = vec![
            EffectClass::Read,
            EffectClass::Draft,
            EffectClass::Write,
            EffectClass::External,
            EffectClass::Destructive,
            EffectClass::Privileged,
        ];
        Self { effects, tools: Vec::new(), models: true }
    }

    /// Whether it names no call at all.
    #[must_use]
    pub fn is_blind(&self) -> bool {
        self.effects.is_empty() && self.tools.is_empty() && !self.models
    }

    /// Whether a call of `tool` is among them.
    #[must_use]
    pub fn covers(&self, tool: &str, effect: EffectClass, resource: &Resource) -> bool {
        if matches!(resource, Resource::Model(_)) {
            return self.models;
        }
        let named = |pattern: &String| match pattern.strip_suffix(".*") {
            Some(family) => tool.split_once('.').is_some_and(|(of, _)| of == family),
            None => tool == pattern,
        };
        self.effects.contains(&effect) || self.tools.iter().any(named)
    }
}

/// As an operator reads it.
impl fmt::Display for Sees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::everything() {
            return f.write_str("every call");
        }
        let words: Vec<&str> = self.effects.iter().map(|effect| effect.word()).collect();
        let mut parts = Vec::new();
        if !words.is_empty() {
            parts.push(format!("calls of tools that are {}", words.join(", ")));
        }
        if !self.tools.is_empty() {
            parts.push(format!("calls of {}", self.tools.join(", ")));
        }
        if self.models {
            parts.push("calls of models".to_owned());
        }
        f.write_str(&parts.join("; "))
    }
}

/// One guard in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardSpec {
    /// The plugin.
    pub name: String,
    /// Digest of its component; another must not be asked in its place.
    pub digest: Digest,
    /// The calls it sees.
    pub sees: Sees,
}

impl GuardSpec {
    /// Name and digest, as a denial lists them.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.digest)
    }
}

/// One call, as it is shown to guards.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardedCall {
    /// The tool; for a model its full name.
    pub tool: String,
    /// The plugin that offers it.
    pub plugin: String,
    /// What it may do outside.
    pub effect: EffectClass,
    /// What it touches.
    pub resource: Resource,
    /// The arguments.
    pub arguments: Value,
    /// The seat that asks.
    pub seat: SeatId,
    /// That seat's role.
    pub role: String,
    /// What the call is made for.
    pub origin_kind: OriginKind,
    /// Of what the asker has read.
    pub integrity: Integrity,
    /// What flow found.
    pub flow: Flow,
    /// Who will read what is sent, where that is known.
    pub audience: Option<Vec<String>>,
}

impl GuardedCall {
    /// Whether `guard` sees this call.
    #[must_use]
    pub fn is_seen_by(&self, guard: &GuardSpec) -> bool {
        guard.sees.covers(&self.tool, self.effect, &self.resource)
    }
}

/// What a guard said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardSaid {
    /// Nothing against it.
    Pass,
    /// Not this call, and why, in the guard's own words.
    No(String),
}

/// A guard gave no answer: it trapped, ran out of time or memory, or answered nonsense. One sentence that says which.
/// Every fault is a no, so there is one kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GuardFault(pub String);

/// The guards in force. `component` implements it; the gate only asks.
#[async_trait::async_trait]
pub trait Guards: Send + Sync {
    /// Every guard in force, in order of name.
    fn guards(&self) -> Vec<GuardSpec>;

    /// Asks one guard about one call. Never panics and never takes longer than a guard's wall-clock limit.
    ///
    /// # Errors
    /// [`GuardFault`] when it gave no answer, or is not the component that `guard` names.
    async fn ask(&self, guard: &GuardSpec, call: &GuardedCall) -> Result<GuardSaid, GuardFault>;
}

/// No guard at all.
#[async_trait::async_trait]
impl Guards for () {
    fn guards(&self) -> Vec<GuardSpec> {
        Vec::new()
    }

    async fn ask(&self, _: &GuardSpec, _: &GuardedCall) -> Result<GuardSaid, GuardFault> {
        Err(GuardFault("there is no such guard".to_owned()))
    }
}

/// What one guard said to one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardAnswer {
    /// The guard.
    pub guard: GuardSpec,
    /// What it said.
    pub said: Result<GuardSaid, GuardFault>,
}

/// A guard's no: the parts of a denial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardNo {
    /// The guard, by name and digest, as `policies` of a denial.
    pub policies: Vec<String>,
    /// The reason, for a model and a person: one line, bounded, the guard's own words in quotes.
    pub reason: String,
}

/// The first no of the guards that see `call`, asked now.
pub async fn no_to(guards: &dyn Guards, call: &GuardedCall) -> Option<GuardNo> {
    let answers = ask(guards, call).await;
    first_no(&seeing(guards, call), &answers)
}

/// Asks every guard that sees `call`, in order of name, until the first that does not let it pass.
pub async fn ask(guards: &dyn Guards, call: &GuardedCall) -> Vec<GuardAnswer> {
    let mut answers = Vec::new();
    for guard in seeing(guards, call) {
        let said = guards.ask(&guard, call).await;
        let ends = said != Ok(GuardSaid::Pass);
        answers.push(GuardAnswer { guard, said });
        if ends {
            break;
        }
    }
    answers
}

/// The guards that see `call`, in order of name.
#[must_use]
pub fn seeing(guards: &dyn Guards, call: &GuardedCall) -> Vec<GuardSpec> {
    let mut seeing: Vec<GuardSpec> =
        guards.guards().into_iter().filter(|guard| call.is_seen_by(guard)).collect();
    seeing.sort_by(|a, b| a.name.cmp(&b.name));
    seeing
}

/// The first no among `answers` of the guards that see the call. Pure. A guard of `seeing` without an answer is a no:
/// a guard in force cannot be skipped.
#[must_use]
pub fn first_no(seeing: &[GuardSpec], answers: &[GuardAnswer]) -> Option<GuardNo> {
    seeing.iter().find_map(|guard| {
        let name = &guard.name;
        let reason = match answers.iter().find(|answer| answer.guard == *guard).map(|answer| &answer.said) {
            Some(Ok(GuardSaid::Pass)) => return None,
            Some(Ok(GuardSaid::No(reason))) => {
                format!("the guard `{name}` says no; its words, not the office's: \"{}\"", quoted(reason))
            }
            Some(Err(fault)) => {
                format!("the guard `{name}` gave no answer, which is a no: {}", quoted(&fault.0))
            }
            None => format!("the guard `{name}` was not asked, which is a no"),
        };
        Some(GuardNo { policies: vec![guard.full_name()], reason })
    })
}

/// `text` on one line, cut at [`REASON_CHARS_MAX`], without what steers a terminal, hides, or would end the quotes.
fn quoted(text: &str) -> String {
    let mut line = String::new();
    for (n, word) in
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).enumerate()
    {
        if n > 0 {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !hides(*c)).map(|c| if c == '"' { '\'' } else { c }));
        if line.chars().count() > REASON_CHARS_MAX {
            let mut cut: String = line.chars().take(REASON_CHARS_MAX).collect();
            cut.push('…');
            return cut;
        }
    }
    if line.is_empty() { "no reason given".to_owned() } else { line }
}

/// Characters that show nothing, or change how what is around them reads.
fn hides(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests;
