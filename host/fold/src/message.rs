//! Messages: one row for each thing said, however often it was delivered; one for each topic; and who spoke about it.

use crate::projection::{Projection, Row, taken};
use event::{
    Event, EventId, Fact, GlobalPosition, MessageEdited, MessageReceived, Place, PlaceKind, PrincipalId,
    Topic, TurnEnding,
};
use serde::{Deserialize, Serialize};

/// The newest messages a topic's row keeps: enough for a context, few enough for a row.
pub const TOPIC_MESSAGES_MAX: usize = 100;

/// The persons that a row of speakers keeps, those who spoke last: twice as many as the messages of a topic that a turn
/// is shown, so that an answer which comes back late still finds everyone it derives from.
pub const SPEAKERS_MAX: usize = 2 * TOPIC_MESSAGES_MAX;

/// A file that came with a message, as its delivery says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Its id in the source.
    pub id: String,
    /// What whoever gave it calls it: their words.
    pub name: String,
    /// Its media type, as the source says.
    pub media_type: String,
    /// Its size in bytes, where the source says it.
    pub bytes: Option<u64>,
}

/// One message, by (team, channel, ts).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRow {
    /// Its `message.received`.
    pub event: EventId,
    /// Whether any delivery of it names the office.
    pub mentions_office: bool,
    /// Its `message.deleted`, once it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<EventId>,
}

/// The rows under [`Place::key`]: what deduplicates deliveries. Holds [`MessageRow`]s.
pub struct Messages;

impl Projection for Messages {
    fn name(&self) -> &'static str {
        "message"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::MessageReceived(body) => vec![body.place.key()],
            Fact::MessageMerged(body) => vec![body.place.key()],
            Fact::MessageDeleted(body) => vec![body.place.key()],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let mut message = taken::<MessageRow>(row);
        match &event.fact {
            Fact::MessageReceived(body) => {
                let mentions_office = body.mentions_office;
                message = Some(MessageRow { event: event.id.clone(), mentions_office, deleted: None });
            }
            Fact::MessageMerged(body) => {
                if let Some(message) = &mut message {
                    message.mentions_office |= body.mentions_office;
                }
            }
            Fact::MessageDeleted(_) => {
                if let Some(message) = &mut message {
                    message.deleted = Some(event.id.clone());
                }
            }
            _ => {}
        }
        message.map(|message| Row::of(&message, None))
    }
}

/// What was said about one topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicRow {
    /// Where it began.
    pub place: Place,
    /// Where its newest messages, and the `turn.ended` of each answer, stand in the record: oldest first, at most
    /// [`TOPIC_MESSAGES_MAX`].
    pub messages: Vec<GlobalPosition>,
    /// The newest edit of each message that was changed; at most [`TOPIC_MESSAGES_MAX`], the newest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<EditRow>,
}

/// The newest edit of one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditRow {
    /// The message.
    pub message: EventId,
    /// Where its `message.edited` stands.
    pub at: GlobalPosition,
    /// When it was changed, as the source says it.
    pub edited: String,
}

impl TopicRow {
    /// Where its messages and their edits stand.
    pub fn positions(&self) -> impl Iterator<Item = GlobalPosition> + '_ {
        self.messages.iter().copied().chain(self.edits.iter().map(|edit| edit.at))
    }

    /// Whether `body` is older than an edit of the same message that is known: deliveries overtake each other.
    #[must_use]
    pub fn is_overtaken(&self, body: &MessageEdited) -> bool {
        let newer = |edit: &EditRow| edit.message == body.message && is_after(&edit.edited, &body.edited);
        self.edits.iter().any(newer)
    }

    fn edit(&mut self, body: &MessageEdited, at: GlobalPosition) {
        if self.is_overtaken(body) {
            return;
        }
        self.edits.retain(|edit| edit.message != body.message);
        self.edits.push(EditRow { message: body.message.clone(), at, edited: body.edited.clone() });
        let surplus = self.edits.len().saturating_sub(TOPIC_MESSAGES_MAX);
        self.edits.drain(..surplus);
    }
}

/// Whether one moment of Slack's, `seconds.micros`, is after another; of those that are not stated nothing is known.
fn is_after(one: &str, other: &str) -> bool {
    let at = |text: &str| -> Option<(u64, u64)> {
        let (seconds, micros) = text.split_once('.')?;
        Some((seconds.parse().ok()?, micros.parse().ok()?))
    };
    at(one).zip(at(other)).is_some_and(|(one, other)| one > other)
}

/// The rows under a [`Topic`]. Holds [`TopicRow`]s.
pub struct Topics;

/// The topic that gets a message of somebody or an edit of one, with its place, or an answer of the office.
fn topic_of(event: &Event) -> Option<(Topic, Option<&Place>)> {
    match &event.fact {
        Fact::MessageReceived(body) => body.place.topic().map(|topic| (topic, Some(&body.place))),
        Fact::MessageEdited(body) => body.place.topic().map(|topic| (topic, Some(&body.place))),
        Fact::TurnEnded(body) if body.ending == TurnEnding::Answered => Some((body.topic.clone(), None)),
        _ => None,
    }
}

impl Projection for Topics {
    fn name(&self) -> &'static str {
        "topic"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        topic_of(event).map(|(topic, _)| topic.as_str().to_owned()).into_iter().collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let (_, place) = topic_of(event)?;
        let began =
            || place.map(|place| TopicRow { place: place.clone(), messages: Vec::new(), edits: Vec::new() });
        // An answer about what nobody said has no place to stand in.
        let mut topic: TopicRow = taken(row).or_else(began)?;
        if let Fact::MessageEdited(body) = &event.fact {
            topic.edit(body, event.global_position);
            return Some(Row::of(&topic, None));
        }
        topic.messages.push(event.global_position);
        let surplus = topic.messages.len().saturating_sub(TOPIC_MESSAGES_MAX);
        topic.messages.drain(..surplus);
        Some(Row::of(&topic, None))
    }
}

/// The persons whose words stand in one conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpeakersRow {
    /// Whoever spoke last stands last; at most [`SPEAKERS_MAX`].
    pub persons: Vec<PrincipalId>,
}

/// The rows under a [`Topic`], and under [`conversation`] of a direct message, where an answer hangs in no thread:
/// whose words a program's message there may repeat. Holds [`SpeakersRow`]s.
pub struct Speakers;

/// Key of a conversation as a whole.
#[must_use]
pub fn conversation(place: &Place) -> String {
    format!("{}:{}", place.team, place.channel)
}

fn speaks_in(body: &MessageReceived) -> Vec<String> {
    if body.text.subjects().is_empty() {
        return Vec::new();
    }
    let topic = body.place.topic().map(|topic| topic.as_str().to_owned());
    let whole = (body.place.kind == PlaceKind::Im).then(|| conversation(&body.place));
    topic.into_iter().chain(whole).collect()
}

impl Projection for Speakers {
    fn name(&self) -> &'static str {
        "speaker"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::MessageReceived(body) => speaks_in(body),
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let Fact::MessageReceived(body) = &event.fact else { return row };
        let mut speakers: SpeakersRow = taken(row).unwrap_or_default();
        speakers.persons.retain(|person| !body.text.subjects().contains(person));
        speakers.persons.extend(body.text.subjects().iter().cloned());
        let surplus = speakers.persons.len().saturating_sub(SPEAKERS_MAX);
        speakers.persons.drain(..surplus);
        Some(Row::of(&speakers, None))
    }
}
