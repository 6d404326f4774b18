//! What came of a call, judged by what the way out saw and not by what a guest says: how its hold ends, whether
//! a failed effect surely did not happen, and the label of what was read. Pure.

use crate::begin::HeldCall;
use crate::call::{Call, Payload};
use crate::catalogue::Resource;
use crate::permit::Admission;
use crate::reach::{FailureKind, Output, Reached};
use event::{HoldId, Label, NanoUsd, PrincipalId};
use fold::purse::cost;

/// How a hold ends.
pub(crate) enum HoldEnd {
    Settled {
        hold: HoldId,
        held: NanoUsd,
        accounts: Vec<event::Account>,
        charged: NanoUsd,
        usage: event::Usage,
        seconds: u64,
    },
    Released {
        hold: HoldId,
        held: NanoUsd,
        accounts: Vec<event::Account>,
        reason: String,
    },
    Unknown {
        hold: HoldId,
        held: NanoUsd,
        accounts: Vec<event::Account>,
        reason: String,
    },
}

/// How a hold ends, and why its budgets are refused from now on, if they are.
pub(crate) struct Ended {
    pub(crate) end: HoldEnd,
    pub(crate) blocks: Option<String>,
}

/// The largest count that the record keeps exactly: 2^53-1.
const COUNT_MAX: u64 = (1 << 53) - 1;

