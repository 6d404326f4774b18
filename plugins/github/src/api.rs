//! One request to GitHub's REST API, and its answer understood.

use guest::http::{Address, Ask, Method, Reply, Wire, base};
use guest::{Failure, Host, Kind, excerpt};
use serde_json::Value;

/// The credential that the host puts into each request.
pub const TOKEN: &str = "github.token";
/// Where the API is, unless the setting `api` says otherwise.
const API: &str = "https://api.github.com";
/// The most that is read of an answer, in bytes: a page of issues with long bodies.
const REPLY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How much of GitHub's own sentence goes into a failure, in characters.
const SAID_CHARS_MAX: usize = 300;
/// How long to wait when GitHub asks to wait and does not say how long, in milliseconds, as its documentation advises.
const RETRY_AFTER_MS_DEFAULT: u64 = 60_000;
/// The longest wait that is believed, in milliseconds: its windows are an hour.
const RETRY_AFTER_MS_MAX: u64 = 60 * 60 * 1_000;

/// What an answer is asked for as.
pub const JSON: &str = "application/vnd.github+json";
/// A file as its bytes.
pub const RAW: &str = "application/vnd.github.raw+json";

/// The API as this plugin reaches it.
pub struct Api<'a> {
    base: String,
    wire: &'a dyn Wire,
}

impl<'a> Api<'a> {
    /// Reads where the API is, and makes sure that there is a token to call it with.
    ///
    /// # Errors
    /// [`Kind::NotAllowed`] without a token, [`Kind::Other`] `misconfigured` for a bad setting.
    pub fn open(host: &dyn Host, wire: &'a dyn Wire) -> Result<Self, Failure> {
        if !host.credential_exists(TOKEN) {
            let message = format!(
                "there is no token for GitHub: give `{TOKEN}` a value in `[credentials]`, and grant this plugin a route that \
                 names it"
            );
            return Err(Failure::new(Kind::NotAllowed, message));
        }
        Ok(Self { base: base(host, "github", API)?, wire })
    }

    /// Reads what is at `path`, as JSON.
    ///
    /// # Errors
    /// What keeps GitHub from giving it, by kind.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        json(&understood(self.exchange(Method::Get, path, JSON, Vec::new())?)?)
    }

    /// Reads the bytes of what is at `path`, and whether there were more.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub fn bytes(&self, path: &str) -> Result<(Vec<u8>, bool), Failure> {
        let reply = understood(self.exchange(Method::Get, path, RAW, Vec::new())?)?;
        Ok((reply.body, reply.cut))
    }

    /// Posts `body` to `path`.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        json(&understood(self.exchange(Method::Post, path, JSON, body.to_string().into_bytes())?)?)
    }

    fn exchange(
        &self,
        method: Method,
        path: &str,
        accept: &'static str,
        body: Vec<u8>,
    ) -> Result<Reply, Failure> {
        let mut headers =
            vec![("accept", accept), ("user-agent", "chancery"), ("x-github-api-version", "2022-11-28")];
        if method == Method::Post {
            headers.push(("content-type", "application/json"));
        }
        let address = Address::parse(&format!("{}{path}", self.base))?;
        self.wire.exchange(&Ask { method, address, headers, body, reply_bytes_max: REPLY_BYTES_MAX })
    }
}

fn json(reply: &Reply) -> Result<Value, Failure> {
    if reply.cut {
        let message = format!("GitHub's answer is longer than {REPLY_BYTES_MAX} bytes: ask for less at once");
        return Err(Failure::new(Kind::TooLarge, message));
    }
    serde_json::from_slice(&reply.body)
        .map_err(|e| Failure::new(Kind::Malformed, format!("GitHub's answer is not JSON: {e}")))
}

/// The answer, if it is one, or the failure that its status stands for.
fn understood(reply: Reply) -> Result<Reply, Failure> {
    if (200..300).contains(&reply.status) {
        return Ok(reply);
    }
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let said = excerpt(body.get("message").and_then(Value::as_str).unwrap_or_default(), SAID_CHARS_MAX);
    let waits = reply.header("retry-after").is_some()
        || reply.header("x-ratelimit-remaining").is_some_and(|left| left == "0");
    let (kind, what) = match reply.status {
        403 | 429 if waits || reply.status == 429 => (Kind::RateLimited, "asks to wait"),
        401 => (Kind::NotAllowed, "does not take the token: it may have expired"),
        403 => (Kind::NotAllowed, "does not allow it: the token may lack a permission"),
        404 => (Kind::NotFound, "knows nothing there, or does not show it to this token"),
        410 => (Kind::NotFound, "says it is gone"),
        422 => (Kind::InvalidInput, "does not take it as it is"),
        300..=399 => (Kind::NotFound, "says it moved: name the repository as it is called now"),
        500.. => (Kind::Unavailable, "cannot answer now"),
        _ => (Kind::Malformed, "answered what nobody expected"),
    };
    let message = match said.is_empty() {
        true => format!("GitHub {what} (status {})", reply.status),
        false => format!("GitHub {what} (status {}): {said}", reply.status),
    };
    let retry_after_ms =
        (kind == Kind::RateLimited).then(|| reply.wait_ms(RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX));
    Err(Failure { retry_after_ms, ..Failure::new(kind, message) })
}
