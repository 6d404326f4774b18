//! The question to a person what became of an effect, where its turn answers; and what they said.
//!
//! It is asked once reading back has told nothing (`request.asked`), and changed when somebody has said, here or by
//! command. An answer of the office's that is not there is sent once more when they want that: the same call, under the
//! same name, through the gate anew.

use super::Desk;
use super::duty::{Duty, done, told};
use super::show::{owner, reply_to};
use crate::show::printable_json;
use anyhow::Result;
use converse::question::{self, TOOL_ASK, TOOL_ASK_UPDATE, Unknown};
use converse::{Click, Saw, TOOL_SLACK, card, live};
use event::{
    Actor, EffectId, EffectIntended, EffectStated, Event, EventId, Fact, Origin, Position, RequestAsked,
    StreamName,
};
use fold::effect::{EffectRow, EffectState, stream};
use gate::{Call, Passed, Payload, StateError};
use serde_json::Value;
use std::collections::BTreeSet;

/// What a question is to the gate: the kind of the duty.
const QUESTION: &str = "effect-question";
/// What stands before the effect in the topic of the request.
const TOPIC: &str = "effect:";
/// What somebody is said to have seen who clicked.
const SAW: &str = "said with a button in Slack";
/// The tools whose effects nobody can look at afterwards, or needs to.
const UNSEEN: [&str; 9] = [
    TOOL_ASK,
    TOOL_ASK_UPDATE,
    card::TOOL_WHISPER,
    live::TOOL_PROGRESS,
    live::TOOL_PROGRESS_CHANGE,
    live::TOOL_PROGRESS_END,
    live::TOOL_STATUS,
    "slack.home",
    "slack.assistant-thread",
];
/// Events of one call's stream that are read: a try leaves about four.
const STORY_EVENTS_MAX: usize = 256;

/// Whether a request is one about an effect.
pub(super) fn is_about_effect(request: &RequestAsked) -> bool {
    request.topic.as_str().starts_with(TOPIC)
}

/// An effect, and what it was to do.
struct Meant {
    id: EffectId,
    row: EffectRow,
    event: Event,
    body: EffectIntended,
}

async fn meant(desk: &Desk<'_>, id: EffectId) -> Result<Option<Meant>> {
    let Some(row) = desk.office.gate.effect(&id).await? else { return Ok(None) };
    let Some(intended) = &row.intended_as else { return Ok(None) };
    let Some(event) = desk.office.record.event(intended).await? else { return Ok(None) };
    let Fact::EffectIntended(body) = event.fact.clone() else { return Ok(None) };
    Ok(Some(Meant { id, row, event, body }))
}

impl Meant {
    /// The exact arguments, of which nothing steers whoever shows them.
    fn arguments(&self) -> String {
        let Some(input) = self.body.input.value() else { return event::personal::ERASED.to_owned() };
        let text = serde_json::to_string_pretty(input).unwrap_or_default();
        text.lines().map(printable_json).collect::<Vec<_>>().join("\n")
    }

    fn unknown<'a>(&'a self, arguments: &'a str) -> Unknown<'a> {
        let (tool, meant_at) = (self.row.tool.as_str(), self.row.intended_at);
        Unknown { effect: &self.id, tool, meant_at, arguments, repeats: self.repeats() }
    }

    /// Whether it can be made once more from the question: an answer of a turn's.
    fn repeats(&self) -> bool {
        self.row.tool == TOOL_SLACK && matches!(self.row.origin, Origin::Step { .. })
    }

    /// Whether a person who is asked could look: not at what one person saw and is gone, at what goes with its turn, or
    /// at a question like this one, of which there would be no end.
    fn is_seen(&self) -> bool {
        !UNSEEN.contains(&self.row.tool.as_str())
    }

    fn duty<'a>(&self, event: &'a Event, tool: &'static str, input: Value) -> Duty<'a> {
        let erased = self.body.input.value().is_none();
        let of = if erased { BTreeSet::new() } else { self.body.input.subjects().clone() };
        let label = self.event.label.join(&event.label);
        Duty { event: &event.id, kind: QUESTION, tool, input, topic: None, label, of }
    }
}

