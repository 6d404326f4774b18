//! What the provider's errors mean to the host: by status, and by the word in an error that comes in a stream.

use crate::PROVIDER;
use guest::model::{ModelFailure, ModelKind, overlong};
use serde::Deserialize;

/// An error, as an answer or as an event.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Envelope {
    #[serde(default)]
    pub(crate) error: Told,
}

/// What it says.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Told {
    #[serde(default, rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) message: String,
}

/// The failure of an answer with `status`.
pub(crate) fn of(status: u16, retry_after_ms: Option<u64>, body: &str) -> ModelFailure {
    let told = serde_json::from_str::<Envelope>(body).map(|envelope| envelope.error).unwrap_or_default();
    let said = if told.message.is_empty() { body } else { &told.message };
    let kind = match status {
        400 if overlong(said) => ModelKind::TooLong,
        400 if unpaid(said) => ModelKind::Refused,
        400 => ModelKind::Malformed,
        401 | 403 => ModelKind::Unauthorised,
        413 => ModelKind::TooLong,
        429 | 529 => ModelKind::Overloaded,
        500..=528 | 530..=599 => ModelKind::Retryable,
        402 | 404..=412 | 414..=428 | 430..=499 => ModelKind::Refused,
        _ => ModelKind::Malformed,
    };
    ModelFailure::answered(kind, PROVIDER, status, said).after(retry_after_ms)
}

fn unpaid(said: &str) -> bool {
    said.contains("credit balance")
}

/// The failure of an error in a stream: the status is the one it would have had.
pub(crate) fn in_stream(data: &str) -> ModelFailure {
    let told = serde_json::from_str::<Envelope>(data).map(|envelope| envelope.error).unwrap_or_default();
    let status = match told.kind.as_str() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    };
    of(status, None, data)
}
