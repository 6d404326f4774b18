//! What a change of the policies may be, told from the texts alone.
//!
//! Always holds: [`narrows`] says yes only when no request that the old set denied can be allowed by the new one,
//! provided the two are asked under one schema. It knows these ways: a forbid is added; conditions are added after
//! those a permit had; a permit that cannot err goes. What cannot err matters because an evaluation error denies:
//! a permit that erred and goes, or that no longer comes to the condition that erred, lets another permit speak.
//! Deliberately absent: any other proof. A change that narrows in another way is said not to be known to.

use super::PolicySet;
use super::files::{FileKind, file_kind};
use super::text::Read;
use event::{Actor, Digest, Fact, PolicyApplied, PolicyProposed, PolicyText, PrincipalId};
pub use fold::authority::beyond_organisation;
use serde_json::Value;
use std::collections::BTreeMap;

/// The operators whose evaluation cannot fail in a policy that is strictly valid: all but arithmetic, which can
/// overflow, tags, and the functions of extensions, which parse.
const TOTAL: &[&str] = &[
    "Value",
    "Var",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "!",
    "in",
    "contains",
    "containsAll",
    "containsAny",
    "isEmpty",
    ".",
    "has",
    "like",
    "is",
    "if-then-else",
    "Set",
    "Record",
];

/// A set that somebody wants applied in place of another.
#[derive(Debug)]
pub struct Change<'a> {
    /// The set in force.
    pub old: &'a PolicyApplied,
    /// The files of the wanted set.
    pub new_files: Vec<PolicyText>,
    /// The wanted set, which loads and decides its cases.
    pub new: &'a PolicySet,
    /// Whether whoever wants it may change the office's own files, and not the organisation's alone.
    pub may_change_all: bool,
    /// The set in force as it loads, when the change is to be a correction.
    pub correction: Option<&'a PolicySet>,
}

/// A change that was read and may be. Nothing else is stated in the gate's name, and the record takes a change from
/// nobody but the gate, which judges the right of whoever wants it once more.
#[derive(Debug)]
pub struct Allowed {
    digest: Digest,
    base: Digest,
    files: Vec<PolicyText>,
    corrective: bool,
}

/// Why a set is not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplied {
    /// It changes files that are not the organisation's own.
    #[error("it changes {}, and only files that start with `org-` may be changed from this seat", .0.join(", "))]
    NotOrganisations(Vec<String>),
    /// It is called a correction and is not known to narrow.
    #[error("it is not known to allow nothing new: {}", .0.join("; "))]
    MayWiden(Vec<String>),
    /// The set was not loaded from these files.
    #[error("its files are not those that were read")]
    OtherFiles,
}

/// Whether a change may be applied, by its texts.
///
/// # Errors
/// [`NotApplied`], the first that holds.
pub fn may_apply(change: Change<'_>) -> Result<Allowed, NotApplied> {
    let digest = change.new.digest().clone();
    if super::digest(&change.new_files) != digest {
        return Err(NotApplied::OtherFiles);
    }
    let beyond = beyond_organisation(&change.old.files, &change.new_files);
    if !change.may_change_all && !beyond.is_empty() {
        return Err(NotApplied::NotOrganisations(beyond));
    }
    if let Some(old) = change.correction {
        narrows(old, change.new).map_err(NotApplied::MayWiden)?;
    }
    let (base, files) = (change.old.digest.clone(), change.new_files);
    Ok(Allowed { digest, base, files, corrective: change.correction.is_some() })
}

impl Allowed {
    /// What it was made from, and what must be in force when it is stated.
    #[must_use]
    pub fn base(&self) -> &Digest {
        &self.base
    }

    /// Its digest.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The set, applied as `by` wants it, and who states it.
    #[must_use]
    pub fn applied(self, reason: String, by: Actor) -> (Actor, Fact) {
        let Self { digest, base, files, corrective } = self;
        let (base, who) = (Some(base), Some(by.principal));
        let fact = PolicyApplied { digest, files, base, reason, corrective, by: who };
        (Actor { principal: PrincipalId::gate(), seat: by.seat }, fact.into())
    }