/// Asks, where the turn answers that meant the effect; of one that was meant in no such turn, the owner alone.
pub(super) async fn ask(desk: &Desk<'_>, event: &Event, request: &RequestAsked) -> Result<()> {
    let id = request.topic.as_str().strip_prefix(TOPIC).and_then(|id| EffectId::parse(id).ok());
    let Some(id) = id else { return Ok(()) };
    let Some(meant) = meant(desk, id).await? else { return Ok(()) };
    if meant.row.state != EffectState::Unknown || !meant.is_seen() {
        return Ok(());
    }
    let Some((destination, mention)) = place(desk, &meant).await? else { return Ok(()) };
    let arguments = meant.arguments();
    let input = question::asking(&meant.unknown(&arguments), &destination, &mention);
    done(desk, meant.duty(event, TOOL_ASK, input)).await
}

/// Where it is asked, and whom the question mentions there; nothing where Slack shows nobody a question, and then
/// `chancery effect list` and the log say it.
async fn place(desk: &Desk<'_>, meant: &Meant) -> Result<Option<(Value, Vec<String>)>> {
    let reply_to = match meant.row.origin.turn() {
        Some(turn) => reply_to(desk, turn).await?,
        None => None,
    };
    if let Some(reply_to) = reply_to
        && let Some(thread) = card::destination(&reply_to)
    {
        return Ok(Some((thread, owner(desk, &reply_to).await?.into_iter().collect())));
    }
    Ok(card::direct(&desk.office.config.owner()?).map(|direct| (direct, Vec::new())))
}

/// Changes the question to what somebody said.
pub(super) async fn stated(desk: &Desk<'_>, event: &Event, body: &EffectStated) -> Result<()> {
    let Some(unknown_as) = &event.cause else { return Ok(()) };
    let Some(asked) = asked_as(desk, unknown_as).await? else { return Ok(()) };
    let told = told(desk, &asked, QUESTION).await?;
    let at = |key: &str| told.sent.as_ref()?.get(key)?.as_str();
    let (Some(channel), Some(ts)) = (at("channel"), at("ts")) else { return Ok(()) };
    let Some(meant) = meant(desk, body.effect.clone()).await? else { return Ok(()) };
    let (arguments, state) = (meant.arguments(), question::state(&body.by, body.happened));
    let input = question::answered(&meant.unknown(&arguments), (channel, ts), &state);
    let input = card::by_member(card::where_it_was(input, told.input.as_ref()), Some(&body.by));
    done(desk, meant.duty(event, TOOL_ASK_UPDATE, input)).await
}

/// The `request.asked` about the effect that was left unknown by this event.
async fn asked_as(desk: &Desk<'_>, unknown_as: &EventId) -> Result<Option<EventId>> {
    let name = StreamName::new("request", gate::effect::request_id(unknown_as));
    let events = desk.office.record.read_stream(&name, Position(1), 1).await?;
    Ok(events.into_iter().next().map(|event| event.id))
}

/// Takes a click as a person's word; why it is not taken, when it is not.
pub(super) async fn clicked(
    desk: &Desk<'_>,
    delivery: &EventId,
    click: &Click,
    (effect, saw): (&EffectId, Saw),
) -> Result<Option<String>> {
    let gate = &desk.office.gate;
    if let Some(why) = elsewhere(desk, click, effect).await? {
        return Ok(Some(why));
    }
    match gate.state_effect(effect, &click.by, saw == Saw::Happened, SAW).await {
        Ok(_) => {}
        // Said before, perhaps by this very click: what it wanted besides may not have been done.
        Err(StateError::Known { state: EffectState::Failed, .. }) if saw == Saw::Again => {
            if !said_by(desk, click, effect).await? {
                return Ok(Some("somebody has said meanwhile what became of it".to_owned()));
            }
        }
        Err(StateError::Answer(gate::AnswerError::Gate(error))) => return Err(error.into()),
        Err(why) => return Ok(Some(why.to_string())),
    }
    if saw == Saw::Again { again(desk, delivery, effect).await } else { Ok(None) }
}

