//! What is read: what a search finds, and one message.

use guest::http::encoded;
use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::message::{attachments, body, header, text};

/// How many messages a page of a search has: each is asked for by itself.
pub const PAGE_MAX: usize = 15;
/// Longest text of a message that is given whole, in characters.
pub const BODY_CHARS_MAX: usize = 50_000;
/// Longest name of a message, in bytes.
const ID_BYTES_MAX: usize = 128;

/// A search.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    query: String,
    #[serde(default)]
    after: Option<String>,
}

/// One message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct One {
    message: String,
}

/// What a search finds, a line each.
pub fn search(api: &Api<'_>, search: &Search) -> Result<Value, Failure> {
    let (ids, next) = found(api, &search.query, search.after.as_deref())?;
    let mut lines = Vec::new();
    for id in ids {
        lines.push(line(&head(api, &id, &["From", "To", "Subject", "Date"])?));
    }
    let mut said = json!({"messages": lines});
    if let (Some(next), Value::Object(fields)) = (next, &mut said) {
        fields.insert("next".to_owned(), next.into());
    }
    Ok(said)
}

/// The names of the messages that a query finds, newest first, and where the next page begins.
pub fn found(
    api: &Api<'_>,
    query: &str,
    after: Option<&str>,
) -> Result<(Vec<String>, Option<String>), Failure> {
    let after = after.map(|after| format!("&pageToken={}", encoded(after))).unwrap_or_default();
    let answer = api.get(&format!("/messages?maxResults={PAGE_MAX}&q={}{after}", encoded(query)))?;
    let listed = answer.get("messages").and_then(Value::as_array).into_iter().flatten();
    let ids = listed.map(|message| text(message.get("id"))).filter(|id| is_id(id)).take(PAGE_MAX).collect();
    let next = answer.get("nextPageToken").and_then(Value::as_str).map(ToOwned::to_owned);
    Ok((ids, next))
}

/// A message with these headers and no text.
pub fn head(api: &Api<'_>, id: &str, headers: &[&str]) -> Result<Value, Failure> {
    let wanted: String = headers.iter().map(|name| format!("&metadataHeaders={}", encoded(name))).collect();
    api.get(&format!("/messages/{}?format=metadata{wanted}", checked(id)?))
}

/// One message whole.
pub fn read(api: &Api<'_>, one: &One) -> Result<Value, Failure> {
    let message = api.get(&format!("/messages/{}?format=full", checked(&one.message)?))?;
    let whole = body(&message);
    let kept: String = whole.chars().take(BODY_CHARS_MAX).collect();
    let files = attachments(&message);
    let mut said = line(&message);
    if let Value::Object(fields) = &mut said {
        fields.insert("cc".to_owned(), header(&message, "Cc").into());
        fields.insert("cut".to_owned(), (kept.len() < whole.len()).into());
        fields.insert("body".to_owned(), kept.into());
        let files = files.into_iter().map(|file| {
            json!({"part": file.part, "name": file.name, "media_type": file.media_type, "bytes": file.bytes})
        });
        fields.insert("attachments".to_owned(), files.collect());
    }
    Ok(said)
}

/// What every list says of a message.
fn line(message: &Value) -> Value {
    json!({
        "message": text(message.get("id")),
        "thread": text(message.get("threadId")),
        "from": header(message, "From"),
        "to": header(message, "To"),
        "subject": header(message, "Subject"),
        "date": header(message, "Date"),
        "begins": text(message.get("snippet")),
    })
}

fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !id.is_empty() && id.len() <= ID_BYTES_MAX && id.bytes().all(plain)
}

/// A name of a message as it may stand in an address.
pub fn checked(id: &str) -> Result<&str, Failure> {
    let wrong = || Failure::new(Kind::InvalidInput, "a message is named as `mail.search` names it");
    if is_id(id) { Ok(id) } else { Err(wrong()) }
}
