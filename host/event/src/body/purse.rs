//! Money set aside and charged, as facts. These words are money's alone.

use crate::{Digest, HoldId, NanoUsd, Origin, Period, PrincipalId, SeatId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which paid calls are held on a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppliesTo {
    /// Every one.
    #[default]
    Organisation,
    /// Those of one seat.
    Seat(SeatId),
    /// Those about what was said in one channel, such as `slack:T01:C01`.
    Channel(String),
    /// Those of turns that one person woke.
    Person(PrincipalId),
    /// Those made for one goal.
    Goal(String),
}

impl AppliesTo {
    /// The name of the budget for this and `period`: there is at most one, so that the budgets of a call are found
    /// by name and never by a search.
    #[must_use]
    pub fn budget(&self, period: Period) -> String {
        match period {
            Period::Day => format!("{self}-day"),
            Period::Month => format!("{self}-month"),
            Period::Lifetime => self.to_string(),
        }
    }

    /// Whether it is every paid call.
    #[must_use]
    pub fn is_organisation(&self) -> bool {
        *self == Self::Organisation
    }
}

impl fmt::Display for AppliesTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Organisation => f.write_str("organisation"),
            Self::Seat(seat) => write!(f, "seat:{seat}"),
            Self::Channel(channel) => write!(f, "channel:{channel}"),
            Self::Person(person) => write!(f, "person:{person}"),
            Self::Goal(goal) => write!(f, "goal:{goal}"),
        }
    }
}

/// One budget in one period: `organisation-day` of `2026-11-30`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Account {
    /// The budget.
    pub budget: String,
    /// When it starts anew.
    pub period: Period,
    /// Which period: `2026-11-30` for a day, `2026-11` for a month, `lifetime` for the one that never ends.
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
    /// Of those, how many it wrote to its cache at a price of their own; 0 where writing costs as input does.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
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
    /// What the amount was worked out from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstCase>,
}

/// The most a call may use, and the prices it was held at. It is settled by the same prices, whatever list is in
/// force by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorstCase {
    /// Digest of the price list.
    pub prices: Digest,
    /// The most tokens.
    pub usage: Usage,
    /// The most seconds; 0 where the price does not count them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seconds: u64,
    /// Whether the input may be long enough for the prices of a long context.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long_context: bool,
    /// How many times the worst case is held.
    pub headroom: u64,
}

// Serde hands over a reference.
fn is_zero(count: &u64) -> bool {
    *count == 0
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
    /// How long the call took, in seconds, the last one counted whole; 0 where the price does not count them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seconds: u64,
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
