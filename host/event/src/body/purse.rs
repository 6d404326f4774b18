//! Money set aside and charged, as facts. These words are money's alone.

use crate::{HoldId, NanoUsd, Origin, Period};
use serde::{Deserialize, Serialize};

/// One budget in one period: `organisation-day` of `2026-11-30`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Account {
    /// The budget.
    pub budget: String,
    /// When it starts anew.
    pub period: Period,
    /// Which period: `2026-11-30` for a day, `2026-11` for a month.
    pub window: String,
}

impl Account {
    /// What the account is kept under.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.budget, self.window)
    }
}

/// What was used, as the provider reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Of those, how many the provider read from its cache.
    pub cached_input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

/// Money was set aside on every account in play, or on none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldTaken {
    /// The hold.
    pub hold: HoldId,
    /// The call it is for.
    pub origin: Origin,
    /// The price key.
    pub price_key: String,
    /// How much, on each account.
    pub amount: NanoUsd,
    /// The accounts.
    pub accounts: Vec<Account>,
}

/// The paid call is about to leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldStarted {
    /// The hold.
    pub hold: HoldId,
}

/// The figure is known and charged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldSettled {
    /// The hold.
    pub hold: HoldId,
    /// How much was held.
    pub held: NanoUsd,
    /// On which accounts.
    pub accounts: Vec<Account>,
    /// What the call cost. Above the hold it is an overrun.
    pub charged: NanoUsd,
    /// What was used.
    pub usage: Usage,
}

/// The money was given back: no paid call happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldReleased {
    /// The hold.
    pub hold: HoldId,
    /// How much was held.
    pub held: NanoUsd,
    /// On which accounts.
    pub accounts: Vec<Account>,
    /// Why.
    pub reason: String,
}

/// The figure is not known: the whole hold counts, never zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldLeftUnknown {
    /// The hold.
    pub hold: HoldId,
    /// How much was held.
    pub held: NanoUsd,
    /// On which accounts.
    pub accounts: Vec<Account>,
    /// Why the figure is not known.
    pub reason: String,
}
