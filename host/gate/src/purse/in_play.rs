//! The budgets of one call as they stand, and the moment they are looked at.
//!
//! The moment never runs backwards: the record's time does not, and a clock that is set back over midnight must not
//! open yesterday's account again.

use crate::call::{Call, Payload};
use crate::catalogue::Catalogue;
use crate::pass::{Gate, GateError};
use event::{Account, Timestamp};
use fold::Projection;
use fold::purse::{Accounts, BudgetRow, Budgets, InPlay, Spending};
use record::{RowKey, Rows};
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

/// Where the budgets of `call` are; none for a call that costs nothing.
pub(crate) fn budget_keys(call: &Call, catalogue: &dyn Catalogue) -> Vec<RowKey> {
    let names = if is_paid(call, catalogue) { spending(call).budgets() } else { Vec::new() };
    names.into_iter().map(|name| RowKey::new(Budgets.name(), name)).collect()
}

/// The budgets of `keys` that are set, at `at`, without what stands on their accounts.
pub(crate) fn in_play(rows: &Rows, keys: &[RowKey], at: Timestamp) -> Vec<InPlay> {
    let set = |key: &RowKey| rows.state::<BudgetRow>(key.projection, &key.key).map(|row| row.set);
    keys.iter().filter_map(set).map(|budget| InPlay::at(budget, at, |_| None)).collect()
}

/// Where the accounts of `in_play` are.
pub(crate) fn account_keys(in_play: &[InPlay]) -> Vec<RowKey> {
    accounts_of(in_play).iter().map(|account| RowKey::new(Accounts.name(), account.key())).collect()
}

/// The same budgets, with what stands on their accounts.
pub(crate) fn with_accounts(rows: &Rows, mut in_play: Vec<InPlay>) -> Vec<InPlay> {
    for one in &mut in_play {
        let Ok(window) = &one.window else { continue };
        one.stands = read(rows.get(Accounts.name(), &window.account.key()));
    }
    in_play
}

/// That one of them is the organisation's: every paid call is held on one.
///
/// # Errors
/// [`GateError::NoPurse`].
pub(crate) fn has_purse(in_play: &[InPlay]) -> Result<(), GateError> {
    let organisations = |one: &InPlay| one.budget.applies_to.is_organisation();
    if in_play.iter().any(organisations) { Ok(()) } else { Err(GateError::NoPurse) }
}

/// The budgets of `call` as they stand in `rows`, at `at`; nothing when one has another account by now than those
/// under `looked_up`, which alone are in the rows.
pub(crate) fn standing(
    call: &Call,
    rows: &Rows,
    at: Timestamp,
    looked_up: &[Account],
) -> Option<Vec<InPlay>> {
    let names = spending(call).budgets().into_iter();
    let keys: Vec<_> = names.map(|name| RowKey::new(Budgets.name(), name)).collect();
    let in_play = in_play(rows, &keys, at);
    if accounts_of(&in_play).iter().any(|account| !looked_up.contains(account)) {
        return None;
    }
    Some(with_accounts(rows, in_play))
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

    /// That the record has a purse: a budget that every paid call is held on.
    ///
    /// # Errors
    /// [`GateError::NoPurse`].
    pub(crate) async fn has_purse(&self) -> Result<(), GateError> {
        let organisation = |period| event::AppliesTo::Organisation.budget(period);
        let names = [event::Period::Day, event::Period::Month].map(organisation);
        let keys: Vec<_> = names.into_iter().map(|name| RowKey::new(Budgets.name(), name)).collect();
        let rows = self.parts.record.rows(keys.clone()).await?;
        let is_set = |key: &RowKey| rows.get(key.projection, &key.key).is_some();
        if keys.iter().any(is_set) { Ok(()) } else { Err(GateError::NoPurse) }
    }
}
