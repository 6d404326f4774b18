//! What a turn needs of the gate: that calls may begin, in one commit with what the turn itself has to say, be made, and
//! be let go of.
//!
//! The loop is generic over this and no more, so that it can be run against a door that a test holds.

use gate::{Began, Call, Came, Carried, Deltas, Gate, GateError, Going};
use std::sync::Arc;

/// The one door, as a turn sees it.
#[async_trait::async_trait]
pub trait Door: Send + Sync {
    /// A call that has begun.
    type Going: Send;

    /// Lets `calls` begin, if they may, in one commit with what is `carried`.
    ///
    /// # Errors
    /// When the door itself cannot work. A no is no error: it is data.
    async fn begin(&self, calls: Vec<Call>, carried: Carried) -> Result<Began<Self::Going>, GateError>;

    /// Makes a call that has begun. Text a model writes goes to `deltas` as it comes. What it comes to has to be written
    /// down.
    async fn go(&self, going: Self::Going, deltas: Option<Arc<dyn Deltas>>) -> Came;

    /// Says that nobody waits for `call` any more: what it holds ends by what is known.
    ///
    /// # Errors
    /// When the door itself cannot work.
    async fn abandon(&self, call: &Call) -> Result<(), GateError>;
}

#[async_trait::async_trait]
impl Door for Gate {
    type Going = Going;

    async fn begin(&self, calls: Vec<Call>, carried: Carried) -> Result<Began, GateError> {
        Self::begin(self, calls, carried).await
    }

    async fn go(&self, going: Going, deltas: Option<Arc<dyn Deltas>>) -> Came {
        Self::go(self, going, deltas).await
    }

    async fn abandon(&self, call: &Call) -> Result<(), GateError> {
        Self::abandon(self, call).await
    }
}
