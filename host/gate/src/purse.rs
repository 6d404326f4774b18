//! What one call may cost at worst, and what is held for it.

use crate::call::Payload;
use crate::permit::Price;
use crate::verdict::Refusal;
use event::{Account, NanoUsd, PricesListed, Timestamp, Usage};
use fold::purse::{AccountRow, cost, fits};

/// Bytes of request that are counted as one input token. No tokeniser in use makes more than one token of a
/// byte, and a headroom of two or more lifts this above that bound.
pub const BYTES_PER_TOKEN: u64 = 2;

/// The least headroom an operator may set: below it the hold would not cover the worst case.
pub const HEADROOM_MIN: u64 = 2;

/// One budget in play and what stands on it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlay {
    /// The budget.
    pub budget: event::BudgetSet,
    /// What stands on its account of this period.
    pub stands: AccountRow,
}

/// What must be held for a call under `key`: the worst case times the headroom.
///
/// # Errors
/// A [`Refusal`] when there is no price list, the key is not on it, the list has no price for a kind of use
/// the call may have, or the amount does not fit.
pub(crate) fn worst_case(
    prices: Option<&PricesListed>,
    key: &str,
    payload: &Payload,
    headroom: u64,
) -> Result<Price, Refusal> {
    let refuse = |reason: String| Refusal { subject: format!("price/{key}"), reason, lifts_at: None };
    let price = prices.and_then(|list| list.prices.get(key)).ok_or_else(|| {
        refuse(format!(
            "`{key}` is not on the price list: what has no price is not bought; add it to the price list"
        ))
    })?;
    let amount = cost(price, most(payload)).and_then(|amount| amount.times(headroom.max(HEADROOM_MIN)));
    match amount {
        Some(amount) => Ok(Price { key: key.to_owned(), amount }),
        None => Err(refuse(format!("the price list does not say what `{key}` costs at most"))),
    }
}

/// The most a call can use.
fn most(payload: &Payload) -> Usage {
    match payload {
        Payload::Tool(_) => Usage::default(),
        Payload::Infer(request) => {
            let bytes = serde_json::to_vec(request).map_or(u64::MAX, |bytes| bytes.len() as u64);
            Usage {
                input_tokens: bytes.div_ceil(BYTES_PER_TOKEN),
                cached_input_tokens: 0,
                output_tokens: u64::from(request.output_tokens_max),
            }
        }
    }
}

/// The accounts that hold `amount`, all of them, or the refusal of the first that cannot.
///
/// # Errors
/// A [`Refusal`] with the figures of the budget that is short and when it starts anew.
pub(crate) fn accounts(budgets: &[InPlay], amount: NanoUsd, at: Timestamp) -> Result<Vec<Account>, Refusal> {
    budgets
        .iter()
        .map(|in_play| {
            fits(&in_play.budget, in_play.stands, amount, at).map_err(|short| Refusal {
                subject: format!("budget/{}", short.account.budget),
                reason: short.to_string(),
                lifts_at: Some(short.resets_at),
            })
        })
        .collect()
}
