//! Limits: those of the file, put on the record when the file changes, and those that somebody sets.
//!
//! What a person set stands until the file says another amount than it said before: a start does not undo a raise.

use super::BudgetArgs;
use crate::config::Config;
use crate::config::purse::{applies_to, dollars, fits_period};
use crate::owner::{Acting, print_stated};
use crate::seed::{append_of, fresh_event_id, host};
use anyhow::{Context, Result, bail};
use event::{BudgetSet, StreamName};
use fold::purse::{BudgetRow, Budgets};
use fold::{Projection, decode};
use record::{Append, Decided, Record, RowKey};
use std::collections::BTreeSet;
use std::convert::Infallible;

/// Budgets that are listed: far above any office, and a bound on one look.
pub(super) const LISTED_MAX: usize = 10_000;

/// Puts the budgets of the file in force that are new or differ from what the file said last; says how many.
///
/// # Errors
/// When the record cannot be used.
pub async fn put(record: &Record, wanted: Vec<BudgetSet>) -> Result<usize> {
    let reads = wanted.iter().map(|set| RowKey::new(Budgets.name(), &set.budget)).collect();
    let mut named = Vec::new();
    for set in wanted {
        named.push((fresh_event_id()?, set));
    }
    let decided = record.decide(reads, move |rows, _| {
        let said = |set: &BudgetSet| {
            rows.state::<BudgetRow>(Budgets.name(), &set.budget).and_then(|row| row.configured)
        };
        let changed = named.into_iter().filter(|(_, set)| said(set).as_ref() != Some(set));
        let appends: Vec<Append> =
            changed.map(|(id, set)| append_of(id, host(), stream(&set.budget), set.into())).collect();
        let count = appends.len();
        Ok::<_, Infallible>((appends, count))
    });
    match decided.await.context("the budgets could not be put on the record")? {
        Decided::Appended { value, .. } => Ok(value),
        Decided::Rejected(never) => match never {},
    }
}

/// The budgets that an earlier file set and this one leaves out: they stand.
///
/// # Errors
/// When the record cannot be read.
pub async fn left_out(record: &Record, file: &[BudgetSet]) -> Result<Vec<String>> {
    let named: BTreeSet<&str> = file.iter().map(|set| set.budget.as_str()).collect();
    let rows = all(record).await?;
    let left_out = rows.into_iter().filter(|row| row.configured.is_some());
    Ok(left_out.map(|row| row.set.budget).filter(|name| !named.contains(name.as_str())).collect())
}

/// Every budget, the widest first.
pub(super) async fn all(record: &Record) -> Result<Vec<BudgetRow>> {
    let rows = record.ranked(Budgets.name(), i64::MIN, LISTED_MAX).await?;
    let mut budgets: Vec<BudgetRow> = rows.iter().filter_map(|(_, row)| decode(Some(row))).collect();
    let order = |row: &BudgetRow| (row.set.applies_to.clone(), row.set.period);
    budgets.sort_by_key(order);
    Ok(budgets)
}

fn stream(budget: &str) -> StreamName {
    StreamName::new("budget", budget)
}

/// Sets a limit.
///
/// # Errors
/// Why not, and what to do next.
pub(super) async fn set(config: &Config, args: BudgetArgs) -> Result<()> {
    let limit = dollars(&args.limit)?;
    if args.reason.trim().is_empty() {
        bail!("say why with `--reason`: whoever is refused later reads it");
    }
    let acting = Acting::open(config, args.act.as_seat).await?;
    let first = match args.period {
        Some(period) => {
            let applies_to = applies_to(&args.budget)?;
            fits_period(&applies_to, period)?;
            let (budget, time_zone) = (applies_to.budget(period), config.purse.time_zone.clone());
            Some(BudgetSet { budget, period, limit, applies_to, time_zone, reason: String::new() })
        }
        None => None,
    };
    let name = first.as_ref().map_or(args.budget, |set| set.budget.clone());
    let reads = vec![RowKey::new(Budgets.name(), &name)];
    let events = acting.state(reads, move |rows, _| {
        let stands = rows.state::<BudgetRow>(Budgets.name(), &name).map(|row| row.set);
        let set = stands.or(first).with_context(|| {
            format!("there is no budget `{name}`: `chancery purse show` lists them; for a first one say `--period`")
        })?;
        let set = BudgetSet { limit, reason: args.reason, ..set };
        Ok(vec![(stream(&name), set.into())])
    });
    print_stated(&events.await?);
    Ok(())
}
