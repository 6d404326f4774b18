//! Whether one more hold fits, on one budget or on all that are in play; and what a no says.

use super::account::AccountRow;
use super::window::{NoWindow, Window, window};
use event::{Account, BudgetSet, NanoUsd, Timestamp};
use std::fmt;

/// One budget in play and what stands on its account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlay {
    /// The budget.
    pub budget: BudgetSet,
    /// Its account at the moment of the call, or why it has none.
    pub window: Result<Window, NoWindow>,
    /// What stands on the account; nothing when that does not read.
    pub stands: Option<AccountRow>,
}

impl InPlay {
    /// `budget` at a moment; `stands` says what stands on an account.
    #[must_use]
    pub fn at(budget: BudgetSet, at: Timestamp, stands: impl FnOnce(&Account) -> Option<AccountRow>) -> Self {
        let window = window(&budget, at);
        let stands = window.as_ref().ok().and_then(|window| stands(&window.account));
        Self { budget, window, stands }
    }
}

/// Why a hold does not fit on one budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Short {
    /// It has no account at this moment.
    NoWindow(NoWindow),
    /// What stands on its account does not read.
    Unreadable,
    /// There is no room.
    Full {
        /// Its limit.
        limit: NanoUsd,
        /// What stands on it.
        stands: AccountRow,
        /// What was asked.
        asked: NanoUsd,
        /// When the account starts anew.
        resets_at: Option<Timestamp>,
    },
}

impl Short {
    /// When it would be another answer by itself; nothing when somebody has to act first.
    #[must_use]
    pub fn lifts_at(&self) -> Option<Timestamp> {
        match self {
            Self::Full { limit, asked, resets_at, .. } if asked <= limit => *resets_at,
            Self::Full { .. } | Self::NoWindow(_) | Self::Unreadable => None,
        }
    }
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWindow(why) => write!(f, "has no account now: {why}"),
            Self::Unreadable => {
                f.write_str("has an account that does not read: `chancery record rebuild` mends it")
            }
            Self::Full { limit, stands, asked, resets_at } => {
                let AccountRow { settled, held, unknown, .. } = stands;
                write!(
                    f,
                    "of {limit} cannot hold {asked}: {settled} settled, {held} held, {unknown} unknown; "
                )?;
                match resets_at {
                    _ if asked > limit => {
                        f.write_str("one such call is more than its limit, whatever else stands on it")
                    }
                    Some(at) => write!(f, "it starts anew at {at}"),
                    None => f.write_str("it never starts anew: somebody with the right may raise it"),
                }
            }
        }
    }
}

/// A hold that does not fit on every budget in play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// The budget that says no for longest.
    pub budget: String,
    /// Why.
    pub short: Short,
    /// How many others cannot hold it either.
    pub others: usize,
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "budget `{}` {}", self.budget, self.short)?;
        match self.others {
            0 => Ok(()),
            1 => f.write_str("; 1 other budget cannot hold it either"),
            others => write!(f, "; {others} other budgets cannot hold it either"),
        }
    }
}

/// The account of one budget on which `asked` fits.
///
/// # Errors
/// [`Short`], with the figures a person needs, when it does not.
pub fn fits(in_play: &InPlay, asked: NanoUsd) -> Result<Account, Short> {
    let window = in_play.window.as_ref().map_err(|why| Short::NoWindow(why.clone()))?;
    let stands = in_play.stands.ok_or(Short::Unreadable)?;
    let limit = in_play.budget.limit;
    match stands.total().and_then(|total| total.plus(asked)) {
        Some(total) if total <= limit => Ok(window.account.clone()),
        _ => Err(Short::Full { limit, stands, asked, resets_at: window.resets_at }),
    }
}

