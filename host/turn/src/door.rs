//! What a turn needs of the gate: that one call may pass, and be let go of.
//!
//! The loop is generic over this and no more, so that it can be run against a door that a test holds.

use gate::{Call, Deltas, Gate, GateError, Passed};
use std::sync::Arc;

/// The one door, as a turn sees it.
#[async_trait::async_trait]
pub trait Door: Send + Sync {
    /// Makes `call`, if it may be made. Text a model writes goes to `deltas` as it comes.
    ///
    /// # Errors
    /// When the door itself cannot work. A no and a failure are no errors: they are data in [`Passed`].
    async fn pass(&self, call: Call, deltas: Option<Arc<dyn Deltas>>) -> Result<Passed, GateError>;

    /// Says that nobody waits for `call` any more: what it holds ends by what is known.
    ///
    /// # Errors
    /// When the door itself cannot work.
    async fn abandon(&self, call: &Call) -> Result<(), GateError>;
}

#[async_trait::async_trait]
impl Door for Gate {
    async fn pass(&self, call: Call, deltas: Option<Arc<dyn Deltas>>) -> Result<Passed, GateError> {
        Self::pass(self, call, deltas).await
    }

    async fn abandon(&self, call: &Call) -> Result<(), GateError> {
        Self::abandon(self, call).await
    }
}
