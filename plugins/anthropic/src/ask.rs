//! A request as the Messages API takes it.
//!
//! The order is the one the provider's cache works in: tools, instructions, conversation. What the host marks as worth
//! keeping is marked, at most [`MARKS_MAX`] places; where it marks nothing, the end of the conversation is.

use crate::settings::Settings;
use guest::http::{Ask, Method};
use guest::model::{Media, Message, ModelFailure, ModelKind, Names, Offer, Part, Request, Role};
use serde_json::{Map, Value, json};

/// The version of the API that this was written for.
const VERSION: &str = "2023-06-01";
/// Without it, the field that lets thinking of another beginning be dropped is refused.
const BETA: &str = "thinking-binding-controls-2026-08-01";
/// Most places the provider's cache is told of; one more is the end of the instructions.
const MARKS_MAX: usize = 3;
/// The longest name of a tool, in bytes.
const NAME_BYTES_MAX: usize = 128;
/// Types of images the provider takes.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/// How much of an answer the host hands on; the reader keeps its own limits.
const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The exchange that asks `request`, and the names its tools have there.
pub(crate) fn ask(request: &Request, settings: &Settings) -> Result<(Ask, Names), ModelFailure> {
    let names = Names::of(request, NAME_BYTES_MAX);
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "text/event-stream, application/json"),
        ("anthropic-version", VERSION),
    ];
    if settings.thinking {
        headers.push(("anthropic-beta", BETA));
    }
    let ask = Ask {
        method: Method::Post,
        address: settings.address.clone(),
        headers,
        body: body(request, settings, &names)?.to_string().into_bytes(),
        reply_bytes_max: REPLY_BYTES_MAX,
    };
    Ok((ask, names))
}

fn body(request: &Request, settings: &Settings, names: &Names) -> Result<Value, ModelFailure> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("max_tokens".to_owned(), json!(request.output_tokens_max));
    body.insert("stream".to_owned(), json!(true));
    if settings.thinking {
        // A turn is not shown the same beginning for ever: hints come and go. Thinking that no longer fits is dropped.
        let binding = json!({"prefix_mismatch_behavior": "drop_block"});
        body.insert("thinking".to_owned(), json!({"type": "adaptive", "block_binding": binding}));
    }
    if let Some(effort) = &settings.effort {
        body.insert("output_config".to_owned(), json!({"effort": effort}));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|offer| tool(offer, names)).collect::<Result<Vec<_>, _>>()?;
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    if !request.system.trim().is_empty() {
        let system = json!([{"type": "text", "text": request.system, "cache_control": ephemeral()}]);
        body.insert("system".to_owned(), system);
    }
    body.insert("messages".to_owned(), Value::Array(messages(&request.messages, names)?));
    Ok(Value::Object(body))
}

fn ephemeral() -> Value {
    json!({"type": "ephemeral"})
}

fn tool(offer: &Offer, names: &Names) -> Result<Value, ModelFailure> {
    Ok(json!({
        "name": names.theirs(&offer.name),
        "description": offer.description,
        "input_schema": offer.schema()?,
    }))
}

/// The conversation, each message with the blocks of its parts.
fn messages(messages: &[Message], names: &Names) -> Result<Vec<Value>, ModelFailure> {
    let mut told: Vec<(Role, Vec<Value>)> = Vec::new();
    let mut marks: Vec<(usize, usize)> = Vec::new();
    for message in messages {
        let mut blocks = Vec::new();
        for part in in_order(message) {
            match block(part, names)? {
                Some(block) => blocks.push(block),
                None if matches!(part, Part::CacheMark) => marks.extend(last(&told, &blocks)),
                None => {}
            }
        }
        if !blocks.is_empty() {
            told.push((message.role, blocks));
        }
    }
    if told.first().is_some_and(|(role, _)| *role == Role::Assistant) {
        let begun = json!({"type": "text", "text": "(The conversation began earlier.)"});
        told.insert(0, (Role::User, vec![begun]));
        marks.iter_mut().for_each(|(message, _)| *message += 1);
    }
    if marks.is_empty() {
        marks.extend(last(&told, &[]));
    }
    let first = marks.len().saturating_sub(MARKS_MAX);
    marks.iter().skip(first).for_each(|place| mark(&mut told, *place));
    let role = |role| if role == Role::User { "user" } else { "assistant" };
    Ok(told.into_iter().map(|(who, blocks)| json!({"role": role(who), "content": blocks})).collect())
}

