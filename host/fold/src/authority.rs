//! Who may state what: authority checked on every append, from folds alone.
//!
//! The host's own code (`system_…`) may state any kind. Whoever else states a fact does so for a seat it holds:
//! facts about that seat's own work need nothing more; facts that change the office need the grant
//! `record:<kind>` (or `record:*`), and a seat never hands another what it does not hold itself, be it a grant or a
//! role. Only a person answers an approval, in a seat other than the one that asks. Whoever states it, no seat
//! reports to itself through any chain, and no component that was revoked is installed or granted again.
//!
//! Source of the rules: mechanisms, sections 1 and 2; the third seed document on seats.

mod policy;

pub use policy::{ORGANISATION_PREFIX, beyond_organisation, is_organisation};

use crate::seat::{EVERY_TOOL, holds_grant};
use crate::setting;
use event::{
    Actor, ComponentRevoked, Digest, Fact, PrincipalId, PrincipalKind, SeatCreated, SeatHeld, SeatId,
};
use serde_json::Value;
use std::sync::Arc;

/// The longest chain of seats that report to one another: deeper than any organisation, and an end to the walk.
pub const LINE_SEATS_MAX: usize = 32;

/// What is known about a row of the projection `setting`.
#[derive(Clone, Debug, PartialEq)]
pub enum Look {
    /// Nobody has looked yet.
    NotYet,
    /// There is no such row.
    Absent,
    /// It holds this.
    Holds(Arc<Value>),
}

/// What follows from what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be stated.
    May,
    /// It may not.
    MayNot(NoAuthority),
    /// Look at this row of `setting`, and ask again.
    LookAt(String),
}

/// Why a fact may not be stated by this actor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAuthority {
    /// It acts for no seat, and the kind is nobody's who has none.
    #[error("`{principal}` acts for no seat and cannot state `{kind}`")]
    NoSeat {
        /// Who.
        principal: PrincipalId,
        /// What.
        kind: &'static str,
    },
    /// It does not hold the seat it acts for.
    #[error("`{principal}` does not hold `{seat}`")]
    NotHolder {
        /// Who.
        principal: PrincipalId,
        /// The seat.
        seat: SeatId,
    },
    /// The fact is about another seat's work.
    #[error("`{seat}` cannot state `{kind}` for `{other}`")]
    AnotherSeat {
        /// The seat it acts for.
        seat: SeatId,
        /// What.
        kind: &'static str,
        /// Whose work it is.
        other: SeatId,
    },
    /// Only the host's own code states this kind.
    #[error("`{kind}` is stated by the host alone")]
    HostAlone {
        /// What.
        kind: &'static str,
    },
    /// The seat holds no grant for the kind.
    #[error("`{seat}` holds no grant `record:{kind}`")]
    NoGrant {
        /// The seat.
        seat: SeatId,
        /// What.
        kind: &'static str,
    },
    /// Only a person answers an approval, in its own name.
    #[error("`{principal}` cannot state `{kind}` in the name of `{by}`: only a person answers, for itself")]
    NotThePerson {
        /// Who.
        principal: PrincipalId,
        /// What.
        kind: &'static str,
        /// In whose name.
        by: PrincipalId,
    },
    /// Only the gate states this kind, because only it reads policies.
    #[error("`{principal}` cannot state `{kind}` by itself: the gate reads a set first, and states it")]
    GateAlone {
        /// Who.
        principal: PrincipalId,
        /// What.
        kind: &'static str,
    },
    /// The set was made from another than the one in force.
    #[error("`{kind}` was made from {}, and {} is in force", named(.base.as_ref()), named(.stands.as_ref()))]
    NotOnWhatStands {
        /// What.
        kind: &'static str,
        /// What it was made from.
        base: Option<Digest>,
        /// What is in force.
        stands: Option<Digest>,
    },
    /// A change says why.
    #[error("`{kind}` gives no reason")]
    NoReason {
        /// What.
        kind: &'static str,
    },
    /// The seat may change the organisation's own files alone.
    #[error("`{seat}` changes {}, and only files that start with `{ORGANISATION_PREFIX}` may be changed from this seat", .files.join(", "))]
    BeyondOrganisation {
        /// The seat.
        seat: SeatId,
        /// The files.
        files: Vec<String>,
    },
    /// What was proposed as a correction is applied as something else.
    #[error("the set {} was proposed as a correction and is not applied as one", .set.short())]
    NotAsProposed {
        /// The set.
        set: Digest,
    },
    /// The seat would hand another what it does not hold.
    #[error("`{seat}` cannot hand on `{grant}`, which it does not hold")]
    Escalates {
        /// The seat that creates.
        seat: SeatId,
        /// What it lacks.
        grant: String,
    },
    /// The seat would report to itself.
    #[error("`{seat}` would report to itself through `{through}`")]
    OwnLine {
        /// The seat.
        seat: SeatId,
        /// The seat above it that reports to it.
        through: SeatId,
    },
    /// The component was revoked, and never comes back.
    #[error("the component {} was revoked and never comes back, so `{kind}` cannot be stated of it: {reason}", digest.short())]
    RevokedComponent {
        /// The component.
        digest: Digest,
        /// What.
        kind: &'static str,
        /// Why it was revoked.
        reason: String,
    },
    /// The chain above the seat is longer than [`LINE_SEATS_MAX`].
    #[error("the line above `{seat}` is longer than {LINE_SEATS_MAX} seats")]
    LongLine {
        /// The seat.
        seat: SeatId,
    },
}

