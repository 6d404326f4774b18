//! The world `chancery:model/model` for Rust: generated bindings, and every [`Models`] as its export.
//!
//! A plugin ends with `guest::model::bindings::export!(Plugin with_types_in guest::model::bindings);`.
#![allow(missing_docs, unsafe_code, reason = "the generated bindings")]

use super as plain;
use super::Models;
use crate::{Host, Level, http};
use serde_json::Value;

wit_bindgen::generate!({
    path: ["../../wit/types", "../../wit/host", "../../wit/model"],
    world: "chancery:model/model",
    generate_all,
    pub_export_macro: true,
});

use chancery::host::{credentials, deltas, log, settings};
use exports::chancery::model::inference::{
    Definition, Failure, FailureKind, Guest, Media, Message, Part, Request, Response, Role, StopReason, Tool,
    ToolCall, Usage,
};

impl<T: Models> Guest for T {
    fn definitions() -> Vec<Definition> {
        let definition = |one: plain::ModelDefinition| Definition {
            name: one.name.to_owned(),
            window_tokens: one.window_tokens,
            output_tokens_max: one.output_tokens_max,
        };
        T::definitions().into_iter().map(definition).collect()
    }

    fn infer(request: Request) -> Result<Response, Failure> {
        let request = asked(request).map_err(failed)?;
        let mut show = |text: &str| match deltas::write(text) {
            deltas::Next::GoOn => plain::Next::GoOn,
            deltas::Next::Stop => plain::Next::Stop,
        };
        T::infer(request, &Lent, &http::Outgoing, &mut show).map(answered).map_err(failed)
    }
}

/// The imports of the world, as the plain [`Host`].
struct Lent;

impl Host for Lent {
    fn setting(&self, key: &str) -> Option<Value> {
        settings::get(key).and_then(|json| serde_json::from_str(&json).ok())
    }

    fn credential_exists(&self, reference: &str) -> bool {
        credentials::exists(reference)
    }

    fn log(&self, level: Level, line: &str) {
        let level = match level {
            Level::Debug => log::Level::Debug,
            Level::Info => log::Level::Info,
            Level::Warn => log::Level::Warn,
        };
        log::write(level, line);
    }
}

fn asked(request: Request) -> Result<plain::Request, plain::ModelFailure> {
    let offer = |tool: Tool| plain::Offer {
        name: tool.name,
        description: tool.description,
        input_schema: tool.input_schema,
    };
    Ok(plain::Request {
        model: request.model,
        system: request.system,
        messages: request.messages.into_iter().map(message).collect::<Result<_, _>>()?,
        tools: request.tools.into_iter().map(offer).collect(),
        output_tokens_max: request.output_tokens_max,
    })
}

fn message(message: Message) -> Result<plain::Message, plain::ModelFailure> {
    let role = match message.role {
        Role::User => plain::Role::User,
        Role::Assistant => plain::Role::Assistant,
    };
    Ok(plain::Message { role, parts: message.parts.into_iter().map(part).collect::<Result<_, _>>()? })
}

fn part(part: Part) -> Result<plain::Part, plain::ModelFailure> {
    Ok(match part {
        Part::Text(text) => plain::Part::Text(text),
        Part::ToolCall(call) => {
            plain::Part::Call(plain::ModelCall { id: call.id, name: call.name, input: json(&call.input)? })
        }
        Part::ToolResult(result) => plain::Part::Outcome(plain::Outcome {
            id: result.id,
            output: result.output,
            failed: result.failed,
        }),
        Part::Image(image) => plain::Part::Image(media(image)),
        Part::File(file) => plain::Part::File(media(file)),
        Part::Notes(notes) => plain::Part::Notes(json(&notes)?),
        Part::CacheMark => plain::Part::CacheMark,
    })
}

fn media(media: Media) -> plain::Media {
    plain::Media { media_type: media.media_type, name: media.name, content: media.content }
}

fn json(text: &str) -> Result<Value, plain::ModelFailure> {
    serde_json::from_str(text).map_err(|e| {
        let message = format!("the conversation holds something that is not JSON: {e}");
        plain::ModelFailure::new(plain::ModelKind::Malformed, message)
    })
}

fn answered(response: plain::Response) -> Response {
    // What only the user side has is not an answer's to give.
    let part = |part| match part {
        plain::Part::Text(text) => Some(Part::Text(text)),
        plain::Part::Call(call) => {
            Some(Part::ToolCall(ToolCall { id: call.id, name: call.name, input: call.input.to_string() }))
        }
        plain::Part::Notes(notes) => Some(Part::Notes(notes.to_string())),
        plain::Part::Outcome(_) | plain::Part::Image(_) | plain::Part::File(_) | plain::Part::CacheMark => {
            None
        }
    };
    Response {
        parts: response.parts.into_iter().filter_map(part).collect(),
        stop: match response.stop {
            plain::Stop::End => StopReason::End,
            plain::Stop::ToolUse => StopReason::ToolUse,
            plain::Stop::Length => StopReason::Length,
            plain::Stop::Declined => StopReason::Declined,
            plain::Stop::Other(word) => StopReason::Other(word),
        },
        usage: response.usage.map(used),
    }
}

fn used(usage: plain::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        output_tokens: usage.output_tokens,
    }
}

fn failed(failure: plain::ModelFailure) -> Failure {
    let kind = match failure.kind {
        plain::ModelKind::Retryable => FailureKind::Retryable,
        plain::ModelKind::Overloaded => FailureKind::Overloaded,
        plain::ModelKind::TooLong => FailureKind::TooLong,
        plain::ModelKind::Refused => FailureKind::Refused,
        plain::ModelKind::Malformed => FailureKind::Malformed,
        plain::ModelKind::Unauthorised => FailureKind::Unauthorised,
        plain::ModelKind::Stopped => FailureKind::Stopped,
    };
    let usage = failure.usage.map(used);
    Failure { kind, message: failure.message, retry_after_ms: failure.retry_after_ms, usage }
}
