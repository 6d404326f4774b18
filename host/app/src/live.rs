//! What people see in Slack while a turn works: it is shown by the host that runs the turn, beside it, for as long as it
//! runs.
//!
//! Always: only a turn that a person asked for shows anything, and nothing in a drill. What is shown is an effect like
//! any other: under the system seat, through the gate, at the pace that Slack takes. A no, or a failure that would not
//! pass, and the turn goes on unseen. What was begun is brought to its end when the turn is faster.
//! Deliberately absent: the words (`converse::live`), and taking the line away, which [`crate::cards`] does once the turn
//! has ended, whichever host is there then.

use crate::config::{Config, LiveConfig, Progress, Streams};
use crate::serve::SYSTEM_SEAT;
use crate::wire::Office;
use anyhow::Result;
use converse::live::{self, Doing};
use converse::{Arrival, TOOL_SLACK, card};
use event::{
    Class, Event, EventId, Fact, Label, MessageReceived, Origin, Place, PlaceKind, Position, ReplyTo, SeatId,
    StepKind, Timestamp, TurnId, TurnOpened,
};
use fold::channel::{TriageRow, Triages};
use fold::turn::TurnState;
use fold::{Projection, decode};
use gate::{Call, FailureKind, Output, Passed, Payload};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The duty that puts the line into the thread, for a turn's opening; and that changes it, for an event of the turn.
pub(crate) const PROGRESS: &str = "progress";
/// The duty that shows the status of the thread, for the same.
pub(crate) const STATUS: &str = "status";

/// Events of a turn that are read: the longest has far fewer.
const TURN_EVENTS_MAX: usize = 2_000;
/// Events of one duty that are read: a try leaves about four.
const STORY_EVENTS_MAX: usize = 64;
/// The most tries of one duty, over all starts of all hosts.
const TRIES_MAX: u32 = 5;
/// How long to leave Slack alone that has trouble of its own, in milliseconds.
const TROUBLE_MS: u64 = 30_000;
/// The longest wait that Slack asks for after which something is still shown, in milliseconds.
const WAIT_MS_MAX: u64 = 600_000;
/// After how long a status is said anew: Slack forgets it after two minutes.
const STATUS_MS: i64 = 90_000;

/// Where and how a turn is seen to work.
struct Seen {
    turn: TurnId,
    opened: EventId,
    opened_at: Timestamp,
    place: Value,
    way: Way,
    /// The line that stands in the thread, once it does.
    line: Option<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Line,
    Status,
}

/// What came of showing something.
enum Came {
    Done(Value),
    /// It may be tried again in so many milliseconds.
    Later(u64),
    Never,
}

/// Shows how `turn` works for as long as this is waited for; it never returns by itself.
pub(crate) async fn beside(office: &Arc<Office>, turn: &TurnId) {
    if let Err(error) = shown(office, turn).await {
        tracing::debug!(%turn, error = format!("{error:#}"), "the turn works unseen");
    }
    std::future::pending::<()>().await;
}

