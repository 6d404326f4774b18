//! The story as the record tells it, one line an event that a person would care about.
//!
//! Texts from outside are printed with their control characters made visible. Deliberately absent: what
//! `chancery turn show` prints in full, such as policies, digests and labels.

use serde_json::Value;

use super::read::{Record, text};
use super::story::name_of;

/// The most characters of one text: the answer of the story is shown whole.
const TEXT_CHARS_MAX: usize = 1_000;

/// What the further lines of an answer stand under: no text from outside begins a line of its own.
const ANSWER_INDENT: &str = "\n                            ";

/// The lines of the story.
pub fn story(record: &Record) -> Vec<String> {
    record.all().iter().filter_map(|event| line(record, event)).collect()
}

fn line(record: &Record, event: &Value) -> Option<String> {
    let what = match text(event, "/kind") {
        "message.received" => {
            let (who, place) = (named(event, "/body/author/external"), named(event, "/body/place/channel"));
            format!("{who} in {place}: {}", shown(text(event, "/body/text")))
        }
        "delivery.classified" => classified(record, event)?,
        "turn.opened" => format!("{} opens {}", text(event, "/body/seat"), text(event, "/body/turn")),
        "step.started" => started(event),
        "receipt.recorded" => receipt(event),
        "call.denied" => format!("        denied: {}", shown(text(event, "/body/reason"))),
        "call.refused" => format!("        refused: {}", shown(text(event, "/body/reason"))),
        "hold.settled" => {
            let (held, charged) = (dollars(event, "/body/held"), dollars(event, "/body/charged"));
            format!("        {held} held, {charged} charged")
        }
        "effect.sent" => {
            let intent = record.with("effect.intended", "effect", text(event, "/body/effect")).next();
            let said = intent.map(|i| text(i, "/body/input/text")).unwrap_or_default();
            format!("        sent: {}", said.lines().map(shown).collect::<Vec<_>>().join(ANSWER_INDENT))
        }
        "effect.failed" | "effect.left-unknown" => {
            format!("        not sent: {}", shown(text(event, "/body/reason")))
        }
        "turn.ended" => format!("{} ends: {}", text(event, "/body/turn"), text(event, "/body/ending")),
        _ => return None,
    };
    Some(format!("{}  {what}", time_of_day(event)))
}

/// Only what an arrival with a message asks; what a second delivery repeats is not told again.
fn classified(record: &Record, event: &Value) -> Option<String> {
    let message = record.event(text(event, "/body/message"))?;
    let first = record.classes_of(message).next()?;
    let again = if text(first, "/id") == text(event, "/id") { "" } else { ", delivered again," };
    let who = named(message, "/body/author/external");
    Some(format!(
        "        what {who} said{again} is {} ({})",
        text(event, "/body/class"),
        text(event, "/body/reason")
    ))
}

/// What a read left behind, and for which duty when it was no step of a turn.
fn receipt(event: &Value) -> String {
    let (address, sha256) = (shown(text(event, "/body/address")), text(event, "/body/sha256"));
    let said = format!("receipt of {address}, sha256 {}…", sha256.get(..12).unwrap_or_default());
    let duty = text(event, "/body/origin/duty/kind");
    if duty.is_empty() { format!("        {said}") } else { format!("duty `{duty}`: {said}") }
}

fn started(event: &Value) -> String {
    let number = event.pointer("/body/step").and_then(Value::as_u64).unwrap_or_default();
    let tool = text(event, "/body/tool");
    let detail = match text(event, "/body/kind") {
        "infer" => "asked for the next step".to_owned(),
        "tool" => shown(&event.pointer("/body/input").map(Value::to_string).unwrap_or_default()),
        _ => "the answer".to_owned(),
    };
    format!("    {number}.  {tool}: {detail}")
}

fn named(event: &Value, pointer: &str) -> String {
    let id = text(event, pointer);
    name_of(id).unwrap_or_else(|| shown(id))
}

/// An amount in nano-USD as dollars, without trailing zeros.
fn dollars(event: &Value, pointer: &str) -> String {
    let nano: u64 = text(event, pointer).parse().unwrap_or_default();
    let part = format!("{:09}", nano % 1_000_000_000);
    format!("${}.{}", nano / 1_000_000_000, part.trim_end_matches('0'))
}

/// Hours, minutes, seconds and milliseconds, UTC.
fn time_of_day(event: &Value) -> String {
    let ms = event.pointer("/at").and_then(Value::as_u64).unwrap_or_default() % 86_400_000;
    format!("{:02}:{:02}:{:02}.{:03}", ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000)
}

/// `text` on one line, safe to print.
pub fn shown(text: &str) -> String {
    cut(text, TEXT_CHARS_MAX)
}

/// The first `chars_max` characters of `text` on one line, safe to print.
pub fn cut(text: &str, chars_max: usize) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut line = String::new();
    for c in text.chars().take(chars_max) {
        if hidden(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    if text.chars().count() > chars_max {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_time_the_people_and_what_was_said() {
        let lines = r#"{"kind":"message.received","at":1796058667558,"id":"evt_1","body":{"author":{"external":"U01BOB"},"place":{"channel":"C01RANDOM"},"text":"lunch\u001b[2J?"}}
{"kind":"hold.settled","at":1796058667559,"body":{"held":"1500000","charged":"20"}}
{"kind":"node.started","at":1,"body":{}}"#;
        let told = story(&Record::parse(lines).unwrap());
        assert_eq!(
            told,
            [
                "17:11:07.558  bob in #random: lunch\\u{1b}[2J?",
                "17:11:07.559          $0.0015 held, $0.00000002 charged"
            ]
        );
    }
}
