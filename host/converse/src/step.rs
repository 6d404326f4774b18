//! One step of following the record: the deliveries behind the cursor get their classes.
//!
//! Whoever runs the office calls [`step`] whenever the record has news. It may be stopped anywhere and run
//! by several hosts at once: a class is stated once, since its id is derived from its delivery. Only the
//! record is read and written.

use crate::arrival::Arrival;
use crate::follow::{Office, follow};
use crate::manner::Manner;
use crate::own::{own_keys, own_of};
use event::{ConnectionIdentified, Event, Expected, Fact, GlobalPosition, Position, PrincipalId, SeatId};
use record::{Error, Record};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the cursor that says how far the record has been followed.
pub const CURSOR: &str = "converse";

/// Events read in one step: bounds the memory of a step and how long the cursor stays behind.
pub const FOLLOW_EVENTS_MAX: usize = 256;

/// Events of one message's stream that are read. Slack delivers a message as two events; a stream this long is
/// a sender that never stops, and what came first decides.
const MESSAGE_EVENTS_MAX: usize = 64;

/// Classifies the deliveries among the next [`FOLLOW_EVENTS_MAX`] events behind the cursor, as `host`, asking
/// `desk`, in this `manner`. Returns how many events it went past; 0 means that there are none.
///
/// # Errors
/// As the record's. What was classified before the error stands; the next step begins at the same cursor.
pub async fn step(
    record: &Record,
    host: &PrincipalId,
    desk: &SeatId,
    manner: &Manner,
) -> Result<usize, Error> {
    let after = record.cursor(CURSOR).await?;
    let events = record.read_all(after, FOLLOW_EVENTS_MAX).await?;
    let Some(last) = events.last().map(|event| event.global_position) else { return Ok(0) };
    let mut office = Office { host: host.clone(), desk: desk.clone(), own: None, manner: manner.clone() };
    let mut known = BTreeMap::new();
    for (i, event) in events.iter().enumerate() {
        if let Fact::DeliveryReceived(received) = &event.fact {
            let next = events.get(i.saturating_add(1)).cloned();
            office.own = own(record, &Arrival::of(received), &mut known).await?;
            classify_one(record, event, next, &office).await?;
        }
    }
    record.set_cursor(CURSOR, last).await?;
    Ok(events.len())
}

/// Who the office is to `arrival`. A row is read once in a step.
async fn own(
    record: &Record,
    arrival: &Arrival<'_>,
    known: &mut BTreeMap<String, Option<Value>>,
) -> Result<Option<ConnectionIdentified>, Error> {
    let keys = own_keys(arrival);
    for key in &keys {
        if !known.contains_key(key) {
            let row = record.row("setting", key).await?.map(|row| Arc::unwrap_or_clone(row.value));
            known.insert(key.clone(), row);
        }
        if known.get(key).is_some_and(Option::is_some) {
            break;
        }
    }
    Ok(own_of(&keys, |key| known.get(key).cloned().flatten()))
}

async fn classify_one(
    record: &Record,
    delivery: &Event,
    next: Option<Event>,
    office: &Office,
) -> Result<(), Error> {
    let carried = match next {
        Some(next) => Some(next),
        None => record.read_all(delivery.global_position, 1).await?.into_iter().next(),
    };
    let before = match &carried {
        Some(event) if matches!(event.fact, Fact::MessageMerged(_)) => before(record, event).await?,
        _ => Vec::new(),
    };
    let Some(class) = follow(delivery, carried.as_ref(), &before, office) else { return Ok(()) };
    match record.append(delivery.stream.clone(), Expected::Any, vec![class]).await {
        // It has its class already, from before somebody learnt who the office is: the first word stands.
        Ok(_) | Err(Error::IdTaken { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What stands in the stream of `merged` before it.
async fn before(record: &Record, merged: &Event) -> Result<Vec<Event>, Error> {
    let mut events = record.read_stream(&merged.stream, Position(1), MESSAGE_EVENTS_MAX).await?;
    events.retain(|event| event.global_position < merged.global_position);
    Ok(events)
}

/// How many events of the record are not yet followed.
///
/// # Errors
/// As the record's.
pub async fn lag(record: &Record) -> Result<u64, Error> {
    let (head, _) = record.head().await?;
    let GlobalPosition(followed) = record.cursor(CURSOR).await?;
    Ok(head.0.saturating_sub(followed))
}
