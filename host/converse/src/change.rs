//! Messages that somebody changed or took back after they were said.
//!
//! Slack tells of a change for many reasons: a link that was unfolded, a reply that was counted. Only another text is an
//! edit. A message with answers under it that is taken back is no `message_deleted` but a change: its place is kept by a
//! stone of Slack's own.
//!
//! Deliberately absent: any sense of what a changed word means. Where letters or figures differ, it is another text.

use crate::arrival::Arrival;
use crate::readable;
use event::{Author, ConnectionIdentified, Personal, Place};
use serde_json::Value;

/// Subtype of what stands where a message with answers was taken back.
const STONE: &str = "tombstone";
/// How much later than its delivery was made an edit may say to be, in seconds: clocks differ.
const AHEAD_S_MAX: u64 = 60;
/// Marks that say nothing where they end a word of letters alone: a figure's point is none of them.
const CLOSING: [char; 12] = ['.', ',', ';', ':', '!', '?', '…', '。', '、', '！', '？', '，'];

/// What somebody made of a message of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where it stands.
    pub place: Place,
    /// Who said it.
    pub author: Author,
    /// What it says now, in the source's own notation.
    pub text: Personal<String>,
    /// When it was changed, as the source says it; empty when it does not.
    pub edited: String,
}

impl Arrival<'_> {
    /// Whether it says that a message was taken back.
    #[must_use]
    pub fn takes_back(&self) -> bool {
        let payload = self.delivery.payload.json();
        let stone = || payload.pointer("/event/message/subtype").and_then(Value::as_str) == Some(STONE);
        match self.delivery.subtype.as_str() {
            "message_deleted" => true,
            "message_changed" => stone(),
            _ => false,
        }
    }

    /// Where a message was that a person took back.
    #[must_use]
    pub fn deletion(&self, own: Option<&ConnectionIdentified>) -> Option<Place> {
        let sender = self.sender();
        let theirs =
            !own.is_some_and(|own| sender.is_office(own)) && (!sender.is_program || sender.is_slack());
        self.place().filter(|_| self.is_message() && self.takes_back() && theirs)
    }

    /// The edit it tells of, when a person gave a message of theirs another text.
    #[must_use]
    pub fn edit(&self, own: Option<&ConnectionIdentified>) -> Option<Edit> {
        let is_change = self.is_message() && self.delivery.subtype == "message_changed" && !self.takes_back();
        if !is_change || self.leaves_text() {
            return None;
        }
        let place = self.place()?;
        place.topic()?;
        let author = self.author(&place, own);
        if author.bot || author.external.is_empty() {
            return None;
        }
        // Only its author can give a message another text; of words that somebody else put there, nobody knows whose they are.
        let by = self.subject().pointer("/edited/user").and_then(Value::as_str);
        if by.is_some_and(|by| by != author.external) {
            return None;
        }
        let edited = self.subject().pointer("/edited/ts").and_then(Value::as_str).unwrap_or_default();
        // A moment that was not yet when Slack sent this would stand before every later edit.
        let sent = self.delivery.payload.json().pointer("/event_time").and_then(Value::as_u64);
        let at = edited.split('.').next().and_then(|seconds| seconds.parse::<u64>().ok());
        let is_ahead = at.zip(sent).is_some_and(|(at, sent)| at > sent.saturating_add(AHEAD_S_MAX));
        let edited = if is_ahead { "" } else { edited };
        Some(Edit {
            text: Personal::of(self.text().to_owned(), author.principal.clone()),
            author,
            place,
            edited: edited.to_owned(),
        })
    }
}

/// Whether two texts differ in nothing but white space, capitals and marks that close a word of letters: the same letters and
/// figures stand in both.
pub(crate) fn is_slight(before: &str, now: &str) -> bool {
    let (before, now) = (readable(before), readable(now));
    before.split_whitespace().map(bare).eq(now.split_whitespace().map(bare))
}

/// A word without capitals, and without closing marks where it has letters alone: `3.` and `v1.` may go on.
fn bare(word: &str) -> String {
    let open = word.trim_end_matches(CLOSING);
    let word = if !open.is_empty() && open.chars().all(char::is_alphabetic) { open } else { word };
    word.to_lowercase()
}

#[cfg(test)]
mod tests;
