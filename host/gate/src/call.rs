//! What is asked of the gate.

use crate::model::InferRequest;
use event::{Digest, EventId, Label, Origin, SeatId};
use serde_json::Value;

/// What is passed to the component.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// Arguments of a tool: one JSON object.
    Tool(Value),
    /// A request to a model.
    Infer(InferRequest),
}

/// One call that a seat wants made.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The step or duty it is made for; holds, receipts and effects are keyed by it.
    pub origin: Origin,
    /// The seat that asks.
    pub seat: SeatId,
    /// The tool, such as `web.fetch`; for a model its full name, such as `scripted/story`.
    pub tool: String,
    /// What is passed.
    pub payload: Payload,
    /// The join of the labels of everything the asker has read.
    pub label: Label,
    /// The event the call follows from.
    pub cause: EventId,
    /// The lease under which the caller works: an append made after it was lost is refused.
    pub fence: Option<record::Fence>,
}

impl Call {
    /// The arguments as JSON: what policy sees and digests cover.
    #[must_use]
    pub fn input(&self) -> Value {
        match &self.payload {
            Payload::Tool(value) => value.clone(),
            // Serialising plain records of strings and integers cannot fail.
            Payload::Infer(request) => serde_json::to_value(request).unwrap_or(Value::Null),
        }
    }

    /// The digest of the canonical arguments.
    #[must_use]
    pub fn content(&self) -> Digest {
        event::canon::canonical_digest(&self.input())
    }
}
