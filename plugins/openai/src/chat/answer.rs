//! An answer of Chat Completions as it comes: pieces of one choice, why it stopped, what was used, and `[DONE]`.

use crate::{PROVIDER, error};
use guest::model::{
    Event, ModelCall, ModelFailure, ModelKind, Names, Next, Part, Read, Response, Stop, Usage, cut, word,
};
use serde::Deserialize;
use serde_json::Value;

/// The most calls of one answer.
const CALLS_MAX: usize = 128;
/// What ends a stream.
const DONE: &str = "[DONE]";

/// A piece of an answer, or a whole one.
#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Used>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    #[serde(default, alias = "message")]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<usize>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Default, Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
struct Used {
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<Cached>,
}

#[derive(Clone, Copy, Deserialize)]
struct Cached {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

/// One call as far as it has come.
#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// An answer as far as it has come.
pub(crate) struct Answer {
    names: Names,
    text: String,
    declined: bool,
    calls: Vec<Call>,
    stop: Option<String>,
    used: Option<Used>,
    ended: bool,
}

impl Answer {
    pub(crate) fn new(names: Names) -> Self {
        let (text, calls) = (String::new(), Vec::new());
        Self { names, text, declined: false, calls, stop: None, used: None, ended: false }
    }

    /// The answer, when it came whole in a stream. Some servers hang up without the last word; why the model stopped
    /// says as much.
    pub(crate) fn finish(self) -> Result<Response, ModelFailure> {
        if !self.ended && self.stop.is_none() {
            return Err(cut(PROVIDER));
        }
        self.response()
    }

    fn response(self) -> Result<Response, ModelFailure> {
        let usage = self.used.map(|used| Usage {
            input_tokens: used.prompt_tokens,
            cached_input_tokens: used.prompt_tokens_details.and_then(|of| of.cached_tokens).unwrap_or(0),
            cache_write_tokens: used.prompt_tokens_details.and_then(|of| of.cache_write_tokens).unwrap_or(0),
            output_tokens: used.completion_tokens,
        });
        let stop = match self.stop.as_deref() {
            _ if self.declined => Stop::Declined,
            // Some servers say `stop` where the model wants tools called.
            Some("stop") if !self.calls.is_empty() => Stop::ToolUse,
            Some("stop") => Stop::End,
            Some("tool_calls" | "function_call") => Stop::ToolUse,
            Some("length") => Stop::Length,
            Some("content_filter") => Stop::Declined,
            Some(other) => Stop::Other(word(other)),
            None => return Err(malformed("it does not say why the model stopped")),
        };
        let mut parts = Vec::new();
        if !self.text.is_empty() {
            parts.push(Part::Text(self.text));
        }
        for (n, call) in self.calls.into_iter().enumerate() {
            match made(call, n, &self.names) {
                Ok(call) => parts.push(Part::Call(call)),
                // Half a call is no call: the limit cut it.
                Err(_) if stop == Stop::Length => {}
                Err(failure) => return Err(ModelFailure { usage, ..failure }),
            }
        }
        Ok(Response { parts, stop, usage })
    }

    fn add(&mut self, chunk: Chunk, show: &mut dyn FnMut(&str) -> Next) -> Result<(), ModelFailure> {
        self.used = chunk.usage.or(self.used);
        for choice in chunk.choices {
            if choice.index != 0 {
                return Err(malformed("it answers more than once, and was asked for one answer"));
            }
            self.add_choice(choice, show)?;
        }
        Ok(())
    }

    fn add_choice(&mut self, choice: Choice, show: &mut dyn FnMut(&str) -> Next) -> Result<(), ModelFailure> {
        let Choice { delta, finish_reason, .. } = choice;
        self.declined |= delta.refusal.is_some_and(|refusal| !refusal.is_empty());
        if let Some(more) = delta.content.filter(|more| !more.is_empty()) {
            if self.stop.is_some() {
                return Err(malformed("it goes on after it has stopped"));
            }
            self.text.push_str(&more);
            if show(&more) == Next::Stop {
                return Err(ModelFailure::stopped());
            }
        }
        for (n, piece) in delta.tool_calls.into_iter().flatten().enumerate() {
            self.add_call(piece.index.unwrap_or(n), piece)?;
        }
        self.stop = finish_reason.or_else(|| self.stop.take());
        Ok(())
    }

    fn add_call(&mut self, index: usize, piece: CallPiece) -> Result<(), ModelFailure> {
        if index > self.calls.len() || index >= CALLS_MAX {
            return Err(malformed("a call begins out of order"));
        }
        if index == self.calls.len() {
            self.calls.push(Call::default());
        }
        let Some(call) = self.calls.get_mut(index) else { return Ok(()) };
        let function = piece.function.unwrap_or_default();
        // The id and the name come once; a server that repeats them repeats them whole.
        for (kept, told) in [(&mut call.id, piece.id), (&mut call.name, function.name)] {
            match told.filter(|told| !told.is_empty()) {
                Some(told) if kept.is_empty() => *kept = told,
                Some(told) if *kept != told => return Err(malformed("a call changes its name")),
                _ => {}
            }
        }
        call.arguments.push_str(&function.arguments.unwrap_or_default());
        Ok(())
    }
}

impl Read for Answer {
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(&str) -> Next) -> Result<(), ModelFailure> {
        if self.ended {
            return Err(malformed("it goes on after its end"));
        }
        if event.data == DONE {
            self.ended = true;
            return Ok(());
        }
        let value: Value =
            serde_json::from_str(&event.data).map_err(|_| malformed("an event of its stream is not JSON"))?;
        if event.name == "error" || value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(error::in_stream(&value));
        }
        let chunk = serde_json::from_value(value).map_err(|e| malformed(&e.to_string()))?;
        self.add(chunk, show)
    }
}

/// The answer of a server that did not stream.
pub(crate) fn whole(
    text: &str,
    mut answer: Answer,
    show: &mut dyn FnMut(&str) -> Next,
) -> Result<Response, ModelFailure> {
    let chunk: Chunk = serde_json::from_str(text).map_err(|e| malformed(&e.to_string()))?;
    answer.add(chunk, show)?;
    answer.response()
}

/// A call as the host takes it. Some servers give no ids.
pub(crate) fn call(
    (id, name, arguments): (String, String, &str),
    place: usize,
    names: &Names,
) -> Result<ModelCall, ModelFailure> {
    if name.is_empty() {
        return Err(malformed("a call has no name"));
    }
    let id = if id.is_empty() { names.id(place) } else { id };
    let name = names.ours(&name);
    let input = match arguments.trim() {
        "" => Ok(Value::Object(serde_json::Map::new())),
        text => serde_json::from_str::<Value>(text),
    };
    match input {
        Ok(input) if input.is_object() => Ok(ModelCall { id, name, input }),
        _ => Err(ModelFailure::new(
            ModelKind::Retryable,
            format!("the model called `{}` with something that is not a JSON object", word(&name)),
        )),
    }
}

fn made(made: Call, place: usize, names: &Names) -> Result<ModelCall, ModelFailure> {
    call((made.id, made.name, &made.arguments), place, names)
}

pub(crate) fn malformed(why: &str) -> ModelFailure {
    ModelFailure::new(ModelKind::Malformed, format!("the answer of {PROVIDER} cannot be understood: {why}"))
}
