//! `[purse]` and `[[budget]]`: what may be spent, by whom, about what, in which time.

use super::Config;
use anyhow::{Context, Result, bail};
use event::{AppliesTo, BudgetSet, NanoUsd, Period, PrincipalId, SeatId};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;

/// How many times the worst case may be held: beyond this a purse is full of holds and nothing is bought.
const HEADROOM_MAX: u64 = 100;
/// Budgets that may be configured: one for each seat and channel of a large office.
const BUDGETS_MAX: usize = 1_000;
/// The longest name of what a budget is for, in bytes: that of the longest id.
const NAME_BYTES_MAX: usize = event::id::ID_BYTES_MAX;
/// How what a budget is for is written, for whoever wrote it otherwise.
const FORMS: &str =
    "`organisation`, `seat:seat_x`, `channel:slack:T01:C01`, `person:person_x` or `goal:name`";

/// The one currency there is.
const CURRENCY: &str = "USD";

/// That amounts are in the one currency there is: a budget or a list in another is refused when it is read, and nothing
/// is converted.
#[derive(Clone, Copy, Debug)]
pub struct Currency;

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == CURRENCY {
            return Ok(Self);
        }
        Err(serde::de::Error::custom(format!(
            "`{}` is another currency: every amount here is in US dollars, so convert it and say \"{CURRENCY}\"",
            text.escape_debug()
        )))
    }
}

/// The purse.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PurseConfig {
    /// `"USD"`, where it is said at all.
    #[serde(default, rename = "currency")]
    _currency: Option<Currency>,
    /// The budget of a day, in dollars, such as `"5.00"`.
    pub day: Option<String>,
    /// The budget of a month.
    pub month: Option<String>,
    /// The time zone whose days and months are meant, such as `"Europe/Oslo"`; UTC when absent.
    pub time_zone: Option<String>,
    /// How many times the worst case is held.
    #[serde(default = "headroom")]
    pub headroom: u64,
}

fn headroom() -> u64 {
    3
}

/// A budget beside those of the whole organisation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetConfig {
    /// Whose calls: `organisation`, `seat:…`, `channel:slack:T…:C…`, `person:person_…` or `goal:…`.
    #[serde(rename = "for")]
    pub applies_to: String,
    /// `day` or `month`; `lifetime` for a goal.
    pub period: Period,
    /// In dollars.
    pub limit: String,
    /// `"USD"`, where it is said at all.
    #[serde(default, rename = "currency")]
    _currency: Option<Currency>,
}

/// What a budget is for, as it is written.
///
/// # Errors
/// What may be written.
pub fn applies_to(text: &str) -> Result<AppliesTo> {
    let wrong = || format!("`{}` is nothing a budget can be for: write {FORMS}", text.escape_debug());
    let plain = |name: &str| {
        let ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':');
        (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(ok)
    };
    match text.split_once(':') {
        None if text == "organisation" => Ok(AppliesTo::Organisation),
        Some(("seat", seat)) => Ok(AppliesTo::Seat(SeatId::parse(seat).with_context(wrong)?)),
        Some(("person", person)) => Ok(AppliesTo::Person(PrincipalId::parse(person).with_context(wrong)?)),
        Some(("channel", channel)) if plain(channel) && channel.matches(':').count() == 2 => {
            Ok(AppliesTo::Channel(channel.to_owned()))
        }
        Some(("goal", goal)) if plain(goal) => Ok(AppliesTo::Goal(goal.to_owned())),
        _ => bail!(wrong()),
    }
}

/// That `period` is one for what the budget is for.
///
/// # Errors
/// Which would be.
pub fn fits_period(applies_to: &AppliesTo, period: Period) -> Result<()> {
    match (applies_to, period) {
        (AppliesTo::Goal(_), Period::Lifetime) => Ok(()),
        (AppliesTo::Goal(_), _) => {
            bail!("`{applies_to}` has one budget for its lifetime: period = \"lifetime\"")
        }
        (_, Period::Lifetime) => bail!("only a goal has a lifetime: `{applies_to}` has a `day` or a `month`"),
        (_, Period::Day | Period::Month) => Ok(()),
    }
}

/// An amount as it is written.
///
/// # Errors
/// How it is written.
pub fn dollars(text: &str) -> Result<NanoUsd> {
    NanoUsd::from_dollars(text).with_context(|| {
        format!("`{}` is no amount: write US dollars as digits, such as \"5.00\"", text.escape_debug())
    })
}

impl Config {
    /// The budgets of the file.
    ///
    /// # Errors
    /// The first that could be none, by its place in the file's own words.
    pub fn budgets(&self) -> Result<Vec<BudgetSet>> {
        let time_zone = self.purse.time_zone.clone();
        let set = |applies_to: AppliesTo, period: Period, limit: &str| -> Result<BudgetSet> {
            fits_period(&applies_to, period)?;
            let (budget, limit) = (applies_to.budget(period), dollars(limit)?);
            let (time_zone, reason) = (time_zone.clone(), String::new());
            Ok(BudgetSet { budget, period, limit, applies_to, time_zone, reason })
        };
        let mut budgets = Vec::new();
        let both = [("day", Period::Day, &self.purse.day), ("month", Period::Month, &self.purse.month)];
        for (name, period, limit) in both {
            if let Some(limit) = limit {
                let set = set(AppliesTo::Organisation, period, limit);
                budgets.push(set.with_context(|| format!("`[purse] {name}`"))?);
            }
        }
        for one in &self.budgets {
            let set = applies_to(&one.applies_to).and_then(|of| set(of, one.period, &one.limit));
            budgets.push(set.with_context(|| format!("[[budget]] for `{}`", one.applies_to.escape_debug()))?);
        }
        Ok(budgets)
    }

    /// That the purse can be one.
    ///
    /// # Errors
    /// The setting that cannot.
    pub(super) fn check_purse(&self) -> Result<()> {
        let headroom = gate::purse::HEADROOM_MIN..=HEADROOM_MAX;
        if !headroom.contains(&self.purse.headroom) {
            bail!(
                "`purse.headroom` is {}: between {} times the worst case, below which a hold would not cover it, \
                 and {} times are held",
                self.purse.headroom,
                headroom.start(),
                headroom.end()
            );
        }
        if let Some(zone) = self.purse.time_zone.as_ref().filter(|zone| !fold::purse::is_time_zone(zone)) {
            bail!("`purse.time_zone` is `{}`: not a time zone such as Europe/Oslo", zone.escape_debug());
        }
        if self.budgets.len() > BUDGETS_MAX {
            bail!("{} [[budget]]s are configured: at most {BUDGETS_MAX}", self.budgets.len());
        }
        let budgets = self.budgets()?;
        if !budgets.iter().any(|set| set.applies_to.is_organisation()) {
            bail!(
                "an office without a purse does not start: set `day` or `month` in `[purse]`, such as day = \"5.00\""
            );
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = budgets.iter().find(|set| !names.insert(&set.budget)) {
            bail!("the budget `{}` is configured twice", twice.budget);
        }
        Ok(())
    }
}
