//! `chancery purse show`: a table people can read, and what of it is still open. Reads, and changes nothing.

use super::budgets::{LISTED_MAX, all};
use crate::table::table;
use anyhow::Result;
use event::{Event, Fact, NanoUsd, RefusalSubject, Timestamp};
use fold::purse::{AccountRow, Accounts, BudgetRow, HOLD_OPEN_MS_MAX, HoldRow, Holds, window};
use fold::refusal::{RefusalRow, Refusals, key};
use fold::{Projection, decode};
use record::Record;
use std::fmt::Write as _;

/// The purse at `now`.
///
/// # Errors
/// When the record cannot be read.
pub async fn show(record: &Record, now: Timestamp) -> Result<String> {
    let budgets = all(record).await?;
    if budgets.is_empty() {
        return Ok("no budget is set: `[purse]` of the configuration sets the first\n".to_owned());
    }
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for budget in &budgets {
        rows.push(row(record, budget, now).await?);
        let subject = RefusalSubject::Budget(budget.set.budget.clone());
        let stands: Option<RefusalRow> = decode(record.row(Refusals.name(), &key(&subject)).await?.as_ref());
        refused.extend(stands.filter(|stands| stands.stands(now)));
    }
    let headings = ["BUDGET", "WINDOW", "LIMIT", "SETTLED", "HELD", "UNKNOWN", "LEFT", "STARTS ANEW"];
    let mut text = table(&headings, &rows);
    for stands in refused {
        let _ = writeln!(
            text,
            "\n{} is refused: {}",
            stands.raised.subject,
            crate::show::short(&stands.raised.reason)
        );
    }
    text.push_str(&open_holds(record, now).await?);
    Ok(text)
}

/// The purse at `now` in a few lines of Markdown, for who looks at it in passing: what is left of each budget.
///
/// # Errors
/// When the record cannot be read.
pub async fn brief(record: &Record, now: Timestamp) -> Result<String> {
    let mut text = String::new();
    for budget in &all(record).await? {
        let row = row(record, budget, now).await?;
        let [name, _, limit, settled, held, unknown, left, anew] = row.as_slice() else {
            let _ = writeln!(text, "- {}", row.join(", "));
            continue;
        };
        // The day is enough in passing.
        let anew = anew.get(..10).unwrap_or(anew);
        let _ = writeln!(
            text,
            "- **{name}**: {left} of {limit} left (settled {settled}, held {held}, unknown {unknown}); starts anew {anew}"
        );
        let subject = RefusalSubject::Budget(name.clone());
        let stands: Option<RefusalRow> = decode(record.row(Refusals.name(), &key(&subject)).await?.as_ref());
        if let Some(stands) = stands.filter(|stands| stands.stands(now)) {
            let _ = writeln!(text, "  refused: {}", crate::show::short(&stands.raised.reason));
        }
    }
    if text.is_empty() {
        text.push_str("No budget is set.");
    }
    Ok(text)
}

async fn row(record: &Record, budget: &BudgetRow, now: Timestamp) -> Result<Vec<String>> {
    let set = &budget.set;
    let (name, limit) = (set.budget.clone(), set.limit.to_string());
    let window = match window(set, now) {
        Ok(window) => window,
        Err(why) => return Ok(vec![name, why.to_string(), limit]),
    };
    let stands = record.row(Accounts.name(), &window.account.key()).await?;
    let stands: AccountRow = decode(stands.as_ref()).unwrap_or_default();
    let left = stands.total().and_then(|total| set.limit.minus(total));
    Ok(vec![
        name,
        window.account.window,
        limit,
        stands.settled.to_string(),
        stands.held.to_string(),
        stands.unknown.to_string(),
        left.map_or_else(|| "none".to_owned(), |left| left.to_string()),
        window.resets_at.map_or_else(|| "never".to_owned(), |at| at.to_string()),
    ])
}

async fn open_holds(record: &Record, now: Timestamp) -> Result<String> {
    let open = record.ranked(Holds.name(), i64::MIN, LISTED_MAX).await?;
    let holds = open.iter().filter_map(|(id, row)| Some((id, decode::<HoldRow>(Some(row))?)));
    let rows: Vec<Vec<String>> = holds
        .map(|(id, hold)| {
            let age_ms = now.since_ms(hold.taken_at).max(0);
            let overdue = if age_ms >= HOLD_OPEN_MS_MAX { ", overdue" } else { "" };
            let state = format!("{}{overdue}", hold.state.word());
            vec![
                id.clone(),
                age(age_ms),
                state,
                hold.held.to_string(),
                hold.price_key,
                hold.origin.to_string(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Ok("\nno hold is open\n".to_owned());
    }
    Ok(format!("\n{}", table(&["OPEN HOLD", "AGE", "STATE", "HELD", "FOR", "CALL"], &rows)))
}

/// How long ago, as people say it.
fn age(ms: i64) -> String {
    let s = ms / 1_000;
    match s {
        0..60 => format!("{s}s"),
        60..3_600 => format!("{}m {}s", s / 60, s % 60),
        _ => format!("{}h {}m", s / 3_600, s / 60 % 60),
    }
}

/// What the calls of a turn cost: settled, what still stands held, and what is not known, apart.
#[must_use]
pub fn cost_of_turn<'a>(events: impl IntoIterator<Item = &'a Event>) -> String {
    let (mut settled, mut unknown, mut held) = (NanoUsd::ZERO, NanoUsd::ZERO, NanoUsd::ZERO);
    // A sum that does not fit is shown as the most there is.
    let add = |to: &mut NanoUsd, amount: NanoUsd| *to = NanoUsd(to.0.saturating_add(amount.0));
    for event in events {
        match &event.fact {
            Fact::HoldTaken(body) => add(&mut held, body.amount),
            Fact::HoldSettled(body) => {
                add(&mut settled, body.charged);
                add(&mut held, NanoUsd(-body.held.0));
            }
            Fact::HoldReleased(body) => add(&mut held, NanoUsd(-body.held.0)),
            Fact::HoldLeftUnknown(body) => {
                add(&mut unknown, body.held);
                add(&mut held, NanoUsd(-body.held.0));
            }
            _ => {}
        }
    }
    let part = |amount: NanoUsd, word: &str| {
        if amount == NanoUsd::ZERO { String::new() } else { format!(", {amount} {word}") }
    };
    format!("{settled}{}{}", part(unknown, "unknown, counted in full"), part(held, "still held"))
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn an_age_is_told_as_people_say_it() {
        assert_eq!([age(999), age(61_000), age(3_661_000)], ["0s", "1m 1s", "1h 1m"]);
    }
}
