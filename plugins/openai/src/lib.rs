//! Models by OpenAI's APIs: Responses, and Chat Completions, which other servers speak too.
//!
//! One request for each call, streamed; what comes is put together and checked before it is an answer. Written from
//! the published description of the APIs (developers.openai.com, November 2026). Settings: `api` (`responses`, or
//! `chat`), `base_url`, `models` (which model each `custom-…` is), `effort` (how much a model reasons), `first_byte_ms`
//! and `silence_ms` (how long to wait).
//!
//! Deliberately absent: retries, which are the host's; tools that run at the provider; conversations kept there.

mod chat;
mod error;
mod responses;
mod settings;

use guest::Host;
use guest::http::{Ask, Flows, Method};
use guest::model::{Heard, ModelDefinition, ModelFailure, Models, Names, Next, Request, Response, read};
use serde_json::Value;
use settings::{Api, Settings};

#[cfg(target_arch = "wasm32")]
guest::model::bindings::export!(OpenAi with_types_in guest::model::bindings);

/// How the provider is named in a failure.
const PROVIDER: &str = "the provider";
/// The credential, by reference.
const CREDENTIAL: &str = "openai.api-key";
/// The longest name of a tool, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// How much of an answer the host hands on; the reader keeps its own limits.
const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Each model: its name, how much fits, and the most it writes, in tokens.
const MODELS: [(&str, u32, u32); 5] = [
    ("gpt-6.2-sol", 1_050_000, 128_000),
    ("gpt-6-luna", 1_050_000, 128_000),
    ("custom-8k", 8_192, 2_048),
    ("custom-32k", 32_768, 8_192),
    ("custom-128k", 131_072, 32_768),
];

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct OpenAi;

impl Models for OpenAi {
    fn definitions() -> Vec<ModelDefinition> {
        let definition = |(name, window_tokens, output_tokens_max)| ModelDefinition {
            name,
            window_tokens,
            output_tokens_max,
        };
        MODELS.map(definition).to_vec()
    }

    fn infer(
        request: Request,
        host: &dyn Host,
        way: &dyn Flows,
        show: &mut dyn FnMut(&str) -> Next,
    ) -> Result<Response, ModelFailure> {
        let settings = Settings::of(host, &request.model)?;
        let names = Names::of(&request, NAME_BYTES_MAX);
        match settings.api {
            Api::Chat => {
                let ask = ask(&settings, &chat::ask::body(&request, &settings, &names)?);
                let mut answer = chat::answer::Answer::new(names);
                match read(way, (&ask, settings.waits), &mut answer, show)? {
                    Heard::Events => answer.finish(),
                    Heard::Whole(text) => chat::answer::whole(&text, answer, show),
                    Heard::Error { status, retry_after_ms, body } => {
                        Err(error::of(status, retry_after_ms, &body))
                    }
                }
            }
            Api::Responses => {
                let ask = ask(&settings, &responses::ask::body(&request, &settings, &names)?);
                let mut answer = responses::answer::Answer::new(names);
                match read(way, (&ask, settings.waits), &mut answer, show)? {
                    Heard::Events => answer.finish(),
                    Heard::Whole(text) => responses::answer::whole(&text, answer, show),
                    Heard::Error { status, retry_after_ms, body } => {
                        Err(error::of(status, retry_after_ms, &body))
                    }
                }
            }
        }
    }
}

fn ask(settings: &Settings, body: &Value) -> Ask {
    Ask {
        method: Method::Post,
        address: settings.address.clone(),
        headers: vec![
            ("content-type", "application/json"),
            ("accept", "text/event-stream, application/json"),
        ],
        body: body.to_string().into_bytes(),
        reply_bytes_max: REPLY_BYTES_MAX,
    }
}

#[cfg(test)]
mod tests;
