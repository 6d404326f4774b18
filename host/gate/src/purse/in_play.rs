//! The budgets of one call as they stand, and the moment they are looked at.
//!
//! The moment never runs backwards: the record's time does not, and a clock that is set back over midnight must not
//! open yesterday's account again.

use crate::call::{Call, Payload};
use crate::catalogue::Catalogue;
use crate::pass::{Gate, GateError};
use event::{Account, BudgetSet, Timestamp};
use fold::Projection;
use fold::purse::{Accounts, BudgetRow, Budgets, InPlay, Spending};
use record::Rows;
use std::sync::atomic::{AtomicI64, Ordering};

/// Moments the gate keeps between calls; all of it can be lost.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// The latest moment this gate has seen in the record.
    latest: AtomicI64,
    /// Before this moment no hold can be overdue.
    pub(super) clear_at: AtomicI64,
}

impl Moments {
    /// Takes note of a moment of the record.
    pub(crate) fn saw(&self, at: Timestamp) {
        self.latest.fetch_max(at.0, Ordering::Relaxed);
    }

    /// `clock`, but never before what was seen.
    pub(crate) fn now(&self, clock: Timestamp) -> Timestamp {
        clock.max(Timestamp(self.latest.load(Ordering::Relaxed)))
    }
}

/// Whether a call has a price at all.
pub(crate) fn is_paid(call: &Call, catalogue: &dyn Catalogue) -> bool {
    match &call.payload {
        Payload::Tool(_) => catalogue.tool(&call.tool).is_some_and(|spec| spec.price_key.is_some()),
        Payload::Infer(_) => true,
    }
}

/// Who spends with a call, and what about.
pub(crate) fn spending(call: &Call) -> Spending<'_> {
    Spending {
        seat: &call.seat,
        topic: call.topic.as_ref(),
        asker: call.asker.as_ref(),
        goal: call.goal.as_deref(),
    }
}

/// The budgets of `call` as they stand in `rows`, at `at`; nothing when one has another account by now than those
/// under `looked_up`, which alone are in the rows.
pub(crate) fn standing(
    call: &Call,
    rows: &Rows,
    at: Timestamp,
    looked_up: &[Account],
) -> Option<Vec<InPlay>> {
    let set = |name: String| rows.state::<BudgetRow>(Budgets.name(), &name).map(|row| row.set);
    let budgets = spending(call).budgets().into_iter().filter_map(set);
    let mut in_play: Vec<InPlay> = budgets.map(|budget| InPlay::at(budget, at, |_| None)).collect();
    for one in &mut in_play {
        let Ok(window) = &one.window else { continue };
        if !looked_up.contains(&window.account) {
            return None;
        }
        one.stands = read(rows.get(Accounts.name(), &window.account.key()));
    }
    Some(in_play)
}

/// What stands on an account: nothing yet is zero, and what does not read is no figure at all.
fn read(row: Option<&fold::Row>) -> Option<fold::purse::AccountRow> {
    match row {
        None => Some(fold::purse::AccountRow::default()),
        Some(row) => fold::decode(Some(row)),
    }
}

/// The accounts of `in_play`.
pub(crate) fn accounts_of(in_play: &[InPlay]) -> Vec<Account> {
    in_play.iter().filter_map(|one| Some(one.window.as_ref().ok()?.account.clone())).collect()
}

impl Gate {
    /// Now, by the clock, and never before what the record said.
    pub(crate) fn now(&self) -> Timestamp {
        self.moments.now(self.parts.clock.now())
    }

    /// Every budget that `call` is held on, with how it stands at `at`; none for a call that costs nothing.
    ///
    /// # Errors
    /// [`GateError::NoPurse`] when a paid call would be held on no budget of the organisation.
    pub(crate) async fn in_play(&self, call: &Call, at: Timestamp) -> Result<Vec<InPlay>, GateError> {
        if !is_paid(call, self.parts.catalogue.as_ref()) {
            return Ok(Vec::new());
        }
        let mut in_play = Vec::new();
        for name in spending(call).budgets() {
            let row = self.parts.record.row(Budgets.name(), &name).await?;
            let Some(budget) = fold::decode::<BudgetRow>(row.as_ref()).map(|row| row.set) else { continue };
            let mut one = InPlay::at(budget, at, |_| None);
            if let Ok(window) = &one.window {
                let row = self.parts.record.row(Accounts.name(), &window.account.key()).await?;
                one.stands = read(row.as_ref());
            }
            in_play.push(one);
        }
        let has_purse = |set: &BudgetSet| set.applies_to.is_organisation();
        if in_play.iter().any(|one| has_purse(&one.budget)) { Ok(in_play) } else { Err(GateError::NoPurse) }
    }

    /// That the record has a purse: a budget that every paid call is held on.
    ///
    /// # Errors
    /// [`GateError::NoPurse`].
    pub(crate) async fn has_purse(&self) -> Result<(), GateError> {
        for period in [event::Period::Day, event::Period::Month] {
            let name = event::AppliesTo::Organisation.budget(period);
            if self.parts.record.row(Budgets.name(), &name).await?.is_some() {
                return Ok(());
            }
        }
        Err(GateError::NoPurse)
    }
}