async fn shown(office: &Arc<Office>, turn: &TurnId) -> Result<()> {
    let Some((live, mut seen)) = seen(office, turn).await? else { return Ok(()) };
    let after = if seen.way == Way::Status { 0 } else { i64::try_from(live.after_ms).unwrap_or(i64::MAX) };
    let worked = office.now().since_ms(seen.opened_at);
    if seen.line.is_none() {
        pause(u64::try_from(after.saturating_sub(worked)).unwrap_or_default()).await;
    }
    let mut said: Option<(Doing<'static>, u32, Timestamp)> = None;
    let mut tool = String::new();
    loop {
        let (newest, step, doing) = now(office, &seen.turn, &mut tool).await?;
        let stale = |at: &Timestamp| seen.way == Way::Status && office.now().since_ms(*at) >= STATUS_MS;
        let same = said.as_ref().is_some_and(|(was, at_step, at)| {
            *at_step == step && Some(kind(*was)) == doing.map(kind) && !stale(at)
        });
        let Some(doing) = doing.filter(|_| !same) else {
            pause(live.every_ms).await;
            continue;
        };
        match seen.show(office, newest, doing, step).await? {
            Came::Done(output) => {
                seen.stands(&output);
                said = Some((forgotten(doing), step, office.now()));
                pause(live.every_ms).await;
            }
            Came::Later(ms) => pause(ms.max(live.every_ms)).await,
            Came::Never => return Ok(()),
        }
    }
}

/// Says that a turn waits for a person's yes, where its line or status is seen.
///
/// # Errors
/// When the record cannot be used.
pub(crate) async fn waits(office: &Arc<Office>, turn: &TurnId) -> Result<()> {
    let Some((_, seen)) = seen(office, turn).await? else { return Ok(()) };
    if seen.way == Way::Line && seen.line.is_none() {
        return Ok(());
    }
    let (newest, step, _) = now(office, turn, &mut String::new()).await?;
    seen.show(office, newest, Doing::Waits, step).await.map(|_| ())
}

/// `destination` of an answer to `message`, with whom it is streamed to, where the operator wants that.
pub(crate) fn streamed(config: &Config, message: &MessageReceived, destination: Value) -> Value {
    let wanted = config.slack.as_ref().map_or(Streams::Never, |slack| slack.live.stream);
    let Place { kind, team, thread_ts, .. } = &message.place;
    let here = match wanted {
        Streams::Never => false,
        Streams::Direct => *kind == PlaceKind::Im && thread_ts.is_some(),
        Streams::Always => *kind != PlaceKind::Terminal,
    };
    if here && !message.author.bot && message.author.principal.is_some() {
        live::streaming(destination, &message.author.external, team)
    } else {
        destination
    }
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// What is done, without the name of the tool: that is another step.
fn kind(doing: Doing<'_>) -> u8 {
    match doing {
        Doing::Thinks => 0,
        Doing::Calls(_) => 1,
        Doing::Waits => 2,
    }
}

fn forgotten(doing: Doing<'_>) -> Doing<'static> {
    match doing {
        Doing::Thinks => Doing::Thinks,
        Doing::Calls(_) => Doing::Calls(""),
        Doing::Waits => Doing::Waits,
    }
}

/// How a turn is seen, when it is.
async fn seen(office: &Office, turn: &TurnId) -> Result<Option<(LiveConfig, Seen)>> {
    let Some(live) = office.config.slack.as_ref().map(|slack| slack.live.clone()) else { return Ok(None) };
    if live.progress == Progress::Off {
        return Ok(None);
    }
    let Some((opening, opened)) = opening(office, turn).await? else { return Ok(None) };
    let Some(ReplyTo { destination, .. }) = opened.reply_to.filter(|reply| reply.tool == TOOL_SLACK) else {
        return Ok(None);
    };
    if opened.drill {
        return Ok(None);
    }
    let Some(message) = office.record.event(&opened.woken_by).await? else { return Ok(None) };
    let asked = matches!(&message.fact, Fact::MessageReceived(body) if !body.author.bot);
    let row = office.record.row(Triages.name(), opened.woken_by.as_str()).await?;
    let unasked = decode::<TriageRow>(row.as_ref()).is_some_and(|row| row.class == Class::Passive);
    if !asked || unasked {
        return Ok(None);
    }
    let place = live::place(&destination);
    let in_thread = place.get("thread_ts").is_some();
    let wants_status = live.progress == Progress::Status || in_assistant_view(office, &message).await?;
    let way = if wants_status && in_thread { Way::Status } else { Way::Line };
    let line = told(office, &opening.id, PROGRESS).await?.1;
    let (opened, opened_at) = (opening.id, opening.at);
    let mut seen = Seen { turn: turn.clone(), opened, opened_at, place, way, line: None };
    seen.stands(&line.unwrap_or_default());
    Ok(Some((live, seen)))
}

/// The event that opened a turn.
pub(crate) async fn opening(office: &Office, turn: &TurnId) -> Result<Option<(Event, TurnOpened)>> {
    let events = office.record.read_stream(&turn::turn_stream(turn), Position(1), 1).await?;
    Ok(events.into_iter().find_map(|event| match event.fact.clone() {
        Fact::TurnOpened(body) => Some((event, body)),
        _ => None,
    }))
}

/// Whether a message was said in the office's assistant view.
pub(crate) async fn in_assistant_view(office: &Office, message: &Event) -> Result<bool> {
    let Some(cause) = &message.cause else { return Ok(false) };
    Ok(match office.record.event(cause).await?.map(|event| event.fact) {
        Some(Fact::DeliveryReceived(delivery)) => Arrival::of(&delivery).is_in_assistant_view(),
        _ => false,
    })
}

/// The newest event of a turn, its step, and what it does; nothing where it is about to end.
async fn now<'a>(
    office: &Office,
    turn: &TurnId,
    tool: &'a mut String,
) -> Result<(Option<EventId>, u32, Option<Doing<'a>>)> {
    let events = office.record.read_stream(&turn::turn_stream(turn), Position(1), TURN_EVENTS_MAX).await?;
    let newest = events.last().map(|event| event.id.clone());
    let state = TurnState::fold(&events);
    let Some((step, last)) = state.steps.last_key_value() else {
        return Ok((newest, 1, Some(Doing::Thinks)));
    };
    let doing = match (last.started.kind, &last.ended) {
        _ if state.ended.is_some() || state.accepted.is_some() => None,
        (StepKind::Send, _) => None,
        (StepKind::Tool, None) => {
            tool.clone_from(&last.started.tool);
            Some(Doing::Calls(tool))
        }
        _ => Some(Doing::Thinks),
    };
    Ok((newest, *step, doing))
}

impl Seen {
    /// Shows it, through the gate.
    async fn show(
        &self,
        office: &Arc<Office>,
        newest: Option<EventId>,
        doing: Doing<'_>,
        step: u32,
    ) -> Result<Came> {
        let newest = newest.unwrap_or_else(|| self.opened.clone());
        let (event, kind, tool, input) = match (self.way, &self.line) {
            (Way::Status, _) => {
                let minutes = office.now().since_ms(self.opened_at) / 60_000;
                let mut text = live::status(doing, step);
                if minutes > 0 {
                    text = format!("{} ({minutes} min)", text.trim_end_matches('…'));
                }
                // The first is found again by the turn's opening.
                let first = told(office, &self.opened, STATUS).await?.1.is_none();
                let event = if first { self.opened.clone() } else { newest };
                (event, STATUS, live::TOOL_STATUS, live::said(self.place.clone(), &text))
            }
            (Way::Line, None) => {
                let input = live::said(self.place.clone(), &live::line(doing, step));
                (self.opened.clone(), PROGRESS, live::TOOL_PROGRESS, input)
            }
            (Way::Line, Some((channel, ts))) => {
                let input = live::said(json!({ "channel": channel, "ts": ts }), &live::line(doing, step));
                let input = card::where_it_was(input, Some(&self.place));
                (newest, PROGRESS, live::TOOL_PROGRESS_CHANGE, input)
            }
        };
        pass(office, (&event, kind), tool, input).await
    }

    /// Keeps where the line stands.
    fn stands(&mut self, output: &Value) {
        let at = |key: &str| output.get(key).and_then(Value::as_str).map(str::to_owned);
        if self.way == Way::Line && self.line.is_none() {
            self.line = at("channel").zip(at("ts"));
        }
    }
}

/// Makes one call as a duty. It outlives the turn when that is faster, and what came of it must still be written down, so
/// it is made by a task of its own, under nobody's lease: only the host that runs the turn makes it.
async fn pass(office: &Arc<Office>, of: (&EventId, &str), tool: &str, input: Value) -> Result<Came> {
    let (tries, _) = told(office, of.0, of.1).await?;
    if tries >= TRIES_MAX {
        return Ok(Came::Never);
    }
    let seat = SeatId::parse(SYSTEM_SEAT)?;
    let call = Call {
        label: Label::host(),
        ..Call::duty(seat, (of.0, of.1, tries.saturating_add(1)), tool, Payload::Tool(input))
    };
    let gate = office.gate.clone();
    let passed = tokio::spawn(async move { gate.pass(call, None).await }).await??;
    Ok(match passed {
        Passed::Done { output: Output::Tool(output), .. } => Came::Done(output),
        Passed::Failed { failure, .. } if failure.kind == FailureKind::RateLimited => {
            let ms = failure.retry_after_ms.unwrap_or(TROUBLE_MS);
            if ms > WAIT_MS_MAX { Came::Never } else { Came::Later(ms) }
        }
        Passed::Failed { failure, .. } if failure.kind == FailureKind::Unavailable => Came::Later(TROUBLE_MS),
        other => {
            tracing::info!(tool, outcome = ?other, "a turn goes on unseen");
            Came::Never
        }
    })
}

/// How often a duty was tried, and what it came to when it was done.
async fn told(office: &Office, event: &EventId, kind: &str) -> Result<(u32, Option<Value>)> {
    let origin = Origin::Duty { event: event.clone(), kind: kind.to_owned(), attempt: 1 };
    let stream = fold::approval::stream(&origin);
    let (mut tries, mut sent) = (0, None);
    for event in office.record.read_stream(&stream, Position(1), STORY_EVENTS_MAX).await? {
        match event.fact {
            Fact::CallAdmitted(body) => tries = tries.max(body.origin.attempt()),
            Fact::CallDenied(body) => tries = tries.max(body.origin.attempt()),
            Fact::CallRefused(body) => tries = tries.max(body.origin.attempt()),
            Fact::EffectSent(body) => sent = Some(body.reference),
            _ => {}
        }
    }
    Ok((tries, sent))
}
