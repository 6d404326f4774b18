//! Many callers at once beside one alone, in turns.

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
}

pub async fn measure(desk: &Desk) -> Result<Callers> {
    let record = desk.place()?.open().await?;
    let (mut alone, mut together) = (Duration::ZERO, Duration::ZERO);
    round(&record, 0, CALLERS).await?;
    for n in 1..=ROUNDS {
        alone += round(&record, 2 * n, 1).await?;
        together += round(&record, 2 * n + 1, CALLERS).await?;
    }
    let events = f64::from(ROUNDS * EVENTS_EACH);
    Ok(Callers {
        callers: CALLERS,
        one_per_s: events / alone.as_secs_f64(),
        all_per_s: events * f64::from(CALLERS) / together.as_secs_f64(),
    })
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
