//! `hostile.fetch` and `hostile.push`: any method to any address, with any headers, as often as asked.

use serde_json::{Value, json};
use std::time::Duration;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};

/// How much of an answer is read at once.
const READ_BYTES: u64 = 64 * 1024;

/// Sends what `input` says: `{url, method?, headers?: {name: value}, body?, times?, first_byte_ms?, leave?}`. Says
/// what came of the last time: `{status, body}` or `{error}`.
pub(crate) fn fetch(input: &Value) -> Value {
    let times = input.get("times").and_then(Value::as_u64).unwrap_or(1);
    let mut said = Value::Null;
    for _ in 0..times {
        said = match exchange(input) {
            Ok(answer) => answer,
            Err(code) => json!({"error": format!("{code:?}")}),
        };
    }
    said
}

fn exchange(input: &Value) -> Result<Value, ErrorCode> {
    let request = request(input)?;
    let body = request.body().map_err(|()| ErrorCode::InternalError(None))?;
    let pending = handle(request, options(input))?;
    write(body, text(input, "body"))?;
    if input.get("leave").is_some() {
        return Ok(json!({"left": true}));
    }
    pending.subscribe().block();
    match pending.get() {
        Some(Ok(response)) => read(&response?),
        Some(Err(())) | None => Err(ErrorCode::InternalError(None)),
    }
}

fn request(input: &Value) -> Result<OutgoingRequest, ErrorCode> {
    let invalid = |()| ErrorCode::HttpRequestUriInvalid;
    let url = text(input, "url");
    let (scheme, rest) = url.split_once("://").ok_or(ErrorCode::HttpRequestUriInvalid)?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let mut headers = Vec::new();
    for (name, value) in input.get("headers").and_then(Value::as_object).into_iter().flatten() {
        headers.push((name.clone(), value.as_str().unwrap_or_default().as_bytes().to_vec()));
    }
    for n in 0..input.get("header_count").and_then(Value::as_u64).unwrap_or(0) {
        headers.push((format!("x-{n}"), b"y".to_vec()));
    }
    let headers =
        Fields::from_list(&headers).map_err(|e| ErrorCode::InternalError(Some(format!("{e:?}"))))?;
    let request = OutgoingRequest::new(headers);
    let method = match text(input, "method") {
        "" | "GET" => Method::Get,
        "POST" => Method::Post,
        other => Method::Other(other.to_owned()),
    };
    request.set_method(&method).map_err(|()| ErrorCode::HttpRequestMethodInvalid)?;
    let scheme = if scheme == "http" { Scheme::Http } else { Scheme::Https };
    request.set_scheme(Some(&scheme)).map_err(invalid)?;
    request.set_authority(Some(authority)).map_err(invalid)?;
    request.set_path_with_query(Some(path)).map_err(invalid)?;
    Ok(request)
}

fn options(input: &Value) -> Option<RequestOptions> {
    let ms = input.get("first_byte_ms").and_then(Value::as_u64)?;
    let options = RequestOptions::new();
    let ns = u64::try_from(Duration::from_millis(ms).as_nanos()).unwrap_or(u64::MAX);
    options.set_first_byte_timeout(Some(ns)).ok()?;
    Some(options)
}

fn write(body: OutgoingBody, text: &str) -> Result<(), ErrorCode> {
    if let Ok(stream) = body.write() {
        for chunk in text.as_bytes().chunks(4_096) {
            if stream.blocking_write_and_flush(chunk).is_err() {
                break;
            }
        }
    }
    OutgoingBody::finish(body, None)
}

fn read(response: &IncomingResponse) -> Result<Value, ErrorCode> {
    let body = response.consume().map_err(|()| ErrorCode::InternalError(None))?;
    let stream = body.stream().map_err(|()| ErrorCode::InternalError(None))?;
    let mut bytes = Vec::new();
    while let Ok(chunk) = stream.blocking_read(READ_BYTES) {
        bytes.extend_from_slice(&chunk);
    }
    Ok(json!({"status": response.status(), "body": String::from_utf8_lossy(&bytes)}))
}

fn text<'i>(input: &'i Value, key: &str) -> &'i str {
    input.get(key).and_then(Value::as_str).unwrap_or_default()
}
