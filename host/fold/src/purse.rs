//! The purse: what is settled, held and unknown on each account; and whether one more hold fits.
//!
//! An account is one budget in one period. `available = limit - settled - held - unknown`, and an account
//! that was overrun takes no hold until its period ends. Unknown is never zero.

use crate::projection::{Projection, Row, decode};
use event::{Account, BudgetSet, Event, Fact, HoldId, NanoUsd, Origin, Period, Price, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// Where a hold stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldState {
    /// Set aside; no paid call began.
    Taken,
    /// The paid call may have left.
    Started,
    /// Charged.
    Settled,
    /// Given back.
    Released,
    /// The figure is not known.
    Unknown,
}

/// One hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldRow {
    /// Where it stands.
    pub state: HoldState,
    /// The call.
    pub origin: Origin,
    /// The price key.
    pub price_key: String,
    /// How much was held.
    pub held: NanoUsd,
    /// On which accounts.
    pub accounts: Vec<Account>,
    /// When it was taken.
    pub taken_at: Timestamp,
    /// What was charged, once settled.
    pub charged: Option<NanoUsd>,
}

/// The rows under a hold's id, ranked by when it was taken while it is open. Holds [`HoldRow`]s.
pub struct Holds;

fn hold_of(fact: &Fact) -> Option<&HoldId> {
    match fact {
        Fact::HoldTaken(body) => Some(&body.hold),
        Fact::HoldStarted(body) => Some(&body.hold),
        Fact::HoldSettled(body) => Some(&body.hold),
        Fact::HoldReleased(body) => Some(&body.hold),
        Fact::HoldLeftUnknown(body) => Some(&body.hold),
        _ => None,
    }
}

impl Projection for Holds {
    fn name(&self) -> &'static str {
        "hold"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        hold_of(&event.fact).map(|id| id.as_str().to_owned()).into_iter().collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let before = decode::<HoldRow>(row.as_ref());
        let after = match &event.fact {
            Fact::HoldTaken(body) => HoldRow {
                state: HoldState::Taken,
                origin: body.origin.clone(),
                price_key: body.price_key.clone(),
                held: body.amount,
                accounts: body.accounts.clone(),
                taken_at: event.at,
                charged: None,
            },
            Fact::HoldStarted(_) => HoldRow { state: HoldState::Started, ..before? },
            Fact::HoldSettled(body) => {
                HoldRow { state: HoldState::Settled, charged: Some(body.charged), ..before? }
            }
            Fact::HoldReleased(_) => HoldRow { state: HoldState::Released, ..before? },
            Fact::HoldLeftUnknown(_) => HoldRow { state: HoldState::Unknown, ..before? },
            _ => return row,
        };
        let open = matches!(after.state, HoldState::Taken | HoldState::Started);
        Some(Row::of(&after, open.then_some(after.taken_at.0)))
    }
}

/// What one account comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountRow {
    /// Charged.
    pub settled: NanoUsd,
    /// Set aside now.
    pub held: NanoUsd,
    /// Held in full for calls whose figure is not known.
    pub unknown: NanoUsd,
    /// Whether a call cost more than its hold: no further hold until the period ends.
    pub overrun: bool,
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
                account.overrun |= body.charged > body.held;
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

/// The account of `budget` at a moment.
#[must_use]
pub fn account_at(budget: &BudgetSet, at: Timestamp) -> Account {
    let (year, month, day) = at.civil_utc();
    let window = match budget.period {
        Period::Day => format!("{year:04}-{month:02}-{day:02}"),
        Period::Month => format!("{year:04}-{month:02}"),
    };
    Account { budget: budget.budget.clone(), period: budget.period, window }
}

/// When the account's period ends: the next midnight UTC, or the next first of a month.
#[must_use]
pub fn resets_at(period: Period, at: Timestamp) -> Timestamp {
    const DAY_MS: i64 = 86_400_000;
    let next_midnight = |t: Timestamp| Timestamp((t.0.div_euclid(DAY_MS) + 1) * DAY_MS);
    let mut reset = next_midnight(at);
    if period == Period::Month {
        // At most 31 midnights lie before the next first of a month.
        for _ in 0..31 {
            if reset.civil_utc().2 == 1 {
                break;
            }
            reset = next_midnight(reset);
        }
    }
    reset
}

/// Why a hold does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Short {
    /// The account that is short.
    pub account: Account,
    /// Its limit.
    pub limit: NanoUsd,
    /// What stands on it.
    pub stands: AccountRow,
    /// What was asked.
    pub asked: NanoUsd,
    /// When the account starts anew.
    pub resets_at: Timestamp,
}

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let AccountRow { settled, held, unknown, overrun } = self.stands;
        write!(
            f,
            "budget `{}` of {} cannot hold {}: {settled} settled, {held} held, {unknown} unknown{}; it starts anew at {}",
            self.account.budget,
            self.limit,
            self.asked,
            if overrun { ", and a call cost more than its hold" } else { "" },
            self.resets_at
        )
    }
}

