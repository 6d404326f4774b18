//! What runs a component, given a permit. `component` implements [`Reach`]; only [`crate::pass`] calls it.

use crate::model::InferResponse;
use crate::permit::Permit;
use event::{Digest, Timestamp, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Runs the component a permit names.
#[async_trait::async_trait]
pub trait Reach: Send + Sync {
    /// Makes the one call `permit` stands for. Never panics and never takes longer than the call's wall-clock
    /// limit: whatever a guest does is data in [`Reached`].
    async fn reach(&self, permit: Permit) -> Reached;
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The output, or why there is none.
    pub outcome: Result<Output, Failure>,
    /// Whether any request may have left the host, as the way out saw it; never what a guest says.
    pub request_sent: bool,
    /// What was read on the way, in order.
    pub readings: Vec<Reading>,
}

/// What a component gave back.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// From a tool; fits its output schema.
    Tool(Value),
    /// From a model.
    Model(InferResponse),
    /// A model answered, and its answer cannot be used: to whoever asked it is a failure, to the purse it is what was
    /// used.
    Unusable {
        /// Why it cannot be used.
        failure: Failure,
        /// What the provider says was used.
        usage: Usage,
    },
}

/// One answer from outside, as the way out saw it: what a receipt is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// HTTP method.
    pub method: String,
    /// The address, without credentials.
    pub address: String,
    /// HTTP status.
    pub status: u16,
    /// SHA-256 of the body.
    pub sha256: Digest,
    /// Length of the body.
    pub bytes: u64,
    /// When it was complete.
    pub read_at: Timestamp,
}

/// Why there is no output: data, never thrown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What a caller would do differently.
    pub kind: FailureKind,
    /// One sentence.
    pub message: String,
    /// How long the other side asks to wait.
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// The failure as the result of a tool call.
    #[must_use]
    pub fn to_output(&self) -> Value {
        json!({"failed": self.kind, "message": self.message, "retry_after_ms": self.retry_after_ms})
    }
}

/// What kind of failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The input is not what the tool takes.
    InvalidInput,
    /// What was asked for does not exist.
    NotFound,
    /// The other side, or the way out, does not allow it.
    NotAllowed,
    /// It goes with an account of whoever asked, at this service, and none that can be used is connected.
    NoAccount(String),
    /// The other side asks to wait.
    RateLimited,
    /// The other side did not answer or cannot now.
    Unavailable,
    /// More than a limit takes.
    TooLarge,
    /// The answer could not be understood.
    Malformed,
    /// The guest trapped, ran out of time or memory, or answered outside its schema.
    Guest,
    /// The conversation does not fit the model.
    TooLong,
    /// The provider refuses the request.
    ProviderRefused,
    /// Whoever asked said stop while the call ran.
    Stopped,
    /// Any other reason.
    Other(String),
}
