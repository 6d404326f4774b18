//! What arrives from people, as facts.

use crate::{EventId, Personal, PrincipalId, SeatId, Topic};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something arrived from outside, exactly as it came, after its signature was checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryReceived {
    /// Where from: `slack` or `terminal`.
    pub source: String,
    /// Its outer type, such as `event_callback`, `block_actions`, `slash_command`.
    pub kind: String,
    /// The type of the inner event, such as `message`; empty when there is none.
    pub event: String,
    /// The subtype of the inner event, such as `message_changed`; empty when there is none.
    pub subtype: String,
    /// The sender's own name for it, such as Slack's `event_id`; empty when it has none.
    pub external_id: String,
    /// How often the sender tried before; Slack's `x-slack-retry-num`.
    pub retry: u32,
    /// The whole payload. Of everyone who said something in it.
    pub payload: Personal<Value>,
}

/// What an arrival asks of the office.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Somebody addresses the office: a mention, a direct message, a name at the start.
    Explicit,
    /// Said in a place where the office might speak unasked.
    Passive,
    /// Kept for context, never answered.
    Context,
    /// Not for the office: its own and other bots' messages, types that ask nothing.
    Ignored,
}

/// What a delivery asks, and why. The reason is a stable word of `converse`'s drop ladder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryClassified {
    /// The delivery.
    pub delivery: EventId,
    /// The message it carried, when it carried one.
    pub message: Option<EventId>,
    /// Its class.
    pub class: Class,
    /// Which rung of the ladder decided, such as `mention`, `own-message`, `unsupported-subtype`.
    pub reason: String,
    /// The topic, when the delivery belongs to one.
    pub topic: Option<Topic>,
    /// The seat it asks, when it asks one.
    pub asks: Option<SeatId>,
}

/// What kind of place something was said in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// A channel that any member of the workspace may join.
    Channel,
    /// A private channel.
    Group,
    /// A direct message of several people.
    Mpim,
    /// A direct message with the office.
    Im,
    /// A terminal session.
    Terminal,
    /// The sender did not say.
    Unknown,
}

/// Where something was said, and under what it hangs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// What kind of place.
    pub kind: PlaceKind,
    /// The workspace, `T…`; `local` for a terminal.
    pub team: String,
    /// The conversation, `C…`, `G…`, `D…`; the session's name for a terminal.
    pub channel: String,
    /// The message's own timestamp: unique within the channel only.
    pub ts: String,
    /// The timestamp of the thread's first message, when the message hangs in a thread.
    pub thread_ts: Option<String>,
}

impl Place {
    /// The topic of what is said here: the thread, which a message of its own begins.
    #[must_use]
    pub fn topic(&self) -> Option<Topic> {
        let root = self.thread_ts.as_deref().unwrap_or(&self.ts);
        let source = if self.kind == PlaceKind::Terminal { "terminal" } else { "slack" };
        Topic::parse(&format!("{source}:{}:{}:{root}", self.team, self.channel)).ok()
    }

    /// What a message here is deduplicated by: (team, channel, ts).
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}:{}:{}", self.team, self.channel, self.ts)
    }
}

/// Who said it. Ids only: names are never keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The principal, when the sender is a person.
    pub principal: Option<PrincipalId>,
    /// The sender's id in the source, such as Slack's `U…` or `B…`; empty when there is none.
    pub external: String,
    /// Whether a program said it.
    pub bot: bool,
}

/// Somebody said something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageReceived {
    /// Where.
    pub place: Place,
    /// Who.
    pub author: Author,
    /// What, in the source's own notation. Of its author.
    pub text: Personal<String>,
    /// Whether the text or the delivery names the office itself.
    pub mentions_office: bool,
    /// Subtype of the source; empty for a plain message.
    pub subtype: String,
}

/// A second delivery of the same message said more about it: `message` and `app_mention` come in either order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageMerged {
    /// The message that stands.
    pub message: EventId,
    /// Where it was said.
    pub place: Place,
    /// The inner event type of the second delivery.
    pub via: String,
    /// Whether the second delivery names the office itself.
    pub mentions_office: bool,
}

/// Somebody changed what they had said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEdited {
    /// The message that was changed.
    pub message: EventId,
    /// Where it stands.
    pub place: Place,
    /// Who changed it.
    pub author: Author,
    /// What it says now, in the source's own notation. Of its author.
    pub text: Personal<String>,
    /// When, as the source says it, such as Slack's `edited.ts`; empty when it does not.
    pub edited: String,
}

/// A message was taken back. Slack does not say by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageDeleted {
    /// The message.
    pub message: EventId,
    /// Where it stood.
    pub place: Place,
}
