//! Effects and receipts: one effect for each meaning and content, and what is still unknown.

use crate::projection::{Projection, Row, taken};
use event::{EffectId, EffectIntended, Event, Fact, Origin, ReceiptRecorded, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// When it was last intended.
    pub intended_at: Timestamp,
    /// What the other side calls it, once sent.
    pub reference: Option<Value>,
    /// Why it failed or is not known, where that quotes nobody; otherwise its event says it.
    pub reason: Option<String>,
}

/// The name of an effect: within one turn (or one duty) the same words to the same place by the same tool are
/// one effect, whichever step or try says them.
#[must_use]
pub fn effect_id(origin: &Origin, tool: &str, content: &event::Digest) -> EffectId {
    EffectId::derived(&[&meant_by(origin), tool, content.as_str()])
}

/// What words are said for: the whole turn, or the one duty, whoever makes the call within it.
fn meant_by(origin: &Origin) -> String {
    match origin {
        Origin::Step { turn, .. } => turn.to_string(),
        Origin::Duty { .. } => origin.deed(),
        Origin::Child { of, .. } => meant_by(of),
    }
}

/// The rows under an effect's id, ranked by when it was intended until its outcome is known. Holds
/// [`EffectRow`]s.
pub struct Effects;

fn effect_of(fact: &Fact) -> Option<&EffectId> {
    match fact {
        Fact::EffectIntended(body) => Some(&body.effect),
        Fact::EffectSent(body) => Some(&body.effect),
        Fact::EffectFailed(body) => Some(&body.effect),
        Fact::EffectLeftUnknown(body) => Some(&body.effect),
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
            Fact::EffectIntended(body) => intended(body, event.at),
            Fact::EffectSent(body) => EffectRow {
                state: EffectState::Sent,
                reference: Some(body.reference.clone()),
                reason: None,
                ..taken::<EffectRow>(row)?
            },
            Fact::EffectFailed(body) => EffectRow {
                state: EffectState::Failed,
                reason: body.reason.value().cloned(),
                ..taken::<EffectRow>(row)?
            },
            Fact::EffectLeftUnknown(body) => EffectRow {
                state: EffectState::Unknown,
                reason: body.reason.value().cloned(),
                ..taken::<EffectRow>(row)?
            },
            _ => return row,
        };
        let open = matches!(after.state, EffectState::Intended | EffectState::Unknown);
        Some(Row::of(&after, open.then_some(after.intended_at.0)))
    }
}

fn intended(body: &EffectIntended, at: Timestamp) -> EffectRow {
    EffectRow {
        state: EffectState::Intended,
        origin: body.origin.clone(),
        tool: body.tool.clone(),
        intended_at: at,
        reference: None,
        reason: None,
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
        Some(Row { value: event.fact.body(), rank: None })
    }
}
