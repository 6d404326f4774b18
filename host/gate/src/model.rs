//! A conversation with a model, in no vendor's words. Mirrors `wit/model`.

use event::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// People, and what the host says on their behalf.
    User,
    /// The model, earlier.
    Assistant,
}

/// A call that the model wants made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The model's own name for the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub input: Value,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The `id` of the call.
    pub id: String,
    /// Its output, or the reason of the no.
    pub output: Value,
    /// Whether the call was denied, refused or failed.
    pub failed: bool,
}

/// An image or a file, whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its bytes in base64, with padding.
    pub content: String,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text.
    Text(String),
    /// A call the model made.
    ToolCall(ToolCall),
    /// What came of one.
    ToolResult(ToolResult),
    /// An image to look at; from the user side.
    Image(Media),
    /// A file to read; from the user side.
    File(Media),
    /// The model's own notes, in the provider's form: from a response, and given back as they were. Shown to nobody.
    Notes(Value),
    /// What comes before is the same in the next request: worth keeping in a provider's cache. Says nothing to the
    /// model.
    CacheMark,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What, in order.
    pub parts: Vec<Part>,
}

/// A tool on offer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOffer {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: Value,
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InferRequest {
    /// The model's full name, such as `scripted/story`.
    pub model: String,
    /// Instructions.
    pub system: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools on offer.
    pub tools: Vec<ToolOffer>,
    /// The most it may write, in tokens.
    pub output_tokens_max: u32,
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said all it wanted.
    End,
    /// It wants tools called.
    ToolUse,
    /// It reached the maximum.
    Length,
    /// The provider declined to go on.
    Declined,
    /// Any other reason.
    Other(String),
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InferResponse {
    /// What it says and what it wants called, in order.
    pub parts: Vec<Part>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What was used; nothing when the provider did not say.
    pub usage: Option<Usage>,
}
