//! What a change of the policies may be, as far as that can be told without reading a policy: who wants it, what it was
//! made from, which files it changes, and whether it is called what it was proposed as.
//!
//! Always holds: whoever states it, a set is put in force in place of the one that is in force. A seat's wish is stated
//! by the gate, which alone reads policies: the gate says whose wish it is, and the right of that seat is judged here
//! again. Deliberately absent: whether a set loads, decides its cases and narrows where it says so (`gate`).

use super::{Look, NoAuthority, Unsettled, has_right, row};
use crate::seat::OWNER;
use crate::setting;
use event::{
    Actor, Digest, Fact, PolicyApplied, PolicyProposed, PolicyText, PrincipalId, PrincipalKind, SeatHeld,
};
use std::collections::{BTreeMap, BTreeSet};

/// What the name of a file of the organisation's own starts with. Such a file holds forbids alone.
pub const ORGANISATION_PREFIX: &str = "org-";

/// Whether the file `name` is one of the organisation's own.
#[must_use]
pub fn is_organisation(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| file.starts_with(ORGANISATION_PREFIX))
}

/// Names of the files that differ and are not the organisation's own.
#[must_use]
pub fn beyond_organisation(old: &[PolicyText], new: &[PolicyText]) -> Vec<String> {
    let named = |files: &[PolicyText]| -> BTreeMap<String, String> {
        files.iter().map(|file| (file.name.clone(), file.text.clone())).collect()
    };
    let (before, after) = (named(old), named(new));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = |name: &&String| before.get(*name) != after.get(*name) && !is_organisation(name);
    names.into_iter().filter(differs).cloned().collect()
}

/// A change, applied or proposed.
struct Change<'a> {
    kind: &'static str,
    base: Option<&'a Digest>,
    files: &'a [PolicyText],
    reason: &'a str,
    by: Option<&'a PrincipalId>,
}

/// Judges `fact` where it changes the policies; nothing where it does not.
pub(super) fn judged(
    actor: &Actor,
    fact: &Fact,
    look: &dyn Fn(&str) -> Look,
) -> Option<Result<(), Unsettled>> {
    let change = match fact {
        Fact::PolicyApplied(PolicyApplied { base, files, reason, by, .. }) => {
            Change { kind: fact.kind(), base: base.as_ref(), files, reason, by: by.as_ref() }
        }
        Fact::PolicyProposed(PolicyProposed { base, files, reason, by, .. }) => {
            Change { kind: fact.kind(), base: Some(base), files, reason, by: by.as_ref() }
        }
        _ => return None,
    };
    Some(judge(actor, &change, look).and_then(|()| as_proposed(fact, look)))
}

fn judge(actor: &Actor, change: &Change<'_>, look: &dyn Fn(&str) -> Look) -> Result<(), Unsettled> {
    let kind = change.kind;
    if actor.principal.kind() != PrincipalKind::System {
        return Err(NoAuthority::GateAlone { principal: actor.principal.clone(), kind }.into());
    }
    let stands: Option<PolicyApplied> = row(look, setting::POLICY.to_owned())?;
    if change.base != stands.as_ref().map(|stands| &stands.digest) {
        let stands = stands.map(|stands| stands.digest);
        return Err(NoAuthority::NotOnWhatStands { kind, base: change.base.cloned(), stands }.into());
    }
    if actor.principal != PrincipalId::gate() {
        // The first office, and what the host's own code makes of it.
        return Ok(());
    }
    let old = stands.map(|stands| stands.files).unwrap_or_default();
    wanted(actor, change, &old, look)
}

/// The right of the seat whose wish it is.
fn wanted(
    actor: &Actor,
    change: &Change<'_>,
    old: &[PolicyText],
    look: &dyn Fn(&str) -> Look,
) -> Result<(), Unsettled> {
    let kind = change.kind;
    let principal = change.by.unwrap_or(&actor.principal).clone();
    let Some(seat) = actor.seat.clone() else { return Err(NoAuthority::NoSeat { principal, kind }.into()) };
    let held: Option<SeatHeld> = row(look, setting::holder(&seat))?;
    if held.is_none_or(|held| held.principal != principal) {
        return Err(NoAuthority::NotHolder { principal, seat }.into());
    }
    has_right(&seat, kind, look)?;
    if change.reason.trim().is_empty() {
        return Err(NoAuthority::NoReason { kind }.into());
    }
    let beyond = beyond_organisation(old, change.files);
    if seat.as_str() != OWNER && !beyond.is_empty() {
        return Err(NoAuthority::BeyondOrganisation { seat, files: beyond }.into());
    }
    Ok(())
}

/// What was proposed as a correction is applied as one.
fn as_proposed(fact: &Fact, look: &dyn Fn(&str) -> Look) -> Result<(), Unsettled> {
    let Fact::PolicyApplied(applied) = fact else { return Ok(()) };
    let proposal: Option<PolicyProposed> = row(look, setting::proposal(&applied.digest))?;
    let called_so =
        |proposal: PolicyProposed| proposal.corrective && Some(&proposal.base) == applied.base.as_ref();
    if !applied.corrective && proposal.is_some_and(called_so) {
        return Err(NoAuthority::NotAsProposed { set: applied.digest.clone() }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
