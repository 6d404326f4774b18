//! What errors mean to the host: by status, and by the code of an error that comes in a stream.

use crate::PROVIDER;
use guest::model::{ModelFailure, ModelKind, overlong};
use serde_json::Value;

/// What an error says: its code or type, and its sentence. Some servers say it without the envelope.
fn told(body: &Value) -> (&str, &str) {
    let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let code = if text("code").is_empty() { text("type") } else { text("code") };
    let message = error.as_str().unwrap_or_else(|| text("message"));
    (code, message)
}

/// The failure of an answer with `status`.
pub(crate) fn of(status: u16, retry_after_ms: Option<u64>, body: &str) -> ModelFailure {
    let read: Value = serde_json::from_str(body).unwrap_or_default();
    let (code, message) = told(&read);
    let said = if message.is_empty() { body } else { message };
    let kind = match status {
        400 if overlong(said) || overlong(code) => ModelKind::TooLong,
        400 | 422 => ModelKind::Malformed,
        401 | 403 => ModelKind::Unauthorised,
        413 => ModelKind::TooLong,
        // Out of money is no reason to wait.
        429 if code == "insufficient_quota" => ModelKind::Refused,
        429 | 503 | 529 => ModelKind::Overloaded,
        500..=599 => ModelKind::Retryable,
        400..=499 => ModelKind::Refused,
        _ => ModelKind::Malformed,
    };
    ModelFailure::answered(kind, PROVIDER, status, said).after(retry_after_ms)
}

/// The failure of an error in a stream: the status is the one it would have had.
pub(crate) fn in_stream(event: &Value) -> ModelFailure {
    let (code, message) = told(event);
    let status = match code {
        "rate_limit_exceeded" | "insufficient_quota" => 429,
        "context_length_exceeded" | "invalid_prompt" | "invalid_request_error" => 400,
        "invalid_api_key" | "authentication_error" => 401,
        "server_overloaded" | "overloaded" => 503,
        _ => 500,
    };
    let error = serde_json::json!({"error": {"code": code, "message": message}});
    of(status, None, &error.to_string())
}
