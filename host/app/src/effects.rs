//! The follower that reads back what nobody knows the outcome of.
//!
//! What is due stands in the one queue of moments (`attention::recalls`): there is no timer here, and a restart
//! forgets nothing. One host does it at a time, under a lease; what another did meanwhile the gate finds and leaves.
//! Deliberately absent: what is believed and when, which is `fold::effect::recall`, and any sending.

use crate::lease::renewed;
use crate::owner;
use crate::serve::{SYSTEM_SEAT, news};
use crate::wire::Office;
use anyhow::Result;
use event::{EffectId, SeatId};
use gate::{Reader, Recalled};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The name of the lease.
const LEASE: &str = "effects";
/// Effects read back under one lease: each takes a call of a tool, half a minute at most.
const AT_ONCE_MAX: usize = 16;
/// How long to leave everything alone after something went wrong, in milliseconds.
const AGAIN_MS: u64 = 5_000;

/// Reads back what is due until `stop` says so.
///
/// # Errors
/// None: what goes wrong is logged and tried again, and the effect stays unknown meanwhile.
pub async fn keep(office: Arc<Office>, mut stop: watch::Receiver<bool>) -> Result<()> {
    let mut head = office.record.news();
    while news(&mut head, &mut stop).await {
        if let Err(error) = look(&office).await {
            tracing::warn!(error = format!("{error:#}"), "unknown effects wait to be read back");
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(AGAIN_MS)) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
    }
    Ok(())
}

async fn look(office: &Office) -> Result<()> {
    let due = attention::recalls(&office.record, office.now()).await?;
    if due.is_empty() {
        return Ok(());
    }
    let ttl_ms = office.config.office.lease_ms;
    let Some(lease) = office.record.lease(LEASE, &office.node, ttl_ms).await? else { return Ok(()) };
    let reader = Reader {
        seat: SeatId::parse(SYSTEM_SEAT)?,
        holder: SeatId::parse(owner::SEAT)?,
        fence: Some(lease.fence()),
    };
    let read = async {
        for effect in due.iter().take(AT_ONCE_MAX) {
            let came_to = office.gate.read_back(effect, &reader).await?;
            tell(effect, &came_to);
        }
        Ok(())
    };
    let done = tokio::select! {
        done = read => done,
        () = renewed(office, &lease, ttl_ms) => Ok(()),
    };
    if let Err(error) = office.record.release(lease).await {
        tracing::debug!(%error, "the lease on effects ends by itself");
    }
    done
}

fn tell(effect: &EffectId, came_to: &Recalled) {
    match came_to {
        Recalled::Sent => tracing::info!(%effect, "it was read back: it happened"),
        Recalled::Failed => tracing::info!(%effect, "it was read back: it did not happen"),
        Recalled::Again(at) => tracing::debug!(%effect, %at, "it is read back again"),
        Recalled::Person => tracing::warn!(
            %effect,
            "nobody knows whether it happened, and it cannot be read back: `chancery effect show {effect}`"
        ),
        Recalled::NotWanted => {}
    }
}
