//! What is done with a whole history, each in a process of its own: how fast, and how much memory it takes at most.

use crate::Order;
use crate::place::{Desk, Place};
use anyhow::{Context, Result, bail, ensure};
use record::Journal;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;
use tokio::sync::watch;

/// One step.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Writes the journal of a record.
    Export { record: Place, journal: PathBuf },
    /// Makes a record from a journal.
    Restore { record: Place, journal: PathBuf },
    /// Folds the rows of a record again.
    Rebuild { record: Place },
    /// Walks a whole record and checks every event.
    Verify { record: Place },
}

/// What a step took.
#[derive(Debug, Serialize, Deserialize)]
pub struct Taken {
    step: String,
    events: u64,
    per_s: f64,
    peak_mib: f64,
}

/// All steps, on the record in `place` and on one that is made from its journal.
pub fn measure(desk: &Desk, place: &Place, events: u64) -> Result<Vec<Taken>> {
    let (journal, target) = (desk.path("journal"), desk.place()?);
    let steps = [
        Step::Export { record: place.clone(), journal: journal.clone() },
        Step::Restore { record: target.clone(), journal },
        Step::Rebuild { record: target.clone() },
        Step::Verify { record: target },
    ];
    steps.into_iter().map(|step| apart(step, events)).collect()
}

/// Takes a step in a process of its own.
fn apart(step: Step, events: u64) -> Result<Taken> {
    let order = Order { step: Some(step), events, ..Order::default() };
    let mut child = Command::new(std::env::current_exe()?);
    let output = child.arg(serde_json::to_string(&order)?).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("a step ended with {}", output.status);
    }
    let taken: Taken = serde_json::from_slice(&output.stdout).context("a step gave no figures")?;
    eprintln!("  {}: {:.0} events a second, at most {:.0} MiB", taken.step, taken.per_s, taken.peak_mib);
    Ok(taken)
}

impl Step {
    /// Takes it in this process.
    pub async fn take(&self) -> Result<Taken> {
        let (Self::Export { record, .. }
        | Self::Restore { record, .. }
        | Self::Rebuild { record }
        | Self::Verify { record }) = self;
        let record = record.open().await?;
        let begun = Instant::now();
        let events = match self {
            Self::Export { journal, .. } => {
                Journal::open(journal, &record).await?.catch_up(&record, |_| ()).await?.0
            }
            Self::Restore { journal, .. } => {
                let (read, folded) = (watch::Sender::new(0), watch::Sender::new(0));
                record.restore(journal, &read, folded).await?.head.global_position.0
            }
            Self::Rebuild { .. } => record.rebuild().await?,
            Self::Verify { .. } => record.verify(None).await?.events,
        };
        let took = begun.elapsed().as_secs_f64();
        ensure!(events > 0, "there was nothing to do");
        let per_s = events as f64 / took;
        Ok(Taken { step: self.name().to_owned(), events, per_s, peak_mib: peak_mib()? })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Export { .. } => "export",
            Self::Restore { .. } => "restore",
            Self::Rebuild { .. } => "rebuild",
            Self::Verify { .. } => "verify",
        }
    }
}

/// The most memory this process has had so far, as the system counts it.
fn peak_mib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak is kept here")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1_024.0)
}
