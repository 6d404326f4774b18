//! A model plugin as plain values: `chancery:model` without the component model, and what providers have in common.
//!
//! A plugin tries once. It never retries, never waits, never follows a redirect: the host does what is to be done about
//! a [`ModelFailure`], by its kind.

#[cfg(target_arch = "wasm32")]
pub mod bindings;
mod names;
mod provider;
mod sse;

pub use names::Names;
pub use provider::{ERROR_BYTES_MAX, Heard, Read, cut, overlong, read, retry_after_ms, word};
pub use sse::{EVENT_BYTES_MAX, Event, Events};

use crate::Host;
use crate::http::Flows;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// What a model plugin is. [`bindings`] exports any implementation as a component.
pub trait Models {
    /// The models on offer. Asked once, when the plugin is loaded, with nothing granted.
    fn definitions() -> Vec<ModelDefinition>;

    /// Answers one admitted request, in a fresh instance. `show` is given text as it comes, and says whether to go on;
    /// it is asked with no text for everything else that comes.
    ///
    /// # Errors
    /// Whatever kept it from an answer, as data for the host.
    fn infer(
        request: Request,
        host: &dyn Host,
        way: &dyn Flows,
        show: &mut dyn FnMut(&str) -> Next,
    ) -> Result<Response, ModelFailure>;
}

/// One model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelDefinition {
    /// Its name within the plugin.
    pub name: &'static str,
    /// How many tokens fit, input and output together.
    pub window_tokens: u32,
    /// The most it may write in one response.
    pub output_tokens_max: u32,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Read on.
    GoOn,
    /// Hang up.
    Stop,
}

/// One request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// Which of the plugin's models.
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
    Call(ModelCall),
    /// What came of a call.
    Outcome(Outcome),
    /// An image.
    Image(Media),
    /// A file.
    File(Media),
    /// The model's own notes, in the provider's form.
    Notes(Value),
    /// What comes before is worth keeping in a cache.
    CacheMark,
}

/// A call that a model wants made.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// The model's own name for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The input: an object.
    pub input: Value,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The id of the call.
    pub id: String,
    /// Its output as JSON, or the reason of the no.
    pub output: String,
    /// Whether the call was denied, refused or failed.
    pub failed: bool,
}

/// An image or a file, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Its media type.
    pub media_type: String,
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its bytes in base64.
    pub content: String,
}

impl Media {
    /// The text of a file that is UTF-8; nothing when it is not.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        String::from_utf8(STANDARD.decode(&self.content).ok()?).ok()
    }

    /// A name to give a provider.
    #[must_use]
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or("file")
    }
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

impl Offer {
    /// The schema as JSON.
    ///
    /// # Errors
    /// [`ModelKind::Malformed`] when it is none.
    pub fn schema(&self) -> Result<Value, ModelFailure> {
        serde_json::from_str(&self.input_schema).map_err(|e| {
            ModelFailure::new(ModelKind::Malformed, format!("the schema of `{}` is not JSON: {e}", self.name))
        })
    }
}

/// One response.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// What it says and wants called, in order.
    pub parts: Vec<Part>,
    /// Why the model stopped.
    pub stop: Stop,
    /// What was used; nothing when the provider did not say.
    pub usage: Option<Usage>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It had said all.
    End,
    /// It wants tools called.
    ToolUse,
    /// It reached its limit.
    Length,
    /// The provider declined to go on.
    Declined,
    /// Any other reason: one lower-case word.
    Other(String),
}

/// What was used, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input, cached and written to the cache included.
    pub input_tokens: u64,
    /// Of those, from the cache.
    pub cached_input_tokens: u64,
    /// Of those, written to the cache at a price of their own.
    pub cache_write_tokens: u64,
    /// Output.
    pub output_tokens: u64,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFailure {
    /// What kind of failure.
    pub kind: ModelKind,
    /// One sentence. Never a secret.
    pub message: String,
    /// How long the provider asks to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// What was used all the same, where the provider said so and its answer cannot be used.
    pub usage: Option<Usage>,
}

/// What the host would do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelKind {
    /// Another try may work.
    Retryable,
    /// The provider has too much to do, or asks to slow down.
    Overloaded,
    /// The conversation does not fit.
    TooLong,
    /// The provider refuses this request.
    Refused,
    /// The request or the answer could not be understood.
    Malformed,
    /// The provider does not take the credential, or the host let no request out.
    Unauthorised,
    /// The host said stop.
    Stopped,
}

impl ModelFailure {
    /// A failure with no word on when to try again.
    pub fn new(kind: ModelKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None, usage: None }
    }

    /// The host said stop.
    #[must_use]
    pub fn stopped() -> Self {
        Self::new(ModelKind::Stopped, "the host said stop")
    }
}

/// An exchange that did not come about, as the host would react to it.
impl From<crate::Failure> for ModelFailure {
    fn from(failure: crate::Failure) -> Self {
        use crate::Kind;
        let kind = match failure.kind {
            Kind::NotAllowed => ModelKind::Unauthorised,
            Kind::InvalidInput | Kind::NotFound | Kind::Other(_) => ModelKind::Refused,
            Kind::RateLimited => ModelKind::Overloaded,
            Kind::TooLarge => ModelKind::TooLong,
            Kind::Malformed => ModelKind::Malformed,
            Kind::Unavailable => ModelKind::Retryable,
        };
        let crate::Failure { message, retry_after_ms, .. } = failure;
        Self { kind, message, retry_after_ms, usage: None }
    }
}
