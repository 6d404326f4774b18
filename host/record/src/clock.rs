//! Where the record takes the time from. The one place of this crate that may look at a real clock.

use event::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time. Tests and simulations bring their own.
pub trait Clock: Send + Sync {
    /// The moment now. May run backwards: the record never does.
    fn now(&self) -> Timestamp;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }
}
