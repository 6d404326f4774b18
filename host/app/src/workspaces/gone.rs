//! The office was removed from a workspace, or its token taken back: that one goes silent, and the others live on.
//!
//! What Slack says of it may come late, after somebody installed the office again; so Slack is asked whether the token is
//! still good, and where it is nothing has happened.

use super::{Known, SOURCE, end, identify};
use crate::lease::renewed;
use crate::serve::{may_pass, news};
use crate::wire::Office;
use anyhow::Result;
use converse::Arrival;
use event::{ConnectionIdentified, DeliveryReceived, Event, Fact, GlobalPosition};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::watch;

/// The name of the cursor and the lease.
const NAME: &str = "workspaces";
/// Events read at a time.
const EVENTS_MAX: usize = 256;
/// How long to leave everything alone after something went wrong, or while another host does it, in milliseconds.
const AGAIN_MS: u64 = 1_000;
/// Events that concern nobody here after which the cursor is moved all the same: bounds what a start reads again.
const UNSAVED_MAX: u64 = 1_024;

pub(super) async fn keep(office: &Office, mut stop: watch::Receiver<bool>) {
    let mut head = office.record.news();
    let mut follower = Follower::default();
    while news(&mut head, &mut stop).await {
        if let Err(error) = follower.catch_up(office).await {
            tracing::warn!(error = format!("{error:#}"), "what Slack says of installations waits");
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(AGAIN_MS)) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
    }
}

#[derive(Default)]
struct Follower {
    /// What it has read; nothing before the first look.
    read: Option<GlobalPosition>,
    /// What its cursor says.
    saved: GlobalPosition,
}

impl Follower {
    /// Goes past every event there is.
    async fn catch_up(&mut self, office: &Office) -> Result<()> {
        let record = &office.record;
        let mut read = match self.read {
            Some(read) => read,
            None => {
                self.saved = record.cursor(NAME).await?;
                self.saved
            }
        };
        loop {
            let events = record.read_all(read, EVENTS_MAX).await?;
            let Some(last) = events.last().map(|event| event.global_position) else { break };
            let concerns = events.iter().any(|event| removal(event).is_some());
            if concerns && !under_lease(office, &events).await? {
                return Ok(());
            }
            read = last;
            self.read = Some(read);
            if concerns || last.0.saturating_sub(self.saved.0) >= UNSAVED_MAX {
                record.set_cursor(NAME, last).await?;
                self.saved = last;
            }
        }
        self.read = Some(read);
        Ok(())
    }
}

/// Does what `events` ask for, unless another host is at it; whether it was done.
async fn under_lease(office: &Office, events: &[Event]) -> Result<bool> {
    let ttl_ms = office.config.office.lease_ms;
    let Some(lease) = office.record.lease(NAME, &office.node, ttl_ms).await? else { return Ok(false) };
    let work = async {
        for event in events {
            let Some(delivery) = removal(event) else { continue };
            match removed(office, event, delivery).await {
                Err(error) if !error.downcast_ref::<record::Error>().is_some_and(may_pass) => {
                    tracing::error!(event = %event.id, error = format!("{error:#}"), "a removal is left as it is");
                }
                done => done?,
            }
        }
        Ok(true)
    };
    let done = tokio::select! {
        done = work => done,
        () = renewed(office, &lease, ttl_ms) => Ok(false),
    };
    if let Err(error) = office.record.release(lease).await {
        tracing::debug!(%error, "the lease on workspaces ends by itself");
    }
    done
}

/// The delivery that may say that the office was removed from a workspace.
fn removal(event: &Event) -> Option<&DeliveryReceived> {
    match &event.fact {
        Fact::DeliveryReceived(body)
            if body.source == SOURCE
                && matches!(body.event.as_str(), "app_uninstalled" | "tokens_revoked") =>
        {
            Some(body)
        }
        _ => None,
    }
}

async fn removed(office: &Office, event: &Event, delivery: &DeliveryReceived) -> Result<()> {
    let team = Arrival::of(delivery).team();
    let Some(own) = converse::own_in(&office.record, SOURCE, team).await? else { return Ok(()) };
    if !is_ours(delivery, &own) {
        return Ok(());
    }
    let forget = match identify(office, &event.id, Some(team)).await? {
        Known::Now => {
            tracing::info!(team, said = delivery.event, "the office is in this workspace all the same");
            return Ok(());
        }
        Known::Before => false,
        Known::Not { is_no, .. } => is_no,
    };
    let reason =
        if delivery.event == "app_uninstalled" { "it was removed there" } else { "its token was taken back" };
    end(office, team, reason, (event.id.as_str(), Some(&event.id)), forget).await
}

/// Whether it is the office that lost its token, and not a person who once lent it theirs.
fn is_ours(delivery: &DeliveryReceived, own: &ConnectionIdentified) -> bool {
    if delivery.event == "app_uninstalled" {
        return true;
    }
    let bots = delivery.payload.json().pointer("/event/tokens/bot").and_then(Value::as_array);
    bots.into_iter().flatten().filter_map(Value::as_str).any(|id| id == own.user || id == own.bot)
}
