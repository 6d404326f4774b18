//! Effects and receipts: one effect for each meaning and content, and what is still unknown.

pub mod key;
pub mod recall;

pub use key::{effect_id, meaning, normal, stream_id};

use crate::projection::{Projection, Row, decode, taken};
use event::{
    EffectId, EffectRecalled, Event, EventId, Fact, Origin, ReceiptRecorded, SeatId, StreamName, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Effects of one turn that are listed: a turn has far fewer steps.
pub const LISTED_MAX: usize = 1_000;

/// Where an effect stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    /// About to be tried; after a crash, perhaps tried.
    Intended,
    /// It happened.
    Sent,
    /// It did not happen.
    Failed,
    /// Nobody knows; never tried again blind.
    Unknown,
    /// It was meant in a drill, and nothing was sent.
    Captured,
}

/// What is done about an effect that nobody knows the outcome of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recalling {
    /// The `effect.left-unknown`.
    pub unknown_as: EventId,
    /// When it was left unknown.
    pub since: Timestamp,
    /// How often it was read back since.
    pub tries: u32,
    /// When it is read back next; nothing when a person has to say.
    pub next_at: Option<Timestamp>,
}

/// One effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectRow {
    /// Where it stands.
    pub state: EffectState,
    /// The newest call that meant it.
    pub origin: Origin,
    /// The tool.
    pub tool: String,
    /// When it was last intended or captured.
    pub intended_at: Timestamp,
    /// The event that says so, and holds the arguments. Nothing in a row that an older host wrote.
    #[serde(default)]
    pub intended_as: Option<EventId>,
    /// The seat that made the call.
    #[serde(default)]
    pub seat: Option<SeatId>,
    /// What the other side calls it, once sent.
    pub reference: Option<Value>,
    /// Why it failed or is not known, where that quotes nobody; otherwise its event says it.
    pub reason: Option<String>,
    /// What is done about it while it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recalling: Option<Recalling>,
    /// Whether it changes the record alone, in one commit with its outcome.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
}

/// The stream that an effect's call is told on.
#[must_use]
pub fn stream(origin: &Origin) -> StreamName {
    StreamName::new("call", origin.deed())
}

/// The rows under an effect's id, ranked by when it was intended until its outcome is known. Holds
/// [`EffectRow`]s.
pub struct Effects;

/// The effect that a fact says something of.
#[must_use]
pub fn effect_of(fact: &Fact) -> Option<&EffectId> {
    match fact {
        Fact::EffectIntended(body) => Some(&body.effect),
        Fact::EffectSent(body) => Some(&body.effect),
        Fact::EffectFailed(body) => Some(&body.effect),
        Fact::EffectLeftUnknown(body) => Some(&body.effect),
        Fact::EffectCaptured(body) => Some(&body.effect),
        Fact::EffectRecalled(body) => Some(&body.effect),
        Fact::EffectStated(body) => Some(&body.effect),
        _ => None,
    }
}

impl Projection for Effects {
    fn name(&self) -> &'static str {
        "effect"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        effect_of(&event.fact).map(|id| id.as_str().to_owned()).into_iter().collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let after = match &event.fact {
            Fact::EffectIntended(body) => EffectRow {
                inside: body.inside,
                ..meant(EffectState::Intended, &body.origin, &body.tool, event)
            },
            Fact::EffectCaptured(body) => meant(EffectState::Captured, &body.origin, &body.tool, event),
            Fact::EffectSent(body) => EffectRow {
                state: EffectState::Sent,
                reference: Some(body.reference.clone()),
                reason: None,
                recalling: None,
                ..taken::<EffectRow>(row)?
            },
            Fact::EffectFailed(body) => EffectRow {
                state: EffectState::Failed,
                reason: body.reason.value().cloned(),
                recalling: None,
                ..taken::<EffectRow>(row)?
            },
            Fact::EffectLeftUnknown(body) => EffectRow {
                state: EffectState::Unknown,
                reason: body.reason.value().cloned(),
                recalling: Some(recalling(event)),
                ..taken::<EffectRow>(row)?
            },
            Fact::EffectRecalled(body) => recalled(taken(row)?, body),
            _ => return row,
        };
        let open = matches!(after.state, EffectState::Intended | EffectState::Unknown);
        Some(Row::of(&after, open.then_some(after.intended_at.0)))
    }
}

fn meant(state: EffectState, origin: &Origin, tool: &str, event: &Event) -> EffectRow {
    EffectRow {
        state,
        origin: origin.clone(),
        tool: tool.to_owned(),
        intended_at: event.at,
        intended_as: Some(event.id.clone()),
        seat: event.actor.seat.clone(),
        reference: None,
        reason: None,
        recalling: None,
        inside: false,
    }
}

fn recalling(unknown: &Event) -> Recalling {
    let (unknown_as, since) = (unknown.id.clone(), unknown.at);
    Recalling { unknown_as, since, tries: 0, next_at: Some(since.plus_ms(recall::FIRST_MS)) }
}

/// What reading back said changes the schedule alone; the outcome is stated by a fact of its own.
fn recalled(before: EffectRow, body: &EffectRecalled) -> EffectRow {
    let recalling = before.recalling.map(|known| Recalling {
        tries: known.tries.saturating_add(1),
        next_at: body.again_at,
        ..known
    });
    EffectRow { recalling, ..before }
}

/// The rows under a turn's id: its effects, in the order in which they were first meant. Holds lists of
/// [`EffectId`]s, of at most [`LISTED_MAX`].
pub struct TurnEffects;

impl Projection for TurnEffects {
    fn name(&self) -> &'static str {
        "turn-effects"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        let origin = match &event.fact {
            Fact::EffectIntended(body) => &body.origin,
            Fact::EffectCaptured(body) => &body.origin,
            _ => return Vec::new(),
        };
        origin.turn().map(|turn| turn.as_str().to_owned()).into_iter().collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let mut effects: Vec<EffectId> = decode(row.as_ref()).unwrap_or_default();
        let Some(effect) = effect_of(&event.fact) else { return row };
        if effects.contains(effect) || effects.len() >= LISTED_MAX {
            return row;
        }
        effects.push(effect.clone());
        Some(Row::of(&effects, None))
    }
}

/// The rows under a receipt's id. Holds [`ReceiptRecorded`]s.
pub struct Receipts;

impl Projection for Receipts {
    fn name(&self) -> &'static str {
        "receipt"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::ReceiptRecorded(ReceiptRecorded { receipt, .. }) => vec![receipt.as_str().to_owned()],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, _row: Option<Row>, event: &Event) -> Option<Row> {
        Some(Row::holding(event.fact.body(), None))
    }
}
