//! An answer of Responses as it comes: numbered events, the last of which holds the whole answer. What counts is that
//! one; the pieces before it are shown.

use crate::chat::answer::{call, malformed};
use crate::{PROVIDER, error};
use guest::model::{Event, ModelFailure, Names, Next, Part, Read, Response, Stop, Usage, cut, word};
use serde::Deserialize;
use serde_json::Value;

/// The whole answer.
#[derive(Deserialize)]
struct Whole {
    #[serde(default)]
    status: String,
    #[serde(default)]
    output: Vec<Value>,
    incomplete_details: Option<Incomplete>,
    error: Option<Value>,
    usage: Option<Used>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: String,
}

#[derive(Clone, Copy, Deserialize)]
struct Used {
    input_tokens: u64,
    output_tokens: u64,
    input_tokens_details: Option<Cached>,
}

#[derive(Clone, Copy, Deserialize)]
struct Cached {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

/// An answer as far as it has come.
pub(crate) struct Answer {
    names: Names,
    /// The number of the newest event.
    newest: Option<u64>,
    whole: Option<Whole>,
}

impl Answer {
    pub(crate) fn new(names: Names) -> Self {
        Self { names, newest: None, whole: None }
    }

    /// The answer, when it came whole in a stream.
    pub(crate) fn finish(self) -> Result<Response, ModelFailure> {
        let whole = self.whole.ok_or_else(|| cut(PROVIDER))?;
        response(whole, &self.names)
    }
}

impl Read for Answer {
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(&str) -> Next) -> Result<(), ModelFailure> {
        if event.data == "[DONE]" {
            return Ok(());
        }
        let mut value: Value =
            serde_json::from_str(&event.data).map_err(|_| malformed("an event of its stream is not JSON"))?;
        let number = value.get("sequence_number").and_then(Value::as_u64);
        // The same event twice is one.
        if let (Some(newest), Some(number)) = (self.newest, number)
            && number <= newest
        {
            return Ok(());
        }
        self.newest = number.or(self.newest);
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(&event.name).to_owned();
        match kind.as_str() {
            "error" => Err(error::in_stream(&value)),
            _ if self.whole.is_some() => Err(malformed("it goes on after its end")),
            "response.output_text.delta" => {
                let more = value.get("delta").and_then(Value::as_str).unwrap_or_default();
                if !more.is_empty() && show(more) == Next::Stop {
                    Err(ModelFailure::stopped())
                } else {
                    Ok(())
                }
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let whole = value.get_mut("response").map(Value::take).unwrap_or_default();
                self.whole = Some(serde_json::from_value(whole).map_err(|e| malformed(&e.to_string()))?);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The answer of a server that did not stream.
pub(crate) fn whole(
    text: &str,
    answer: Answer,
    show: &mut dyn FnMut(&str) -> Next,
) -> Result<Response, ModelFailure> {
    let whole: Whole = serde_json::from_str(text).map_err(|e| malformed(&e.to_string()))?;
    let response = response(whole, &answer.names)?;
    for part in &response.parts {
        if let Part::Text(text) = part
            && show(text) == Next::Stop
        {
            return Err(ModelFailure::stopped());
        }
    }
    Ok(response)
}

fn response(whole: Whole, names: &Names) -> Result<Response, ModelFailure> {
    let usage = whole.usage.map(|used| Usage {
        input_tokens: used.input_tokens,
        cached_input_tokens: used.input_tokens_details.and_then(|of| of.cached_tokens).unwrap_or(0),
        cache_write_tokens: used.input_tokens_details.and_then(|of| of.cache_write_tokens).unwrap_or(0),
        output_tokens: used.output_tokens,
    });
    let cut_by = whole.incomplete_details.map(|details| details.reason).unwrap_or_default();
    let stop = match (whole.status.as_str(), cut_by.as_str()) {
        ("failed", _) => {
            let failure = error::in_stream(&whole.error.unwrap_or_default());
            return Err(ModelFailure { usage, ..failure });
        }
        ("incomplete", "max_output_tokens") => Stop::Length,
        ("incomplete", "content_filter") => Stop::Declined,
        ("incomplete", other) => Stop::Other(word(other)),
        ("completed", _) => Stop::End,
        (other, _) => return Err(malformed(&format!("its status is `{}`", word(other)))),
    };
    let mut answer = Response { parts: Vec::new(), stop, usage };
    for (n, item) in whole.output.into_iter().enumerate() {
        add(&mut answer, item, n, names).map_err(|failure| ModelFailure { usage, ..failure })?;
    }
    // Notes are taken back with what follows them, and with nothing else.
    while answer.stop == Stop::Length && matches!(answer.parts.last(), Some(Part::Notes(_))) {
        answer.parts.pop();
    }
    Ok(answer)
}

/// Adds one item of the output.
fn add(answer: &mut Response, item: Value, place: usize, names: &Names) -> Result<(), ModelFailure> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match item.get("type").and_then(Value::as_str) {
        Some("message") => {
            for content in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                match content.get("type").and_then(Value::as_str) {
                    Some("output_text") => {
                        let text = content.get("text").and_then(Value::as_str).unwrap_or_default();
                        if !text.is_empty() {
                            answer.parts.push(Part::Text(text.to_owned()));
                        }
                    }
                    Some("refusal") => answer.stop = Stop::Declined,
                    _ => {}
                }
            }
        }
        Some("function_call") => {
            match call((text("call_id"), text("name"), &text("arguments")), place, names) {
                Ok(call) => {
                    answer.parts.push(Part::Call(call));
                    if answer.stop == Stop::End {
                        answer.stop = Stop::ToolUse;
                    }
                }
                // Half a call is no call: the limit cut it.
                Err(_) if answer.stop == Stop::Length => {}
                Err(failure) => return Err(failure),
            }
        }
        Some("reasoning") => answer.parts.push(Part::Notes(without_nulls(item))),
        Some(_) => {}
        None => return Err(malformed("an item of its output has no type")),
    }
    Ok(())
}

/// What is not there is not said when it goes back.
fn without_nulls(mut item: Value) -> Value {
    if let Some(fields) = item.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    item
}
