//! What is left of a turn in Slack once it has ended: its line of progress goes, a status that nothing replaced is taken
//! back, and whoever asked for a drill is told what would have gone out.

use super::Desk;
use super::duty::{Duty, Told, done, told};
use super::pause;
use crate::live::{PROGRESS, STATUS, opening};
use crate::show::printable_json;
use anyhow::Result;
use converse::{card, live};
use event::{
    EffectId, EffectRecalled, Event, EventId, Fact, Label, Origin, Position, PrincipalId, TurnEnded,
    TurnEnding, TurnOpened,
};
use fold::effect::{EffectRow, Effects, TurnEffects, stream};
use fold::turn::{TurnRow, Turns};
use fold::{Projection, decode};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What the report of a drill is to the gate: the kind of the duty.
const DRILL: &str = "drill";
/// How long a line that is just being posted is waited for, in looks of [`LOOK_MS`].
const LOOKS_MAX: usize = 100;
/// Between two looks, in milliseconds.
const LOOK_MS: u64 = 200;
/// The most effects that a report shows.
const REPORTED_MAX: usize = 10;
/// The most of one effect that a report shows, in characters.
const SHOWN_CHARS_MAX: usize = 900;
/// Events of one call's stream that are read: a try leaves about four.
const STORY_EVENTS_MAX: usize = 256;

/// A turn has ended.
pub(super) async fn ended(desk: &Desk<'_>, event: &Event, body: &TurnEnded) -> Result<()> {
    let Some((opening, opened)) = opening(desk.office, &body.turn).await? else { return Ok(()) };
    if opened.reply_to.as_ref().is_none_or(|reply| card::destination(reply).is_none()) {
        return Ok(());
    }
    if opened.drill {
        // Where the whole office is in a drill, nothing of this would leave either.
        return if desk.office.config.office.drill { Ok(()) } else { reported(desk, event, &opened).await };
    }
    away(desk, event, &opening.id).await?;
    unsaid(desk, event, (&opening.id, &opened), body.ending).await
}

/// A line was found that nobody knew of; the turn may have ended meanwhile.
pub(super) async fn recalled(desk: &Desk<'_>, event: &Event, recalled: &EffectRecalled) -> Result<()> {
    let Some(effect) = desk.office.gate.effect(&recalled.effect).await? else { return Ok(()) };
    let Origin::Duty { event: opened, kind, .. } = &effect.origin else { return Ok(()) };
    if kind != PROGRESS || effect.tool != live::TOOL_PROGRESS {
        return Ok(());
    }
    let record = &desk.office.record;
    let Some(Event { fact: Fact::TurnOpened(body), .. }) = record.event(opened).await? else { return Ok(()) };
    let row: Option<TurnRow> = decode(record.row(Turns.name(), body.turn.as_str()).await?.as_ref());
    if row.is_some_and(|row| row.ending.is_some()) { away(desk, event, opened).await } else { Ok(()) }
}

/// Takes the line away that was put into the thread for a turn's opening.
async fn away(desk: &Desk<'_>, event: &Event, opened: &EventId) -> Result<()> {
    let told = known(desk, opened).await?;
    let at = |key: &str| told.sent.as_ref()?.get(key)?.as_str();
    let (Some(channel), Some(ts)) = (at("channel"), at("ts")) else { return Ok(()) };
    let input = card::where_it_was(json!({ "channel": channel, "ts": ts }), told.input.as_ref());
    done(desk, plain(&event.id, PROGRESS, live::TOOL_PROGRESS_END, input)).await
}

/// What is known of the line; one that is just being posted is waited for.
async fn known(desk: &Desk<'_>, opened: &EventId) -> Result<Told> {
    for _ in 0..LOOKS_MAX {
        let told = told(desk, opened, PROGRESS).await?;
        if !told.is_under_way() || *desk.stop.borrow() {
            return Ok(told);
        }
        pause(LOOK_MS, &mut desk.stop.clone()).await;
    }
    told(desk, opened, PROGRESS).await
}

/// Takes back a status, unless the answer has.
async fn unsaid(
    desk: &Desk<'_>,
    event: &Event,
    (opening, opened): (&EventId, &TurnOpened),
    ending: TurnEnding,
) -> Result<()> {
    if ending == TurnEnding::Answered || told(desk, opening, STATUS).await?.sent.is_none() {
        return Ok(());
    }
    let Some(destination) = opened.reply_to.as_ref().and_then(card::destination) else { return Ok(()) };
    done(desk, plain(&event.id, STATUS, live::TOOL_STATUS, live::said(destination, ""))).await
}

fn plain<'a>(event: &'a EventId, kind: &'static str, tool: &'static str, input: Value) -> Duty<'a> {
    Duty { event, kind, tool, input, topic: None, label: Label::host(), of: BTreeSet::new() }
}