/// Whether `actor` may state `fact`. `look` says what is known of a row of `setting`; a row that was not looked at
/// is asked for, so that a forgotten read can never pass for an absent seat.
pub fn may_state(actor: &Actor, fact: &Fact, look: &dyn Fn(&str) -> Look) -> Verdict {
    let outcome = policy::judged(actor, fact, look).unwrap_or_else(|| {
        line(fact, look)?;
        revoked(fact, look)?;
        match actor.principal.kind() {
            PrincipalKind::System => answers_itself(actor, fact),
            PrincipalKind::Agent | PrincipalKind::Person => for_seat(actor, fact, look),
        }
    });
    match outcome {
        Ok(()) => Verdict::May,
        Err(Unsettled::No(why)) => Verdict::MayNot(why),
        Err(Unsettled::LookAt(key)) => Verdict::LookAt(key),
    }
}

enum Unsettled {
    No(NoAuthority),
    LookAt(String),
}

impl From<NoAuthority> for Unsettled {
    fn from(why: NoAuthority) -> Self {
        Self::No(why)
    }
}

fn row<T: serde::de::DeserializeOwned>(
    look: &dyn Fn(&str) -> Look,
    key: String,
) -> Result<Option<T>, Unsettled> {
    match look(&key) {
        Look::NotYet => Err(Unsettled::LookAt(key)),
        Look::Absent => Ok(None),
        Look::Holds(value) => Ok(T::deserialize(value.as_ref()).ok()),
    }
}

/// No seat reports to itself, whoever says so.
fn line(fact: &Fact, look: &dyn Fn(&str) -> Look) -> Result<(), Unsettled> {
    let created = match fact {
        Fact::SeatCreated(created) => created,
        Fact::SeatChanged(changed) => &changed.now,
        _ => return Ok(()),
    };
    let mut below = created.seat.clone();
    let mut above = created.line.clone();
    for _ in 0..LINE_SEATS_MAX {
        let Some(seat) = above else { return Ok(()) };
        if seat == created.seat {
            return Err(NoAuthority::OwnLine { seat, through: below }.into());
        }
        let stands: Option<SeatCreated> = row(look, setting::seat(&seat))?;
        below = seat;
        above = stands.and_then(|stands| stands.line);
    }
    Err(NoAuthority::LongLine { seat: created.seat.clone() }.into())
}

/// No component that was revoked comes back, whoever says so.
fn revoked(fact: &Fact, look: &dyn Fn(&str) -> Look) -> Result<(), Unsettled> {
    let digest = match fact {
        Fact::PluginInstalled(body) => &body.digest,
        Fact::PluginGranted(body) => &body.digest,
        Fact::PluginProposed(body) => &body.version.digest,
        _ => return Ok(()),
    };
    match row::<ComponentRevoked>(look, setting::revoked_component(digest))? {
        None => Ok(()),
        Some(revoked) => {
            let (digest, kind) = (digest.clone(), fact.kind());
            Err(NoAuthority::RevokedComponent { digest, kind, reason: revoked.reason }.into())
        }
    }
}

/// Whose work a fact is about, for the kinds that a seat states about its own.
enum Own<'a> {
    /// Of the seat that acts.
    Its,
    /// Of this seat.
    Of(&'a SeatId),
    /// Of this seat, and said by this person; of no seat where they answer for what is their own.
    Answers(Option<&'a SeatId>, &'a PrincipalId),
    /// Of the office: it needs a grant.
    Office,
    /// Of the host.
    Host,
}

