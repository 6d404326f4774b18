//! An answer as it comes: blocks by index, each begun, filled and ended once; then why the model stopped, what was used,
//! and the end. Anything else is no answer.

use crate::PROVIDER;
use crate::error;
use guest::model::{
    Event, ModelCall, ModelFailure, ModelKind, Names, Next, Part, Read, Response, Stop, Usage, cut, word,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The most blocks of one answer; the host takes no more parts.
const BLOCKS_MAX: usize = 256;

/// One block as far as it has come.
#[derive(Debug)]
enum Block {
    Text(String),
    Call {
        id: String,
        name: String,
        input: String,
        whole: Option<Value>,
    },
    /// Thinking, kept as the provider wants it back.
    Notes(Map<String, Value>),
    /// Of a type nobody asked for.
    Other,
}

/// What one message says in its first event, or whole.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Vec<Value>,
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Used,
}

/// The figures as far as they are told; later ones are of the whole answer and count.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Used {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Used {
    fn update(&mut self, newer: Self) {
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.cache_creation_input_tokens =
            newer.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
        self.cache_read_input_tokens = newer.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
    }

    /// The provider counts input beside its cache; the host counts all of it.
    fn usage(self) -> Option<Usage> {
        let (read, written) = (self.cache_read_input_tokens, self.cache_creation_input_tokens);
        let (read, written) = (read.unwrap_or(0), written.unwrap_or(0));
        Some(Usage {
            input_tokens: self.input_tokens?.saturating_add(read).saturating_add(written),
            cached_input_tokens: read,
            cache_write_tokens: written,
            output_tokens: self.output_tokens?,
        })
    }
}

/// An answer as far as it has come.
pub(crate) struct Answer {
    names: Names,
    begun: bool,
    ended: bool,
    /// Blocks by index, and whether each has ended.
    blocks: Vec<(Block, bool)>,
    stop: Option<String>,
    used: Used,
}

impl Answer {
    pub(crate) fn new(names: Names) -> Self {
        Self { names, begun: false, ended: false, blocks: Vec::new(), stop: None, used: Used::default() }
    }

    /// The answer, when it came whole in a stream.
    pub(crate) fn finish(self) -> Result<Response, ModelFailure> {
        if !self.ended {
            return Err(cut(PROVIDER));
        }
        self.response()
    }

    /// The answer of a provider that did not stream.
    pub(crate) fn whole(
        mut self,
        text: &str,
        show: &mut dyn FnMut(&str) -> Next,
    ) -> Result<Response, ModelFailure> {
        let message: Message = serde_json::from_str(text).map_err(|e| malformed(&e.to_string()))?;
        (self.stop, self.used) = (message.stop_reason, message.usage);
        for block in &message.content {
            let block = begun(block)?;
            if let Block::Text(text) = &block {
                shown(text, show)?;
            }
            self.blocks.push((block, true));
        }
        self.response()
    }

    fn response(self) -> Result<Response, ModelFailure> {
        let usage = self.used.usage();
        let stop = match self.stop.as_deref() {
            Some("end_turn" | "stop_sequence") => Stop::End,
            Some("tool_use") => Stop::ToolUse,
            Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
            Some("refusal") => Stop::Declined,
            Some(other) => Stop::Other(word(other)),
            None => return Err(malformed("it does not say why the model stopped")),
        };
        let mut parts = Vec::new();
        for (block, _) in self.blocks {
            match part(block, &self.names) {
                Ok(part) => parts.extend(part),
                // Half a call is no call: the limit cut it.
                Err(_) if stop == Stop::Length => {}
                Err(failure) => return Err(ModelFailure { usage, ..failure }),
            }
        }
        // Thinking is taken back with what follows it, and with nothing else.
        while stop == Stop::Length && matches!(parts.last(), Some(Part::Notes(_))) {
            parts.pop();
        }
        Ok(Response { parts, stop, usage })
    }

    fn start(&mut self, value: &Value) -> Result<(), ModelFailure> {
        if std::mem::replace(&mut self.begun, true) {
            return Err(malformed("it begins twice"));
        }
        let message = value.get("message").cloned().unwrap_or_default();
        let message: Message = serde_json::from_value(message).map_err(|e| malformed(&e.to_string()))?;
        self.used.update(message.usage);
        Ok(())
    }

    fn start_block(&mut self, value: &Value, show: &mut dyn FnMut(&str) -> Next) -> Result<(), ModelFailure> {
        if index(value) != Some(self.blocks.len()) || self.blocks.len() >= BLOCKS_MAX {
            return Err(malformed("a block begins twice or out of order"));
        }
        let block = begun(value.get("content_block").unwrap_or(&Value::Null))?;
        if let Block::Text(text) = &block {
            shown(text, show)?;
        }
        self.blocks.push((block, false));
        Ok(())
    }

    fn open_block(&mut self, value: &Value) -> Result<&mut (Block, bool), ModelFailure> {
        let block = index(value).and_then(|index| self.blocks.get_mut(index));
        block.filter(|(_, ended)| !ended).ok_or_else(|| malformed("a block goes on that is not open"))
    }

