//! Signal: one row for each seat and topic, folded once from each event that reaches the seat.
//!
//! `n` is what *others* added since the seat last looked; opening a turn is looking, and so is taking up what came
//! into a running one. Source of the figures:
//! mechanisms, section 3.

use crate::projection::{Projection, Row, taken};
use event::{Class, Event, EventId, Fact, InboxDrained, SeatId, Timestamp, Topic};
use serde::{Deserialize, Serialize};

/// Weight of an event that addresses a seat by a mention.
pub const WEIGHT_MENTION: u32 = 10;
/// Weight of a request, of what became of one, and of a moment that came: above the wake line by itself.
pub const WEIGHT_REQUEST: u32 = 8;
/// The sample references a row keeps.
pub const SAMPLES_MAX: usize = 5;

/// What reached one seat about one topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRow {
    /// The seat.
    pub seat: SeatId,
    /// The topic.
    pub topic: Topic,
    /// What others added since the seat last looked.
    pub count: u32,
    /// Weight of the heaviest kind among them.
    pub weight: u32,
    /// When the first of them came.
    pub first_at: Timestamp,
    /// When the last of them came.
    pub last_at: Timestamp,
    /// Up to [`SAMPLES_MAX`] of them, oldest first.
    pub samples: Vec<EventId>,
    /// The newest that asks: it names the turn that would answer it.
    pub asked_by: EventId,
}

/// The rows under `seat|topic`, ranked by weight while something waits. Holds [`SignalRow`]s.
pub struct Signals;

/// Key of the row of a seat and topic.
#[must_use]
pub fn key(seat: &SeatId, topic: &Topic) -> String {
    format!("{seat}|{topic}")
}

/// Whom an event reaches, about what, and with what weight; none when it is the seat's own look.
fn reach(fact: &Fact) -> Option<(&SeatId, &Topic, Option<u32>)> {
    match fact {
        Fact::DeliveryClassified(body) => body
            .asks
            .as_ref()
            .zip(body.topic.as_ref())
            .map(|(seat, topic)| (seat, topic, Some(WEIGHT_MENTION))),
        Fact::TriageDecided(body) => {
            let weight = if body.class == Class::Explicit { WEIGHT_MENTION } else { WEIGHT_REQUEST };
            body.asks.as_ref().map(|seat| (seat, &body.topic, Some(weight)))
        }
        Fact::TurnSteered(body) if body.untold => {
            body.asks.as_ref().map(|seat| (seat, &body.topic, Some(WEIGHT_MENTION)))
        }
        Fact::RequestAsked(body) => Some((&body.holder, &body.topic, Some(WEIGHT_REQUEST))),
        Fact::RequestAnswered(body) => Some((&body.asker, &body.topic, Some(WEIGHT_REQUEST))),
        Fact::RequestLapsed(body) => Some((&body.asker, &body.topic, Some(WEIGHT_REQUEST))),
        Fact::MomentPassed(body) => Some((&body.seat, &body.topic, Some(WEIGHT_REQUEST))),
        Fact::TurnOpened(body) => Some((&body.seat, &body.topic, None)),
        _ => None,
    }
}

impl Projection for Signals {
    fn name(&self) -> &'static str {
        "signal"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        if let Fact::InboxDrained(body) = &event.fact {
            let mut asked: Vec<&SeatId> = body.items.iter().filter_map(|item| item.asks.as_ref()).collect();
            asked.sort_unstable();
            asked.dedup();
            return asked.into_iter().map(|seat| key(seat, &body.topic)).collect();
        }
        reach(&event.fact).map(|(seat, topic, _)| key(seat, topic)).into_iter().collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let before = taken::<SignalRow>(row);
        if let Fact::InboxDrained(body) = &event.fact {
            return before.map(|before| ranked(&taken_up(before, body)));
        }
        let (seat, topic, weight) = reach(&event.fact)?;
        let asked_by = match &event.fact {
            // The message itself, not what was found out about it.
            Fact::DeliveryClassified(body) => body.message.clone().unwrap_or_else(|| body.delivery.clone()),
            Fact::TriageDecided(body) => body.message.clone(),
            Fact::TurnSteered(body) => body.message.clone(),
            _ => event.id.clone(),
        };
        let after = match weight {
            Some(weight) => added(before, (seat, topic), (asked_by, weight), event.at),
            None => looked(before?),
        };
        Some(ranked(&after))
    }
}

fn ranked(row: &SignalRow) -> Row {
    Row::of(row, (row.count > 0).then_some(i64::from(row.weight)))
}

/// What a running turn took up asks for no turn of its own.
fn taken_up(mut row: SignalRow, drained: &InboxDrained) -> SignalRow {
    let read = |message: &EventId| drained.items.iter().any(|item| item.message == *message);
    let asks = |item: &&event::InboxItem| item.asks.as_ref() == Some(&row.seat);
    let count = drained.items.iter().filter(asks).count();
    row.count = row.count.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
    if row.count == 0 {
        return looked(row);
    }
    row.samples.retain(|sample| !read(sample));
    if let Some(newest) = row.samples.last().filter(|_| read(&row.asked_by)) {
        row.asked_by = newest.clone();
    }
    row
}

fn added(
    before: Option<SignalRow>,
    (seat, topic): (&SeatId, &Topic),
    (asked_by, weight): (EventId, u32),
    at: Timestamp,
) -> SignalRow {
    let mut row = before.filter(|row| row.count > 0).unwrap_or_else(|| SignalRow {
        seat: seat.clone(),
        topic: topic.clone(),
        count: 0,
        weight: 0,
        first_at: at,
        last_at: at,
        samples: Vec::new(),
        asked_by: asked_by.clone(),
    });
    row.count = row.count.saturating_add(1);
    row.weight = row.weight.max(weight);
    row.last_at = at;
    if row.samples.len() < SAMPLES_MAX {
        row.samples.push(asked_by.clone());
    }
    row.asked_by = asked_by;
    row
}

fn looked(mut row: SignalRow) -> SignalRow {
    row.count = 0;
    row.weight = 0;
    row.samples.clear();
    row
}
