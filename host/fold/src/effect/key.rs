//! The name of an effect: its meaning and what it says, however a retry words it.
//!
//! Always holds: taking the [`meaning`] of what was normalised before changes nothing; the same words to the same
//! place have one meaning, whichever way their characters, white space, mentions and members are written; other
//! words, or another place, have another. Deliberately absent: spelling, case and punctuation, which are what people
//! read as different words.

use event::canon::canonical_digest;
use event::{Digest, EffectId, Origin, TurnId};
use serde_json::Value;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// What ends a line for some reader: Unicode's mandatory breaks (UAX 14, classes BK, CR, LF and NL).
const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// How a mention begins in chat notation: of a person, of a channel, of a group.
const MENTIONS: [&str; 3] = ["<@", "<#", "<!subteam^"];

/// The name of an effect: within one turn (or one duty) the same words to the same place by the same tool are
/// one effect, whichever step or try says them. `meaning` is the [`meaning`] of the arguments.
#[must_use]
pub fn effect_id(origin: &Origin, tool: &str, meaning: &Digest) -> EffectId {
    EffectId::derived(&[&meant_by(origin), tool, meaning.as_str()])
}

/// The name of a send that streams: its words are not known when it begins, so it is the `ordinal`th send of its
/// turn, from 1. The digest of its words is recorded at its end.
#[must_use]
pub fn stream_id(turn: &TurnId, ordinal: u32) -> EffectId {
    EffectId::derived(&[turn.as_str(), "stream", &ordinal.to_string()])
}

/// What words are said for: the whole turn, or the one duty, whoever makes the call within it.
fn meant_by(origin: &Origin) -> String {
    match origin {
        Origin::Step { turn, .. } => turn.to_string(),
        Origin::Duty { .. } => origin.deed(),
        Origin::Child { of, .. } => meant_by(of),
    }
}

/// What the arguments of a call mean: the digest of them [`normal`], or, where white space is part of what is said
/// (`exact`: a file, a program), of them as they are. The order of members never counts.
#[must_use]
pub fn meaning(input: &Value, exact: bool) -> Digest {
    if exact { canonical_digest(input) } else { canonical_digest(&normal(input)) }
}

/// `input` with every text in it in one spelling: Unicode NFC, mentions without the name that some add to them, and
/// white space as one blank or, where it breaks the line, one line end; none around the text.
#[must_use]
pub fn normal(input: &Value) -> Value {
    match input {
        Value::String(text) => Value::String(normal_text(text)),
        Value::Array(items) => Value::Array(items.iter().map(normal).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (name.clone(), normal(field))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => input.clone(),
    }
}

fn normal_text(text: &str) -> String {
    let composed: String = text.nfc().collect();
    one_white_space(&plain_mentions(&composed))
}

/// `<@U1|name>` as `<@U1>`, and so for channels and groups.
fn plain_mentions(text: &str) -> Cow<'_, str> {
    if !MENTIONS.iter().any(|mention| text.contains(mention)) {
        return Cow::Borrowed(text);
    }
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        match mention(from) {
            Some((bare, after)) => {
                plain.push_str(bare);
                plain.push('>');
                rest = after;
            }
            None => {
                plain.push('<');
                rest = from.strip_prefix('<').unwrap_or_default();
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// A mention with a name at the start of `text`: the mention without it and without its end, and what follows.
fn mention(text: &str) -> Option<(&str, &str)> {
    let begins = MENTIONS.iter().find(|begins| text.starts_with(**begins))?;
    let id = text.get(begins.len()..)?;
    let id_end = id.find(|c: char| !c.is_ascii_alphanumeric()).filter(|end| *end > 0)?;
    let name = id.get(id_end..)?.strip_prefix('|')?;
    let name_end = name.find(['<', '>'])?;
    let after = name.get(name_end..)?.strip_prefix('>')?;
    Some((text.get(..begins.len() + id_end)?, after))
}

fn one_white_space(text: &str) -> String {
    let (mut kept, mut gap) = (String::with_capacity(text.len()), None);
    for c in text.chars() {
        if c.is_whitespace() {
            let breaks = LINE_ENDS.contains(&c);
            gap = Some(if breaks || gap == Some('\n') { '\n' } else { ' ' });
            continue;
        }
        if let Some(gap) = gap.take()
            && !kept.is_empty()
        {
            kept.push(gap);
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests;