/// The accounts that hold `asked`: all of them, or none.
///
/// # Errors
/// [`NoRoom`]: of the budgets that are short, the one that says no for longest.
pub fn accounts(in_play: &[InPlay], asked: NanoUsd) -> Result<Vec<Account>, NoRoom> {
    let (mut accounts, mut short) = (Vec::new(), Vec::new());
    for one in in_play {
        match fits(one, asked) {
            Ok(account) => accounts.push(account),
            Err(why) => short.push((one.budget.budget.clone(), why)),
        }
    }
    let others = short.len().saturating_sub(1);
    // Never is later than any moment; among equals the widest budget, which comes first, speaks.
    let lasts = |why: &Short| why.lifts_at().map_or(i64::MAX, |at| at.0);
    match short.into_iter().rev().max_by_key(|(_, why)| lasts(why)) {
        None => Ok(accounts),
        Some((budget, short)) => Err(NoRoom { budget, short, others }),
    }
}

#[cfg(test)]
mod tests {
    use super::{InPlay, Short, accounts, fits};
    use crate::purse::AccountRow;
    use event::{AppliesTo, BudgetSet, NanoUsd, Period, Timestamp};

    fn in_play(period: Period, limit: i64, stands: AccountRow) -> InPlay {
        let applies_to = AppliesTo::Organisation;
        let budget = applies_to.budget(period);
        let (limit, time_zone, reason) = (NanoUsd(limit), None, String::new());
        let set = BudgetSet { budget, period, limit, applies_to, time_zone, reason };
        InPlay::at(set, Timestamp(0), |_| Some(stands))
    }

    fn stands(settled: i64, held: i64, unknown: i64) -> AccountRow {
        AccountRow {
            settled: NanoUsd(settled),
            held: NanoUsd(held),
            unknown: NanoUsd(unknown),
            over: NanoUsd::ZERO,
        }
    }

    #[test]
    fn a_zero_budget_holds_nothing_and_what_is_unknown_counts() {
        assert!(fits(&in_play(Period::Day, 0, stands(0, 0, 0)), NanoUsd(1)).is_err());
        let full = in_play(Period::Day, 100, stands(40, 30, 20));
        assert!(fits(&full, NanoUsd(10)).is_ok());
        let short = fits(&full, NanoUsd(11)).unwrap_err().to_string();
        for part in ["settled", "held", "unknown", "1970-01-02T00:00:00.000Z"] {
            assert!(short.contains(part), "{short}");
        }
    }

    #[test]
    fn the_budget_that_says_no_for_longest_speaks_and_counts_the_others() {
        let day = in_play(Period::Day, 100, stands(100, 0, 0));
        let month = in_play(Period::Month, 1_000, stands(1_000, 0, 0));
        let free = in_play(Period::Lifetime, 1_000, stands(0, 0, 0));
        let both = accounts(&[day.clone(), month, free.clone()], NanoUsd(1)).unwrap_err();
        assert_eq!((both.budget.as_str(), both.others), ("organisation-month", 1));
        assert_eq!(both.short.lifts_at().unwrap().to_string(), "1970-02-01T00:00:00.000Z");
        assert!(both.to_string().ends_with("; 1 other budget cannot hold it either"), "{both}");
        let spent = in_play(Period::Lifetime, 5, stands(5, 0, 0));
        let never = accounts(&[day, spent], NanoUsd(1)).unwrap_err();
        assert_eq!((never.budget.as_str(), never.short.lifts_at()), ("organisation", None));
        assert_eq!(accounts(&[free.clone(), free], NanoUsd(1)).unwrap().len(), 2);
    }

    #[test]
    fn a_call_that_never_fits_does_not_promise_a_moment() {
        let short = fits(&in_play(Period::Day, 100, stands(0, 0, 0)), NanoUsd(101)).unwrap_err();
        assert_eq!(short.lifts_at(), None);
        assert!(short.to_string().contains("more than its limit"), "{short}");
    }

    #[test]
    fn an_account_that_does_not_read_holds_nothing() {
        let unreadable = InPlay { stands: None, ..in_play(Period::Day, 100, stands(0, 0, 0)) };
        assert_eq!(fits(&unreadable, NanoUsd(1)), Err(Short::Unreadable));
    }
}
