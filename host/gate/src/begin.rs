//! How a call begins: earlier tries ended, the hold taken on every budget or on none, the intent of an effect
//! recorded. Decided inside the writer, on the rows as they stand in the transaction of the append; pure.

use crate::admit;
use crate::call::Call;
use crate::permit::{Admission, Price};
use crate::purse::{accounts, spending, standing};
use crate::story::Story;
use crate::verdict::Refusal;
use event::{Account, EffectId, HoldId, RefusalSubject, Timestamp};
use fold::approval::{ApprovalRow, ApprovalState, Command};
use fold::effect::{EffectRow, EffectState};
use fold::purse::HoldRow;
use fold::refusal::RefusalRow;
use record::{Append, Foreseen, RowKey, Rows};
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
    pub(crate) price: Box<Price>,
    pub(crate) accounts: Vec<Account>,
}

/// Why a call that was admitted did not begin.
pub(crate) enum NotBegun {
    Refused(Refusal),
    /// The yes it had cannot be used.
    Denied(String),
    AlreadySent(Value),
    /// It is a drill, and this would have been sent.
    Captured(EffectId),
    OutcomeUnknown(String),
    /// Its budgets are others by now, or another day has begun: at this moment they have to be looked at anew.
    MovedOn(Timestamp),
}

/// What is decided inside the writer when a call begins.
pub(crate) struct Beginning {
    pub(crate) call: Call,
    pub(crate) admission: Admission,
    pub(crate) story: Story,
    /// The accounts it would be held on, as they were looked up.
    pub(crate) accounts: Vec<Account>,
    pub(crate) effect: Option<EffectId>,
    /// What a refusal may stand against: one may have been raised since the pure half was asked.
    pub(crate) subjects: Vec<RefusalSubject>,
    /// Whether its effect is captured and not sent.
    pub(crate) drill: bool,
}

pub(crate) type Begin = Result<(Vec<Append>, Result<Begun, NotBegun>), NotBegun>;

impl Beginning {
    /// The rows the decision looks at, and what it appends where it comes to a yes.
    pub(crate) fn foreseen(&self) -> Foreseen {
        let holds = earlier_holds(&self.call).into_iter().map(|id| RowKey::new("hold", id.as_str()));
        let effects = self.effect.iter().map(|id| RowKey::new("effect", id.as_str()));
        let is_paid = self.admission.hold.is_some();
        let names = if is_paid { spending(&self.call).budgets() } else { Vec::new() };
        let budgets = names.into_iter().map(|name| RowKey::new("budget", name));
        let own = is_paid.then(|| RowKey::new("hold", self.own_hold().as_str()));
        let accounts = self.accounts.iter().map(|account| RowKey::new("account", account.key()));
        let refusals =
            self.subjects.iter().map(|subject| RowKey::new("refusal", fold::refusal::key(subject)));
        let approvals = self.admission.approval.iter().map(|id| RowKey::new("approval", id.as_str()));
        let rows = holds.chain(own).chain(effects).chain(budgets).chain(accounts).chain(refusals);
        Foreseen {
            rows: rows.chain(approvals).collect(),
            streams: vec![Story::stream(&self.call.origin)],
            ids: self.story.begins(is_paid, self.effect.is_some()),
        }
    }

    fn own_hold(&self) -> HoldId {
        hold_id(&self.call.origin.deed(), self.call.origin.attempt())
    }

    pub(crate) fn decide(self, rows: &Rows, now: Timestamp) -> Begin {
        let mut facts = self.ended_holds(rows);
        if let Some(not_begun) = self.earlier_effect(rows, &mut facts) {
            return Ok((self.append(facts), Err(not_begun)));
        }
        let refusals: Vec<RefusalRow> = self
            .subjects
            .iter()
            .filter_map(|subject| fold::decode(rows.get("refusal", &fold::refusal::key(subject))))
            .collect();
        if let Some(refusal) = admit::standing(&refusals, now) {
            return Err(NotBegun::Refused(refusal));
        }
        facts.extend(self.spent(rows, now)?);
        facts.push(self.story.admitted(&self.admission));
        if let Some(effect) = self.effect.as_ref().filter(|_| self.drill) {
            facts.push(self.story.effect_captured(effect, &self.call));
            return Ok((self.append(facts), Err(NotBegun::Captured(effect.clone()))));
        }
        let hold = self.hold(rows, now)?;
        if let Some(held) = &hold {
            facts.push(self.story.hold_taken(held));
            // Nothing happens between the two, so nothing may come between them: a try that is taken for dead while it
            // is about to leave would otherwise leave without a hold.
            facts.push(self.story.hold_started(&held.hold));
        }
        if let Some(effect) = &self.effect {
            facts.push(self.story.effect_intended(effect, &self.call, &self.admission));
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
            EffectState::Captured if self.drill => Some(NotBegun::Captured(effect.clone())),
            EffectState::Failed | EffectState::Captured => None,
            EffectState::Unknown => {
                Some(NotBegun::OutcomeUnknown(row.reason.unwrap_or_else(earlier_unknown)))
            }
            EffectState::Intended => {
                let reason = "an earlier try was intended and its outcome was never recorded".to_owned();
                facts.push(self.story.effect_unknown(effect, &reason));
                Some(NotBegun::OutcomeUnknown(reason))
            }
        }
    }

    /// The one use of the yes this call was given.
    fn spent(&self, rows: &Rows, now: Timestamp) -> Result<Option<event::Proposed>, NotBegun> {
        let Some(approval) = &self.admission.approval else { return Ok(None) };
        let row: Option<ApprovalRow> = fold::decode(rows.get("approval", approval.as_str()));
        let spend = Command::Spend {
            origin: self.call.origin.clone(),
            content: self.call.content(),
            component: self.admission.digest.clone(),
        };
        let used = matches!(row.as_ref().map(|row| &row.state), Some(ApprovalState::Spent { .. }));
        match fold::approval::decide(row.as_ref(), spend, now) {
            Ok(fact) => Ok(Some(self.story.approval("approval.spent", fact))),
            Err(_) if used => Err(NotBegun::OutcomeUnknown(
                "the yes was used by an earlier try, and what came of it was never recorded".to_owned(),
            )),
            Err(why) => Err(NotBegun::Denied(why.to_string())),
        }
    }

    fn hold(&self, rows: &Rows, now: Timestamp) -> Result<Option<HeldCall>, NotBegun> {
        let Some(price) = &self.admission.hold else { return Ok(None) };
        let in_play = standing(&self.call, rows, now, &self.accounts).ok_or(NotBegun::MovedOn(now))?;
        let accounts = accounts(&in_play, price.amount).map_err(NotBegun::Refused)?;
        let hold = self.own_hold();
        Ok(Some(HeldCall { hold, price: price.clone(), accounts }))
    }
}

/// What is said of an effect whose own event says why it is not known, in words that may be sealed.
fn earlier_unknown() -> String {
    "an earlier try of it may have worked, and nobody knows".to_owned()
}

pub(crate) fn hold_id(deed: &str, attempt: u32) -> HoldId {
    HoldId::derived(&[deed, &attempt.to_string()])
}

fn earlier_holds(call: &Call) -> Vec<HoldId> {
    let attempt = call.origin.attempt().min(ATTEMPTS_MAX);
    let deed = call.origin.deed();
    (1..attempt).map(|earlier| hold_id(&deed, earlier)).collect()
}
