//! Conversations: what was said lately in each, and how often the office spoke there unasked; and what was decided
//! about each message.
//!
//! An entry of the office's own counts until it is an hour old; one whose turn ended silently was no interruption,
//! and is given back.

use crate::projection::{Projection, Row, decode};
use event::{
    Choice, Class, Event, EventId, Fact, GlobalPosition, PlaceKind, Priority, Spent, Timestamp, Topic,
    TurnEnding,
};
use serde::{Deserialize, Serialize};

/// The newest messages that a row keeps: as many as triage is shown.
pub const CHANNEL_MESSAGES_MAX: usize = 20;
/// How long what the office said unasked counts, in milliseconds.
pub const HOUR_MS: i64 = 3_600_000;
/// The entries of the office's own that a row keeps: several times as many as any mode allows within an hour.
pub const SPOKEN_MAX: usize = 128;
/// How long an investigation holds its slot at most, in milliseconds: longer than an investigation takes, and an end
/// to one whose turn never ends.
pub const SLOT_MS_MAX: i64 = 600_000;

/// Something the office did unasked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spoken {
    /// When it was decided.
    pub at: Timestamp,
    /// What about.
    pub topic: Topic,
    /// What.
    pub choice: Choice,
    /// How pressing.
    pub priority: Priority,
    /// Whether its turn may still run.
    pub open: bool,
}

/// One conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelRow {
    /// Where its newest messages stand in the record, oldest first.
    pub messages: Vec<GlobalPosition>,
    /// When persons spoke last, and before that.
    pub persons_at: Vec<Timestamp>,
    /// What the office did unasked, oldest first.
    pub spoken: Vec<Spoken>,
}

impl ChannelRow {
    /// How often the office spoke within the hour before `now`; the newest message of a person is the one that is
    /// decided on.
    #[must_use]
    pub fn spent(&self, now: Timestamp) -> Spent {
        let mut spent = Spent::default();
        for one in self.spoken.iter().filter(|one| now.since_ms(one.at) < HOUR_MS) {
            let is_ack = one.choice == Choice::Ack;
            if is_ack {
                spent.acks = spent.acks.saturating_add(1);
                continue;
            }
            spent.all = spent.all.saturating_add(1);
            let of = match one.priority {
                Priority::Summons => &mut spent.summons,
                Priority::Urgent | Priority::Normal => &mut spent.general,
                Priority::Low => &mut spent.low,
            };
            *of = of.saturating_add(1);
            if one.choice == Choice::Investigate {
                spent.investigations = spent.investigations.saturating_add(1);
                let holds = one.open && now.since_ms(one.at) < SLOT_MS_MAX;
                spent.investigating = spent.investigating.saturating_add(u32::from(holds));
            }
        }
        let last = self.spoken.iter().rev().find(|one| one.choice != Choice::Ack);
        spent.since_spoken_ms = last.map(|one| now.since_ms(one.at).max(0));
        spent.since_person_ms = match self.persons_at.as_slice() {
            [before, _] => Some(now.since_ms(*before).max(0)),
            _ => None,
        };
        spent
    }

    /// The same with one entry more.
    pub fn add(&mut self, spoken: Spoken) {
        self.spoken.push(spoken);
        let surplus = self.spoken.len().saturating_sub(SPOKEN_MAX);
        self.spoken.drain(..surplus);
    }

    /// What the office did about `topic` is over; when it said nothing, it counts no more.
    pub fn end(&mut self, topic: &Topic, silent: bool) {
        let Some(at) = self.spoken.iter().rposition(|one| one.open && one.topic == *topic) else { return };
        if silent {
            self.spoken.remove(at);
        } else if let Some(one) = self.spoken.get_mut(at) {
            one.open = false;
        }
    }
}

/// The rows under workspace and channel, `T1:C1`. Holds [`ChannelRow`]s.
pub struct Channels;

/// Key of the conversation that a topic of Slack belongs to.
#[must_use]
pub fn key_of(topic: &Topic) -> Option<String> {
    let mut parts = topic.as_str().split(':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("slack"), Some(team), Some(channel)) => Some(format!("{team}:{channel}")),
        _ => None,
    }
}

/// Whether this was decided unasked, and is more than silence.
fn is_unasked(body: &event::TriageDecided) -> bool {
    body.class == Class::Passive && body.choice != Choice::Pass
}