/// What the provider's figures come to.
enum Figures {
    /// They can be right, and cost this.
    Cost(NanoUsd, event::Usage),
    /// They cost more than was held; how much where that can be said and kept.
    Above(Option<(NanoUsd, event::Usage)>),
    /// They say nothing, or what cannot be.
    None(&'static str),
}

/// The seconds a call is charged for. A clock that was set back meanwhile says nothing, so all that it may have taken
/// count.
fn seconds(held: &HeldCall, lasted_ms: i64) -> u64 {
    match (held.price.listed.per_second, u64::try_from(lasted_ms)) {
        (None, _) => 0,
        (Some(_), Ok(ms)) => ms.div_ceil(1_000),
        (Some(_), Err(_)) => held.price.worst.seconds,
    }
}

/// Usage that is missing after the call may have left is unknown, never zero.
pub(crate) fn held_outcome(held: &HeldCall, call: &Call, reached: &Reached, lasted_ms: i64) -> Ended {
    let (hold, amount, accounts) = (held.hold.clone(), held.price.amount, held.accounts.clone());
    let seconds = seconds(held, lasted_ms);
    if reached.outcome.is_err() && !reached.request_sent {
        // What stopped it is the step's to say: its sentence may quote what somebody said.
        let reason = "no request left".to_owned();
        return Ended { end: HoldEnd::Released { hold, held: amount, accounts, reason }, blocks: None };
    }
    if let Some(status) = declined(call, reached) {
        let reason = format!("the other side declined the request with {status}: nothing was bought");
        return Ended { end: HoldEnd::Released { hold, held: amount, accounts, reason }, blocks: None };
    }
    let settled = |charged, usage| HoldEnd::Settled {
        hold: hold.clone(),
        held: amount,
        accounts: accounts.clone(),
        charged,
        usage,
        seconds,
    };
    let unknown = |reason: &str| HoldEnd::Unknown {
        hold: hold.clone(),
        held: amount,
        accounts: accounts.clone(),
        reason: reason.to_owned(),
    };
    let review = |cost: &str| {
        format!(
            "a call of `{}` cost {cost}, and {amount} was held: nothing more is bought until a person has looked, with \
             `chancery purse review {hold} --reason …`",
            held.price.key
        )
    };
    match figures(held, reached, seconds) {
        Figures::Cost(charged, usage) => Ended { end: settled(charged, usage), blocks: None },
        Figures::Above(Some((charged, usage))) => {
            Ended { end: settled(charged, usage), blocks: Some(review(&charged.to_string())) }
        }
        Figures::Above(None) => Ended {
            end: unknown("the usage that came back is more than can be counted"),
            blocks: Some(review("more than can be counted")),
        },
        Figures::None(reason) => Ended { end: unknown(reason), blocks: None },
    }
}

/// The statuses by which the other side declines a request before it has done anything for it: the request is wrong, not
/// allowed, not paid for or too large (RFC 9110, section 15.5), it comes too soon (RFC 6585, section 4), or there is too
/// much to do (529, by convention). What fails on the other side may have cost something first, so no other 5xx is one.
const DECLINES: [u16; 9] = [400, 401, 402, 403, 404, 413, 422, 429, 529];

/// The status by which the other side declined a call of a model that failed. Only the host's own account counts: a
/// guest's word would not. A call of a model makes one request, so one answer says all; of a tool it does not.
fn declined(call: &Call, reached: &Reached) -> Option<u16> {
    match (&call.payload, &reached.outcome, reached.readings.as_slice()) {
        (Payload::Infer(_), Err(_), [reading]) if DECLINES.contains(&reading.status) => Some(reading.status),
        _ => None,
    }
}

fn figures(held: &HeldCall, reached: &Reached, seconds: u64) -> Figures {
    let price = &held.price;
    let (usage, is_model) = match &reached.outcome {
        Ok(Output::Model(response)) => (response.usage, true),
        Ok(Output::Unusable { usage, .. }) => (Some(*usage), true),
        Ok(Output::Tool(_)) => (Some(event::Usage::default()), false),
        Err(_) => (None, false),
    };
    let Some(usage) = usage else {
        return Figures::None("the call may have been charged and no usage came back");
    };
    if is_model && usage.input_tokens == 0 {
        return Figures::None("the usage that came back counts no input, and there was some");
    }
    let counts =
        [usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens, usage.output_tokens];
    let cached = usage.cached_input_tokens.saturating_add(usage.cache_write_tokens);
    match cost(&price.listed, usage, seconds) {
        None => Figures::Above(None),
        Some(_) if counts.into_iter().any(|count| count > COUNT_MAX) => Figures::Above(None),
        Some(charged) if charged < NanoUsd::ZERO => Figures::None("the usage that came back has no price"),
        Some(charged) if charged > price.amount => Figures::Above(Some((charged, usage))),
        Some(_) if cached > usage.input_tokens => {
            Figures::None("the usage that came back counts more cached input than input")
        }
        Some(_) if usage.output_tokens > price.worst.usage.output_tokens => {
            Figures::None("the usage that came back counts more output than was asked for")
        }
        Some(charged) => Figures::Cost(charged, usage),
    }
}

/// Whether a failed effect surely did not happen: nothing left, or the other side answered in full and the
/// failure is one that an answer states.
pub(crate) fn is_known(reached: &Reached) -> bool {
    let Err(failure) = &reached.outcome else { return true };
    let stated = matches!(
        failure.kind,
        FailureKind::InvalidInput
            | FailureKind::NotFound
            | FailureKind::NotAllowed
            | FailureKind::NoAccount(_)
            | FailureKind::RateLimited
            | FailureKind::TooLarge
            | FailureKind::ProviderRefused
            | FailureKind::TooLong
    );
    !reached.request_sent || (stated && !reached.readings.is_empty())
}

/// The label of what came from outside: a page that anyone could fetch is public and untrusted; what was read
/// with a credential has readers nobody has named yet.
pub(crate) fn source_label(admission: &Admission, reached: &Reached) -> Label {
    let with_credential = admission.routes.iter().any(|route| route.credential.is_some());
    match (&admission.resource, reached.readings.is_empty()) {
        (_, true) => Label::join_all([]),
        // What was read with somebody's account is theirs.
        (_, false) if admission.account.is_some() => own_label(admission),
        // What a model writes derives from what it was shown, and from nothing that its provider knows besides.
        (Resource::Model(_), false) => Label::join_all([]),
        (Resource::Origin { .. }, false) if !with_credential => Label::public_untrusted(),
        (_, false) => Label { readers: event::Readers::Unknown, integrity: event::Integrity::Untrusted },
    }
}

/// The label of what an earlier send gave back. The record does not say whether that was read outside, so a call that
/// had a way out counts as one that did.
pub(crate) fn earlier_label(admission: &Admission) -> Label {
    if admission.routes.is_empty() {
        return Label::join_all([]);
    }
    if admission.account.is_some() {
        return own_label(admission);
    }
    Label { readers: event::Readers::Unknown, integrity: event::Integrity::Untrusted }
}

/// The label of what was read with a person's account: for that person alone, and vouched for by nobody.
fn own_label(admission: &Admission) -> Label {
    of_owner(admission.account.as_ref())
}

fn of_owner(owner: Option<&PrincipalId>) -> Label {
    let owner = owner.cloned().map(event::Audience::Principal);
    let readers = event::Readers::Within(owner.into_iter().collect());
    Label { readers, integrity: event::Integrity::Untrusted }
}

/// The label of what the record keeps of an effect that was done for a call of this label with an account of `owner`:
/// what its service gave back may repeat anything that stands in the account, a reference too.
pub(crate) fn owners(label: &Label, owner: Option<&PrincipalId>) -> Label {
    if owner.is_some() { label.join(&of_owner(owner)) } else { label.clone() }
}
