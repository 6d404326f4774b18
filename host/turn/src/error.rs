//! What can stop a turn without ending it. Whatever stops it, the record says how far it came, and running
//! it again goes on from there.

use event::{SeatId, TurnId};
use gate::GateError;

/// Why a turn could not be opened or run on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lease was lost, or another host wrote to the turn: stop at once, it is run elsewhere.
    #[error("this host no longer holds the turn")]
    LeaseLost(#[source] record::Error),
    /// The record does not answer now: run the turn again later.
    #[error("the record cannot be used now")]
    Unavailable(#[source] record::Error),
    /// The record answered with something else that is wrong.
    #[error("the record refused what the turn asked of it")]
    Record(#[source] record::Error),
    /// The gate itself cannot work: nothing may be called until an operator mends it.
    #[error("the gate cannot be passed")]
    Door(#[source] GateError),
    /// There is no such turn.
    #[error("there is no turn `{0}` in the record")]
    NoTurn(TurnId),
    /// The turn's seat does not exist or nobody holds it: a vacant seat takes no turns.
    #[error("nobody holds the seat `{0}`: let somebody hold it with `chancery seat hold`")]
    Vacant(SeatId),
    /// A step of the turn holds something this host cannot read.
    #[error("step {step} of turn `{turn}` does not hold what a model answered")]
    Unreadable {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: u32,
        /// What did not fit.
        source: serde_json::Error,
    },
}

impl From<record::Error> for Error {
    fn from(error: record::Error) -> Self {
        match error {
            // An append under our lease that finds another position was overtaken just the same.
            record::Error::LeaseLost { .. } | record::Error::Conflict { .. } => Self::LeaseLost(error),
            record::Error::Unavailable { .. } => Self::Unavailable(error),
            other => Self::Record(other),
        }
    }
}

impl From<GateError> for Error {
    fn from(error: GateError) -> Self {
        match error {
            GateError::Record(error) => Self::from(error),
            other => Self::Door(other),
        }
    }
}