fn own(fact: &Fact) -> Own<'_> {
    match fact {
        Fact::StepStarted(_)
        | Fact::StepEnded(_)
        | Fact::TurnEnded(_)
        | Fact::InboxDrained(_)
        | Fact::FinishAccepted(_) => Own::Its,
        Fact::RequestAsked(body) => Own::Of(&body.asker),
        Fact::RequestAnswered(body) => Own::Of(&body.by),
        Fact::MomentSet(body) => Own::Of(&body.seat),
        Fact::ApprovalGiven(body) => Own::Answers(body.seat.as_ref(), &body.by),
        Fact::ApprovalDenied(body) => Own::Answers(body.seat.as_ref(), &body.by),
        Fact::ApprovalGivenAhead(body) => Own::Answers(Some(&body.by_seat), &body.by),
        Fact::ApprovalWithdrawn(body) => Own::Answers(Some(&body.by_seat), &body.by),
        Fact::EffectStated(body) => Own::Answers(Some(&body.seat), &body.by),
        Fact::CallTried(body) => Own::Answers(Some(&body.seat), &body.by),
        Fact::SeatCreated(_)
        | Fact::SeatChanged(_)
        | Fact::SeatHeld(_)
        | Fact::SeatVacated(_)
        | Fact::RefusalRaised(_)
        | Fact::RefusalLifted(_)
        | Fact::PolicyProposed(_)
        | Fact::PolicyRevoked(_)
        | Fact::PluginRevoked(_)
        | Fact::PolicyApplied(_)
        | Fact::PricesListed(_)
        | Fact::BudgetSet(_)
        | Fact::PluginInstalled(_)
        | Fact::PluginGranted(_)
        | Fact::PluginProposed(_)
        | Fact::PluginRemoved(_)
        | Fact::ComponentRevoked(_)
        | Fact::SubjectShredded(_)
        | Fact::AccountConnected(_)
        | Fact::AccountDisconnected(_)
        | Fact::DisclosureSet(_)
        | Fact::ModeSet(_) => Own::Office,
        Fact::NodeStarted(_)
        | Fact::ConnectionIdentified(_)
        | Fact::ConnectionInstalled(_)
        | Fact::ConnectionRenewed(_)
        | Fact::ConnectionEnded(_)
        | Fact::DeliveryReceived(_)
        | Fact::DeliveryClassified(_)
        | Fact::MessageReceived(_)
        | Fact::MessageMerged(_)
        | Fact::MessageEdited(_)
        | Fact::MessageDeleted(_)
        | Fact::TurnOpened(_)
        | Fact::TurnSteered(_)
        | Fact::MomentPassed(_)
        | Fact::RequestLapsed(_)
        | Fact::ApprovalAsked(_)
        | Fact::ApprovalExpired(_)
        | Fact::ApprovalSpent(_)
        | Fact::CallAdmitted(_)
        | Fact::CallDenied(_)
        | Fact::AccountWanted(_)
        | Fact::CallRefused(_)
        | Fact::CallClassified(_)
        | Fact::HoldTaken(_)
        | Fact::HoldStarted(_)
        | Fact::HoldSettled(_)
        | Fact::HoldReleased(_)
        | Fact::HoldLeftUnknown(_)
        | Fact::EffectIntended(_)
        | Fact::EffectSent(_)
        | Fact::EffectFailed(_)
        | Fact::EffectLeftUnknown(_)
        | Fact::EffectCaptured(_)
        | Fact::EffectRecalled(_)
        | Fact::ReceiptRecorded(_)
        | Fact::TriageDecided(_)
        | Fact::TopicMuted(_)
        | Fact::TopicUnmuted(_)
        | Fact::EmojiListed(_) => Own::Host,
    }
}

/// Not even the host answers an approval in a person's name.
fn answers_itself(actor: &Actor, fact: &Fact) -> Result<(), Unsettled> {
    match own(fact) {
        Own::Answers(_, by) if actor.principal.kind() != PrincipalKind::Person || *by != actor.principal => {
            let (principal, kind, by) = (actor.principal.clone(), fact.kind(), by.clone());
            Err(NoAuthority::NotThePerson { principal, kind, by }.into())
        }
        _ => Ok(()),
    }
}

