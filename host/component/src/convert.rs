//! Between the gate's words and those of the WIT: nothing is decided here but what does not fit.
//!
//! What comes from a guest is not believed: text that should be JSON is parsed, numbers that would not be kept
//! exactly are refused, and a word that should be stable and short is made so.

use crate::bindings::model::exports::chancery::model::inference as wit_model;
use crate::bindings::types as wit_types;
use crate::limits::Limits;
use crate::log::plain;
use event::Usage;
use gate::{
    Failure, FailureKind, InferRequest, InferResponse, Media, Message, Output, Part, Role, StopReason,
    ToolCall,
};
use serde_json::Value;

/// Longest word of an open set, such as the kind of a failure: it is a word, not a sentence.
const WORD_BYTES_MAX: usize = 40;
/// What stands for a word that is none.
const NO_WORD: &str = "unnamed";

/// The request, as a guest of the plugin `plugin` reads it.
pub(crate) fn request(plugin: &str, request: InferRequest) -> wit_model::Request {
    let model = request.model.strip_prefix(plugin).and_then(|rest| rest.strip_prefix('/'));
    wit_model::Request {
        model: model.unwrap_or(&request.model).to_owned(),
        system: request.system,
        messages: request.messages.into_iter().map(message).collect(),
        tools: request
            .tools
            .into_iter()
            .map(|offer| wit_model::Tool {
                name: offer.name,
                description: offer.description,
                input_schema: offer.input_schema.to_string(),
            })
            .collect(),
        output_tokens_max: request.output_tokens_max,
    }
}

fn message(message: Message) -> wit_model::Message {
    let role = match message.role {
        Role::User => wit_model::Role::User,
        Role::Assistant => wit_model::Role::Assistant,
    };
    let part = |part| match part {
        Part::Text(text) => wit_model::Part::Text(text),
        Part::ToolCall(call) => wit_model::Part::ToolCall(wit_model::ToolCall {
            id: call.id,
            name: call.name,
            input: call.input.to_string(),
        }),
        Part::ToolResult(result) => wit_model::Part::ToolResult(wit_model::ToolResult {
            id: result.id,
            output: result.output.to_string(),
            failed: result.failed,
        }),
        Part::Image(image) => wit_model::Part::Image(media(image)),
        Part::File(file) => wit_model::Part::File(media(file)),
        Part::Notes(notes) => wit_model::Part::Notes(notes.to_string()),
        Part::CacheMark => wit_model::Part::CacheMark,
    };
    wit_model::Message { role, parts: message.parts.into_iter().map(part).collect() }
}

fn media(media: Media) -> wit_model::Media {
    wit_model::Media { media_type: media.media_type, name: media.name, content: media.content }
}

/// How many bytes of text the request is, about: what the guest's memory must hold.
pub(crate) fn request_bytes(request: &wit_model::Request) -> usize {
    let of_part = |part: &wit_model::Part| match part {
        wit_model::Part::Text(text) => text.len(),
        wit_model::Part::ToolCall(call) => call.id.len() + call.name.len() + call.input.len(),
        wit_model::Part::ToolResult(result) => result.id.len() + result.output.len(),
        wit_model::Part::Image(media) | wit_model::Part::File(media) => {
            media.media_type.len() + media.name.as_ref().map_or(0, String::len) + media.content.len()
        }
        wit_model::Part::Notes(notes) => notes.len(),
        wit_model::Part::CacheMark => 0,
    };
    let messages: usize = request.messages.iter().flat_map(|message| &message.parts).map(of_part).sum();
    let of_tool = |tool: &wit_model::Tool| tool.name.len() + tool.description.len() + tool.input_schema.len();
    request.system.len() + messages + request.tools.iter().map(of_tool).sum::<usize>()
}

/// What the model answered.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub(crate) fn response(response: wit_model::Response, limits: &Limits) -> Result<InferResponse, String> {
    if response.parts.len() > limits.parts {
        return Err(format!(
            "it answered in {} parts, and {} is the most",
            response.parts.len(),
            limits.parts
        ));
    }
    let mut left = limits.output_bytes;
    let mut parts = Vec::with_capacity(response.parts.len());
    for part in response.parts {
        let (part, bytes) = answered(part)?;
        left = left
            .checked_sub(bytes)
            .ok_or_else(|| format!("it answered more than {} bytes", limits.output_bytes))?;
        parts.push(part);
    }
    let stop = match response.stop {
        wit_model::StopReason::End => StopReason::End,
        wit_model::StopReason::ToolUse => StopReason::ToolUse,
        wit_model::StopReason::Length => StopReason::Length,
        wit_model::StopReason::Declined => StopReason::Declined,
        wit_model::StopReason::Other(other) => StopReason::Other(word(other)),
    };
    Ok(InferResponse { parts, stop, usage: response.usage.map(used) })
}

