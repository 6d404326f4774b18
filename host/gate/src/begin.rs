//! How a call begins: earlier tries ended, the hold taken on every budget or on none, the intent of an effect
//! recorded. Decided inside the writer, on the rows as they stand in the transaction of the append; pure.

use crate::call::Call;
use crate::permit::Admission;
use crate::purse::{InPlay, accounts};
use crate::story::Story;
use crate::verdict::Refusal;
use event::{BudgetSet, EffectId, HoldId, NanoUsd, Timestamp};
use fold::effect::{EffectRow, EffectState};
use fold::purse::{HoldRow, account_at};
use record::{Append, RowKey, Rows};
use serde_json::Value;

/// Earlier tries of a deed whose holds are looked for; a deed has at most this many.
pub const ATTEMPTS_MAX: u32 = 16;

/// What was set aside and intended for one call.
pub(crate) struct Begun {
    pub(crate) hold: Option<HeldCall>,
    pub(crate) effect: Option<EffectId>,
    pub(crate) at: Timestamp,
}

pub(crate) struct HeldCall {
    pub(crate) hold: HoldId,
    pub(crate) key: String,
    pub(crate) amount: NanoUsd,
    pub(crate) accounts: Vec<event::Account>,
}

/// Why a call that was admitted did not begin.
pub(crate) enum NotBegun {
    Refused(Refusal),
    AlreadySent(Value),
    OutcomeUnknown(String),
}

/// What is decided inside the writer when a call begins.
pub(crate) struct Beginning {
    pub(crate) call: Call,
    pub(crate) admission: Admission,
    pub(crate) story: Story,
    pub(crate) budgets: Vec<BudgetSet>,
    pub(crate) effect: Option<EffectId>,
}

pub(crate) type Begin = Result<(Vec<Append>, Result<Begun, NotBegun>), NotBegun>;

impl Beginning {
    /// The rows the decision looks at.
    pub(crate) fn reads(&self, now: Timestamp) -> Vec<RowKey> {
        let holds = earlier_holds(&self.call).into_iter().map(|id| RowKey::new("hold", id.as_str()));
        let effects = self.effect.iter().map(|id| RowKey::new("effect", id.as_str()));
        let accounts =
            self.budgets.iter().map(|budget| RowKey::new("account", account_at(budget, now).key()));
        holds.chain(effects).chain(accounts).collect()
    }

    pub(crate) fn decide(self, rows: &Rows, now: Timestamp) -> Begin {
        let mut facts = self.ended_holds(rows);
        if let Some(not_begun) = self.earlier_effect(rows, &mut facts) {
            return Ok((self.append(facts), Err(not_begun)));
        }
        facts.push(self.story.admitted(&self.admission));
        let hold = self.hold(rows, now)?;
        if let Some(held) = &hold {
            facts.push(self.story.hold_taken(&held.hold, &held.key, held.amount, &held.accounts));
        }
        if let Some(effect) = &self.effect {
            facts.push(self.story.effect_intended(effect, &self.call));
        }
        let begun = Begun { hold, effect: self.effect.clone(), at: now };
        Ok((self.append(facts), Ok(begun)))
    }

    fn append(&self, events: Vec<event::Proposed>) -> Vec<Append> {
        if events.is_empty() {
            return Vec::new();
        }
        let stream = Story::stream(&self.call.origin);
        vec![Append { stream, expected: event::Expected::Any, events, fence: self.call.fence.clone() }]
    }

    /// A retry ends its earlier holds first: released when no paid call began, unknown when one may have.
    fn ended_holds(&self, rows: &Rows) -> Vec<event::Proposed> {
        earlier_holds(&self.call)
            .iter()
            .filter_map(|id| {
                let row: HoldRow = fold::decode(rows.get("hold", id.as_str()))?;
                self.story.hold_abandoned(id, &row)
            })
            .collect()
    }

    /// What an earlier try of the same effect came to, when that settles the matter.
    fn earlier_effect(&self, rows: &Rows, facts: &mut Vec<event::Proposed>) -> Option<NotBegun> {
        let effect = self.effect.as_ref()?;
        let row: EffectRow = fold::decode(rows.get("effect", effect.as_str()))?;
        match row.state {
            EffectState::Sent => Some(NotBegun::AlreadySent(row.reference.unwrap_or(Value::Null))),
            EffectState::Failed => None,
            EffectState::Unknown => Some(NotBegun::OutcomeUnknown(row.reason.unwrap_or_default())),
            EffectState::Intended => {
                let reason = "an earlier try was intended and its outcome was never recorded".to_owned();
                facts.push(self.story.effect_unknown(effect, &reason));
                Some(NotBegun::OutcomeUnknown(reason))
            }
        }
    }

    fn hold(&self, rows: &Rows, now: Timestamp) -> Result<Option<HeldCall>, NotBegun> {
        let Some(price) = &self.admission.hold else { return Ok(None) };
        let in_play: Vec<InPlay> = self
            .budgets
            .iter()
            .map(|budget| {
                let row = rows.get("account", &account_at(budget, now).key());
                InPlay { budget: budget.clone(), stands: fold::decode(row).unwrap_or_default() }
            })
            .collect();
        let accounts = accounts(&in_play, price.amount, now).map_err(NotBegun::Refused)?;
        let hold = hold_id(&self.call.origin.deed(), self.call.origin.attempt());
        Ok(Some(HeldCall { hold, key: price.key.clone(), amount: price.amount, accounts }))
    }
}

fn hold_id(deed: &str, attempt: u32) -> HoldId {
    HoldId::derived(&[deed, &attempt.to_string()])
}

fn earlier_holds(call: &Call) -> Vec<HoldId> {
    let attempt = call.origin.attempt().min(ATTEMPTS_MAX);
    let deed = call.origin.deed();
    (1..attempt).map(|earlier| hold_id(&deed, earlier)).collect()
}
