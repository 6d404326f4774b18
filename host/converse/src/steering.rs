//! What a message into a running turn asks of it: nothing, more to know, another thing, or to stop.
//!
//! Plain code and tables of words, in many languages; no model is asked, so that stopping works when nothing else
//! does. A stop is a message that says stop and nothing else: "stop" stops, "stop words are …" does not. Whatever
//! the tables do not know adds to what the turn knows, which loses nothing.
//!
//! Deliberately absent: who may (the caller knows the asker), and any look at the turn itself.

mod change;
mod follow;
pub(crate) mod plain;
mod words;

pub use follow::{STEERING_CURSOR, Steerers, is_steered, steer};

use crate::steering::plain::{is_whole, leads_with, mentions_word, plain};
use crate::steering::words::{ACKNOWLEDGEMENTS, AROUND, CORRECTIONS_ANYWHERE, CORRECTIONS_FIRST, STOPS};
use event::Steering;

/// The longest message that can be a stop or an acknowledgement, in characters: nobody stops anybody in a paragraph.
const SHORT_CHARS_MAX: usize = 80;

/// What a message does to a running turn, and why, as far as its words say. `readable` is its text as a person reads
/// it, without the name of the office.
#[must_use]
pub fn steering(readable: &str) -> (Steering, &'static str) {
    if readable.trim().is_empty() || crate::notation::is_emoji_only(readable) {
        return (Steering::Ignore, "no-words");
    }
    let text = plain(readable);
    let short = text.chars().count() <= SHORT_CHARS_MAX;
    if short && is_whole(&text, STOPS, AROUND) {
        return (Steering::Stop, "stop-word");
    }
    if short && is_whole(&text, ACKNOWLEDGEMENTS, AROUND) {
        return (Steering::Ignore, "acknowledgement");
    }
    if leads_with(&text, CORRECTIONS_FIRST) || mentions_word(&text, CORRECTIONS_ANYWHERE) {
        return (Steering::Replace, "correction");
    }
    (Steering::Append, "said")
}

/// What `steering` comes to for somebody who may or may not stop and replace.
#[must_use]
pub fn allowed((steering, reason): (Steering, &'static str), may: bool) -> (Steering, &'static str) {
    match steering {
        // It is still said, and the turn reads it as what somebody else thinks.
        Steering::Stop | Steering::Replace if !may => (Steering::Append, "not-asker"),
        _ => (steering, reason),
    }
}

#[cfg(test)]
mod tests;
