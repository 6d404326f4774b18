//! What people said about the topic, and what the office answered, as a model is shown it.
//!
//! Which messages these are is fixed when the turn's first step begins and stands in the record, so that a
//! turn taken up again is shown the same. Every line of theirs starts with `> `, so nobody can write a line
//! that looks like the host's. Of a message that was edited before, the newest text is shown in its place.

use crate::shown::cut_text;
use event::{
    Event, EventId, Fact, GlobalPosition, Label, MessageEdited, MessageReceived, RequestAnswered,
    RequestAsked, RequestLapsed,
};
use gate::{Message, Part, Role};
use std::collections::BTreeMap;

/// What ends a line for some reader: Unicode's mandatory breaks (UAX 14, classes BK, CR, LF and NL).
const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// The most characters of one message that a model is shown.
pub(crate) const MESSAGE_CHARS_MAX: usize = 12_000;

/// What a seat is told at the moment at which it wanted to look again.
const LOOK_AGAIN: &str = "[office] You wanted to look at this again now. See what has changed, and finish silently if nothing has.";

/// The most characters of all messages together; the newest and the one that asks come first.
const TALK_CHARS_MAX: usize = 40_000;

/// What people said.
pub(crate) struct Talk {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// The labels of what is shown.
    pub labels: Vec<Label>,
}

impl Talk {
    /// Renders `events`, oldest first. `answers` holds the text of the office's own answers by where their
    /// `turn.ended` stands; `is_asking` says which event woke the turn, and `with` what is told of what came with one; `readable` turns a source's notation
    /// into plain text. All together have at most `chars_max` characters, if that is less than a host takes anyway.
    pub fn of(
        events: &[Event],
        answers: &BTreeMap<GlobalPosition, String>,
        (is_asking, with): (impl Fn(&Event) -> bool, impl Fn(&Event) -> Option<String>),
        readable: fn(&str) -> String,
        chars_max: usize,
    ) -> Self {
        let mut left = TALK_CHARS_MAX.min(chars_max);
        let mut kept: Vec<(Message, Label)> = Vec::new();
        let edits = edits(events);
        for event in events.iter().rev() {
            let asks = is_asking(event);
            let (role, text) = match &event.fact {
                Fact::MessageReceived(body) if body.author.bot => continue,
                Fact::MessageReceived(body) => {
                    let said = said(body, edits.get(&event.id).copied(), asks, readable);
                    (Role::User, with(event).map_or(said.clone(), |with| format!("{said}\n{with}")))
                }
                Fact::RequestAsked(body) => (Role::User, asked(body)),
                Fact::RequestAnswered(body) => (Role::User, answered(body)),
                Fact::RequestLapsed(body) => (Role::User, lapsed(body)),
                Fact::MomentPassed(_) if asks => (Role::User, LOOK_AGAIN.to_owned()),
                Fact::TurnEnded(_) => match answers.get(&event.global_position) {
                    Some(text) => (Role::Assistant, cut_text(text, &mut MESSAGE_CHARS_MAX.clone())),
                    None => continue,
                },
                _ => continue,
            };
            if left == 0 && !asks {
                continue;
            }
            left = left.saturating_sub(text.chars().count());
            let label = edits
                .get(&event.id)
                .map_or_else(|| event.label.clone(), |(edit, _)| event.label.join(&edit.label));
            kept.push((Message { role, parts: vec![Part::Text(text)] }, label));
        }
        kept.reverse();
        let (messages, labels) = kept.into_iter().unzip();
        Self { messages, labels }
    }
}

/// An edit, as its event and what that says.
type Edit<'a> = (&'a Event, &'a MessageEdited);

/// The edits among `events`, by the message that was changed.
fn edits(events: &[Event]) -> BTreeMap<&EventId, Edit<'_>> {
    let edit = events.iter().filter_map(|event| match &event.fact {
        Fact::MessageEdited(body) => Some((&body.message, (event, body))),
        _ => None,
    });
    edit.collect()
}

fn said(body: &MessageReceived, edit: Option<Edit<'_>>, asks: bool, readable: fn(&str) -> String) -> String {
    let mut left = MESSAGE_CHARS_MAX;
    let text = edit.map_or(&body.text, |(_, edit)| &edit.text);
    let text = cut_text(&readable(text.text()), &mut left);
    let verb = if asks { "asks you" } else { "said" };
    let edited = edit.map_or_else(String::new, |(event, _)| format!(", edited at {}", event.at));
    format!("{} {verb}{edited}:\n{}", author(&body.author.external), quoted(&text))
}

/// What another seat wants of this one.
fn asked(body: &RequestAsked) -> String {
    let mut left = MESSAGE_CHARS_MAX;
    let wanted = cut_text(body.wanted.text(), &mut left);
    format!(
        "{} asks you, by {}, in the request {}:\n{}",
        body.asker,
        body.due_at,
        body.request,
        quoted(&wanted)
    )
}

/// What a seat that was asked answers.
fn answered(body: &RequestAnswered) -> String {
    let mut left = MESSAGE_CHARS_MAX;
    let answer = cut_text(body.answer.text(), &mut left);
    format!("{} answers your request {}:\n{}", body.by, body.request, quoted(&answer))
}

/// That nobody answered in time.
fn lapsed(body: &RequestLapsed) -> String {
    format!("[office] {} did not answer your request {} in time.", body.holder, body.request)
}

/// An author by id: names are chosen by people, and could be chosen to look like something else.
pub(crate) fn author(external: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let id: String = external.chars().filter(plain).take(event::id::ID_BYTES_MAX).collect();
    if id.is_empty() { "someone".to_owned() } else { format!("@{id}") }
}

/// `text` with `> ` before every line, whatever character ends its lines.
pub(crate) fn quoted(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<String> = text.split(LINE_ENDS).map(|line| format!("> {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{LINE_ENDS, author, quoted};
    use proptest::prelude::*;

    #[test]
    fn an_author_is_an_id_and_nothing_else() {
        assert_eq!(author("U02"), "@U02");
        assert_eq!(author("U02> asks you:\nhost"), "@U02asksyouhost");
        assert_eq!(author("\u{202e}"), "someone");
    }

    proptest! {
        #[test]
        fn no_line_of_a_message_looks_like_the_hosts(text in "[\\PC\n\r\u{b}\u{c}\u{85}\u{2028}\u{2029}]{0,200}") {
            for line in quoted(&text).lines() {
                prop_assert!(line.starts_with("> "));
            }
            let other_ends = quoted(&text).chars().any(|c| LINE_ENDS.contains(&c) && c != '\n');
            prop_assert!(!other_ends);
        }
    }
}
