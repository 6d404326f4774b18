//! What the record costs beside what its disk and its database cost by themselves. `cargo xtask bench record` builds
//! and runs this, and says which targets are met.
//!
//! Everything is measured in one run and in turns, so that whatever else the machine does slows all of it: only the
//! ratios mean something. Steps over a whole history run in a process of their own each, whose peak of memory is
//! then the step's. The figures go to standard output as one JSON object, progress to standard error.
//!
//! Deliberately absent: any judgement of the figures.

mod bare;
mod callers;
mod curve;
mod history;
mod place;
mod single;
mod steps;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What to measure: the one argument, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    /// Where to put the files: the disk that is measured. The system's temporary folder when there is none.
    folder: Option<PathBuf>,
    /// How long the history of the steps is, and how far the curve goes.
    events: u64,
    /// Whether to measure the record on PostgreSQL.
    postgres: bool,
    /// One step over a whole history, for the process that is started for it.
    step: Option<steps::Step>,
}

impl Default for Order {
    fn default() -> Self {
        Self { folder: None, events: 20_000, postgres: false, step: None }
    }
}

/// The figures. Times are medians in microseconds, rates are events a second.
#[derive(Debug, Serialize)]
struct Figures {
    store: &'static str,
    events: u64,
    single: single::Single,
    callers: callers::Callers,
    curve: Vec<curve::Point>,
    steps: Vec<steps::Taken>,
}

fn main() -> Result<()> {
    // Whatever else is given is from `cargo bench`.
    let order = std::env::args().skip(1).find(|argument| argument.starts_with('{'));
    let order: Order = match order {
        Some(order) => serde_json::from_str(&order).context("the argument is no order")?,
        None => Order::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match &order.step {
        Some(step) => println!("{}", serde_json::to_string(&runtime.block_on(step.take())?)?),
        None => println!("{}", serde_json::to_string(&runtime.block_on(measure(&order))?)?),
    }
    Ok(())
}

async fn measure(order: &Order) -> Result<Figures> {
    let desk = place::Desk::new(order)?;
    eprintln!("one caller beside a bare transaction");
    let single = single::measure(&desk).await?;
    eprintln!("one caller and 64");
    let callers = callers::measure(&desk).await?;
    eprintln!("a history of {} events", order.events);
    let (place, curve) = curve::measure(&desk, order.events).await?;
    let steps = steps::measure(&desk, &place, order.events)?;
    Ok(Figures { store: desk.store(), events: order.events, single, callers, curve, steps })
}
