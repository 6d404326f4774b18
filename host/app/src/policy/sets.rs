//! The sets of policies that the record knows: which is in force, which was, who applied it and why.
//!
//! All of it stands on one stream, in order.

use anyhow::{Context, Result, bail};
use event::{Digest, Event, Fact, GlobalPosition, PolicyApplied, PolicyText, Position, StreamName};
use fold::decode;
use fold::setting::{self, InForce};
use record::Record;
use std::collections::BTreeSet;

/// Facts about policies that are read: a change an hour for a year.
const CHANGES_MAX: usize = 10_000;
/// The fewest digits of a digest that name a set.
const DIGITS_MIN: usize = 6;

/// The stream on which policies are told.
#[must_use]
pub fn stream() -> StreamName {
    StreamName::new("policy", "office")
}

/// Every fact about policies, in order.
///
/// # Errors
/// When the record cannot be read.
pub async fn history(record: &Record) -> Result<Vec<Event>> {
    Ok(record.read_stream(&stream(), Position(1), CHANGES_MAX).await?)
}

/// The set in force and the permits that count no more; nothing when none was ever applied.
///
/// # Errors
/// When the record cannot be read.
pub async fn in_force(record: &Record) -> Result<Option<(PolicyApplied, BTreeSet<String>)>> {
    let applied: Option<PolicyApplied> = decode(record.row("setting", setting::POLICY).await?.as_ref());
    let stated: Option<InForce> = decode(record.row("setting", setting::IN_FORCE).await?.as_ref());
    Ok(applied.map(|applied| (applied, stated.unwrap_or_default().revoked)))
}

/// The same, for a command that needs one.
///
/// # Errors
/// When there is none, or the record cannot be read.
pub async fn needed(record: &Record) -> Result<(PolicyApplied, BTreeSet<String>)> {
    in_force(record).await?.context(
        "the record has no policy set yet: `chancery serve` applies the folder of its configuration at the first start",
    )
}

/// The files of the set whose digest starts with `digits`, applied or proposed.
///
/// # Errors
/// When none has, or several have.
pub fn named(history: &[Event], digits: &str) -> Result<(Digest, Vec<PolicyText>)> {
    if digits.len() < DIGITS_MIN {
        bail!("`{}` is too short: name a set by {DIGITS_MIN} digits or more", digits.escape_debug());
    }
    let sets = history.iter().filter_map(|event| match &event.fact {
        Fact::PolicyApplied(body) => Some((&body.digest, &body.files)),
        Fact::PolicyProposed(body) => Some((&body.digest, &body.files)),
        _ => None,
    });
    let mut found: Vec<_> = sets.filter(|(digest, _)| digest.as_str().starts_with(digits)).collect();
    found.dedup_by(|a, b| a.0 == b.0);
    match found.as_slice() {
        [] => bail!(
            "the record has no policy set `{}`; `chancery policy list` shows each",
            digits.escape_debug()
        ),
        [(digest, files), rest @ ..] if rest.iter().all(|other| other.0 == *digest) => {
            Ok(((*digest).clone(), (*files).clone()))
        }
        _ => bail!("several policy sets start with `{digits}`: write more digits"),
    }
}

/// The permits that counted no more just before `at`.
#[must_use]
pub fn revoked_before(history: &[Event], at: GlobalPosition) -> BTreeSet<String> {
    let before = history.iter().filter(|event| event.global_position < at);
    let revoked = before.filter_map(|event| match &event.fact {
        Fact::PolicyRevoked(body) => Some(body.policy.clone()),
        _ => None,
    });
    revoked.collect()
}

/// The set in force just before `at`.
#[must_use]
pub fn applied_before(history: &[Event], at: GlobalPosition) -> Option<&PolicyApplied> {
    let before = history.iter().rev().filter(|event| event.global_position < at);
    before
        .filter_map(|event| match &event.fact {
            Fact::PolicyApplied(body) => Some(body),
            _ => None,
        })
        .next()
}
