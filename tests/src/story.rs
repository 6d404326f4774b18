//! The record as a snapshot: one event a line, with what differs from run to run replaced by small names.

use event::{Event, Fact};
use std::collections::BTreeMap;

/// The events as lines: kind and what it says, with ids, digests, ports and times named in order of
/// appearance.
pub fn told(events: &[Event]) -> String {
    let mut names = Names::default();
    events.iter().map(|event| names.line(event) + "\n").collect()
}

/// The events that follow from people: without the settings of the office.
pub fn after_settings(events: Vec<Event>) -> Vec<Event> {
    let start = events.iter().position(|event| matches!(event.fact, Fact::ConnectionIdentified(_)));
    events.into_iter().skip(start.map_or(0, |at| at + 1)).collect()
}

#[derive(Default)]
struct Names {
    given: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Names {
    fn line(&mut self, event: &Event) -> String {
        let said = undated(&app::show::summary(&event.fact));
        let words: Vec<String> = split(&said).into_iter().map(|word| self.name(word)).collect();
        format!("{:<22} {}", event.fact.kind(), words.concat())
    }

    fn name(&mut self, word: &str) -> String {
        let Some(kind) = kind_of(word) else { return word.to_owned() };
        if let Some(name) = self.given.get(word) {
            return name.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let name = format!("<{kind} {count}>");
        self.given.insert(word.to_owned(), name.clone());
        name
    }
}

/// `text` with `2026-11-30` as `<day>` and `2026-11` as `<month>`.
fn undated(text: &str) -> String {
    let mut dated = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let fits = |pattern: &str| {
            rest.len() >= pattern.len()
                && rest
                    .bytes()
                    .zip(pattern.bytes())
                    .all(|(b, p)| if p == b'0' { b.is_ascii_digit() } else { b == p })
        };
        let (name, length) = if fits("0000-00-00") {
            ("<day>", 10)
        } else if fits("0000-00") {
            ("<month>", 7)
        } else {
            dated.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        dated.push_str(name);
        rest = &rest[length..];
    }
    dated
}

/// Words and what stands between them.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while !rest.is_empty() {
        let first = rest.chars().next().is_some_and(inside);
        let end = rest.find(|c| inside(c) != first).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
    parts
}

fn kind_of(word: &str) -> Option<&'static str> {
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    for kind in ["evt", "turn", "hold", "effect", "receipt"] {
        let rest = word.strip_prefix(kind).and_then(|rest| rest.strip_prefix('_'));
        if rest.is_some_and(|rest| rest.len() == 26) {
            return Some(kind);
        }
    }
    match word.len() {
        12 | 64 if hex(word) => Some("digest"),
        5 if word.bytes().all(|b| b.is_ascii_digit()) => Some("port"),
        _ => None,
    }
}
