//! How a call begins: earlier tries ended, the hold taken on every budget or on none, the intent of an effect
//! recorded. Decided inside the writer, on the rows as they stand in the transaction of the append; pure.

use crate::admit;
use crate::call::Call;
use crate::look::Seen;
use crate::permit::{Admission, Price};
use crate::purse::{accounts, spending, standing};
use crate::story::Story;
use crate::verdict::Refusal;
use event::{Account, EffectId, HoldId, NanoUsd, RefusalSubject, Timestamp};
use fold::approval::{ApprovalRow, ApprovalState, Command};
use fold::effect::{EffectRow, EffectState};
use fold::purse::HoldRow;
use fold::refusal::RefusalRow;
use record::{Append, Foreseen, RowKey, Rows};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

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
}

/// What it was judged by is not what stands: its budgets are others by now, or another day has begun, or a row it was
/// judged by has changed. At this moment it has to be judged anew.
pub(crate) struct MovedOn(pub(crate) Timestamp);

/// What is decided inside the writer when a call begins.
pub(crate) struct Beginning {
    pub(crate) call: Arc<Call>,
    pub(crate) admission: Admission,
    pub(crate) story: Story,
    /// What it was judged by.
    pub(crate) seen: Seen,
    pub(crate) effect: Option<EffectId>,
    /// What a refusal may stand against: one may have been raised since the pure half was asked.
    pub(crate) subjects: Vec<RefusalSubject>,
    /// Whether its effect is captured and not sent.
    pub(crate) drill: bool,
}

/// What is held by calls that begin in the same commit, by account: the rows do not show it yet.
pub(crate) type Taken = BTreeMap<String, NanoUsd>;

/// What a call appends, and whether it begins.
pub(crate) type Begin = Result<(Vec<Append>, Result<Begun, NotBegun>), MovedOn>;

impl Beginning {
    /// Counts in the rows the decision looks at, and what it appends where it comes to a yes.
    pub(crate) fn count_in(&self, foreseen: &mut Foreseen) {
        let holds = earlier_holds(&self.call).into_iter().map(|id| RowKey::new("hold", id.as_str()));
        let effects = self.effect.iter().map(|id| RowKey::new("effect", id.as_str()));
        let is_paid = self.admission.hold.is_some();
        let names = if is_paid { spending(&self.call).budgets() } else { Vec::new() };
        let budgets = names.into_iter().map(|name| RowKey::new("budget", name));
        let own = is_paid.then(|| RowKey::new("hold", self.own_hold().as_str()));
        let accounts = self.looked_up().iter().map(|account| RowKey::new("account", account.key()));
        let refusals =
            self.subjects.iter().map(|subject| RowKey::new("refusal", fold::refusal::key(subject)));
        let approvals = self.admission.approval.iter().map(|id| RowKey::new("approval", id.as_str()));
        let rows = holds.chain(own).chain(effects).chain(budgets).chain(accounts).chain(refusals);
        foreseen.rows.extend(rows.chain(approvals).chain(self.seen.keys()));
        foreseen.streams.push(Story::stream(&self.call.origin));
        foreseen.ids.extend(self.story.begins(is_paid, self.effect.is_some()));
        foreseen.leases.extend(self.call.fence.as_ref().map(|fence| fence.name.clone()));
    }

    fn own_hold(&self) -> HoldId {
        hold_id(&self.call.origin.deed(), self.call.origin.attempt())
    }

    /// The accounts it would be held on, as they were when it was judged.
    fn looked_up(&self) -> &[Account] {
        self.admission.hold.as_ref().map_or(&[], |price| price.accounts.as_slice())
    }

    pub(crate) fn decide(&self, rows: &Rows, now: Timestamp, taken: &mut Taken) -> Begin {
        if !self.seen.stands(rows) {
            return Err(MovedOn(now));
        }
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
            return Ok((self.append(facts), Err(NotBegun::Refused(refusal))));
        }
        let spent = match self.spent(rows, now) {
            Ok(spent) => spent,
            Err(not_begun) => return Ok((self.append(facts), Err(not_begun))),
        };
        if let Some(effect) = self.effect.as_ref().filter(|_| self.drill) {
            facts.extend(spent);
            facts.push(self.story.admitted(&self.admission));
            facts.push(self.story.effect_captured(effect, &self.call));
            return Ok((self.append(facts), Err(NotBegun::Captured(effect.clone()))));
        }
        let hold = match self.hold(rows, now, taken)? {
            Ok(hold) => hold,
            Err(refusal) => return Ok((self.append(facts), Err(NotBegun::Refused(refusal)))),
        };
        facts.extend(spent);
        facts.push(self.story.admitted(&self.admission));
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
            // Nothing of it stands while its outcome does not.
            EffectState::Intended if row.inside => None,
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

    fn hold(
        &self,
        rows: &Rows,
        now: Timestamp,
        taken: &mut Taken,
    ) -> Result<Result<Option<HeldCall>, Refusal>, MovedOn> {
        let Some(price) = &self.admission.hold else { return Ok(Ok(None)) };
        let mut in_play = standing(&self.call, rows, now, self.looked_up()).ok_or(MovedOn(now))?;
        for one in &mut in_play {
            let also = one.window.as_ref().ok().and_then(|window| taken.get(&window.account.key()));
            if let (Some(stands), Some(also)) = (&mut one.stands, also) {
                stands.held = NanoUsd(stands.held.0.saturating_add(also.0));
            }
        }
        let accounts = match accounts(&in_play, price.amount) {
            Ok(accounts) => accounts,
            Err(refusal) => return Ok(Err(refusal)),
        };
        for account in &accounts {
            let held = taken.entry(account.key()).or_default();
            *held = NanoUsd(held.0.saturating_add(price.amount.0));
        }
        Ok(Ok(Some(HeldCall { hold: self.own_hold(), price: price.clone(), accounts })))
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
