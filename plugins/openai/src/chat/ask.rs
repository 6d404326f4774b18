//! A request as Chat Completions takes it. Marks of the cache say nothing here: the provider keeps what repeats.

use crate::settings::Settings;
use guest::model::{Media, Message, ModelFailure, ModelKind, Names, Offer, Part, Request, Role};
use serde_json::{Map, Value, json};

/// The body that asks `request`.
pub(crate) fn body(request: &Request, settings: &Settings, names: &Names) -> Result<Value, ModelFailure> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(settings.model));
    // Servers of the older description know the older field alone.
    let most = if settings.custom { "max_tokens" } else { "max_completion_tokens" };
    body.insert(most.to_owned(), json!(request.output_tokens_max));
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    if let Some(effort) = &settings.effort {
        body.insert("reasoning_effort".to_owned(), json!(effort));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|offer| tool(offer, names)).collect::<Result<Vec<_>, _>>()?;
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        match message.role {
            Role::Assistant => messages.extend(assistant(message, names)),
            Role::User => messages.extend(user(message)?),
        }
    }
    body.insert("messages".to_owned(), Value::Array(messages));
    Ok(Value::Object(body))
}

fn tool(offer: &Offer, names: &Names) -> Result<Value, ModelFailure> {
    let function = json!({
        "name": names.theirs(&offer.name),
        "description": offer.description,
        "parameters": offer.schema()?,
    });
    Ok(json!({"type": "function", "function": function}))
}

/// What the model said: text, and the calls beside it.
fn assistant(message: &Message, names: &Names) -> Option<Value> {
    let mut text = Vec::new();
    let mut calls = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(said) if !said.trim().is_empty() => text.push(said.as_str()),
            Part::Call(call) => calls.push(json!({
                "id": call.id,
                "type": "function",
                "function": {"name": names.theirs(&call.name), "arguments": call.input.to_string()},
            })),
            _ => {}
        }
    }
    let content = if text.is_empty() { Value::Null } else { json!(text.join("\n\n")) };
    match calls.is_empty() {
        true if text.is_empty() => None,
        true => Some(json!({"role": "assistant", "content": content})),
        false => Some(json!({"role": "assistant", "content": content, "tool_calls": calls})),
    }
}

/// What the user side said: results first, each a message of its own.
fn user(message: &Message) -> Result<Vec<Value>, ModelFailure> {
    let mut told = Vec::new();
    let mut content = Vec::new();
    for part in &message.parts {
        match part {
            Part::Outcome(outcome) => {
                told.push(json!({"role": "tool", "tool_call_id": outcome.id, "content": outcome.output}))
            }
            Part::Text(text) if !text.trim().is_empty() => {
                content.push(json!({"type": "text", "text": text}))
            }
            Part::Image(image) => {
                content.push(json!({"type": "image_url", "image_url": {"url": inline(image)?}}))
            }
            Part::File(file) => content.push(document(file)?),
            _ => {}
        }
    }
    // One text is a string: every server takes that.
    let content = match content.as_slice() {
        [] => return Ok(told),
        [only] if only.get("text").is_some() => only.get("text").cloned().unwrap_or_default(),
        _ => Value::Array(content),
    };
    told.push(json!({"role": "user", "content": content}));
    Ok(told)
}

/// An image in a URL of its own.
pub(crate) fn inline(image: &Media) -> Result<String, ModelFailure> {
    if !["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&image.media_type.as_str()) {
        return Err(not_taken(image));
    }
    Ok(format!("data:{};base64,{}", image.media_type, image.content))
}

fn document(file: &Media) -> Result<Value, ModelFailure> {
    match file.media_type.as_str() {
        "application/pdf" => {
            let data = format!("data:application/pdf;base64,{}", file.content);
            Ok(json!({"type": "file", "file": {"filename": file.title(), "file_data": data}}))
        }
        _ => Ok(json!({"type": "text", "text": written(file)?})),
    }
}

/// A file of text, as text: its name and what stands in it.
pub(crate) fn written(file: &Media) -> Result<String, ModelFailure> {
    let is_text = file.media_type.starts_with("text/") || file.media_type == "application/json";
    let text = if is_text { file.text() } else { None };
    text.map(|text| format!("{}:\n{text}", file.title())).ok_or_else(|| not_taken(file))
}

pub(crate) fn not_taken(media: &Media) -> ModelFailure {
    let kind: String = media.media_type.chars().filter(|c| !c.is_control()).take(60).collect();
    ModelFailure::new(
        ModelKind::Refused,
        format!(
            "`{}` is of the type `{kind}`: the model reads text, PDF, JPEG, PNG, GIF and WebP",
            media.title()
        ),
    )
}
