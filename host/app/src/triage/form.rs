//! The form in which somebody asks the office something from anywhere in Slack: it is opened, and what comes back is put
//! where it is to be answered and becomes a message of theirs there.
//!
//! Whoever sent it is told, alone and with their words, when it cannot be put there.

use super::{Desk, weigh};
use anyhow::Result;
use converse::card;
use converse::form::{self, Question, TOOL_BEGIN, TOOL_FORM, TRIGGER_MS};
use converse::triage::scene::Weighing;
use converse::triage::{self, Word};
use event::{
    Actor, Class, ConnectionIdentified, DeliveryClassified, DeliveryReceived, Event, EventId, Expected, Fact,
    MessageReceived, Origin, Position, PrincipalId, Proposed, StreamName,
};
use gate::{Call, Passed, Payload};
use record::Error;
use serde_json::Value;

/// What the duty of opening the form is called.
const OPEN: &str = "form";
/// What the duty of putting a question where it is answered is called.
const BEGIN: &str = "question";
/// What the duty of telling somebody that it could not be put there is called.
const REGRET: &str = "question-regret";
/// Events of one call's stream that are read: a try leaves about four.
const STORY_EVENTS_MAX: usize = 64;

/// Opens the form for whoever used the shortcut, unless the three seconds are over.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn wanted(desk: &Desk, classified: &Event, body: &DeliveryClassified) -> Result<()> {
    let Some((delivery, received, own)) = came(desk, body).await? else { return Ok(()) };
    let Ok(wanted) = form::wanted(&received, Some(&own)) else { return Ok(()) };
    if desk.office.now().since_ms(delivery.at) > TRIGGER_MS {
        tracing::info!(event = %classified.id, "a form is not opened: the shortcut was used too long ago");
        return Ok(());
    }
    let Some(attempt) = weigh::next_attempt(desk, &classified.id, OPEN).await? else { return Ok(()) };
    let input = card::in_workspace(form::form(&wanted, &desk.office.config.office.name), &own.team);
    let call = weigh::call(desk, (&classified.id, OPEN, attempt), TOOL_FORM, Payload::Tool(input))?;
    match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } => {}
        other => tracing::warn!(outcome = ?other, "a form was not opened"),
    }
    Ok(())
}

/// Puts what somebody asked where they want it answered, and has it answered there.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn asked(desk: &Desk, classified: &Event, body: &DeliveryClassified) -> Result<()> {
    let Some((delivery, received, own)) = came(desk, body).await? else { return Ok(()) };
    let Ok(question) = form::question(&received, Some(&own)) else { return Ok(()) };
    if sent(desk, &classified.id).await?.is_none()
        && let Some(why) = posted(desk, classified, &question, &own).await?
    {
        return regretted(desk, classified, (&question, &why), &own).await;
    }
    // By now it stands there, or nobody knows whether it does: then whoever asked sees that, and asks again.
    let Some(stands) = sent(desk, &classified.id).await? else { return Ok(()) };
    let text = |key: &str| stands.get(key).and_then(Value::as_str).unwrap_or_default();
    let Some(said) = form::message(&question, &own.team, text("channel"), text("ts")) else { return Ok(()) };
    answered(desk, &delivery, said, &own).await
}

/// The delivery, and who the office is where it came from.
async fn came(
    desk: &Desk,
    body: &DeliveryClassified,
) -> Result<Option<(Event, DeliveryReceived, ConnectionIdentified)>> {
    let Some(delivery) = desk.office.record.event(&body.delivery).await? else { return Ok(None) };
    let Fact::DeliveryReceived(received) = delivery.fact.clone() else { return Ok(None) };
    Ok(desk.own(&received).await?.map(|own| (delivery, received, own)))
}

/// Posts the question; why it could not be, when that is known.
async fn posted(
    desk: &Desk,
    classified: &Event,
    question: &Question,
    own: &ConnectionIdentified,
) -> Result<Option<String>> {
    let Some(attempt) = weigh::next_attempt(desk, &classified.id, BEGIN).await? else { return Ok(None) };
    let input = card::in_workspace(form::begin(question), &own.team);
    let call = weigh::call(desk, (&classified.id, BEGIN, attempt), TOOL_BEGIN, Payload::Tool(input))?;
    let call = Call { of: [question.by.clone()].into(), ..call };
    Ok(match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } | Passed::Unknown { .. } => None,
        Passed::Failed { failure, .. } => Some(failure.message),
        Passed::Denied(denial) => Some(denial.reason),
        Passed::Refused(refusal) => Some(refusal.reason),
        Passed::Waits { .. } => Some("it waits for somebody's yes itself".to_owned()),
    })
}

async fn regretted(
    desk: &Desk,
    classified: &Event,
    (question, why): (&Question, &str),
    own: &ConnectionIdentified,
) -> Result<()> {
    let Some(attempt) = weigh::next_attempt(desk, &classified.id, REGRET).await? else { return Ok(()) };
    let input = card::in_workspace(form::regret(question, why), &own.team);
    let call = weigh::call(desk, (&classified.id, REGRET, attempt), TOOL_BEGIN, Payload::Tool(input))?;
    let call = Call { of: [question.by.clone()].into(), ..call };
    match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } => {}
        other => tracing::warn!(outcome = ?other, "nobody was told that a question was not asked"),
    }
    Ok(())
}

/// Where the question stands, once it was sent.
async fn sent(desk: &Desk, classified: &EventId) -> Result<Option<Value>> {
    let origin = Origin::Duty { event: classified.clone(), kind: BEGIN.to_owned(), attempt: 1 };
    let stream = fold::approval::stream(&origin);
    let events = desk.office.record.read_stream(&stream, Position(1), STORY_EVENTS_MAX).await?;
    Ok(events.into_iter().find_map(|event| match event.fact {
        Fact::EffectSent(body) => Some(body.reference),
        _ => None,
    }))
}

/// States what was asked as a message of whoever asked it, and that it is answered. Done twice it is done once.
async fn answered(
    desk: &Desk,
    delivery: &Event,
    said: MessageReceived,
    own: &ConnectionIdentified,
) -> Result<()> {
    let record = &desk.office.record;
    let (key, topic) = (said.place.key(), said.place.topic());
    let id = EventId::derived(&["message.received", &key]);
    let event = Proposed {
        id: id.clone(),
        actor: Actor { principal: PrincipalId::host(), seat: None },
        cause: Some(delivery.id.clone()),
        label: converse::label_of(&said.place, &said.author, false),
        fact: said.into(),
    };
    match record.append(StreamName::new("message", &key), Expected::Any, vec![event]).await {
        Ok(_) | Err(Error::IdTaken { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let of = DeliveryClassified {
        delivery: delivery.id.clone(),
        message: Some(id),
        class: Class::Explicit,
        reason: converse::Reason::FormQuestion.word().to_owned(),
        topic,
        asks: None,
    };
    match triage::scene(record, &of, &own.user).await? {
        // Whoever fills in a form wants an answer: no model is asked whether.
        Some(scene) => desk.decide(scene, Weighing::None(Word::NotAsked)).await,
        None => Ok(()),
    }
}