    fn delta(&mut self, value: &Value, show: &mut dyn FnMut(&str) -> Next) -> Result<(), ModelFailure> {
        let delta = value.get("delta").unwrap_or(&Value::Null);
        let text = |key: &str| delta.get(key).and_then(Value::as_str);
        let kind = text("type").unwrap_or_default();
        let (block, _) = self.open_block(value)?;
        match (kind, block) {
            ("text_delta", Block::Text(whole)) => {
                let more = text("text").ok_or_else(|| malformed("a piece of text has none"))?;
                whole.push_str(more);
                shown(more, show)
            }
            ("input_json_delta", Block::Call { input, .. }) => {
                input.push_str(text("partial_json").ok_or_else(|| malformed("a piece of input has none"))?);
                Ok(())
            }
            ("thinking_delta" | "signature_delta", Block::Notes(notes)) => {
                let key = kind.trim_end_matches("_delta");
                let more = text(key).unwrap_or_default();
                let before = notes.get(key).and_then(Value::as_str).unwrap_or_default();
                let whole = format!("{before}{more}");
                notes.insert(key.to_owned(), json!(whole));
                Ok(())
            }
            ("text_delta" | "input_json_delta" | "thinking_delta" | "signature_delta", Block::Other) => {
                Ok(())
            }
            ("text_delta" | "input_json_delta" | "thinking_delta" | "signature_delta", _) => {
                Err(malformed("a piece does not belong to its block"))
            }
            // Of a type that was added since, as the provider says it may be.
            _ => Ok(()),
        }
    }

    fn end(&mut self, value: &Value) -> Result<(), ModelFailure> {
        let told = |key: &str| value.get(key).cloned().unwrap_or_default();
        if let Some(reason) = told("delta").get("stop_reason").and_then(Value::as_str) {
            self.stop = Some(reason.to_owned());
        }
        if let Ok(newer) = serde_json::from_value::<Used>(told("usage")) {
            self.used.update(newer);
        }
        Ok(())
    }
}

impl Read for Answer {
    fn take(&mut self, event: &Event, show: &mut dyn FnMut(&str) -> Next) -> Result<(), ModelFailure> {
        let value: Value =
            serde_json::from_str(&event.data).map_err(|_| malformed("an event of its stream is not JSON"))?;
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(&event.name);
        match kind {
            "ping" => return Ok(()),
            "error" => return Err(error::in_stream(&event.data)),
            _ if self.ended => return Err(malformed("it goes on after its end")),
            "message_start" => return self.start(&value),
            _ if !self.begun => return Err(malformed("it goes on before it begins")),
            _ => {}
        }
        match kind {
            "content_block_start" => self.start_block(&value, show),
            "content_block_delta" => self.delta(&value, show),
            "content_block_stop" => {
                self.open_block(&value)?.1 = true;
                Ok(())
            }
            "message_delta" => self.end(&value),
            "message_stop" if self.blocks.iter().any(|(_, ended)| !ended) => {
                Err(malformed("it ends in the middle of a block"))
            }
            "message_stop" => {
                self.ended = true;
                Ok(())
            }
            // Of a type that was added since, as the provider says it may be.
            _ => Ok(()),
        }
    }
}

/// A block as it begins; a whole one in an answer that was not streamed.
fn begun(block: &Value) -> Result<Block, ModelFailure> {
    let text = |key: &str| block.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(match block.get("type").and_then(Value::as_str) {
        Some("text") => Block::Text(text("text").unwrap_or_default()),
        Some("tool_use") => {
            let named = text("id").zip(text("name")).filter(|(id, name)| !id.is_empty() && !name.is_empty());
            let (id, name) = named.ok_or_else(|| malformed("a call has no id or no name"))?;
            let is_filled = |input: &&Value| input.as_object().is_none_or(|fields| !fields.is_empty());
            let whole = block.get("input").filter(is_filled).cloned();
            Block::Call { id, name, input: String::new(), whole }
        }
        Some("thinking" | "redacted_thinking") => {
            Block::Notes(block.as_object().cloned().unwrap_or_default())
        }
        Some(_) => Block::Other,
        None => return Err(malformed("a block has no type")),
    })
}

/// A block as a part of the answer.
fn part(block: Block, names: &Names) -> Result<Option<Part>, ModelFailure> {
    Ok(match block {
        Block::Text(text) if text.is_empty() => None,
        Block::Text(text) => Some(Part::Text(text)),
        Block::Notes(notes) => Some(Part::Notes(Value::Object(notes))),
        Block::Other => None,
        Block::Call { id, name, input, whole } => {
            let name = names.ours(&name);
            let read = match (input.trim(), whole) {
                ("", whole) => Ok(whole.unwrap_or_else(|| json!({}))),
                (text, _) => serde_json::from_str::<Value>(text),
            };
            match read {
                Ok(input) if input.is_object() => Some(Part::Call(ModelCall { id, name, input })),
                _ => {
                    return Err(ModelFailure::new(
                        ModelKind::Retryable,
                        format!(
                            "the model called `{}` with something that is not a JSON object",
                            word(&name)
                        ),
                    ));
                }
            }
        }
    })
}

fn index(value: &Value) -> Option<usize> {
    value.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok())
}

fn shown(text: &str, show: &mut dyn FnMut(&str) -> Next) -> Result<(), ModelFailure> {
    if text.is_empty() || show(text) == Next::GoOn { Ok(()) } else { Err(ModelFailure::stopped()) }
}

fn malformed(why: &str) -> ModelFailure {
    ModelFailure::new(ModelKind::Malformed, format!("the answer of {PROVIDER} cannot be understood: {why}"))
}
