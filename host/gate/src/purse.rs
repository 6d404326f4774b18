//! What one call may cost at worst, and the budgets it is held on.
//!
//! Always holds: a paid call whose worst case has no price, no finite figure or no room is refused before anything
//! leaves; and a hold is settled by the price it was taken at.

mod clear;
mod in_play;

use crate::call::Payload;
use crate::model::Part;
use crate::permit::Price;
use crate::verdict::Refusal;
pub use clear::CLEARED_MAX;
use event::{Account, NanoUsd, PricesListed, Usage, WorstCase};
pub use fold::purse::InPlay;
pub(crate) use in_play::{
    Moments, account_keys, budget_keys, has_purse, in_play, spending, standing, with_accounts,
};

/// Bytes of request that are counted as one input token. The request is counted as JSON, with all its quoting and
/// every tool on offer; images and files count by what they show. No tokeniser in use makes more than one token of a byte, and a headroom of two or more lifts
/// what is held above that bound.
pub const BYTES_PER_TOKEN: u64 = 2;

/// The least headroom an operator may set: below it the hold would not cover the worst case.
pub const HEADROOM_MIN: u64 = 2;

/// The most a call can use.
struct Most {
    usage: Usage,
    /// What no count of its input tokens can exceed.
    input_tokens_max: u64,
}

impl Most {
    fn of(payload: &Payload) -> Self {
        match payload {
            Payload::Tool(_) => Self { usage: Usage::default(), input_tokens_max: 0 },
            Payload::Infer(request) => {
                let bytes = request.bytes();
                let parts = || request.messages.iter().flat_map(|message| &message.parts);
                let media = parts().filter_map(Part::media);
                let (mut shown, mut counted) = (0_u64, 0_u64);
                for media in media {
                    shown = shown.saturating_add(media.content.len() as u64);
                    counted = counted.saturating_add(media.tokens_max());
                }
                let written = bytes.saturating_sub(shown);
                let usage = Usage {
                    input_tokens: written.div_ceil(BYTES_PER_TOKEN).saturating_add(counted),
                    output_tokens: u64::from(request.output_tokens_max),
                    ..Usage::default()
                };
                Self { usage, input_tokens_max: written.saturating_add(counted) }
            }
        }
    }
}

/// What must be held for a call under `key`: the worst case times the headroom. `call_ms_max` is the longest it may
/// take.
///
/// # Errors
/// A [`Refusal`] when there is no price list, the key is not on it, the list has no price for a kind of use
/// the call may have, the call has no longest time and its seconds cost, or the amount does not fit.
pub(crate) fn worst_case(
    prices: Option<&PricesListed>,
    key: &str,
    payload: &Payload,
    call_ms_max: Option<u64>,
    headroom: u64,
) -> Result<Price, Refusal> {
    let refuse = |reason: String| Refusal { subject: format!("price/{key}"), reason, lifts_at: None };
    let (list, listed) = prices.and_then(|list| Some((list, list.prices.get(key)?))).ok_or_else(|| {
        refuse(format!(
            "`{key}` is not on the price list: what has no price is not bought; add it to the price list"
        ))
    })?;
    let seconds = match (listed.per_second, call_ms_max) {
        (None, _) => 0,
        (Some(_), Some(ms)) => ms.div_ceil(1_000),
        (Some(_), None) => {
            return Err(refuse(format!(
                "`{key}` costs by the second and nothing says how long a call lasts at most: \
                 what has no finite maximum is not bought"
            )));
        }
    };
    let most = Most::of(payload);
    let headroom = headroom.max(HEADROOM_MIN);
    let worst = fold::purse::worst(listed, most.usage, most.input_tokens_max, seconds);
    let held = worst.and_then(|worst| Some((worst, worst.amount.times(headroom)?)));
    match held.filter(|(_, amount)| *amount >= NanoUsd::ZERO) {
        Some((worst, amount)) => {
            let prices = list.digest.clone();
            let long_context = worst.long_context;
            let worst = WorstCase { prices, usage: most.usage, seconds, long_context, headroom };
            let (key, listed, accounts) = (key.to_owned(), listed.clone(), Vec::new());
            Ok(Price { key, amount, listed, worst, accounts })
        }
        None => Err(refuse(format!("the price list does not say what `{key}` costs at most"))),
    }
}

/// The accounts that hold `amount`, all of them, or the refusal of the one that cannot for longest.
///
/// # Errors
/// A [`Refusal`] with the figures of that budget and when it starts anew.
pub(crate) fn accounts(budgets: &[InPlay], amount: NanoUsd) -> Result<Vec<Account>, Refusal> {
    fold::purse::accounts(budgets, amount).map_err(|no| Refusal {
        subject: format!("budget/{}", no.budget),
        reason: no.to_string(),
        lifts_at: no.short.lifts_at(),
    })
}