/// Results of calls come before everything else that the user side says.
fn in_order(message: &Message) -> impl Iterator<Item = &Part> {
    let is_outcome = |part: &&Part| matches!(part, Part::Outcome(_));
    let (outcomes, others): (Vec<&Part>, Vec<&Part>) = message.parts.iter().partition(is_outcome);
    outcomes.into_iter().chain(others)
}

/// Where the newest block is that can be marked.
fn last(told: &[(Role, Vec<Value>)], blocks: &[Value]) -> Option<(usize, usize)> {
    let in_blocks = |blocks: &[Value]| blocks.iter().rposition(can_be_marked);
    let here = in_blocks(blocks).map(|block| (told.len(), block));
    here.or_else(|| {
        let mut earlier = told.iter().enumerate().rev();
        earlier.find_map(|(message, (_, blocks))| in_blocks(blocks).map(|block| (message, block)))
    })
}

/// Thinking is kept without a mark, and takes none.
fn can_be_marked(block: &Value) -> bool {
    !matches!(block.get("type").and_then(Value::as_str), Some("thinking" | "redacted_thinking"))
}

fn mark(told: &mut [(Role, Vec<Value>)], (message, block): (usize, usize)) {
    let block = told.get_mut(message).and_then(|(_, blocks)| blocks.get_mut(block));
    if let Some(fields) = block.and_then(Value::as_object_mut) {
        fields.insert("cache_control".to_owned(), ephemeral());
    }
}

/// The block of one part; nothing for what says nothing. The provider takes no empty text.
fn block(part: &Part, names: &Names) -> Result<Option<Value>, ModelFailure> {
    Ok(Some(match part {
        Part::Text(text) if text.trim().is_empty() => return Ok(None),
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Call(call) => {
            json!({"type": "tool_use", "id": call.id, "name": names.theirs(&call.name), "input": call.input})
        }
        Part::Outcome(outcome) => json!({
            "type": "tool_result",
            "tool_use_id": outcome.id,
            "content": outcome.output,
            "is_error": outcome.failed,
        }),
        Part::Image(image) if IMAGES.contains(&image.media_type.as_str()) => json!({
            "type": "image",
            "source": {"type": "base64", "media_type": image.media_type, "data": image.content},
        }),
        Part::Image(media) => return Err(not_taken(media)),
        Part::File(file) => document(file)?,
        // Notes of another provider's model mean nothing here.
        Part::Notes(notes) if !can_be_marked(notes) => notes.clone(),
        Part::Notes(_) | Part::CacheMark => return Ok(None),
    }))
}

fn document(file: &Media) -> Result<Value, ModelFailure> {
    let source = match file.media_type.as_str() {
        "application/pdf" => {
            json!({"type": "base64", "media_type": file.media_type, "data": file.content})
        }
        text if text.starts_with("text/") => {
            let data = file.text().ok_or_else(|| not_taken(file))?;
            json!({"type": "text", "media_type": "text/plain", "data": data})
        }
        _ => return Err(not_taken(file)),
    };
    Ok(json!({"type": "document", "source": source, "title": file.title()}))
}

fn not_taken(media: &Media) -> ModelFailure {
    let (name, kind) = (media.title(), word_of(&media.media_type));
    ModelFailure::new(
        ModelKind::Refused,
        format!("`{name}` is of the type `{kind}`: the model reads text, PDF, JPEG, PNG, GIF and WebP"),
    )
}

fn word_of(media_type: &str) -> String {
    media_type.chars().filter(|c| !c.is_control()).take(60).collect()
}
