//! The world `chancery:model/model`, generated, around [`crate::infer`].
#![allow(missing_docs, unsafe_code, reason = "the generated bindings")]

use serde_json::Value;

use crate::talk;

wit_bindgen::generate!({
    path: ["../../wit/types", "../../wit/host", "../../wit/model"],
    world: "chancery:model/model",
    generate_all,
});

use chancery::host::{deltas, settings};
use exports::chancery::model::inference::{
    Definition, Failure, FailureKind, Guest, Message, Part, Request, Response, Role, StopReason, Tool,
    ToolCall, Usage,
};

struct Scripted;

export!(Scripted);

impl Guest for Scripted {
    fn definitions() -> Vec<Definition> {
        vec![Definition {
            name: crate::MODEL.to_owned(),
            window_tokens: crate::WINDOW_TOKENS,
            output_tokens_max: crate::OUTPUT_TOKENS_MAX,
        }]
    }

    fn infer(request: Request) -> Result<Response, Failure> {
        let script = settings::get("script").and_then(|json| serde_json::from_str::<String>(&json).ok());
        let response = crate::infer(script.as_deref(), &plain(request)?).map_err(failed)?;
        for part in &response.parts {
            if let talk::Part::Text(text) = part {
                crate::words(text).try_for_each(shown)?;
            }
        }
        Ok(answered(response))
    }
}

fn shown(word: &str) -> Result<(), Failure> {
    match deltas::write(word) {
        deltas::Next::GoOn => Ok(()),
        deltas::Next::Stop => Err(Failure {
            kind: FailureKind::Stopped,
            message: "the host said stop".to_owned(),
            retry_after_ms: None,
            usage: None,
        }),
    }
}

fn plain(request: Request) -> Result<talk::Request, Failure> {
    let messages = request.messages.into_iter().map(message).collect::<Result<_, _>>()?;
    Ok(talk::Request {
        model: request.model,
        system: request.system,
        messages,
        tools: request.tools.into_iter().map(offer).collect(),
        output_tokens_max: request.output_tokens_max,
    })
}

fn message(message: Message) -> Result<talk::Message, Failure> {
    let role = match message.role {
        Role::User => talk::Role::User,
        Role::Assistant => talk::Role::Assistant,
    };
    let part = |part| {
        Ok(Some(match part {
            Part::Text(text) => talk::Part::Text(text),
            Part::ToolCall(call) => {
                talk::Part::Call(talk::Call { id: call.id, name: call.name, input: json(&call.input)? })
            }
            Part::ToolResult(result) => talk::Part::Outcome(talk::Outcome {
                id: result.id,
                output: json(&result.output)?,
                failed: result.failed,
            }),
            Part::Image(media) | Part::File(media) => talk::Part::Text(format!("({})", media.media_type)),
            // This model has no cache, and keeps no notes.
            Part::CacheMark | Part::Notes(_) => return Ok(None),
        }))
    };
    let parts = message.parts.into_iter().filter_map(|one| part(one).transpose());
    Ok(talk::Message { role, parts: parts.collect::<Result<_, _>>()? })
}

fn offer(tool: Tool) -> talk::Offer {
    talk::Offer { name: tool.name, description: tool.description, input_schema: tool.input_schema }
}

fn json(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|e| Failure {
        kind: FailureKind::Malformed,
        message: format!("the conversation holds something that is not JSON: {e}"),
        retry_after_ms: None,
        usage: None,
    })
}

fn answered(response: talk::Response) -> Response {
    // A response has no results in it: those are the host's to give.
    let part = |part| match part {
        talk::Part::Text(text) => Some(Part::Text(text)),
        talk::Part::Call(call) => {
            Some(Part::ToolCall(ToolCall { id: call.id, name: call.name, input: call.input.to_string() }))
        }
        talk::Part::Outcome(_) => None,
    };
    Response {
        parts: response.parts.into_iter().filter_map(part).collect(),
        stop: match response.stop {
            talk::Stop::End => StopReason::End,
            talk::Stop::ToolUse => StopReason::ToolUse,
            talk::Stop::Length => StopReason::Length,
        },
        usage: Some(Usage {
            input_tokens: response.usage.input_tokens,
            cached_input_tokens: response.usage.cached_input_tokens,
            cache_write_tokens: 0,
            output_tokens: response.usage.output_tokens,
        }),
    }
}

fn failed(failure: talk::Failure) -> Failure {
    let kind = match failure.kind {
        talk::FailureKind::TooLong => FailureKind::TooLong,
        talk::FailureKind::Refused => FailureKind::Refused,
        talk::FailureKind::Malformed => FailureKind::Malformed,
    };
    Failure { kind, message: failure.message, retry_after_ms: None, usage: None }
}
