//! The turns of the record, newest first, one a line.

use super::{ListArgs, PAGE_EVENTS, STREAM_EVENTS_MAX, calls, stream_of};
use crate::purse::cost_of_turn;
use crate::show::short;
use crate::table::table;
use anyhow::Result;
use event::{Fact, GlobalPosition, Position, TurnOpened};
use fold::turn::TurnState;
use record::Record;

/// The list, as text.
///
/// # Errors
/// When the record cannot be read.
pub(super) async fn text(record: &Record, args: &ListArgs) -> Result<String> {
    let (head, _) = record.head().await?;
    let mut rows = Vec::new();
    let mut end = head.0;
    // From the end backwards, a page at a time.
    while end > 0 && rows.len() < args.last {
        let after = end.saturating_sub(PAGE_EVENTS as u64);
        let count = usize::try_from(end - after).unwrap_or(PAGE_EVENTS);
        let events = record.read_all(GlobalPosition(after), count).await?;
        for event in events.iter().rev() {
            let Fact::TurnOpened(opened) = &event.fact else { continue };
            if args.seat.as_deref().is_some_and(|seat| opened.seat.as_str() != seat) {
                continue;
            }
            if let Some(row) = row(record, opened, args).await? {
                rows.push(row);
            }
            if rows.len() >= args.last {
                break;
            }
        }
        end = after;
    }
    if rows.is_empty() {
        return Ok("no turn\n".to_owned());
    }
    let heads = ["TURN", "OPENED", "SEAT", "STEPS", "WORKED", "COST", "ENDED", "ABOUT"];
    Ok(table(&heads, &rows))
}

async fn row(record: &Record, opened: &TurnOpened, args: &ListArgs) -> Result<Option<Vec<String>>> {
    let events = record.read_stream(&stream_of(&opened.turn), Position(1), STREAM_EVENTS_MAX).await?;
    let state = TurnState::fold(&events);
    if args.open && state.ended.is_some() {
        return Ok(None);
    }
    let calls = calls(record, &opened.turn, &state).await?;
    let ended = match &state.ended {
        Some(ended) => format!("{:?}", ended.ending).to_lowercase(),
        None => "still open".to_owned(),
    };
    Ok(Some(vec![
        opened.turn.to_string(),
        events.first().map(|event| event.at.to_string()).unwrap_or_default(),
        opened.seat.to_string(),
        state.steps.len().to_string(),
        super::tree::seconds(i64::try_from(state.active_ms).unwrap_or(i64::MAX)),
        cost_of_turn(calls.iter().flat_map(|(_, events)| events)),
        ended,
        short(opened.topic.as_str()),
    ]))
}
