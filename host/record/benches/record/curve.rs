//! Whether an append costs more, the longer the history is.

use crate::history::{STORY_EVENTS, delivery, story};
use crate::place::{Desk, Place};
use crate::single::{Median, append, settle};
use anyhow::Result;
use event::{Expected, StreamName};
use record::{Append, Record};
use serde::Serialize;

/// How long the history is where it is looked at.
const LENGTHS: &[u64] = &[10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000];
const ROUNDS: u64 = 400;
/// Streams the history is spread over.
const STREAMS: u64 = 9_973;
/// Stories of one call while the history grows.
const CALL_STORIES: u64 = 50;

#[derive(Debug, Serialize)]
pub struct Point {
    /// In the record.
    events: u64,
    append_us: f64,
    /// Of a database that stays small, at the same time.
    bare_us: f64,
}

/// Lets a record grow to `events`, and says where it is.
pub async fn measure(desk: &Desk, events: u64) -> Result<(Place, Vec<Point>)> {
    let place = desk.place()?;
    let (record, mut bare) = (place.open().await?, desk.bare().await?);
    settle(&mut bare, &record).await?;
    let (mut length, mut points) = (0, Vec::new());
    for wanted in LENGTHS.iter().copied().take_while(|wanted| *wanted < events).chain([events]) {
        grow(&record, length, wanted).await?;
        length = wanted;
        let (mut appends, mut bares) = (Median::new(), Median::new());
        for n in 0..ROUNDS {
            bares.time(bare.transaction(length * ROUNDS + n)).await?;
            appends.time(append(&record, n, delivery(&format!("at {length} {n}"))?)).await?;
        }
        eprintln!("  {length} events");
        points.push(Point { events: length, append_us: appends.us(), bare_us: bares.us() });
    }
    record.ended().await;
    Ok((place, points))
}

/// Adds stories until the history has about `wanted` events.
async fn grow(record: &Record, length: u64, wanted: u64) -> Result<()> {
    let mut number = length / STORY_EVENTS;
    while number * STORY_EVENTS < wanted {
        let mut appends = Vec::new();
        for _ in 0..CALL_STORIES {
            let stream = StreamName::new("bench", format!("story {}", number % STREAMS));
            appends.push(Append::new(stream, Expected::Any, story(number)?));
            number += 1;
        }
        record.append_all(appends).await?;
    }
    Ok(())
}
