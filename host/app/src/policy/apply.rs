//! Applying, proposing and revoking: what an operator's wish becomes on the record.
//!
//! Always holds: a set is validated against the installed tools and decides its own cases before it is appended, and
//! it is appended only while the set it was made from is in force. Whether a change may be is `gate`'s and `fold`'s
//! to say.

use super::folder;
use super::sets::{history, needed, stream};
use crate::config::Config;
use crate::owner::{self, Acting, print_stated};
use crate::wire::{self, Installed};
use anyhow::{Context, Result, anyhow, bail, ensure};
use event::{Digest, Fact, PolicyProposed, PolicyRevoked, PolicyText, SeatId};
use fold::setting::{self, InForce};
use gate::Catalogue;
use gate::policy::{Allowed, Change, PolicySet, may_apply, outlines};
use record::{RowKey, Rows};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A set that is wanted.
pub struct Wish {
    /// Where its files stand; nothing for the folder of the configuration.
    pub folder: Option<PathBuf>,
    /// The proposal it is, by its first digits.
    pub proposal: Option<String>,
    /// Why.
    pub reason: String,
    /// Whether it is a correction, which may only narrow.
    pub corrective: bool,
    /// The seat it is wanted in.
    pub as_seat: Option<SeatId>,
}

/// A set that was read and checked against the one in force.
struct Checked {
    allowed: Allowed,
    set: PolicySet,
}

/// Applies a set from a folder, or one that was proposed.
///
/// # Errors
/// Why not, and what to do next.
pub async fn apply(config: &Config, wish: Wish) -> Result<()> {
    let installed = wire::install(config).await?;
    let acting = Acting::open(config, wish.as_seat.clone()).await?;
    let proposal = match &wish.proposal {
        Some(digits) => Some(proposed(&acting, digits).await?),
        None => None,
    };
    let checked = check(config, &acting, &installed, &wish, proposal.as_ref()).await?;
    let reason = match (wish.reason.is_empty(), proposal) {
        (true, Some(proposal)) => proposal.reason,
        _ => wish.reason,
    };
    let Checked { allowed, set } = checked;
    let base = allowed.base().clone();
    let (gate, fact) = allowed.applied(reason, acting.actor.clone());
    let stated = acting.state_as(gate, vec![in_force_row()], move |rows, _| {
        still(rows, &base)?;
        Ok(vec![(stream(), fact)])
    });
    print_stated(&stated.await?);
    for policy in set.revoked() {
        println!("note: `{policy}` was revoked and is not evaluated in this set either");
    }
    Ok(())
}

/// Proposes a set.
///
/// # Errors
/// Why not, and what to do next.
pub async fn propose(config: &Config, wish: Wish) -> Result<()> {
    let installed = wire::install(config).await?;
    let acting = Acting::open(config, wish.as_seat.clone()).await?;
    let Checked { allowed, .. } = check(config, &acting, &installed, &wish, None).await?;
    let (base, short) = (allowed.base().clone(), allowed.digest().short().to_owned());
    let (gate, fact) = allowed.proposed(wish.reason, acting.actor.clone());
    let stated = acting.state_as(gate, vec![in_force_row()], move |rows, _| {
        still(rows, &base)?;
        Ok(vec![(stream(), fact)])
    });
    print_stated(&stated.await?);
    println!("apply it with: chancery policy apply --proposal {short}");
    Ok(())
}

async fn check(
    config: &Config,
    acting: &Acting,
    installed: &Installed,
    wish: &Wish,
    proposal: Option<&PolicyProposed>,
) -> Result<Checked> {
    let (old, revoked) = needed(&acting.record).await?;
    if let Some(proposal) = proposal
        && proposal.base != old.digest
    {
        bail!(moved(&proposal.base, &old.digest));
    }
    let files = match proposal {
        Some(proposal) => proposal.files.clone(),
        None => folder::files(wish.folder.as_deref().unwrap_or(&config.policies))?,
    };
    let set = load(&files, installed, &revoked).context("nothing is applied")?;
    ensure!(*set.digest() != old.digest, "the set {} is in force already", set.digest().short());
    let corrective = wish.corrective || proposal.is_some_and(|proposal| proposal.corrective);
    let old_set = match corrective {
        true => Some(load(&old.files, installed, &revoked).context(
            "the set in force does not load beside these plugins, so nothing can be told to narrow it",
        )?),
        false => None,
    };
    let owners = acting.actor.seat.as_ref().is_some_and(|seat| seat.as_str() == owner::SEAT);
    let allowed = may_apply(Change {
        old: &old,
        new_files: files,
        new: &set,
        may_change_all: owners,
        correction: old_set.as_ref(),
    })
    .map_err(|why| anyhow!("the set {} is not applied: {why}", set.digest().short()))?;
    Ok(Checked { allowed, set })
}

