//! One request to Gmail's API, and its answer understood.

use guest::http::{Address, Ask, Method, Reply, Wire, base};
use guest::{Failure, Host, Kind, excerpt};
use serde_json::Value;

/// The credential that the host puts into each request.
pub const TOKEN: &str = "mail.token";
/// Where the API is, unless the setting `api` says otherwise.
const API: &str = "https://gmail.googleapis.com";
/// What every path begins with: the mailbox of whoever the credential is.
const MAILBOX: &str = "/gmail/v1/users/me";
/// The most that is read of an answer, in bytes: a message whole, without what is attached.
const REPLY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How much of Gmail's own sentence goes into a failure, in characters.
const SAID_CHARS_MAX: usize = 300;
/// How long to wait when Gmail asks to wait and does not say how long, in milliseconds: its quota is one of a minute.
const RETRY_AFTER_MS_DEFAULT: u64 = 60_000;
/// The longest wait that is believed, in milliseconds: its limits of sending are a day's.
const RETRY_AFTER_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// The API as this plugin reaches it.
pub struct Api<'a> {
    base: String,
    wire: &'a dyn Wire,
}

impl<'a> Api<'a> {
    /// Reads where the API is, and makes sure that there is a credential to call it with.
    ///
    /// # Errors
    /// [`Kind::NotAllowed`] without one, [`Kind::Other`] `misconfigured` for a bad setting.
    pub fn open(host: &dyn Host, wire: &'a dyn Wire) -> Result<Self, Failure> {
        if !host.credential_exists(TOKEN) {
            let message = format!(
                "there is no mailbox to use: whoever asks can connect theirs, or the operator gives `{TOKEN}` a value in \
                 `[credentials]` and grants this plugin a route that names it"
            );
            return Err(Failure::new(Kind::NotAllowed, message));
        }
        Ok(Self { base: base(host, "mail", API)?, wire })
    }

    /// Reads what is at `path` of the mailbox.
    ///
    /// # Errors
    /// What keeps Gmail from giving it, by kind.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        understood(self.exchange(Method::Get, path, Vec::new())?)
    }

    /// Posts `body` to `path` of the mailbox.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        understood(self.exchange(Method::Post, path, body.to_string().into_bytes())?)
    }

    fn exchange(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Reply, Failure> {
        let mut headers = vec![("accept", "application/json"), ("user-agent", "chancery")];
        if method == Method::Post {
            headers.push(("content-type", "application/json"));
        }
        let address = Address::parse(&format!("{}{MAILBOX}{path}", self.base))?;
        self.wire.exchange(&Ask { method, address, headers, body, reply_bytes_max: REPLY_BYTES_MAX })
    }
}

/// The answer, if it is one, or the failure that its status stands for.
fn understood(reply: Reply) -> Result<Value, Failure> {
    if (200..300).contains(&reply.status) {
        if reply.cut {
            let message = format!("Gmail's answer is longer than {REPLY_BYTES_MAX} bytes");
            return Err(Failure::new(Kind::TooLarge, message));
        }
        return serde_json::from_slice(&reply.body)
            .map_err(|e| Failure::new(Kind::Malformed, format!("Gmail's answer is not JSON: {e}")));
    }
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let said = body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    let said = excerpt(said, SAID_CHARS_MAX);
    let reason = body.pointer("/error/errors/0/reason").and_then(Value::as_str).unwrap_or_default();
    let limit = reason.ends_with("LimitExceeded") || reason == "quotaExceeded";
    let (kind, what) = match reply.status {
        429 => (Kind::RateLimited, "asks to wait"),
        403 if limit => (Kind::RateLimited, "asks to wait"),
        401 => (Kind::NotAllowed, "does not take the account: it may have expired or been taken back"),
        403 => (Kind::NotAllowed, "does not allow it: the account may lack a scope"),
        404 => (Kind::NotFound, "knows nothing there"),
        400 => (Kind::InvalidInput, "does not take it as it is"),
        413 => (Kind::TooLarge, "says it is too long"),
        300..=399 => (Kind::NotFound, "is not there: the setting `api` may be wrong"),
        500.. => (Kind::Unavailable, "cannot answer now"),
        _ => (Kind::Malformed, "answered what nobody expected"),
    };
    let message = match said.is_empty() {
        true => format!("Gmail {what} (status {})", reply.status),
        false => format!("Gmail {what} (status {}): {said}", reply.status),
    };
    let retry_after_ms =
        (kind == Kind::RateLimited).then(|| reply.wait_ms(RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX));
    Err(Failure { retry_after_ms, ..Failure::new(kind, message) })
}