fn used(usage: wit_model::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        cached_input_tokens: usage.cached_input_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        output_tokens: usage.output_tokens,
    }
}

/// One part of an answer and how many bytes it is.
fn answered(part: wit_model::Part) -> Result<(Part, usize), String> {
    match part {
        wit_model::Part::Text(text) => {
            let bytes = text.len();
            Ok((Part::Text(text), bytes))
        }
        wit_model::Part::ToolCall(call) => {
            let bytes = call.id.len() + call.name.len() + call.input.len();
            let input = json(&call.input)?;
            if !input.is_object() {
                return Err(format!(
                    "the input of its call of `{}` is not a JSON object",
                    plain(&call.name, WORD_BYTES_MAX)
                ));
            }
            Ok((Part::ToolCall(ToolCall { id: call.id, name: call.name, input }), bytes))
        }
        wit_model::Part::Notes(text) => Ok((Part::Notes(json(&text)?), text.len())),
        wit_model::Part::ToolResult(_) => {
            Err("it answered with the result of a call, which is the host's to say".to_owned())
        }
        wit_model::Part::Image(_) | wit_model::Part::File(_) | wit_model::Part::CacheMark => {
            Err("it answered with a part that only the user side has".to_owned())
        }
    }
}

/// JSON from a guest, with every number exact.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub(crate) fn json(text: &str) -> Result<Value, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("what should be JSON is not: {error}"))?;
    match event::inexact(&value) {
        None => Ok(value),
        Some(pointer) => Err(format!("the number at `{pointer}` is beyond ±(2^53-1): write it as a string")),
    }
}

/// Why a tool did not work, as it says.
pub(crate) fn tool_failure(failure: wit_types::Failure, limits: &Limits) -> Failure {
    use wit_types::FailureKind as Kind;
    let kind = match failure.kind {
        Kind::InvalidInput => FailureKind::InvalidInput,
        Kind::NotFound => FailureKind::NotFound,
        Kind::NotAllowed => FailureKind::NotAllowed,
        Kind::RateLimited => FailureKind::RateLimited,
        Kind::Unavailable => FailureKind::Unavailable,
        Kind::TooLarge => FailureKind::TooLarge,
        Kind::Malformed => FailureKind::Malformed,
        Kind::Other(other) => FailureKind::Other(word(other)),
    };
    Failure {
        kind,
        message: plain(&failure.message, limits.message_bytes),
        retry_after_ms: failure.retry_after_ms,
    }
}

/// Why a model did not answer, as it says; with what was used, when it says that something was.
///
/// # Errors
/// The failure alone.
pub(crate) fn model_failure(failure: wit_model::Failure, limits: &Limits) -> Result<Output, Failure> {
    use wit_model::FailureKind as Kind;
    let kind = match failure.kind {
        Kind::Retryable => FailureKind::Unavailable,
        Kind::Overloaded => FailureKind::RateLimited,
        Kind::TooLong => FailureKind::TooLong,
        Kind::Refused => FailureKind::ProviderRefused,
        Kind::Malformed => FailureKind::Malformed,
        Kind::Unauthorised => FailureKind::NotAllowed,
        Kind::Stopped => FailureKind::Stopped,
        Kind::Other(other) => FailureKind::Other(word(other)),
    };
    let usage = failure.usage.map(used);
    let failure = Failure {
        kind,
        message: plain(&failure.message, limits.message_bytes),
        retry_after_ms: failure.retry_after_ms,
    };
    match usage {
        Some(usage) => Ok(Output::Unusable { failure, usage }),
        None => Err(failure),
    }
}

/// A stable lower-case word, or [`NO_WORD`].
fn word(text: String) -> String {
    word_of(&text).unwrap_or(NO_WORD).to_owned()
}

