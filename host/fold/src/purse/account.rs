//! What one account comes to. Deliberately absent: its limit, which is the budget's and may change.

use crate::projection::{Projection, Row, decode};
use event::{Account, Event, Fact, NanoUsd};
use serde::{Deserialize, Serialize};

/// What one account comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRow {
    /// Charged.
    pub settled: NanoUsd,
    /// Set aside now.
    pub held: NanoUsd,
    /// Held in full for calls whose figure is not known.
    pub unknown: NanoUsd,
    /// How much of what is settled was charged above its hold.
    #[serde(default)]
    pub over: NanoUsd,
}

impl AccountRow {
    /// All that stands on it, or nothing when it does not fit.
    #[must_use]
    pub fn total(&self) -> Option<NanoUsd> {
        self.settled.plus(self.held)?.plus(self.unknown)
    }
}

/// The rows under [`Account::key`]. Holds [`AccountRow`]s.
pub struct Accounts;

impl Projection for Accounts {
    fn name(&self) -> &'static str {
        "account"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        let accounts: &[Account] = match &event.fact {
            Fact::HoldTaken(body) => &body.accounts,
            Fact::HoldSettled(body) => &body.accounts,
            Fact::HoldReleased(body) => &body.accounts,
            Fact::HoldLeftUnknown(body) => &body.accounts,
            _ => &[],
        };
        accounts.iter().map(Account::key).collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let mut account = decode::<AccountRow>(row.as_ref()).unwrap_or_default();
        // Sums of amounts that were each checked against a limit on the way in; saturating keeps the fold total.
        let add = |a: NanoUsd, b: NanoUsd| NanoUsd(a.0.saturating_add(b.0));
        let less = |a: NanoUsd, b: NanoUsd| NanoUsd(a.0.saturating_sub(b.0));
        match &event.fact {
            Fact::HoldTaken(body) => account.held = add(account.held, body.amount),
            Fact::HoldSettled(body) => {
                account.held = less(account.held, body.held);
                account.settled = add(account.settled, body.charged);
                account.over = add(account.over, less(body.charged, body.held).max(NanoUsd::ZERO));
            }
            Fact::HoldReleased(body) => account.held = less(account.held, body.held),
            Fact::HoldLeftUnknown(body) => {
                account.held = less(account.held, body.held);
                account.unknown = add(account.unknown, body.held);
            }
            _ => return row,
        }
        Some(Row::of(&account, None))
    }
}
