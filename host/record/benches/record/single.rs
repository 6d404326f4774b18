//! One caller at a time: an append beside a flush and a bare transaction.

use crate::bare::{Bare, Flushed};
use crate::history::{delivery, hold};
use crate::place::Desk;
use anyhow::Result;
use event::{Expected, GlobalPosition, Proposed, StreamName};
use record::Record;
use serde::Serialize;
use std::future::Future;
use std::time::{Duration, Instant};

const ROUNDS: u64 = 1_000;
/// Before anything counts: statements are prepared, files have their first pages.
const WARM_UP_ROUNDS: u64 = 50;
/// Commits of a page each that fill the log of a record, and leave nothing in its history.
const SETTLING_COMMITS: u64 = 8_200;

#[derive(Debug, Serialize)]
pub struct Single {
    flush_us: f64,
    bare_us: f64,
    /// By calls, where the database is a library.
    library_us: Option<f64>,
    append_us: f64,
    append_that_folds_us: f64,
}

pub async fn measure(desk: &Desk) -> Result<Single> {
    let (mut file, mut bare) = (Flushed::new(&desk.path("flushed"))?, desk.bare().await?);
    let mut library = desk.library()?;
    let record = desk.place()?.open().await?;
    settle(&mut bare, &record).await?;
    if let Some(library) = &mut library {
        library.settle().await?;
    }
    let (mut flushes, mut bares, mut libraries, mut plain, mut folding) =
        (Median::new(), Median::new(), Median::new(), Median::new(), Median::new());
    for n in 0..ROUNDS + WARM_UP_ROUNDS {
        flushes.time(async { file.flush() }).await?;
        bares.time(bare.transaction(n)).await?;
        if let Some(library) = &mut library {
            libraries.time(library.transaction(n)).await?;
        }
        plain.time(append(&record, n, delivery(&format!("plain {n}"))?)).await?;
        folding.time(append(&record, n, hold(&format!("folds {n}"), 0)?)).await?;
        if n + 1 == WARM_UP_ROUNDS {
            for median in [&mut flushes, &mut bares, &mut libraries, &mut plain, &mut folding] {
                *median = Median::new();
            }
        }
    }
    Ok(Single {
        flush_us: flushes.us(),
        bare_us: bares.us(),
        library_us: library.map(|_| libraries.us()),
        append_us: plain.us(),
        append_that_folds_us: folding.us(),
    })
}

/// Brings both logs to where they are written over: see [`Bare::settle`].
pub async fn settle(bare: &mut Bare, record: &Record) -> Result<()> {
    bare.settle().await?;
    for n in 0..SETTLING_COMMITS {
        record.set_cursor("settling", GlobalPosition(n)).await?;
    }
    Ok(())
}

/// One event, alone, on one of a few streams.
pub async fn append(record: &Record, n: u64, event: Proposed) -> Result<()> {
    record.append(StreamName::new("bench", (n % 10).to_string()), Expected::Any, vec![event]).await?;
    Ok(())
}

/// How long something takes, mostly.
pub struct Median(Vec<Duration>);

impl Median {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub async fn time(&mut self, once: impl Future<Output = Result<()>>) -> Result<()> {
        let begun = Instant::now();
        once.await?;
        self.0.push(begun.elapsed());
        Ok(())
    }

    /// In microseconds; 0 when nothing was timed.
    pub fn us(&mut self) -> f64 {
        self.0.sort_unstable();
        self.0.get(self.0.len() / 2).map_or(0.0, |median| median.as_secs_f64() * 1e6)
    }
}
