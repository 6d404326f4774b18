//! A message as Gmail gives it: its headers, its text, what is attached.

use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use serde_json::Value;

/// How deep parts within parts are looked at: a forwarded message in a forwarded message is three.
const DEPTH_MAX: usize = 10;
/// How many parts of one message are looked at.
const PARTS_MAX: usize = 200;

/// Gmail gives base64url with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The first header of this name.
#[must_use]
pub fn header(message: &Value, name: &str) -> String {
    let headers = message.pointer("/payload/headers").and_then(Value::as_array).into_iter().flatten();
    let named = |header: &&Value| text(header.get("name")).eq_ignore_ascii_case(name);
    headers.into_iter().find(named).map(|header| text(header.get("value"))).unwrap_or_default()
}

/// What a message says: its plain text, or its HTML as text.
#[must_use]
pub fn body(message: &Value) -> String {
    let parts = parts(message);
    let of = |kind: &str| parts.iter().find_map(|part| content(part, kind));
    of("text/plain")
        .or_else(|| of("text/html").map(|html| guest::html::readable(&html).text))
        .unwrap_or_default()
}

/// A file that is attached to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Which part of the message it is, such as `1` or `0.2`: the same however often it is asked for.
    pub part: String,
    /// What it is called.
    pub name: String,
    /// What its sender says it is.
    pub media_type: String,
    /// Its length in bytes, as Gmail says.
    pub bytes: u64,
    /// By which name Gmail gives its content, where it does not stand in the message. Another one each time.
    pub id: Option<String>,
    /// Its content in base64, where it does.
    pub data: Option<String>,
}

/// The files that are attached.
#[must_use]
pub fn attachments(message: &Value) -> Vec<Attached> {
    let file = |part: &&Value| {
        let of = |pointer: &str| part.pointer(pointer).and_then(Value::as_str).map(ToOwned::to_owned);
        let name = text(part.get("filename"));
        (!name.is_empty()).then(|| Attached {
            part: text(part.get("partId")),
            name,
            media_type: text(part.get("mimeType")),
            bytes: part.pointer("/body/size").and_then(Value::as_u64).unwrap_or(0),
            id: of("/body/attachmentId"),
            data: of("/body/data"),
        })
    };
    parts(message).iter().filter_map(file).collect()
}

/// What Gmail writes as base64url.
#[must_use]
pub fn decoded(data: &str) -> Option<Vec<u8>> {
    BASE64.decode(data).ok()
}

/// Every part, outermost first, as far as is looked.
fn parts(message: &Value) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut level: Vec<&Value> = message.get("payload").into_iter().collect();
    for _ in 0..DEPTH_MAX {
        let within = level.iter().filter_map(|part| part.get("parts").and_then(Value::as_array)).flatten();
        let next: Vec<&Value> = within.take(PARTS_MAX).collect();
        found.append(&mut level);
        if next.is_empty() || found.len() >= PARTS_MAX {
            break;
        }
        level = next;
    }
    found.append(&mut level);
    found
}

/// The content of a part that is of this type and no file.
fn content(part: &&Value, kind: &str) -> Option<String> {
    let of_kind =
        text(part.get("mimeType")).eq_ignore_ascii_case(kind) && text(part.get("filename")).is_empty();
    let encoded = part.pointer("/body/data").and_then(Value::as_str).filter(|_| of_kind)?;
    let bytes = decoded(encoded)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}
