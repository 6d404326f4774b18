//! What came of a call, judged by what the way out saw and not by what a guest says: how its hold ends, whether
//! a failed effect surely did not happen, and the label of what was read. Pure.

use crate::begin::HeldCall;
use crate::catalogue::Resource;
use crate::permit::Admission;
use crate::reach::{FailureKind, Output, Reached};
use event::{HoldId, Label, NanoUsd, PricesListed};
use fold::purse::cost;

/// How a hold ends.
pub(crate) enum HoldEnd {
    Settled {
        hold: HoldId,
        held: NanoUsd,
        accounts: Vec<event::Account>,
        charged: NanoUsd,
        usage: event::Usage,
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

/// Usage that is missing after the call may have left is unknown, never zero.
pub(crate) fn held_outcome(held: &HeldCall, reached: &Reached, prices: Option<&PricesListed>) -> HoldEnd {
    let (hold, amount, accounts) = (held.hold.clone(), held.amount, held.accounts.clone());
    let usage = match &reached.outcome {
        Ok(Output::Model(response)) => response.usage,
        Ok(Output::Tool(_)) => Some(event::Usage::default()),
        Err(failure) if !reached.request_sent => {
            let reason = format!("no request left: {}", failure.message);
            return HoldEnd::Released { hold, held: amount, accounts, reason };
        }
        Err(_) => None,
    };
    let price = prices.and_then(|list| list.prices.get(&held.key));
    match usage.zip(price).and_then(|(usage, price)| cost(price, usage).map(|charged| (usage, charged))) {
        Some((usage, charged)) => HoldEnd::Settled { hold, held: amount, accounts, charged, usage },
        None => {
            let reason = "the call may have been charged and no usage came back".to_owned();
            HoldEnd::Unknown { hold, held: amount, accounts, reason }
        }
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
        (Resource::Origin { .. }, false) if !with_credential => Label::public_untrusted(),
        (_, false) => Label { readers: event::Readers::Unknown, integrity: event::Integrity::Untrusted },
    }
}