impl Projection for Channels {
    fn name(&self) -> &'static str {
        "channel"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::MessageReceived(body)
                if !matches!(body.place.kind, PlaceKind::Im | PlaceKind::Terminal) =>
            {
                vec![format!("{}:{}", body.place.team, body.place.channel)]
            }
            Fact::TriageDecided(body) if is_unasked(body) => vec![body.channel.clone()],
            Fact::TurnEnded(body) => key_of(&body.topic).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let before: Option<ChannelRow> = decode(row.as_ref());
        let mut now = before.unwrap_or_default();
        match &event.fact {
            Fact::MessageReceived(body) => {
                now.messages.push(event.global_position);
                let surplus = now.messages.len().saturating_sub(CHANNEL_MESSAGES_MAX);
                now.messages.drain(..surplus);
                if !body.author.bot {
                    now.persons_at.push(event.at);
                    let surplus = now.persons_at.len().saturating_sub(2);
                    now.persons_at.drain(..surplus);
                }
            }
            Fact::TriageDecided(body) => now.add(Spoken {
                at: event.at,
                topic: body.topic.clone(),
                choice: body.choice,
                priority: body.priority,
                open: body.asks.is_some(),
            }),
            // A turn about what nobody said in a channel has no row to change.
            Fact::TurnEnded(body) => {
                row.as_ref()?;
                now.end(&body.topic, body.ending == TurnEnding::Silent);
            }
            _ => return row,
        }
        Some(Row::of(&now, None))
    }
}

/// What was decided about one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriageRow {
    /// The `triage.decided`.
    pub event: EventId,
    /// The class of the message.
    pub class: Class,
    /// What was decided.
    pub choice: Choice,
}

/// The rows under a message. Holds [`TriageRow`]s.
pub struct Triages;

impl Projection for Triages {
    fn name(&self) -> &'static str {
        "triage"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::TriageDecided(body) => vec![body.message.as_str().to_owned()],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let Fact::TriageDecided(body) = &event.fact else { return row };
        let now = TriageRow { event: event.id.clone(), class: body.class, choice: body.choice };
        Some(Row::of(&now, None))
    }
}

#[cfg(test)]
mod tests {
    use super::{ChannelRow, HOUR_MS, SLOT_MS_MAX, Spoken, key_of};
    use event::{Choice, Priority, Timestamp, Topic};

    fn topic(n: u32) -> Topic {
        Topic::parse(&format!("slack:T1:C1:{n}.0")).unwrap()
    }

    fn spoken(at: i64, n: u32, choice: Choice, priority: Priority) -> Spoken {
        Spoken { at: Timestamp(at), topic: topic(n), choice, priority, open: choice > Choice::Ack }
    }

    #[test]
    fn a_slot_is_free_again_when_its_turn_ends_and_counts_no_more_when_that_said_nothing() {
        let mut row = ChannelRow::default();
        row.add(spoken(0, 1, Choice::Investigate, Priority::Normal));
        row.add(spoken(0, 2, Choice::Investigate, Priority::Normal));
        assert_eq!((row.spent(Timestamp(1)).investigating, row.spent(Timestamp(1)).all), (2, 2));
        row.end(&topic(1), true);
        row.end(&topic(2), false);
        let spent = row.spent(Timestamp(1));
        assert_eq!((spent.investigating, spent.investigations, spent.all), (0, 1, 1));
    }

    #[test]
    fn an_investigation_that_never_ends_gives_its_slot_back_in_time() {
        let mut row = ChannelRow::default();
        row.add(spoken(0, 1, Choice::Investigate, Priority::Low));
        assert_eq!(row.spent(Timestamp(SLOT_MS_MAX - 1)).investigating, 1);
        assert_eq!(row.spent(Timestamp(SLOT_MS_MAX)).investigating, 0);
    }

    #[test]
    fn what_is_an_hour_old_counts_no_more_and_an_emoji_is_no_utterance() {
        let mut row = ChannelRow::default();
        row.add(spoken(0, 1, Choice::Answer, Priority::Urgent));
        row.add(spoken(10, 2, Choice::Ack, Priority::Low));
        let spent = row.spent(Timestamp(HOUR_MS - 1));
        assert_eq!((spent.all, spent.general, spent.low, spent.acks), (1, 1, 0, 1));
        assert_eq!(row.spent(Timestamp(HOUR_MS)).all, 0);
    }

    #[test]
    fn only_a_topic_of_slack_belongs_to_a_channel() {
        assert_eq!(key_of(&topic(1)).as_deref(), Some("T1:C1"));
        assert_eq!(key_of(&Topic::parse("terminal:local:main:0").unwrap()), None);
    }
}
