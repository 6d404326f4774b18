//! `chancery purse explain`: one hold from the record alone. What it was worked out from, and what became of it.

use crate::show::short;
use anyhow::{Context, Result};
use event::{
    Account, Event, Fact, HoldId, HoldTaken, NanoUsd, Position, Price, PricesListed, StreamName, WorstCase,
};
use fold::purse::{HoldRow, Holds};
use fold::{Projection, decode};
use gate::purse::BYTES_PER_TOKEN;
use record::Record;
use std::fmt::Write as _;

/// Events of one call that are read: far more than it has.
const CALL_EVENTS_MAX: usize = 1_000;
/// Price lists that are looked through for the one a hold names: years of them.
const LISTS_MAX: usize = 10_000;

/// What was held and why, and what became of it.
///
/// # Errors
/// When there is no such hold, or the record cannot be read.
pub async fn explain(record: &Record, hold: &HoldId) -> Result<String> {
    let row = record.row(Holds.name(), hold.as_str()).await?;
    let row: HoldRow = decode(row.as_ref()).with_context(|| {
        format!("the record has no hold `{hold}`: `chancery turn show` names those of a turn")
    })?;
    let stream = StreamName::new("call", row.origin.deed());
    let events = record.read_stream(&stream, Position(1), CALL_EVENTS_MAX).await?;
    let mut text = format!("{hold}  {}\n", row.state.word());
    let _ = writeln!(text, "  call     {}", row.origin);
    let _ = writeln!(text, "  held     {} on {}", row.held, names(&row.accounts));
    let _ = writeln!(text, "  taken    {}", row.taken_at);
    let taken = events.iter().find_map(|event| match &event.fact {
        Fact::HoldTaken(body) if body.hold == *hold => Some(body),
        _ => None,
    });
    if let Some(taken) = taken {
        why(record, taken, &mut text).await?;
    }
    for event in &events {
        became(hold, event, &mut text);
    }
    Ok(text)
}

fn names(accounts: &[Account]) -> String {
    accounts.iter().map(Account::key).collect::<Vec<String>>().join(", ")
}

async fn why(record: &Record, taken: &HoldTaken, text: &mut String) -> Result<()> {
    let Some(worst) = &taken.worst else {
        let _ = writeln!(
            text,
            "  price    {}; the record of that time does not say of which list",
            taken.price_key
        );
        return Ok(());
    };
    let _ = writeln!(text, "  price    {} of list {}", taken.price_key, worst.prices.short());
    let stream = StreamName::new("prices", "office");
    let lists = record.read_stream(&stream, Position(1), LISTS_MAX).await?;
    let listed = lists.iter().rev().find_map(|event| match &event.fact {
        Fact::PricesListed(PricesListed { digest, prices }) if *digest == worst.prices => {
            prices.get(&taken.price_key)
        }
        _ => None,
    });
    if let Some(price) = listed {
        amounts(price, text);
    }
    at_most(worst, taken, text);
    Ok(())
}

fn amounts(price: &Price, text: &mut String) {
    let line = |text: &mut String, what: &str, amount: Option<NanoUsd>, unit: &str| {
        if let Some(amount) = amount {
            let _ = writeln!(text, "           {what:<13} {amount} {unit}");
        }
    };
    line(text, "input", price.input_per_mtok, "a million tokens");
    line(text, "cached input", price.cached_input_per_mtok, "a million tokens");
    line(text, "cache write", price.cache_write_per_mtok, "a million tokens");
    line(text, "output", price.output_per_mtok, "a million tokens");
    line(text, "call", price.per_call, "each");
    line(text, "time", price.per_second, "a second");
    if let Some(long) = &price.long_context {
        let _ =
            writeln!(text, "           above {} input tokens, for the whole call:", long.above_input_tokens);
        line(text, "input", long.input_per_mtok, "a million tokens");
        line(text, "cached input", long.cached_input_per_mtok, "a million tokens");
        line(text, "cache write", long.cache_write_per_mtok, "a million tokens");
        line(text, "output", long.output_per_mtok, "a million tokens");
    }
}

fn at_most(worst: &WorstCase, taken: &HoldTaken, text: &mut String) {
    let mut parts = Vec::new();
    if worst.usage.input_tokens > 0 || worst.usage.output_tokens > 0 {
        parts.push(format!(
            "{} input tokens (a token for every {BYTES_PER_TOKEN} bytes of the request) and {} output tokens",
            worst.usage.input_tokens, worst.usage.output_tokens
        ));
    }
    if worst.seconds > 0 {
        parts.push(format!("{} seconds", worst.seconds));
    }
    if worst.long_context {
        parts.push("at the dearer of both prices, since the input may be long".to_owned());
    }
    if parts.is_empty() {
        parts.push("one call".to_owned());
    }
    let _ = writeln!(text, "  at most  {}", parts.join(", "));
    let once = taken.amount.0 / i64::try_from(worst.headroom.max(1)).unwrap_or(1);
    let _ = writeln!(text, "           {}, held {} times", NanoUsd(once), worst.headroom);
}

/// What an event says of the hold, when it says anything.
fn became(hold: &HoldId, event: &Event, text: &mut String) {
    let said = match &event.fact {
        Fact::HoldStarted(body) if body.hold == *hold => "the paid call was about to leave".to_owned(),
        Fact::HoldSettled(body) if body.hold == *hold => {
            let time = if body.seconds > 0 { format!(", {} s", body.seconds) } else { String::new() };
            let written = match body.usage.cache_write_tokens {
                0 => String::new(),
                tokens => format!(" and {tokens} written to the cache"),
            };
            let used = format!(
                "{} in, of those {} cached{written}, {} out{time}",
                body.usage.input_tokens, body.usage.cached_input_tokens, body.usage.output_tokens
            );
            match body.held.minus(body.charged) {
                Some(back) if back >= NanoUsd::ZERO => {
                    format!("{} charged ({used}), {back} given back", body.charged)
                }
                _ => format!("{} charged ({used}): more than was held, an overrun", body.charged),
            }
        }
        Fact::HoldReleased(body) if body.hold == *hold => {
            format!("{} given back: {}", body.held, short(&body.reason))
        }
        Fact::HoldLeftUnknown(body) if body.hold == *hold => {
            format!("{} counts in full: {}", body.held, short(&body.reason))
        }
        _ => return,
    };
    let word = event.fact.kind().trim_start_matches("hold.");
    let _ = writeln!(text, "  {:<8} {said}  {}", word.trim_start_matches("left-"), event.at);
}