/// The text, if it is a stable lower-case word.
pub(crate) fn word_of(text: &str) -> Option<&str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is = !text.is_empty() && text.len() <= WORD_BYTES_MAX && text.bytes().all(plain);
    is.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{json, request, request_bytes, response, tool_failure, wit_model, wit_types, word};
    use crate::Limits;
    use gate::{FailureKind, InferRequest, Message, Part, Role, StopReason, ToolCall, ToolOffer, ToolResult};
    use serde_json::json as j;

    fn said(parts: Vec<wit_model::Part>) -> wit_model::Response {
        wit_model::Response { parts, stop: wit_model::StopReason::End, usage: None }
    }

    fn call(input: &str) -> wit_model::Part {
        wit_model::Part::ToolCall(wit_model::ToolCall {
            id: "1".into(),
            name: "web.fetch".into(),
            input: input.into(),
        })
    }

    #[test]
    fn a_request_names_the_model_as_its_plugin_does_and_keeps_everything_else() {
        let asked = InferRequest {
            model: "scripted/story".into(),
            system: "Be brief.".into(),
            messages: vec![
                Message { role: Role::User, parts: vec![Part::Text("hi".into())] },
                Message {
                    role: Role::Assistant,
                    parts: vec![Part::ToolCall(ToolCall {
                        id: "1".into(),
                        name: "web.fetch".into(),
                        input: j!({"a": 1}),
                    })],
                },
                Message {
                    role: Role::User,
                    parts: vec![Part::ToolResult(ToolResult {
                        id: "1".into(),
                        output: j!(null),
                        failed: true,
                    })],
                },
            ],
            tools: vec![ToolOffer {
                name: "web.fetch".into(),
                description: "d".into(),
                input_schema: j!({}),
            }],
            output_tokens_max: 7,
        };
        let given = request("scripted", asked.clone());
        assert_eq!((given.model.as_str(), given.output_tokens_max, given.messages.len()), ("story", 7, 3));
        assert_eq!(
            request_bytes(&given),
            "Be brief.".len() + 2 + "1web.fetch{\"a\":1}".len() + "1null".len() + "web.fetchd{}".len()
        );
        assert_eq!(request("other", asked).model, "scripted/story");
    }

    #[test]
    fn an_answer_is_held_to_its_limits() {
        let limits = Limits { output_bytes: 10, parts: 2, ..Limits::for_models() };
        let text = |text: &str| wit_model::Part::Text(text.into());
        let answer = response(said(vec![text("12345"), text("67890")]), &limits).unwrap();
        assert_eq!((answer.parts.len(), answer.stop), (2, StopReason::End));
        assert!(
            response(said(vec![text("12345678901")]), &limits).unwrap_err().contains("more than 10 bytes")
        );
        assert!(response(said(vec![text(""), text(""), text("")]), &limits).unwrap_err().contains("3 parts"));
    }

    #[test]
    fn a_call_must_be_a_json_object_with_exact_numbers() {
        let limits = Limits::for_models();
        assert!(response(said(vec![call("{\"url\":\"https://a\"}")]), &limits).is_ok());
        for (input, reason) in
            [("[1]", "not a JSON object"), ("{", "should be JSON"), ("{\"n\":9007199254740993}", "`/n`")]
        {
            let said = response(said(vec![call(input)]), &limits).unwrap_err();
            assert!(said.contains(reason), "{said}");
        }
        let result = wit_model::ToolResult { id: "1".into(), output: "{}".into(), failed: false };
        assert!(response(said(vec![wit_model::Part::ToolResult(result)]), &limits).is_err());
    }

    #[test]
    fn json_that_nests_without_end_is_refused() {
        assert!(json(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn a_failure_says_one_short_line_and_a_word_that_is_a_word() {
        let limits = Limits { message_bytes: 8, ..Limits::for_tools() };
        let kind = wit_types::FailureKind::Other("redirect".into());
        let failure = tool_failure(
            wit_types::Failure { kind, message: "a\nb and so on".into(), retry_after_ms: Some(5) },
            &limits,
        );
        assert_eq!(failure.kind, FailureKind::Other("redirect".into()));
        assert_eq!((failure.message.as_str(), failure.retry_after_ms), ("a\u{fffd}b and ", Some(5)));
        for wrong in ["", "Two Words", "<@U1>", &"x".repeat(41)] {
            assert_eq!(word(wrong.to_owned()), "unnamed");
        }
    }
}