async fn proposed(acting: &Acting, digits: &str) -> Result<PolicyProposed> {
    let history = history(&acting.record).await?;
    let proposals = history.into_iter().rev().filter_map(|event| match event.fact {
        Fact::PolicyProposed(body) => Some(body),
        _ => None,
    });
    let mut found = proposals.filter(|body| body.digest.as_str().starts_with(digits));
    let newest = found.next().with_context(|| {
        format!("the record has no proposal `{}`; `chancery policy list` shows each", digits.escape_debug())
    })?;
    if let Some(other) = found.find(|other| other.digest != newest.digest) {
        bail!("`{digits}` names {} and {}: write more digits", newest.digest.short(), other.digest.short());
    }
    Ok(newest)
}

fn in_force_row() -> RowKey {
    RowKey::new("setting", setting::IN_FORCE)
}

/// That the set a change was made from is in force still, in the transaction that appends the change.
fn still(rows: &Rows, base: &Digest) -> Result<()> {
    match rows.state::<InForce>("setting", setting::IN_FORCE).and_then(|stated| stated.set) {
        Some(set) if set == *base => Ok(()),
        Some(set) => bail!(moved(base, &set)),
        None => {
            bail!("the rows of the record are those of an earlier version: run `chancery record rebuild`")
        }
    }
}

fn moved(base: &Digest, now: &Digest) -> String {
    format!(
        "it was made from the set {}, and meanwhile {} is in force: look at `chancery policy diff`, and make it anew",
        base.short(),
        now.short()
    )
}

/// Revokes a permit: it counts no more, in any set, now or applied later.
///
/// # Errors
/// When it is no permit of any set, or cannot be stated.
pub async fn revoke(config: &Config, policy: String, reason: String, as_seat: Option<SeatId>) -> Result<()> {
    let acting = Acting::open(config, as_seat).await?;
    let (applied, _) = needed(&acting.record).await?;
    let mut sets = vec![applied.files];
    sets.extend(history(&acting.record).await?.into_iter().rev().filter_map(|event| match event.fact {
        Fact::PolicyApplied(body) => Some(body.files),
        Fact::PolicyProposed(body) => Some(body.files),
        _ => None,
    }));
    let found =
        sets.iter().find_map(|files| outlines(files).ok()?.into_iter().find(|outline| outline.id == policy));
    match found {
        None => bail!("no policy set of the record has a policy `{}`", policy.escape_debug()),
        Some(outline) if outline.forbids => {
            bail!("`{policy}` forbids, and taking a forbid away widens: apply a set without it")
        }
        Some(_) => {}
    }
    let stated = acting.state(vec![in_force_row()], move |rows, _| {
        let stated: InForce = rows.state("setting", setting::IN_FORCE).unwrap_or_default();
        ensure!(!stated.revoked.contains(&policy), "`{policy}` is revoked already");
        Ok(vec![(stream(), Fact::from(PolicyRevoked { policy, reason }))])
    });
    print_stated(&stated.await?);
    println!("every host takes it out at its next decision");
    Ok(())
}

/// The permits in force that were revoked, for lists.
#[must_use]
pub fn revoked_of(files: &[PolicyText], revoked: &BTreeSet<String>) -> Vec<String> {
    let all = outlines(files).unwrap_or_default();
    all.iter().filter(|one| !one.forbids && revoked.contains(&one.id)).map(|one| one.id.clone()).collect()
}

/// Reads a set against the installed tools, without what was revoked.
///
/// # Errors
/// Why it does not load.
pub(super) fn load(
    files: &[PolicyText],
    installed: &Installed,
    revoked: &BTreeSet<String>,
) -> Result<PolicySet> {
    let (tools, models) = (installed.plugins.named(), installed.plugins.models());
    Ok(PolicySet::load(files, &tools, &models, revoked)?)
}