/// Why the message is not the one that asks; nothing when it is, or when nothing is asked any more.
async fn elsewhere(desk: &Desk<'_>, click: &Click, effect: &EffectId) -> Result<Option<String>> {
    let row = desk.office.gate.effect(effect).await?;
    let Some(unknown_as) = row.and_then(|row| row.recalling).map(|recalling| recalling.unknown_as) else {
        return Ok(None);
    };
    let sent = match asked_as(desk, &unknown_as).await? {
        Some(asked) => told(desk, &asked, QUESTION).await?.sent,
        None => None,
    };
    let is = |key: &str, text: &str| sent.as_ref().and_then(|sent| sent.get(key)?.as_str()) == Some(text);
    let here = is("channel", &click.channel) && is("ts", &click.ts);
    Ok((!here).then(|| "this is not the card that asks for it".to_owned()))
}

/// Whether it was this person who said that it did not happen.
async fn said_by(desk: &Desk<'_>, click: &Click, effect: &EffectId) -> Result<bool> {
    let Some(row) = desk.office.gate.effect(effect).await? else { return Ok(false) };
    let story = desk.office.record.read_stream(&stream(&row.origin), Position(1), STORY_EVENTS_MAX).await?;
    let said = story.iter().rev().find_map(|event| match &event.fact {
        Fact::EffectStated(body) if body.effect == *effect => Some(body.by == click.by && !body.happened),
        _ => None,
    });
    Ok(said.unwrap_or_default())
}

/// Makes the call once more under the same name; why it was not made, when it was not. An effect that was sent meanwhile
/// is not sent again: the gate finds it.
async fn again(desk: &Desk<'_>, delivery: &EventId, effect: &EffectId) -> Result<Option<String>> {
    let Some(meant) = meant(desk, effect.clone()).await? else { return Ok(None) };
    let (Some(input), true) = (meant.body.input.value(), meant.repeats()) else {
        return Ok(Some(
            "only an answer can be sent again from here, and only while its words are there".to_owned(),
        ));
    };
    let Some(call) = repeated(desk, delivery, &meant, input.clone()).await? else { return Ok(None) };
    let why = match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } => return Ok(None),
        Passed::Failed { failure, .. } => failure.message,
        Passed::Denied(denial) => denial.reason,
        Passed::Refused(refusal) => refusal.reason,
        Passed::Unknown { reason } => reason,
        Passed::Waits { approval, .. } => format!("it waits for a yes of its own (`{approval}`)"),
    };
    Ok(Some(format!("it was not sent again: {why}")))
}

/// The same call as its next try: what it wants, who wants it and what it was read from are what they were.
async fn repeated(desk: &Desk<'_>, delivery: &EventId, meant: &Meant, input: Value) -> Result<Option<Call>> {
    let Origin::Step { turn, step, .. } = &meant.row.origin else { return Ok(None) };
    let Actor { seat: Some(seat), .. } = meant.event.actor.clone() else { return Ok(None) };
    let Some((_, opened)) = crate::live::opening(desk.office, turn).await? else { return Ok(None) };
    let asker = match desk.office.record.event(&opened.woken_by).await?.map(|event| event.fact) {
        Some(Fact::MessageReceived(message)) => message.author.principal,
        _ => None,
    };
    let story =
        desk.office.record.read_stream(&stream(&meant.row.origin), Position(1), STORY_EVENTS_MAX).await?;
    let tries = story.iter().filter_map(|event| match &event.fact {
        Fact::CallAdmitted(body) => Some(body.origin.attempt()),
        Fact::CallDenied(body) => Some(body.origin.attempt()),
        Fact::CallRefused(body) => Some(body.origin.attempt()),
        _ => None,
    });
    let attempt = tries.max().unwrap_or_default().saturating_add(1);
    let call = Call::duty(seat, (delivery, QUESTION, 1), &meant.row.tool, Payload::Tool(input));
    Ok(Some(Call {
        origin: Origin::Step { turn: turn.clone(), step: *step, attempt },
        topic: Some(opened.topic),
        asker,
        label: meant.event.label.clone(),
        of: meant.body.input.subjects().clone(),
        fence: Some(desk.fence.clone()),
        ..call
    }))
}
