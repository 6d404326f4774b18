//! Whether the office speaks, as facts: what a message was worth, in which mode, and what was decided.

use crate::{Class, EventId, PrincipalId, SeatId, Topic};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How readily the office speaks unasked in a channel; ordered, the quieter first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Never: it answers whoever addresses it.
    #[default]
    Quiet,
    /// When it is quite sure that it helps.
    Reserved,
    /// When it probably helps.
    Proactive,
    /// Whenever it may help.
    Eager,
}

impl Mode {
    /// Every mode, the quieter first.
    pub const ALL: [Self; 4] = [Self::Quiet, Self::Reserved, Self::Proactive, Self::Eager];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Reserved => "reserved",
            Self::Proactive => "proactive",
            Self::Eager => "eager",
        }
    }

    /// The mode of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What the office does about a message; ordered, the quieter first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Nothing.
    Pass,
    /// An emoji on the message.
    Ack,
    /// It looks first, and speaks only when it found something.
    Investigate,
    /// It answers.
    Answer,
}

impl Choice {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Ack => "ack",
            Self::Investigate => "investigate",
            Self::Answer => "answer",
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How pressing it is to speak; ordered, the less pressing first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// It can wait for a quiet moment.
    Low,
    /// Neither.
    Normal,
    /// It cannot wait.
    Urgent,
    /// Somebody addressed the office, or goes on talking with it.
    Summons,
}

impl Priority {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::Urgent => "urgent",
            Self::Summons => "summons",
        }
    }
}

/// What a small model says of one message, each from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scores {
    /// How much the office could help.
    pub usefulness: u8,
    /// How sure it is that it would be right.
    pub confidence: u8,
    /// How much is lost by waiting.
    pub urgency: u8,
    /// How much of what it would say is known, said or beside the point.
    pub noise: u8,
    /// How much speaking now would disturb.
    pub interruption_cost: u8,
    /// How much looking something up would tell.
    pub investigation_value: u8,
    /// How well an emoji alone would do.
    pub reaction_fit: u8,
}

/// What else is known about a message when it is decided on; all of it follows from the record, but for the two
/// that the model says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signs {
    /// It goes on right after an answer of the office, by the person who was answered.
    pub follows_office: bool,
    /// It mentions other persons, and not the office.
    pub names_others: bool,
    /// Somebody else has spoken in its thread since.
    pub replied_to: bool,
    /// The model says that it has been answered.
    pub answered: bool,
    /// The model says that it is meant for somebody else.
    pub for_others: bool,
    /// Its thread is muted.
    pub muted: bool,
    /// A turn of the office about it is open.
    pub turn_open: bool,
    /// A program said it.
    pub by_program: bool,
    /// How often in a row programs got the office to speak in its thread, without a person in between.
    pub hops: u32,
}

/// What each choice weighs, from 0 to 100, and the formula's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighed {
    /// Which formula: its number goes up whenever a figure in it changes.
    pub formula: u16,
    /// Of an answer.
    pub answer: u8,
    /// Of an investigation.
    pub investigate: u8,
    /// Of an emoji.
    pub ack: u8,
}

/// From where on a choice is made, each from 0 to 100; above 100 is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Of an answer.
    pub answer: u8,
    /// Of an investigation.
    pub investigate: u8,
    /// Of an emoji.
    pub ack: u8,
    /// The least confidence of an answer.
    pub confidence: u8,
}

/// How often the office spoke unasked in a channel within the hour before, and what was free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Everything.
    pub all: u32,
    /// With priority summons.
    pub summons: u32,
    /// With priority urgent or normal.
    pub general: u32,
    /// With priority low.
    pub low: u32,
    /// Investigations.
    pub investigations: u32,
    /// Investigations that still hold a slot.
    pub investigating: u32,
    /// Emoji.
    pub acks: u32,
    /// Since it last spoke unasked, in milliseconds; nothing when it has not.
    pub since_spoken_ms: Option<i64>,
    /// Since a person last spoke there before this message, in milliseconds; nothing when nobody has.
    pub since_person_ms: Option<i64>,
}

/// What is done about one message, and all that decided it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriageDecided {
    /// The message.
    pub message: EventId,
    /// The class it had.
    pub class: Class,
    /// What it is about.
    pub topic: Topic,
    /// The conversation: workspace and channel, `T1:C1`.
    pub channel: String,
    /// The mode of the channel.
    pub mode: Mode,
    /// What the model said; nothing when it was not asked or did not say.
    pub scores: Option<Scores>,
    /// What else was known.
    pub signs: Signs,
    /// What each choice weighed; nothing without scores.
    pub weighed: Option<Weighed>,
    /// From where on each choice would be made.
    pub thresholds: Thresholds,
    /// How pressing it was.
    pub priority: Priority,
    /// How often the office had spoken there.
    pub spent: Spent,
    /// Which rule decided: a stable word.
    pub reason: String,
    /// What was decided.
    pub choice: Choice,
    /// The emoji of an [`Choice::Ack`].
    pub emoji: Option<String>,
    /// The seat it asks, when it asks one.
    pub asks: Option<SeatId>,
}

/// A channel has another mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeSet {
    /// The conversation: workspace and channel, `T1:C1`.
    pub channel: String,
    /// The mode.
    pub mode: Mode,
    /// Why.
    pub reason: String,
}

/// A thread does not want the office to speak unasked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicMuted {
    /// The thread.
    pub topic: Topic,
    /// Who said so, with an emoji.
    pub by: PrincipalId,
    /// The delivery of that.
    pub delivery: EventId,
}

/// A thread is no longer muted by somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicUnmuted {
    /// The thread.
    pub topic: Topic,
    /// Who took it back.
    pub by: PrincipalId,
    /// The delivery of that.
    pub delivery: EventId,
}

/// The emoji that a workspace made itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmojiListed {
    /// The workspace.
    pub team: String,
    /// Their names, in order, without colons.
    pub names: Vec<String>,
}
