//! Claude, by Anthropic's Messages API.
//!
//! One request for each call, streamed; what comes is put together and checked before it is an answer. Written from
//! the published description of the API (platform.claude.com, November 2026). Settings: `base_url` (of a gateway),
//! `effort` (how much the model thinks: `low`, `medium`, `high`), `first_byte_ms` and `silence_ms` (how long to wait),
//! `thinking = false` (for a gateway that does not know the field).
//!
//! Deliberately absent: retries, which are the host's; tools that run at the provider; citations; batches.

mod answer;
mod ask;
mod error;
mod settings;

use guest::Host;
use guest::http::Flows;
use guest::model::{Heard, ModelDefinition, ModelFailure, Models, Next, Request, Response, read};

#[cfg(target_arch = "wasm32")]
guest::model::bindings::export!(Anthropic with_types_in guest::model::bindings);

/// How the provider is named in a failure.
const PROVIDER: &str = "Anthropic";
/// The credential, by reference.
const CREDENTIAL: &str = "anthropic.api-key";
/// How much fits a model of the current generation, in tokens.
const WINDOW_TOKENS: u32 = 1_000_000;
/// The most one of them writes in a response, in tokens, thinking included.
const OUTPUT_TOKENS_MAX: u32 = 128_000;

/// The models, all of one generation: each thinks as it likes, and takes back its own thinking unchanged.
const MODELS: [&str; 4] = ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1"];

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct Anthropic;

impl Models for Anthropic {
    fn definitions() -> Vec<ModelDefinition> {
        let definition = |name| ModelDefinition {
            name,
            window_tokens: WINDOW_TOKENS,
            output_tokens_max: OUTPUT_TOKENS_MAX,
        };
        MODELS.map(definition).to_vec()
    }

    fn infer(
        request: Request,
        host: &dyn Host,
        way: &dyn Flows,
        show: &mut dyn FnMut(&str) -> Next,
    ) -> Result<Response, ModelFailure> {
        let settings = settings::Settings::of(host)?;
        let (ask, names) = ask::ask(&request, &settings)?;
        let mut answer = answer::Answer::new(names);
        match read(way, (&ask, settings.waits), &mut answer, show)? {
            Heard::Events => answer.finish(),
            Heard::Whole(text) => answer.whole(&text, show),
            Heard::Error { status, retry_after_ms, body } => Err(error::of(status, retry_after_ms, &body)),
        }
    }
}

#[cfg(test)]
mod tests;
