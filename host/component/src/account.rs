//! The host's own account of one call: what was sent, what was read, what was refused. A guest cannot write
//! in it.

use gate::Reading;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most readings of one call that are kept; far above what the limits on requests let happen.
const READINGS_MAX: usize = 1_000;

/// The account of one call. Clones write in the same one: requests run beside the guest.
#[derive(Clone, Default)]
pub(crate) struct Account(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    /// Requests that were handed to the way out and have not come back.
    out: usize,
    sent: bool,
    refused: Option<String>,
    readings: Vec<Reading>,
    settled: bool,
}

/// What an account comes to.
pub(crate) struct Settled {
    /// Whether any request may have left the host.
    pub(crate) request_sent: bool,
    /// What was read, in the order in which it was complete.
    pub(crate) readings: Vec<Reading>,
    /// Why the way out refused, if that was the last thing it did.
    pub(crate) refused: Option<String>,
}

impl Account {
    /// A request is about to be handed to the way out: until [`Account::end`] says otherwise it counts as
    /// sent. False when the call is over: then it must not be handed on.
    pub(crate) fn begin(&self) -> bool {
        let mut entries = self.entries();
        if !entries.settled {
            entries.out += 1;
        }
        !entries.settled
    }

    /// The request came back, and had left the host or not.
    pub(crate) fn end(&self, left: bool) {
        let mut entries = self.entries();
        entries.out = entries.out.saturating_sub(1);
        entries.sent |= left;
    }

    /// Something was read: an earlier refusal is not what a later failure is about.
    pub(crate) fn read(&self, reading: Reading) {
        let mut entries = self.entries();
        entries.refused = None;
        if entries.readings.len() < READINGS_MAX && !entries.settled {
            entries.readings.push(reading);
        }
    }

    /// The way out, or the hook, said no.
    pub(crate) fn refuse(&self, reason: String) {
        self.entries().refused = Some(reason);
    }

    /// The call is over. A request still out is counted as sent: nobody will hear what became of it.
    pub(crate) fn settle(&self) -> Settled {
        let mut entries = self.entries();
        entries.settled = true;
        Settled {
            request_sent: entries.sent || entries.out > 0,
            readings: std::mem::take(&mut entries.readings),
            refused: entries.refused.take(),
        }
    }

    /// Nothing panics while it is held.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Account;

    #[test]
    fn a_request_that_came_back_unsent_leaves_no_trace() {
        let account = Account::default();
        assert!(account.begin());
        account.end(false);
        assert!(!account.settle().request_sent);
    }

    #[test]
    fn a_request_that_never_came_back_counts_as_sent() {
        let account = Account::default();
        account.begin();
        account.begin();
        account.end(false);
        assert!(account.settle().request_sent);
    }

    #[test]
    fn nothing_is_sent_once_the_call_is_over() {
        let account = Account::default();
        assert!(!account.settle().request_sent);
        assert!(!account.begin());
        assert!(!account.settle().request_sent);
    }
}
