//! Whether a request is Slack's: its two headers, handed to the vault, which alone holds the secrets.

use axum::http::HeaderMap;
use event::Timestamp;
use vault::{SignatureError, Signed, Signers};

/// Header with the second the request was signed at.
pub const TIMESTAMP_HEADER: &str = "x-slack-request-timestamp";
/// Header with the signature.
pub const SIGNATURE_HEADER: &str = "x-slack-signature";

/// Who signed `body`, exactly as it arrived, near `now`.
///
/// # Errors
/// As [`Signers::verify_v0`]; a header that is missing, repeated or not ASCII is malformed.
pub fn verify(
    signers: &Signers,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<Signed, SignatureError> {
    let timestamp = only(headers, TIMESTAMP_HEADER).ok_or(SignatureError::Malformed)?;
    let signature = only(headers, SIGNATURE_HEADER).ok_or(SignatureError::Malformed)?;
    signers.verify_v0(timestamp, signature, body, now)
}

/// The one value of a header. Of two, nobody could say which was signed.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}
