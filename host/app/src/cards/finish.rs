//! Messages that broke off while they were streamed: each is brought to its end in the same place, as a duty for the
//! event that says that it broke off, and never posted again.

use super::Desk;
use super::duty::{Duty, done};
use anyhow::Result;
use converse::live;
use event::{EffectId, Event, Fact};
use serde_json::Value;

/// What it is to the gate: the kind of the duty.
const COMPLETE: &str = "complete";

/// Whether a reference is that of a message that broke off.
pub(super) fn broke_off(reference: &Value) -> bool {
    reference.get("unfinished").is_some()
}

/// Brings the message of `effect` to its end.
pub(super) async fn completed(
    desk: &Desk<'_>,
    event: &Event,
    (effect, reference): (&EffectId, &Value),
) -> Result<()> {
    let Some(row) = desk.office.gate.effect(effect).await? else { return Ok(()) };
    let Some(id) = &row.intended_as else { return Ok(()) };
    let Some(Event { fact: Fact::EffectIntended(body), label, .. }) = desk.office.record.event(id).await?
    else {
        return Ok(());
    };
    // Words that are erased are not said any more: what stands of them stays as it is.
    let Some(input) = body.input.value() else { return Ok(()) };
    let Some(input) = live::completing(effect.as_str(), input, reference) else { return Ok(()) };
    let of = body.input.subjects().clone();
    let label = label.join(&event.label);
    done(
        desk,
        Duty { event: &event.id, kind: COMPLETE, tool: live::TOOL_COMPLETE, input, topic: None, label, of },
    )
    .await
}
