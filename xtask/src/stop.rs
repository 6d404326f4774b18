//! Why a task stops.

use std::fmt::Display;

/// What ends a task early: nothing here is caught and mended, so it is one sentence for whoever typed the
/// command, and a status for scripts.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Stop {
    /// What happened and what to do.
    pub message: String,
    /// The status the process ends with; 1 unless a task documents another.
    pub status: u8,
}

impl Stop {
    /// Stops with status 1.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: 1 }
    }

    /// Stops with status 1 because of `source`, saying what was being done to what.
    pub fn because(doing: impl Display, source: impl Display) -> Self {
        Self::new(format!("{doing}: {source}"))
    }
}