    /// The set, proposed as `by` wants it, and who states it.
    #[must_use]
    pub fn proposed(self, reason: String, by: Actor) -> (Actor, Fact) {
        let Self { digest, base, files, corrective } = self;
        let fact = PolicyProposed { digest, base, files, reason, corrective, by: Some(by.principal) };
        (Actor { principal: PrincipalId::gate(), seat: by.seat }, fact.into())
    }
}

/// Whether `new` allows nothing that `old` denies.
///
/// # Errors
/// Every change that is not known to narrow, a sentence each.
pub fn narrows(old: &PolicySet, new: &PolicySet) -> Result<(), Vec<String>> {
    let before = evaluated(old);
    let after = evaluated(new);
    let mut widens = Vec::new();
    for (id, then) in &before {
        match after.get(id) {
            Some(now) => widens.extend(changed(id, then, now)),
            None if then.outline.forbids => widens.push(format!("the forbid `{id}` is gone")),
            None if !cannot_err(then) => widens.push(format!(
                "the permit `{id}` is gone and its evaluation can fail, which denied what another permit may allow"
            )),
            None => {}
        }
    }
    let added = after.iter().filter(|(id, now)| !before.contains_key(*id) && !now.outline.forbids);
    widens.extend(added.map(|(id, _)| format!("the permit `{id}` is new")));
    widens.extend(lost_cases(old, new));
    if widens.is_empty() { Ok(()) } else { Err(widens) }
}

/// The policies that are evaluated: what is revoked is none of them.
fn evaluated(set: &PolicySet) -> BTreeMap<&str, &Read> {
    let counts = |read: &&Read| !set.revoked.contains(&read.outline.id);
    set.read.iter().filter(counts).map(|read| (read.outline.id.as_str(), read)).collect()
}

fn changed(id: &str, then: &Read, now: &Read) -> Option<String> {
    let (before, after) = (&then.written, &now.written);
    let same = |part: &str| before.get(part) == after.get(part);
    if !["effect", "principal", "action", "resource"].into_iter().all(same) {
        return Some(format!("the scope of `{id}` is another"));
    }
    if same("conditions") {
        return None;
    }
    if then.outline.forbids {
        return Some(format!("the conditions of the forbid `{id}` are others"));
    }
    let conditions =
        |written: &Value| written.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    // Only after the others: a condition that is put before one that errs would keep it from erring.
    if conditions(after).starts_with(&conditions(before)) {
        return None;
    }
    Some(format!("the conditions of the permit `{id}` are others, not the same and then more"))
}

/// Whether no evaluation of the policy can fail.
fn cannot_err(read: &Read) -> bool {
    let bodies = read.written.get("conditions").and_then(Value::as_array).into_iter().flatten();
    bodies.map(|condition| condition.get("body")).all(|body| body.is_some_and(is_total))
}

fn is_total(expression: &Value) -> bool {
    let Some((operator, inner)) = expression.as_object().and_then(|one| one.iter().next()) else {
        return false;
    };
    if !TOTAL.contains(&operator.as_str()) {
        return false;
    }
    match (operator.as_str(), inner) {
        ("Value" | "Var", _) => true,
        ("Set", Value::Array(items)) => items.iter().all(is_total),
        ("Record", Value::Object(members)) => members.values().all(is_total),
        // Operands are objects; beside them stand names and patterns.
        (_, Value::Object(operands)) => operands.values().filter(|part| part.is_object()).all(is_total),
        _ => false,
    }
}

/// A correction keeps every case that must be denied.
fn lost_cases(old: &PolicySet, new: &PolicySet) -> Vec<String> {
    let kept = |case: &super::Case| new.cases().contains(case);
    let denies = old.cases().iter().filter(|case| file_kind(case.name()) == Some(FileKind::Denies));
    denies
        .filter(|case| !kept(case))
        .map(|case| format!("the case `{}` is gone or changed", case.name()))
        .collect()
}

#[cfg(test)]
mod tests;
