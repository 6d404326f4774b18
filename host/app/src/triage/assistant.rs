//! Threads of the assistant view: what may be asked in a new one, and its title once somebody has asked.

use super::{Desk, weigh};
use anyhow::Result;
use converse::assistant::{TOOL_ASSISTANT, naming, opened, suggesting};
use converse::card;
use event::{DeliveryClassified, Event, Fact, PlaceKind, TurnOpened};
use fold::message::{TopicRow, Topics};
use fold::{Projection, decode};
use gate::{Call, Passed, Payload};
use serde_json::Value;

/// What the duty of suggesting is called.
const SUGGEST: &str = "suggest";
/// What the duty of naming is called.
const TITLE: &str = "title";

/// Suggests in a thread that somebody opened what the operator wants suggested.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn suggested(desk: &Desk, classified: &Event, body: &DeliveryClassified) -> Result<()> {
    let live = desk.office.config.slack.as_ref().map(|slack| &slack.live.prompts);
    let Some(prompts) = live.filter(|prompts| !prompts.is_empty()) else { return Ok(()) };
    let Some(delivery) = desk.office.record.event(&body.delivery).await? else { return Ok(()) };
    let Fact::DeliveryReceived(received) = &delivery.fact else { return Ok(()) };
    let Some(own) = desk.own(received).await? else { return Ok(()) };
    let Some(thread) = opened(received, &own) else { return Ok(()) };
    let prompts: Vec<(String, String)> =
        prompts.iter().map(|prompt| (prompt.title.clone(), prompt.message.clone())).collect();
    let input = card::in_workspace(suggesting(&thread, &prompts), &own.team);
    set(desk, (classified, SUGGEST), input, None).await
}

/// Names a thread after what was asked in it first.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn named(desk: &Desk, event: &Event, body: &TurnOpened) -> Result<()> {
    let record = &desk.office.record;
    let Some(message) = record.event(&body.woken_by).await? else { return Ok(()) };
    let Fact::MessageReceived(said) = &message.fact else { return Ok(()) };
    let Some(thread) = said.place.thread_ts.as_deref().filter(|_| said.place.kind == PlaceKind::Im) else {
        return Ok(());
    };
    if body.drill || !crate::live::in_assistant_view(&desk.office, &message).await? {
        return Ok(());
    }
    let topic: Option<TopicRow> = decode(record.row(Topics.name(), body.topic.as_str()).await?.as_ref());
    let first =
        topic.is_none_or(|topic| topic.messages.first().is_none_or(|at| *at == message.global_position));
    let asked = converse::readable(said.text.text());
    match naming(&said.place.channel, thread, &asked).filter(|_| first) {
        Some(input) => {
            let input = card::in_workspace(input, &said.place.team);
            set(desk, (event, TITLE), input, Some(&message)).await
        }
        None => Ok(()),
    }
}

/// Sets something on a thread. Nobody waits for it: a failure is logged, and stands on the record.
async fn set(desk: &Desk, (event, kind): (&Event, &str), input: Value, of: Option<&Event>) -> Result<()> {
    let Some(attempt) = weigh::next_attempt(desk, &event.id, kind).await? else { return Ok(()) };
    let mut call: Call = weigh::call(desk, (&event.id, kind, attempt), TOOL_ASSISTANT, Payload::Tool(input))?;
    if let Some(message) = of {
        call.label = message.label.clone();
        if let Fact::MessageReceived(said) = &message.fact {
            call.of = said.text.subjects().clone();
        }
    }
    match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } => {}
        other => tracing::info!(event = %event.id, outcome = ?other, "an assistant thread stays as it is"),
    }
    Ok(())
}
