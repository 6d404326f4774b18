//! What the gate has read of the record before, so that it need not read it again to judge the next call.
//!
//! Always holds: nothing that is known here is acted on. A call that is let through by it is held against the rows as
//! they stand in the transaction in which it begins, and judged anew on what is read where one differs; a no is never
//! given by it. Deliberately absent: what stands on accounts, and what names one call alone.

use fold::approval::Approvals;
use fold::class::Classes;
use fold::purse::Accounts;
use fold::setting::Settings;
use fold::{Projection, Row};
use record::{RowKey, Rows};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The rows that are kept: the settings of a large office, and what may stand against its topics. Beyond it all is read
/// anew.
const KNOWN_ROWS_MAX: usize = 4_096;

/// How a call is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// By what is known, which is held against the record when the call begins.
    Known,
    /// By what the record says now.
    Record,
}

/// The rows that were read before.
#[derive(Debug, Default)]
pub(crate) struct Known {
    rows: Mutex<HashMap<RowKey, Option<Row>>>,
}

impl Known {
    /// The rows under `keys` as far as they are known. A setting must be; of anything else that was never read, it is
    /// taken that there is nothing: most calls have no approval, and nothing stands against most subjects.
    pub(crate) fn of(&self, keys: &[RowKey]) -> Option<Rows> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |key: &RowKey| match rows.get(key) {
            Some(row) => Some((key.clone(), row.clone())),
            None if key.projection == Settings.name() => None,
            None => Some((key.clone(), None)),
        };
        keys.iter().map(known).collect()
    }

    /// Keeps what was read.
    pub(crate) fn keep(&self, read: &Rows) {
        let passing = [Accounts.name(), Approvals.name(), Classes.name()];
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.len() > KNOWN_ROWS_MAX {
            rows.clear();
        }
        for (key, row) in read.iter().filter(|(key, _)| !passing.contains(&key.projection)) {
            rows.insert(key.clone(), row.cloned());
        }
    }
}
