//! The budgets that a call is held on, to be looked at: what is spent, what is left, and when each starts anew.

use super::{Given, rows_label, unread};
use crate::purse::{account_keys, in_play, spending, with_accounts};
use crate::reach::Failure;
use event::{AppliesTo, NanoUsd, Timestamp};
use fold::Projection;
use fold::purse::{Budgets, InPlay};
use record::RowKey;
use std::sync::Arc;

/// The budgets that a call is held on.
pub struct Purse {
    pub(super) given: Arc<Given>,
}

/// One budget as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its name, such as `organisation-day`.
    pub budget: String,
    /// The most there is to spend.
    pub limit: NanoUsd,
    /// Charged.
    pub settled: NanoUsd,
    /// Set aside now.
    pub held: NanoUsd,
    /// Counted in full, because nobody knows the figure.
    pub unknown: NanoUsd,
    /// What is left; nothing where nobody can say, and then nothing is bought on it.
    pub left: Option<NanoUsd>,
    /// When it starts anew; never for a lifetime.
    pub resets_at: Option<Timestamp>,
}

impl Purse {
    /// The budgets in play, the organisation's first. One of a person is told where that person speaks with the office
    /// alone, and left out elsewhere.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn budgets(&self) -> Result<Vec<Budget>, Failure> {
        let record = &self.given.record;
        let names = spending(&self.given.call).budgets().into_iter();
        let keys: Vec<RowKey> = names.map(|name| RowKey::new(Budgets.name(), name)).collect();
        let rows = record.rows(keys.clone()).await.map_err(|error| unread(&error))?;
        let mut budgets = in_play(&rows, &keys, self.given.at);
        let alone =
            self.given.topic().and_then(super::Here::of).is_some_and(|here| here.audience.is_of_one());
        budgets.retain(|one| alone || !matches!(one.budget.applies_to, AppliesTo::Person(_)));
        let rows = record.rows(account_keys(&budgets)).await.map_err(|error| unread(&error))?;
        self.given.read(&rows_label());
        Ok(with_accounts(&rows, budgets).iter().map(budget).collect())
    }
}

fn budget(one: &InPlay) -> Budget {
    let stands = one.stands.unwrap_or_default();
    let known = one.stands.and_then(|stands| stands.total());
    Budget {
        budget: one.budget.budget.clone(),
        limit: one.budget.limit,
        settled: stands.settled,
        held: stands.held,
        unknown: stands.unknown,
        left: known.and_then(|total| one.budget.limit.minus(total)),
        resets_at: one.window.as_ref().ok().and_then(|window| window.resets_at),
    }
}
