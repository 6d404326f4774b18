//! The two calls that triage makes: the small model is asked about a message, and an emoji is put on one.

use super::Desk;
use crate::serve::SYSTEM_SEAT;
use anyhow::Result;
use converse::triage::scene::Weighing;
use converse::triage::{Scene, Word, request, said};
use event::{
    Class, Event, EventId, Fact, Origin, PlaceKind, Position, SeatId, StreamName, TriageDecided, TurnOpened,
};
use fold::channel::{TriageRow, Triages};
use fold::{Projection, decode};
use gate::{Call, Output, Passed, Payload};
use serde_json::json;
use std::time::Duration;

/// What the duty of asking the model is called.
const WEIGH: &str = "triage";
/// What the duty of putting an emoji is called.
const REACT: &str = "react";
/// What the duty of saying that a message was seen is called.
const SEEN: &str = "seen";
/// How long after a turn began its message may be said to be seen, in milliseconds: later, the answer says it.
const SEEN_MS_MAX: i64 = 30_000;
/// How long the model may take, in milliseconds: whoever asked waits behind it.
const WEIGH_MS_MAX: u64 = 10_000;
/// The most tries of a call, over all starts of all hosts.
const TRIES_MAX: u32 = 2;
/// Events of one call's stream that are read: a try leaves about four.
const STORY_EVENTS_MAX: usize = 64;

/// Asks the model about the message of `scene`, for the event that classified it.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn ask(desk: &Desk, classified: &Event, scene: &Scene) -> Result<Weighing> {
    let office = &desk.office;
    let Some(model) = office.config.weigher() else { return Ok(Weighing::None(Word::NoModel)) };
    let Some(attempt) = next_attempt(desk, &classified.id, WEIGH).await? else {
        return Ok(Weighing::None(Word::NoScores));
    };
    let payload =
        Payload::Infer(request(model, &office.config.office.name, &scene.shown, &scene.message).into());
    let call = Call {
        // It outlives this work when nobody waits for it any more, and its account must still be settled.
        fence: None,
        label: scene.label(),
        of: scene.of(),
        topic: Some(scene.topic.clone()),
        ..call(desk, (&classified.id, WEIGH, attempt), model, payload)?
    };
    // What was begun is brought to its end, and paid, also when nobody waits for it any more.
    let gate = office.gate.clone();
    let asking = tokio::spawn(async move { gate.pass(call, None).await });
    let Ok(passed) = tokio::time::timeout(Duration::from_millis(WEIGH_MS_MAX), asking).await else {
        return Ok(Weighing::None(Word::NoScores));
    };
    Ok(match passed?? {
        Passed::Done { output: Output::Model(response), .. } => match said(&response) {
            Ok(said) => Weighing::Said(said),
            Err(word) => Weighing::None(word),
        },
        Passed::Done { .. } => Weighing::None(Word::MalformedScores),
        Passed::Denied(_) | Passed::Refused(_) | Passed::Waits { .. } => Weighing::None(Word::NotAsked),
        Passed::Failed { .. } | Passed::Unknown { .. } => Weighing::None(Word::NoScores),
    })
}

/// Puts the emoji that was decided on the message.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn react(desk: &Desk, decided: &Event, body: &TriageDecided) -> Result<()> {
    let (Some(emoji), Some(message)) = (&body.emoji, desk.office.record.event(&body.message).await?) else {
        return Ok(());
    };
    put(desk, (decided, REACT), &message, emoji).await
}

/// Puts the emoji that says that the office has seen a message, when the operator wants one and somebody asked.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn seen(desk: &Desk, opened: &Event, body: &TurnOpened) -> Result<()> {
    let record = &desk.office.record;
    let Some(emoji) = &desk.office.config.converse.seen else { return Ok(()) };
    let row: Option<TriageRow> = decode(record.row(Triages.name(), body.woken_by.as_str()).await?.as_ref());
    let unasked = row.is_some_and(|row| row.class == Class::Passive);
    let late = desk.office.now().since_ms(opened.at) > SEEN_MS_MAX;
    match record.event(&body.woken_by).await? {
        Some(message) if !unasked && !late => put(desk, (opened, SEEN), &message, emoji).await,
        _ => Ok(()),
    }
}

/// Puts `emoji` on `message` for an event. Nobody waits for it: a failure is logged, and stands on the record.
async fn put(desk: &Desk, (event, kind): (&Event, &str), message: &Event, emoji: &str) -> Result<()> {
    let Fact::MessageReceived(body) = &message.fact else { return Ok(()) };
    let place = &body.place;
    if place.kind == PlaceKind::Terminal {
        return Ok(());
    }
    let Some(attempt) = next_attempt(desk, &event.id, kind).await? else { return Ok(()) };
    let payload = Payload::Tool(json!({ "channel": place.channel, "ts": place.ts, "emoji": emoji }));
    let call =
        Call { topic: place.topic(), ..call(desk, (&event.id, kind, attempt), "slack.react", payload)? };
    match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } => {}
        other => tracing::warn!(message = %message.id, outcome = ?other, "the emoji was not put"),
    }
    Ok(())
}

/// A call of the system seat for an event.
pub(super) fn call(
    desk: &Desk,
    (event, kind, attempt): (&EventId, &str, u32),
    tool: &str,
    payload: Payload,
) -> Result<Call> {
    let seat = SeatId::parse(SYSTEM_SEAT)?;
    Ok(Call { fence: Some(desk.fence.clone()), ..Call::duty(seat, (event, kind, attempt), tool, payload) })
}

/// The number of the next try, by what the record says of those before; nothing when there are none left, or it is
/// done.
pub(super) async fn next_attempt(desk: &Desk, event: &EventId, kind: &str) -> Result<Option<u32>> {
    let origin = Origin::Duty { event: event.clone(), kind: kind.to_owned(), attempt: 1 };
    let stream: StreamName = fold::approval::stream(&origin);
    let mut tries = 0;
    for event in desk.office.record.read_stream(&stream, Position(1), STORY_EVENTS_MAX).await? {
        tries = match &event.fact {
            Fact::CallAdmitted(body) => tries.max(body.origin.attempt()),
            Fact::CallDenied(body) => tries.max(body.origin.attempt()),
            Fact::CallRefused(body) => tries.max(body.origin.attempt()),
            Fact::EffectSent(_) | Fact::EffectLeftUnknown(_) => return Ok(None),
            _ => tries,
        };
    }
    Ok((tries < TRIES_MAX).then(|| tries.saturating_add(1)))
}
