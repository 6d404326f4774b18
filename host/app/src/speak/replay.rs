//! Every message that was weighed, decided again in another mode.
//!
//! What the office had said is counted anew: a channel that would have been spoken to more often has less room later.
//! When a turn ended, and whether it said anything, is taken from the record where that turn was opened, and otherwise
//! taken to have spoken at once.

use super::PAGE_EVENTS;
use crate::show::short;
use anyhow::Result;
use converse::triage::{Case, Found, Word, before, evaluate, outcome};
use event::{Choice, Class, Event, EventId, Fact, GlobalPosition, Mode, TriageDecided, TurnEnding};
use fold::channel::{ChannelRow, Spoken, key_of};
use record::Record;
use std::collections::BTreeMap;
use std::fmt;

/// The most changes that are printed; the rest is counted.
const SHOWN_MAX: usize = 200;

/// What would change.
#[derive(Debug, Default)]
pub struct Replayed {
    mode: Mode,
    /// How often each choice was made, and how often it would be.
    counts: BTreeMap<(Choice, Choice), u32>,
    /// Messages without figures, about which another mode might have asked the model.
    unknown: u32,
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    message: EventId,
    channel: String,
    was: (Choice, String),
    would: Found,
    text: String,
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for change in self.changes.iter().take(SHOWN_MAX) {
            writeln!(
                f,
                "{}  {:<14} {} ({}) → {} ({})  \"{}\"",
                change.message,
                short(&change.channel),
                change.was.0,
                change.was.1,
                change.would.choice,
                change.would.word.word(),
                short(&change.text)
            )?;
        }
        if let Some(more) = self.changes.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
            writeln!(f, "and {more} more")?;
        }
        let weighed: u32 = self.counts.values().sum();
        writeln!(
            f,
            "{weighed} messages, {} would be decided otherwise in `{}`",
            self.changes.len(),
            self.mode
        )?;
        for ((was, would), count) in self.counts.iter().filter(|((was, would), _)| was != would) {
            writeln!(f, "  {was} → {would}: {count}")?;
        }
        if self.unknown > 0 {
            writeln!(
                f,
                "{} were never weighed, so what the model would have said of them is not known",
                self.unknown
            )?;
        }
        Ok(())
    }
}

/// Decides again, in `mode`, about everything that was decided after `after` in `channel`, or everywhere.
///
/// # Errors
/// When the record cannot be read.
pub async fn replayed(
    record: &Record,
    mode: Mode,
    channel: Option<&str>,
    after: GlobalPosition,
    hops_max: u32,
) -> Result<Replayed> {
    let mut replay =
        Replay { hops_max, out: Replayed { mode, ..Replayed::default() }, rows: BTreeMap::new() };
    let is_wanted =
        |of: &str| channel.is_none_or(|one| of == one || of.split_once(':').is_some_and(|(_, id)| id == one));
    let mut at = after;
    loop {
        let events = record.read_all(at, PAGE_EVENTS).await?;
        let Some(last) = events.last() else { return Ok(replay.out) };
        at = last.global_position;
        for event in &events {
            match &event.fact {
                Fact::TriageDecided(body) if is_wanted(&body.channel) => {
                    let text = text_of(record, &body.message).await?;
                    replay.again(event, body, text);
                }
                Fact::TurnEnded(body) => {
                    if let Some(row) = key_of(&body.topic).and_then(|key| replay.rows.get_mut(&key)) {
                        row.end(&body.topic, body.ending == TurnEnding::Silent);
                    }
                }
                _ => {}
            }
        }
    }
}

async fn text_of(record: &Record, message: &EventId) -> Result<String> {
    Ok(match record.event(message).await?.map(|event| event.fact) {
        Some(Fact::MessageReceived(body)) => body.text.text().to_owned(),
        _ => String::new(),
    })
}

struct Replay {
    hops_max: u32,
    out: Replayed,
    /// What would have been said in each channel.
    rows: BTreeMap<String, ChannelRow>,
}

impl Replay {
    fn again(&mut self, event: &Event, body: &TriageDecided, text: String) {
        let row = self.rows.entry(body.channel.clone()).or_default();
        let mut spent = row.spent(event.at);
        spent.since_person_ms = body.spent.since_person_ms;
        let case = Case {
            class: body.class,
            mode: self.out.mode,
            signs: &body.signs,
            spent: &spent,
            hops_max: self.hops_max,
        };
        let word =
            Word::ALL.iter().find(|word| word.word() == body.reason).copied().unwrap_or(Word::NoScores);
        let unweighed = matches!(word, Word::QuietChannel | Word::AllowanceSpent);
        let would = match (before(&case), &body.scores) {
            (Some(found), _) => found,
            (None, Some(scores)) => evaluate(&case, scores),
            (None, None) if unweighed => {
                self.out.unknown = self.out.unknown.saturating_add(1);
                return;
            }
            (None, None) => outcome(&case, word),
        };
        if body.class == Class::Passive && would.choice != Choice::Pass {
            row.add(Spoken {
                at: event.at,
                topic: body.topic.clone(),
                choice: would.choice,
                priority: would.priority,
                open: body.asks.is_some() && would.choice > Choice::Ack,
            });
        }
        let count = self.out.counts.entry((body.choice, would.choice)).or_default();
        *count = count.saturating_add(1);
        if would.choice != body.choice {
            let (was, channel) = ((body.choice, body.reason.clone()), body.channel.clone());
            self.out.changes.push(Change { message: body.message.clone(), channel, was, would, text });
        }
    }
}
