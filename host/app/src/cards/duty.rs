//! One call that the host makes for an event: under the system seat, through the gate, once however often it is
//! wanted.
//!
//! What was tried before stands in the record, so a try has the number after the last one there, whichever process
//! made that. What was sent is not sent again, and what nobody knows the outcome of is not tried again.

use super::{Desk, pause};
use crate::serve::SYSTEM_SEAT;
use anyhow::Result;
use event::{EventId, Fact, Label, Origin, Position, PrincipalId, SeatId, Topic};
use gate::{Call, FailureKind, Output, Passed, Payload};
use serde_json::Value;
use std::collections::BTreeSet;

/// The most tries of one call, over all starts of all hosts: whatever fails five times is somebody's to look at.
const TRIES_MAX: u32 = 5;
/// Between two tries, unless the other side says how long to wait, in milliseconds.
const RETRY_MS: u64 = 1_000;
/// The longest wait between two tries, in milliseconds: others wait behind it.
const RETRY_MS_MAX: u64 = 10_000;
/// Events of one call's stream that are read: a try leaves about four.
const STORY_EVENTS_MAX: usize = 256;

/// One call, and the event it is made for.
pub(super) struct Duty<'a> {
    pub(super) event: &'a EventId,
    pub(super) kind: &'static str,
    pub(super) tool: &'static str,
    pub(super) input: Value,
    pub(super) topic: Option<Topic>,
    pub(super) label: Label,
    /// The persons whose words it repeats.
    pub(super) of: BTreeSet<PrincipalId>,
}

/// What the record says about a call so far.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The number of the last try; 0 when there was none.
    pub(super) tries: u32,
    /// What was passed, once it was about to be sent.
    pub(super) input: Option<Value>,
    /// What came back, once it was sent.
    pub(super) sent: Option<Value>,
    unknown: bool,
    /// Whether it was about to be sent and nothing is known of it yet.
    under_way: bool,
    /// Whether it was captured in a drill: nothing was sent, and nothing will be.
    captured: bool,
}

impl Told {
    /// Whether it is just being made, by this host or another.
    pub(super) fn is_under_way(&self) -> bool {
        self.under_way
    }
}

/// What the record says about the call of this kind for `event`.
pub(super) async fn told(desk: &Desk<'_>, event: &EventId, kind: &str) -> Result<Told> {
    let stream = fold::approval::stream(&origin(event, kind, 1));
    let mut told = Told::default();
    for event in desk.office.record.read_stream(&stream, Position(1), STORY_EVENTS_MAX).await? {
        told.under_way = match &event.fact {
            Fact::EffectIntended(_) => true,
            fact => told.under_way && fold::effect::effect_of(fact).is_none(),
        };
        match event.fact {
            Fact::CallAdmitted(body) => told.tries = told.tries.max(body.origin.attempt()),
            Fact::CallDenied(body) => told.tries = told.tries.max(body.origin.attempt()),
            Fact::CallRefused(body) => told.tries = told.tries.max(body.origin.attempt()),
            Fact::EffectIntended(body) => told.input = body.input.value().cloned(),
            Fact::EffectSent(body) => told.sent = Some(body.reference),
            Fact::EffectLeftUnknown(_) => told.unknown = true,
            Fact::EffectFailed(_) => told.unknown = false,
            Fact::EffectCaptured(_) => told.captured = true,
            _ => {}
        }
    }
    Ok(told)
}

fn origin(event: &EventId, kind: &str, attempt: u32) -> Origin {
    Origin::Duty { event: event.clone(), kind: kind.to_owned(), attempt }
}

/// Does a duty, unless it was done. What keeps it from being done for good is logged, and is on the record.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn done(desk: &Desk<'_>, duty: Duty<'_>) -> Result<()> {
    let told = told(desk, duty.event, duty.kind).await?;
    if told.sent.is_some() || told.unknown || told.captured {
        return Ok(());
    }
    for attempt in told.tries.saturating_add(1)..=TRIES_MAX {
        let Some(wait_ms) = tried(desk, &duty, attempt).await? else { return Ok(()) };
        pause(wait_ms, &mut desk.stop.clone()).await;
        if *desk.stop.borrow() {
            break;
        }
    }
    tracing::warn!(tool = duty.tool, event = %duty.event, "it could not be done, and is left");
    Ok(())
}

/// One try: how long to wait before the next, or nothing when there is none to be made.
async fn tried(desk: &Desk<'_>, duty: &Duty<'_>, attempt: u32) -> Result<Option<u64>> {
    let (seat, payload) = (SeatId::parse(SYSTEM_SEAT)?, Payload::Tool(duty.input.clone()));
    let call = Call {
        topic: duty.topic.clone(),
        label: duty.label.clone(),
        of: duty.of.clone(),
        fence: Some(desk.fence.clone()),
        ..Call::duty(seat, (duty.event, duty.kind, attempt), duty.tool, payload)
    };
    let problem = match desk.office.gate.pass(call, None).await? {
        Passed::Done { output: Output::Tool(_), .. } => return Ok(None),
        Passed::Failed { failure, .. } => {
            if matches!(failure.kind, FailureKind::RateLimited | FailureKind::Unavailable) {
                return Ok(Some(failure.retry_after_ms.unwrap_or(RETRY_MS).min(RETRY_MS_MAX)));
            }
            failure.message
        }
        Passed::Done { .. } => "a tool answered as a model".to_owned(),
        Passed::Denied(denial) => denial.reason,
        Passed::Refused(refusal) => refusal.reason,
        Passed::Unknown { reason } => reason,
        Passed::Waits { approval, .. } => format!("it waits for a person's yes itself (`{approval}`)"),
    };
    tracing::warn!(tool = duty.tool, event = %duty.event, problem, "it was not done");
    Ok(None)
}
