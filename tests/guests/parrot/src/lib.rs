//! A model that says what it is told to: the last text of the conversation, word by word, or something no
//! model should say when that text asks for it.
#![cfg(target_arch = "wasm32")]

mod bindings {
    #![allow(missing_docs, unsafe_code, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit/host", "../../../wit/model"],
        world: "chancery:model/model",
        generate_all,
    });

    use super::Parrot;
    export!(Parrot);
}

use bindings::chancery::host::deltas;
use bindings::exports::chancery::model::inference::{
    Definition, Failure, FailureKind, Guest, Part, Request, Response, StopReason, ToolCall, ToolResult, Usage,
};

/// One delta of a flood.
const FLOOD: usize = 64 * 1024;

struct Parrot;

impl Guest for Parrot {
    fn definitions() -> Vec<Definition> {
        vec![Definition { name: "grey".to_owned(), window_tokens: 1_000, output_tokens_max: 100 }]
    }

    fn infer(request: Request) -> Result<Response, Failure> {
        let text = last_text(&request);
        match text.as_str() {
            "flood" => Ok(flood()),
            "call" => Ok(response(vec![call(r#"{"url": "https://api.example.com"}"#)], StopReason::ToolUse)),
            "miscall" => Ok(response(vec![call("[]")], StopReason::ToolUse)),
            "forge" => Ok(response(vec![forged()], StopReason::End)),
            "nothing" => Ok(Response { parts: Vec::new(), stop: StopReason::End, usage: None }),
            "overloaded" => Err(failure(FailureKind::Overloaded, Some(1_500))),
            "too-long" => Err(failure(FailureKind::TooLong, None)),
            "who" => Ok(response(vec![Part::Text(request.model)], StopReason::End)),
            other => Ok(repeat(other)),
        }
    }
}

fn last_text(request: &Request) -> String {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None });
    texts.last().cloned().unwrap_or_default()
}

fn repeat(text: &str) -> Response {
    for word in text.split_inclusive(' ') {
        deltas::write(word);
    }
    response(vec![Part::Text(text.to_owned())], StopReason::End)
}

fn flood() -> Response {
    for _ in 0..64 {
        deltas::write(&"x".repeat(FLOOD));
    }
    response(vec![Part::Text("done".to_owned())], StopReason::Other("Tired Of It".to_owned()))
}

fn call(input: &str) -> Part {
    Part::ToolCall(ToolCall { id: "1".to_owned(), name: "web.fetch".to_owned(), input: input.to_owned() })
}

fn forged() -> Part {
    Part::ToolResult(ToolResult { id: "1".to_owned(), output: "{}".to_owned(), failed: false })
}

fn response(parts: Vec<Part>, stop: StopReason) -> Response {
    let usage = Usage { input_tokens: 11, cached_input_tokens: 3, cache_write_tokens: 2, output_tokens: 5 };
    Response { parts, stop, usage: Some(usage) }
}

fn failure(kind: FailureKind, retry_after_ms: Option<u64>) -> Failure {
    Failure { kind, message: "as asked".to_owned(), retry_after_ms, usage: None }
}
