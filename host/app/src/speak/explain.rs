//! One message: its class, its reason, and all that decided whether the office spoke.

use super::message_of;
use crate::show::short;
use anyhow::{Context, Result};
use converse::triage::{Word, allowance};
use converse::{Reason, triage};
use event::{
    DeliveryClassified, Event, EventId, Fact, MessageReceived, Position, Scores, Spent, StreamName,
    Thresholds, TriageDecided, Weighed,
};
use record::Record;
use std::fmt::Write as _;

/// Events of a message's stream that are read, as of a delivery's.
const STREAM_EVENTS_MAX: usize = 64;

/// What decided about the message that `text` names.
///
/// # Errors
/// When the record has no such message, or cannot be read.
pub async fn explained(record: &Record, text: &str) -> Result<String> {
    let id = message_of(record, text).await?;
    let event = record.event(&id).await?.with_context(|| format!("the record has no event `{id}`"))?;
    let Fact::MessageReceived(body) = &event.fact else {
        anyhow::bail!("`{id}` is a {}, and no message", event.fact.kind());
    };
    let mut out = String::new();
    said(&mut out, &event, body)?;
    for class in classes(record, &event).await? {
        let meaning = Reason::ALL.iter().find(|reason| reason.word() == class.reason).map(|r| r.meaning());
        let kind = format!("{:?}", class.class).to_lowercase();
        writeln!(out, "class        {kind}: {} ({})", class.reason, meaning.unwrap_or("not known here"))?;
        if let Some(seat) = &class.asks {
            writeln!(out, "asks         {seat}, at once")?;
        }
    }
    match record.event(&triage::scene::id(&id)).await?.map(|event| (event.at, event.fact)) {
        Some((at, Fact::TriageDecided(body))) => {
            writeln!(out, "decided      {} at {at}", body.choice)?;
            decided(&mut out, &body)?;
        }
        _ => writeln!(out, "decided      nothing: it was not weighed")?,
    }
    Ok(out)
}

fn said(out: &mut String, event: &Event, body: &MessageReceived) -> Result<()> {
    writeln!(out, "message      {}", event.id)?;
    let thread = body.place.thread_ts.as_ref().map_or_else(String::new, |ts| format!(" in the thread {ts}"));
    writeln!(out, "said         {} in {} at {}{thread}", event.at, body.place.channel, body.place.ts)?;
    writeln!(
        out,
        "by           {}{}",
        body.author.external,
        if body.author.bot { " (a program)" } else { "" }
    )?;
    writeln!(out, "text         \"{}\"", short(body.text.text()))?;
    Ok(())
}

/// The classes that the message's deliveries got.
async fn classes(record: &Record, message: &Event) -> Result<Vec<DeliveryClassified>> {
    let mut classes = Vec::new();
    let told = record.read_stream(&message.stream, Position(1), STREAM_EVENTS_MAX).await?;
    for delivery in told.iter().filter_map(|event| event.cause.clone()) {
        let stream = StreamName::new("delivery", &delivery);
        for event in record.read_stream(&stream, Position(1), STREAM_EVENTS_MAX).await? {
            if let Fact::DeliveryClassified(body) = event.fact
                && body.message.as_ref() == Some::<&EventId>(&message.id)
            {
                classes.push(body);
            }
        }
    }
    Ok(classes)
}

fn decided(out: &mut String, body: &TriageDecided) -> Result<()> {
    let meaning = Word::ALL.iter().find(|word| word.word() == body.reason).map(|word| word.meaning());
    writeln!(out, "rule         {} ({})", body.reason, meaning.unwrap_or("not known here"))?;
    if let Some(emoji) = &body.emoji {
        writeln!(out, "emoji        :{emoji}:")?;
    }
    if let Some(seat) = &body.asks {
        writeln!(out, "asks         {seat}")?;
    }
    writeln!(out, "mode         {} in {}", body.mode, short(&body.channel))?;
    writeln!(out, "priority     {}", body.priority.word())?;
    writeln!(out, "signs        {}", signs(body))?;
    match (&body.scores, &body.weighed) {
        (Some(scores), Some(weighed)) => figures(out, scores, weighed, &body.thresholds)?,
        _ => writeln!(out, "scores       none")?,
    }
    if body.class == event::Class::Passive {
        spent(out, &body.spent, body.mode)?;
    }
    Ok(())
}

fn signs(body: &TriageDecided) -> String {
    let s = &body.signs;
    let named = [
        (s.follows_office, "follows the office"),
        (s.names_others, "names others"),
        (s.replied_to, "replied to"),
        (s.answered, "answered, says the model"),
        (s.for_others, "for others, says the model"),
        (s.muted, "muted"),
        (s.turn_open, "a turn is open"),
        (s.by_program, "by a program"),
    ];
    let mut there: Vec<String> =
        named.iter().filter(|(is, _)| *is).map(|(_, name)| (*name).to_owned()).collect();
    if s.by_program {
        there.push(format!("{} answers to programs in a row", s.hops));
    }
    if there.is_empty() { "none".to_owned() } else { there.join(", ") }
}

fn figures(out: &mut String, s: &Scores, weighed: &Weighed, from: &Thresholds) -> Result<()> {
    writeln!(
        out,
        "scores       usefulness {}, confidence {}, urgency {}, noise {}, interruption cost {}, investigation value {}, reaction fit {}",
        s.usefulness,
        s.confidence,
        s.urgency,
        s.noise,
        s.interruption_cost,
        s.investigation_value,
        s.reaction_fit
    )?;
    let least = |figure: u8| if figure > 100 { "never".to_owned() } else { format!("from {figure}") };
    writeln!(out, "formula {}", weighed.formula)?;
    writeln!(
        out,
        "  answer      = 0.45·{} + 0.25·{} + 0.20·{} + 0.10·{} − 0.30·{} = {:<4} {}, with confidence {}",
        s.usefulness,
        s.confidence,
        s.urgency,
        100_u8.saturating_sub(s.interruption_cost),
        s.noise,
        weighed.answer,
        least(from.answer),
        least(from.confidence)
    )?;
    writeln!(
        out,
        "  investigate = 0.50·{} + 0.30·{} + 0.20·{} − 0.20·{} = {:<4} {}",
        s.investigation_value,
        s.urgency,
        s.usefulness,
        s.noise,
        weighed.investigate,
        least(from.investigate)
    )?;
    writeln!(
        out,
        "  ack         = {} − 0.10·{} = {:<4} {}",
        s.reaction_fit,
        s.noise,
        weighed.ack,
        least(from.ack)
    )?;
    Ok(())
}

fn spent(out: &mut String, spent: &Spent, mode: event::Mode) -> Result<()> {
    let a = allowance(mode);
    let since = |ms: Option<i64>| ms.map_or_else(|| "never".to_owned(), |ms| format!("{} s ago", ms / 1_000));
    writeln!(out, "allowance    within an hour, spent of allowed")?;
    writeln!(
        out,
        "  all {}/{}, summons {}/{}, urgent and normal {}/{}, low {}/{}",
        spent.all, a.all, spent.summons, a.summons, spent.general, a.general, spent.low, a.low
    )?;
    writeln!(
        out,
        "  investigations {}/{}, at once {}/{}, emoji {}/{}",
        spent.investigations, a.investigations, spent.investigating, a.slots, spent.acks, a.acks
    )?;
    writeln!(
        out,
        "  spoke unasked {}; a person spoke before {}",
        since(spent.since_spoken_ms),
        since(spent.since_person_ms)
    )?;
    Ok(())
}
