//! A request as Responses takes it: a list of items. Nothing is kept at the provider, so what it needs back of its own
//! notes goes with the next request, sealed.

use crate::chat::ask::{inline, written};
use crate::settings::Settings;
use guest::model::{Media, Message, ModelFailure, Names, Offer, Part, Request, Role};
use serde_json::{Map, Value, json};

/// The body that asks `request`.
pub(crate) fn body(request: &Request, settings: &Settings, names: &Names) -> Result<Value, ModelFailure> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(settings.model));
    body.insert("max_output_tokens".to_owned(), json!(request.output_tokens_max));
    body.insert("stream".to_owned(), json!(true));
    body.insert("store".to_owned(), json!(false));
    if !settings.custom {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(effort) = &settings.effort {
        body.insert("reasoning".to_owned(), json!({"effort": effort}));
    }
    if !request.system.trim().is_empty() {
        body.insert("instructions".to_owned(), json!(request.system));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|offer| tool(offer, names)).collect::<Result<Vec<_>, _>>()?;
        body.insert("tools".to_owned(), Value::Array(tools));
    }
    let mut input = Vec::new();
    for message in &request.messages {
        match message.role {
            Role::Assistant => input.extend(message.parts.iter().filter_map(|part| said(part, names))),
            Role::User => input.extend(user(message)?),
        }
    }
    body.insert("input".to_owned(), Value::Array(input));
    Ok(Value::Object(body))
}

fn tool(offer: &Offer, names: &Names) -> Result<Value, ModelFailure> {
    Ok(json!({
        "type": "function",
        "name": names.theirs(&offer.name),
        "description": offer.description,
        "parameters": offer.schema()?,
        // The schemas are the plugins' own, with what is optional left out.
        "strict": false,
    }))
}

/// One item of what the model said; nothing for what says nothing here.
fn said(part: &Part, names: &Names) -> Option<Value> {
    match part {
        Part::Text(text) if !text.trim().is_empty() => Some(json!({"role": "assistant", "content": text})),
        Part::Call(call) => Some(json!({
            "type": "function_call",
            "call_id": call.id,
            "name": names.theirs(&call.name),
            "arguments": call.input.to_string(),
        })),
        // Notes of another provider's model mean nothing here.
        Part::Notes(notes) if notes.get("type") == Some(&json!("reasoning")) => Some(notes.clone()),
        _ => None,
    }
}

/// What the user side said: results first, each an item of its own.
fn user(message: &Message) -> Result<Vec<Value>, ModelFailure> {
    let mut told = Vec::new();
    let mut content = Vec::new();
    for part in &message.parts {
        match part {
            Part::Outcome(outcome) => told.push(json!({
                "type": "function_call_output",
                "call_id": outcome.id,
                "output": outcome.output,
            })),
            Part::Text(text) if !text.trim().is_empty() => {
                content.push(json!({"type": "input_text", "text": text}));
            }
            Part::Image(image) => {
                content.push(json!({"type": "input_image", "image_url": inline(image)?, "detail": "auto"}));
            }
            Part::File(file) => content.push(document(file)?),
            _ => {}
        }
    }
    if !content.is_empty() {
        told.push(json!({"role": "user", "content": content}));
    }
    Ok(told)
}

fn document(file: &Media) -> Result<Value, ModelFailure> {
    match file.media_type.as_str() {
        "application/pdf" => {
            let data = format!("data:application/pdf;base64,{}", file.content);
            Ok(json!({"type": "input_file", "filename": file.title(), "file_data": data}))
        }
        _ => Ok(json!({"type": "input_text", "text": written(file)?})),
    }
}