/// What one effect of a drill would have been.
struct Captured {
    tool: String,
    input: Option<Value>,
    label: Label,
    of: BTreeSet<PrincipalId>,
}

/// Tells whoever asked for a drill, and nobody else, what would have gone out.
async fn reported(desk: &Desk<'_>, event: &Event, opened: &TurnOpened) -> Result<()> {
    let record = &desk.office.record;
    let Some(Event { fact: Fact::MessageReceived(message), .. }) = record.event(&opened.woken_by).await?
    else {
        return Ok(());
    };
    if message.author.principal.is_none() {
        return Ok(());
    }
    let listed: Option<Vec<EffectId>> =
        decode(record.row(TurnEffects.name(), opened.turn.as_str()).await?.as_ref());
    let mut captured = Vec::new();
    for effect in listed.unwrap_or_default() {
        captured.extend(one(desk, &effect).await?);
    }
    let place = &message.place;
    let thread = place.thread_ts.as_deref().unwrap_or(&place.ts);
    let input = card::whisper(&place.channel, Some(thread), &message.author.external, &report(&captured));
    let label = captured.iter().fold(event.label.clone(), |label, one| label.join(&one.label));
    let of = captured.into_iter().flat_map(|one| one.of).collect();
    let duty = plain(&event.id, DRILL, card::TOOL_WHISPER, input);
    done(desk, Duty { label, of, topic: Some(opened.topic.clone()), ..duty }).await
}

async fn one(desk: &Desk<'_>, effect: &EffectId) -> Result<Option<Captured>> {
    let record = &desk.office.record;
    let row: Option<EffectRow> = decode(record.row(Effects.name(), effect.as_str()).await?.as_ref());
    let Some(row) = row else { return Ok(None) };
    let story = record.read_stream(&stream(&row.origin), Position(1), STORY_EVENTS_MAX).await?;
    Ok(story.into_iter().rev().find_map(|event| match event.fact {
        Fact::EffectCaptured(body) if body.effect == *effect => Some(Captured {
            tool: body.tool,
            label: event.label,
            of: body.input.subjects().clone(),
            input: body.input.value().cloned(),
        }),
        _ => None,
    }))
}

/// The report, as Markdown: the words of an answer as a quotation, everything else as JSON that nothing in it can end.
fn report(captured: &[Captured]) -> String {
    let mut text = "**This was a drill: nothing was sent or changed.** ".to_owned();
    if captured.is_empty() {
        text.push_str("Nothing would have been.");
        return text;
    }
    text.push_str("This is what would have gone out:\n");
    for (n, one) in captured.iter().take(REPORTED_MAX).enumerate() {
        let said = one.input.as_ref().and_then(|input| input.get("text")).and_then(Value::as_str);
        let shown = match (said, &one.input) {
            (Some(said), _) => {
                let lines = cut(said).lines().map(|line| format!("> {line}")).collect::<Vec<_>>();
                lines.join("\n")
            }
            (None, Some(input)) => {
                let json = serde_json::to_string_pretty(input).unwrap_or_default().replace('`', "\\u0060");
                let lines: Vec<String> = cut(&json).lines().map(printable_json).collect();
                format!("```\n{}\n```", lines.join("\n"))
            }
            (None, None) => event::personal::ERASED.to_owned(),
        };
        let _ = write!(text, "\n{}. `{}`\n\n{shown}\n", n + 1, one.tool);
    }
    if let Some(more) = captured.len().checked_sub(REPORTED_MAX).filter(|more| *more > 0) {
        let _ = write!(text, "\nAnd {more} more; `chancery effect list --turn` shows all of them.");
    }
    text
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Captured, report};
    use event::Label;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    fn captured(tool: &str, input: Value) -> Captured {
        Captured { tool: tool.into(), input: Some(input), label: Label::host(), of: BTreeSet::new() }
    }

    #[test]
    fn a_report_shows_what_would_have_gone_out_and_how_much_more() {
        let one = captured("shredder.erase", json!({"page": "``` Bob"}));
        let two = captured("slack.post", json!({"channel": "C1", "text": "It is\nerased."}));
        let text = report(&[one, two]);
        assert!(text.starts_with("**This was a drill"), "{text}");
        assert!(
            text.contains("1. `shredder.erase`\n\n```\n{\n  \"page\": \"\\u0060\\u0060\\u0060 Bob\"\n}\n```"),
            "{text}"
        );
        assert!(text.contains("2. `slack.post`\n\n> It is\n> erased.\n"), "{text}");
        let many: Vec<Captured> =
            (0..13).map(|n| captured("a.b", json!({"n": n, "text": "x".repeat(5_000)}))).collect();
        let text = report(&many);
        assert!(text.contains("And 3 more") && text.chars().count() < 11_000, "{}", text.len());
        assert!(report(&[]).contains("Nothing would have been"));
    }
}
