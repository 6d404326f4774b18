//! What was said in a conversation, day by day: where its messages and the ends of its turns stand in the record.
//!
//! Days, because a row is found by its key alone and keys follow from the event: whoever looks back asks for the rows of
//! as many days as one read takes, and those without a word cost nothing. Positions alone: what was said is looked up,
//! so that what is erased is erased here too.

use crate::projection::{Projection, Row, taken};
use crate::purse::channel_of;
use event::{Event, Fact, GlobalPosition, Timestamp, Topic, TurnEnding};
use serde::{Deserialize, Serialize};

/// The most messages of one day that a row keeps, the newest: more than people write in a day in one place, and a bound
/// on what one event rewrites.
pub const DAY_MESSAGES_MAX: usize = 500;
/// The most ends of turns of one day that a row keeps, the newest.
pub const DAY_TURNS_MAX: usize = 200;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// One day of one conversation, in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayRow {
    /// Where what people and programs said stands, and the `turn.ended` of each answer; oldest first.
    pub said: Vec<GlobalPosition>,
    /// Where every `turn.ended` about it stands; oldest first.
    pub ended: Vec<GlobalPosition>,
}

/// The rows under conversation and day, `slack:T1:C1|2026-12-01`. Holds [`DayRow`]s.
pub struct Said;

/// The conversation that a topic stands in, such as `slack:T1:C1`; nothing for a topic that is none.
#[must_use]
pub fn conversation_of(topic: &Topic) -> Option<String> {
    channel_of(topic)
}

/// Key of the day of `at` in `conversation`.
#[must_use]
pub fn day_key(conversation: &str, at: Timestamp) -> String {
    let (year, month, day) = at.civil_utc();
    format!("{conversation}|{year:04}-{month:02}-{day:02}")
}

/// Keys of `days` days of `conversation`, from the one of `at` backwards.
pub fn days_back(conversation: &str, at: Timestamp, days: usize) -> impl Iterator<Item = String> + '_ {
    let back = (0_i64..).take(days);
    back.map(move |day| day_key(conversation, at.plus_ms(-day.saturating_mul(DAY_MS))))
}

impl Projection for Said {
    fn name(&self) -> &'static str {
        "said"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        let topic = match &event.fact {
            Fact::MessageReceived(body) => body.place.topic(),
            Fact::TurnEnded(body) => Some(body.topic.clone()),
            _ => None,
        };
        let conversation = topic.as_ref().and_then(conversation_of);
        conversation.map(|conversation| day_key(&conversation, event.at)).into_iter().collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let mut day: DayRow = taken(row).unwrap_or_default();
        match &event.fact {
            Fact::MessageReceived(_) => day.said.push(event.global_position),
            Fact::TurnEnded(body) => {
                day.ended.push(event.global_position);
                if body.ending == TurnEnding::Answered {
                    day.said.push(event.global_position);
                }
            }
            _ => {}
        }
        let surplus = day.said.len().saturating_sub(DAY_MESSAGES_MAX);
        day.said.drain(..surplus);
        let surplus = day.ended.len().saturating_sub(DAY_TURNS_MAX);
        day.ended.drain(..surplus);
        Some(Row::of(&day, None))
    }
}

#[cfg(test)]
mod tests {
    use super::{conversation_of, day_key, days_back};
    use event::{Timestamp, Topic};

    #[test]
    fn a_conversation_is_its_channel_or_session_whatever_the_thread() {
        for (topic, conversation) in [
            ("slack:T1:C1:1.0", Some("slack:T1:C1")),
            ("slack:T1:D1:2.0", Some("slack:T1:D1")),
            ("terminal:local:main:run-1:0", Some("terminal:local:main")),
            ("effect:effect_1", None),
            ("licence", None),
        ] {
            let topic = Topic::parse(topic).unwrap();
            assert_eq!(conversation_of(&topic).as_deref(), conversation, "{topic}");
        }
    }

    #[test]
    fn days_are_counted_back_across_a_months_end() {
        let march = Timestamp(951_868_800_001);
        assert_eq!(day_key("slack:T1:C1", march), "slack:T1:C1|2000-03-01");
        let back: Vec<String> = days_back("c", march, 3).collect();
        assert_eq!(back, ["c|2000-03-01", "c|2000-02-29", "c|2000-02-28"]);
    }
}
