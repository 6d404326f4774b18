//! A conversation with a model as plain values: `chancery:model` without the component model.

use serde_json::Value;

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Which model.
    pub model: String,
    /// Instructions.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools on offer now.
    pub tools: Vec<Offer>,
    /// The most that may be written, in tokens.
    pub output_tokens_max: u32,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What, in order.
    pub parts: Vec<Part>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// People, and what the host says on their behalf.
    User,
    /// The model itself.
    Assistant,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text.
    Text(String),
    /// A call the model wants made.
    Call(Call),
    /// What came of a call.
    Outcome(Outcome),
}

/// A call that the model wants made.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The model's own name for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The input.
    pub input: Value,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The id of the call.
    pub id: String,
    /// Its output, or the reason of the no.
    pub output: Value,
    /// Whether the call was denied, refused or failed.
    pub failed: bool,
}

/// A tool on offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: String,
}

/// One response.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// What it says and wants called, in order.
    pub parts: Vec<Part>,
    /// Why it stopped.
    pub stop: Stop,
    /// What was used.
    pub usage: Usage,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It had said all.
    End,
    /// It wants tools called.
    ToolUse,
    /// It reached its limit.
    Length,
}

/// What was used, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Input.
    pub input_tokens: u64,
    /// Of those, from a cache; this model has none.
    pub cached_input_tokens: u64,
    /// Output.
    pub output_tokens: u64,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// One sentence.
    pub message: String,
}

/// What the host would do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The conversation does not fit.
    TooLong,
    /// There is no such model.
    Refused,
    /// The script or the request cannot be understood.
    Malformed,
}