/// Whether `asked` fits on one account.
///
/// # Errors
/// [`Short`], with the figures a person needs, when it does not.
pub fn fits(budget: &BudgetSet, stands: AccountRow, asked: NanoUsd, at: Timestamp) -> Result<Account, Short> {
    let account = account_at(budget, at);
    let total = [stands.settled, stands.held, stands.unknown, asked]
        .into_iter()
        .try_fold(NanoUsd::ZERO, NanoUsd::plus);
    match total {
        Some(total) if total <= budget.limit && !stands.overrun => Ok(account),
        _ => Err(Short {
            account,
            limit: budget.limit,
            stands,
            asked,
            resets_at: resets_at(budget.period, at),
        }),
    }
}

/// Tokens that a million is made of: prices are for a million.
const MTOK: i128 = 1_000_000;

fn part(price: Option<NanoUsd>, tokens: u64) -> Option<i128> {
    match (price, tokens) {
        (_, 0) => Some(0),
        (Some(price), tokens) => {
            // Rounded up: a fraction of a nano-dollar is never given away.
            i128::from(price.0).checked_mul(i128::from(tokens)).map(|n| (n + MTOK - 1) / MTOK)
        }
        (None, _) => None,
    }
}

/// What `usage` costs, rounded up to a nano-dollar; nothing when the list has no price for a kind that was
/// used, or the sum does not fit.
#[must_use]
pub fn cost(price: &Price, usage: Usage) -> Option<NanoUsd> {
    let cached = usage.cached_input_tokens.min(usage.input_tokens);
    let sum = part(price.input_per_mtok, usage.input_tokens - cached)?
        + part(price.cached_input_per_mtok.or(price.input_per_mtok), cached)?
        + part(price.output_per_mtok, usage.output_tokens)?
        + i128::from(price.per_call.unwrap_or(NanoUsd::ZERO).0);
    i64::try_from(sum).ok().map(NanoUsd)
}

#[cfg(test)]
mod tests {
    use super::{AccountRow, cost, fits, resets_at};
    use event::{BudgetSet, NanoUsd, Period, Price, Timestamp, Usage};
    use proptest::prelude::*;

    fn day(limit: i64) -> BudgetSet {
        BudgetSet { budget: "organisation-day".into(), period: Period::Day, limit: NanoUsd(limit) }
    }

    #[test]
    fn a_period_ends_at_midnight_or_on_the_first() {
        let leap_day = Timestamp(951_782_400_000 + 5);
        assert_eq!(resets_at(Period::Day, leap_day).to_string(), "2000-03-01T00:00:00.000Z");
        let november = Timestamp(1_796_057_279_123);
        assert_eq!(resets_at(Period::Month, november).to_string(), "2026-12-01T00:00:00.000Z");
    }

    #[test]
    fn a_zero_budget_holds_nothing_and_an_overrun_blocks() {
        assert!(fits(&day(0), AccountRow::default(), NanoUsd(1), Timestamp(0)).is_err());
        let overrun = AccountRow { overrun: true, ..AccountRow::default() };
        assert!(fits(&day(100), overrun, NanoUsd(1), Timestamp(0)).is_err());
        let stands =
            AccountRow { settled: NanoUsd(40), held: NanoUsd(30), unknown: NanoUsd(20), overrun: false };
        assert!(fits(&day(100), stands, NanoUsd(10), Timestamp(0)).is_ok());
        let short = fits(&day(100), stands, NanoUsd(11), Timestamp(0)).unwrap_err().to_string();
        assert!(short.contains("settled") && short.contains("unknown"), "{short}");
    }

    #[test]
    fn a_kind_of_use_without_a_price_has_no_cost_rather_than_none() {
        let price = Price {
            input_per_mtok: Some(NanoUsd(1_000_000)),
            cached_input_per_mtok: None,
            output_per_mtok: None,
            per_call: None,
        };
        let used =
            |input, output| Usage { input_tokens: input, cached_input_tokens: 0, output_tokens: output };
        assert_eq!(cost(&price, used(3, 0)), Some(NanoUsd(3)));
        assert_eq!(cost(&price, used(3, 1)), None);
    }

    proptest! {
        #[test]
        fn cost_is_monotone(input in 0_u64..10_000_000, output in 0_u64..10_000_000, more in 0_u64..1_000_000) {
            let price = Price {
                input_per_mtok: Some(NanoUsd(3_000_000_000)),
                cached_input_per_mtok: Some(NanoUsd(300_000_000)),
                output_per_mtok: Some(NanoUsd(15_000_000_000)),
                per_call: Some(NanoUsd(1)),
            };
            let usage = Usage { input_tokens: input, cached_input_tokens: input / 2, output_tokens: output };
            let larger = Usage { output_tokens: output + more, ..usage };
            prop_assert!(cost(&price, larger) >= cost(&price, usage));
        }
    }
}