fn for_seat(actor: &Actor, fact: &Fact, look: &dyn Fn(&str) -> Look) -> Result<(), Unsettled> {
    let (principal, kind) = (actor.principal.clone(), fact.kind());
    let whose = own(fact);
    if matches!(whose, Own::Host) {
        return Err(NoAuthority::HostAlone { kind }.into());
    }
    // For what is their own a person answers in no seat; the fold takes it only where that is what was asked.
    if matches!(whose, Own::Answers(None, _)) && actor.seat.is_none() {
        return answers_itself(actor, fact);
    }
    let Some(seat) = actor.seat.clone() else { return Err(NoAuthority::NoSeat { principal, kind }.into()) };
    let held: Option<SeatHeld> = row(look, setting::holder(&seat))?;
    if held.is_none_or(|held| held.principal != principal) {
        return Err(NoAuthority::NotHolder { principal, seat }.into());
    }
    match whose {
        Own::Its | Own::Host => Ok(()),
        Own::Answers(Some(other), _) if *other == seat => answers_itself(actor, fact),
        Own::Answers(None, _) => Err(NoAuthority::NoSeat { principal, kind }.into()),
        Own::Of(other) if *other == seat => Ok(()),
        Own::Of(other) | Own::Answers(Some(other), _) => {
            Err(NoAuthority::AnotherSeat { seat, kind, other: other.clone() }.into())
        }
        Own::Office => office(seat, fact, look),
    }
}

/// Whether a seat holds the grant to state facts of `kind` that are the office's.
#[must_use]
pub fn may_state_kind(seat: &SeatCreated, kind: &str) -> bool {
    seat.grants.iter().any(|grant| grant == EVERY_FACT || grant.strip_prefix("record:") == Some(kind))
}

/// The seat, which holds the grant to state `kind`.
fn has_right(
    seat: &SeatId,
    kind: &'static str,
    look: &dyn Fn(&str) -> Look,
) -> Result<SeatCreated, Unsettled> {
    let own: Option<SeatCreated> = row(look, setting::seat(seat))?;
    own.filter(|own| may_state_kind(own, kind))
        .ok_or_else(|| NoAuthority::NoGrant { seat: seat.clone(), kind }.into())
}

/// A set in a sentence.
fn named(set: Option<&Digest>) -> &str {
    set.map_or("no set", Digest::short)
}

fn office(seat: SeatId, fact: &Fact, look: &dyn Fn(&str) -> Look) -> Result<(), Unsettled> {
    let own = has_right(&seat, fact.kind(), look)?;
    if let Some(grant) = handed_on(fact, look)?.iter().find(|grant| !covers(&own, grant)) {
        return Err(NoAuthority::Escalates { seat, grant: grant.clone() }.into());
    }
    Ok(())
}

/// What a fact hands a seat that it did not hold before: grants, and the role, which policies give rights to.
fn handed_on(fact: &Fact, look: &dyn Fn(&str) -> Look) -> Result<Vec<String>, Unsettled> {
    match fact {
        Fact::SeatCreated(created) => Ok(gives(created)),
        Fact::SeatChanged(changed) => {
            let before: Option<SeatCreated> = row(look, setting::seat(&changed.now.seat))?;
            let had = before.as_ref().map(gives).unwrap_or_default();
            Ok(gives(&changed.now).into_iter().filter(|grant| !had.contains(grant)).collect())
        }
        // Who holds a seat has what it has: letting somebody hold it hands that on.
        Fact::SeatHeld(held) => {
            let seat: Option<SeatCreated> = row(look, setting::seat(&held.seat))?;
            Ok(seat.as_ref().map(gives).unwrap_or_default())
        }
        _ => Ok(Vec::new()),
    }
}

/// All that a seat gives its holder, as grants.
fn gives(seat: &SeatCreated) -> Vec<String> {
    let mut grants = seat.grants.clone();
    grants.push(format!("{A_ROLE}{}", seat.role));
    grants
}

/// How a grant begins that lets a seat give a role it does not have: `role:helper`, or `role:*` for any.
pub const A_ROLE: &str = "role:";

/// The grant to give any role.
pub const EVERY_ROLE: &str = "role:*";

/// The grant to state facts of every kind that is the office's.
pub const EVERY_FACT: &str = "record:*";

/// Whether `own` holds all that `grant` gives: the same grant, or the family it belongs to.
fn covers(own: &SeatCreated, grant: &str) -> bool {
    if own.grants.iter().any(|held| held == grant) {
        return true;
    }
    if grant.starts_with("record:") {
        return own.grants.iter().any(|held| held == EVERY_FACT);
    }
    if let Some(role) = grant.strip_prefix(A_ROLE) {
        // Who may state every fact may apply the policies that speak of the role: it could give itself all of it.
        let any = |grant: &String| grant == EVERY_ROLE || grant == EVERY_FACT;
        return own.role == role || own.grants.iter().any(any);
    }
    let family = grant.ends_with(".*");
    if family || grant == EVERY_TOOL {
        own.grants.iter().any(|held| held == EVERY_TOOL)
    } else {
        holds_grant(own, grant)
    }
}

#[cfg(test)]
mod tests;
