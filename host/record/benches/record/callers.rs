//! Many callers at once beside one alone, in turns; and what SQLite by itself gives for sharing a transaction.

use crate::bare::Rows;
use crate::history::delivery;
use crate::place::Desk;
use anyhow::Result;
use event::{Expected, StreamName};
use record::Record;
use serde::Serialize;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// At once.
const CALLERS: u32 = 64;
const ROUNDS: u32 = 10;
/// Events of each caller in a round.
const EVENTS_EACH: u32 = 50;

#[derive(Debug, Serialize)]
pub struct Callers {
    callers: u32,
    one_per_s: f64,
    all_per_s: f64,
    /// The same rows by calls and no more, one in a transaction and as many as there are callers.
    library_one_per_s: Option<f64>,
    library_all_per_s: Option<f64>,
}

pub async fn measure(desk: &Desk) -> Result<Callers> {
    let record = desk.place()?.open().await?;
    let mut rows = desk.rows()?;
    let (mut alone, mut together) = (Duration::ZERO, Duration::ZERO);
    let (mut row_alone, mut rows_together) = (Duration::ZERO, Duration::ZERO);
    round(&record, 0, CALLERS).await?;
    rows.as_mut().map(|rows| write(rows, CALLERS)).transpose()?;
    for n in 1..=ROUNDS {
        alone += round(&record, 2 * n, 1).await?;
        together += round(&record, 2 * n + 1, CALLERS).await?;
        if let Some(rows) = &mut rows {
            row_alone += write(rows, 1)?;
            rows_together += write(rows, CALLERS)?;
        }
    }
    let per_s = |callers: u32, took: Duration| f64::from(ROUNDS * EVENTS_EACH * callers) / took.as_secs_f64();
    Ok(Callers {
        callers: CALLERS,
        one_per_s: per_s(1, alone),
        all_per_s: per_s(CALLERS, together),
        library_one_per_s: rows.as_ref().map(|_| per_s(1, row_alone)),
        library_all_per_s: rows.as_ref().map(|_| per_s(CALLERS, rows_together)),
    })
}

/// As many transactions as a caller has events, of one row on each of `streams` streams.
fn write(rows: &mut Rows, streams: u32) -> Result<Duration> {
    let begun = Instant::now();
    for _ in 0..EVENTS_EACH {
        rows.transaction(streams)?;
    }
    Ok(begun.elapsed())
}

/// Each caller appends to a stream of its own, one event after the other.
async fn round(record: &Record, n: u32, callers: u32) -> Result<Duration> {
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for caller in 0..callers {
        let record = record.clone();
        tasks.spawn(async move {
            let stream = StreamName::new("bench", caller.to_string());
            for event in 0..EVENTS_EACH {
                let event = delivery(&format!("round {n} {caller} {event}"))?;
                record.append(stream.clone(), Expected::Any, vec![event]).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(begun.elapsed())
}
