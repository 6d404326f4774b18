//! Inboxes: what came into each running turn, which turns run about a topic, and which messages a turn was told of.
//!
//! A turn's row is there from its opening to its end. Its items stand in the order in which they came, and its
//! revision counts them; once the turn's finish stands, nothing is added but a stop, while its answer waits for a
//! person's yes.

use crate::projection::{Projection, Row, decode};
use event::{
    Event, EventId, Fact, GlobalPosition, InboxItem, SeatId, Steering, Topic, TurnId, TurnOpened, TurnSteered,
};
use serde::{Deserialize, Serialize};

/// Messages that one turn takes up: far more than a thread says while a turn runs. What comes after that waits for
/// the turn's end.
pub const INBOX_ITEMS_MAX: usize = 200;

/// Turns about one topic that are listed: one for each seat that works on it.
const TOPIC_TURNS_MAX: usize = 64;

/// What came into one running turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxRow {
    /// The turn.
    pub turn: TurnId,
    /// Whose.
    pub seat: SeatId,
    /// About what.
    pub topic: Topic,
    /// What woke it: that is no news to it.
    pub woken_by: EventId,
    /// Where its `turn.opened` stands: what was asked before is what it looks at.
    pub opened_at: GlobalPosition,
    /// What came, in order; at most [`INBOX_ITEMS_MAX`].
    pub items: Vec<InboxItem>,
    /// Whether its finish stands: nothing comes in any more.
    pub finished: bool,
}

impl InboxRow {
    /// How many messages came.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.items.len() as u64
    }

    /// Those that came after the first `revision`.
    #[must_use]
    pub fn after(&self, revision: u64) -> &[InboxItem] {
        let read = usize::try_from(revision).unwrap_or(usize::MAX);
        self.items.get(read..).unwrap_or_default()
    }

    /// Whether a message can still come in.
    #[must_use]
    pub fn takes(&self, message: &EventId) -> bool {
        !self.finished && self.takes_stop(message)
    }

    /// Whether a stop can: also once its finish stands, for as long as its answer waits for a person.
    #[must_use]
    pub fn takes_stop(&self, message: &EventId) -> bool {
        let is_known = || self.items.iter().any(|item| item.message == *message);
        self.items.len() < INBOX_ITEMS_MAX && *message != self.woken_by && !is_known()
    }
}

/// The turns that run about one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningRow {
    /// In the order in which they opened.
    pub turns: Vec<TurnId>,
}

/// The rows under [`turn_key`], which hold [`InboxRow`]s, under [`topic_key`], which hold [`RunningRow`]s, and under
/// [`message_key`], which are there or not.
pub struct Inboxes;

/// Key of a turn's row.
#[must_use]
pub fn turn_key(turn: &TurnId) -> String {
    format!("turn/{turn}")
}

/// Key of the row that is there once a running turn was told of a message.
#[must_use]
pub fn message_key(message: &EventId) -> String {
    format!("message/{message}")
}

/// Key of a topic's row.
#[must_use]
pub fn topic_key(topic: &Topic) -> String {
    format!("topic/{topic}")
}

impl Projection for Inboxes {
    fn name(&self) -> &'static str {
        "inbox"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::TurnOpened(body) => vec![turn_key(&body.turn), topic_key(&body.topic)],
            Fact::TurnEnded(body) => vec![turn_key(&body.turn), topic_key(&body.topic)],
            Fact::TurnSteered(body) if body.steering != Steering::Ignore => {
                vec![turn_key(&body.turn), message_key(&body.message)]
            }
            Fact::TurnSteered(body) => vec![turn_key(&body.turn)],
            Fact::FinishAccepted(body) => vec![turn_key(&body.turn)],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        if key.starts_with("message/") {
            return Some(Row::of(&true, None));
        }
        if key.starts_with("topic/") {
            let running = running(decode(row.as_ref()).unwrap_or_default(), &event.fact);
            return (!running.turns.is_empty()).then(|| Row::of(&running, None));
        }
        let row = match &event.fact {
            Fact::TurnOpened(body) => opened(body, event.global_position),
            Fact::TurnSteered(body) => steered(decode(row.as_ref())?, body),
            Fact::FinishAccepted(_) => InboxRow { finished: true, ..decode(row.as_ref())? },
            _ => return None,
        };
        Some(Row::of(&row, None))
    }
}

fn opened(body: &TurnOpened, at: GlobalPosition) -> InboxRow {
    InboxRow {
        turn: body.turn.clone(),
        seat: body.seat.clone(),
        topic: body.topic.clone(),
        woken_by: body.woken_by.clone(),
        opened_at: at,
        items: Vec::new(),
        finished: false,
    }
}

fn steered(mut row: InboxRow, body: &TurnSteered) -> InboxRow {
    let takes = match body.steering {
        Steering::Ignore => false,
        Steering::Stop => row.takes_stop(&body.message),
        Steering::Append | Steering::Replace => row.takes(&body.message),
    };
    if takes {
        row.items.push(InboxItem {
            message: body.message.clone(),
            at: body.at,
            steering: body.steering,
            asks: body.asks.clone(),
        });
    }
    row
}

fn running(mut row: RunningRow, fact: &Fact) -> RunningRow {
    match fact {
        Fact::TurnOpened(body) if row.turns.len() < TOPIC_TURNS_MAX => row.turns.push(body.turn.clone()),
        Fact::TurnEnded(body) => row.turns.retain(|turn| *turn != body.turn),
        _ => {}
    }
    row
}
