//! One operation of Linear's GraphQL API, and its answer understood.

use guest::http::{Address, Ask, Method, Reply, Wire, base};
use guest::{Failure, Host, Kind, excerpt};
use serde_json::{Value, json};

/// The credential that the host puts into each request.
pub const TOKEN: &str = "linear.token";
/// Where the API is, unless the setting `api` says otherwise.
const API: &str = "https://api.linear.app";
/// The most that is read of an answer, in bytes: an issue with fifty long comments.
const REPLY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How much of Linear's own sentence goes into a failure, in characters.
const SAID_CHARS_MAX: usize = 300;
/// How long to wait when Linear asks to wait and does not say how long, in milliseconds.
const RETRY_AFTER_MS_DEFAULT: u64 = 60_000;
/// The longest wait that is believed, in milliseconds: its windows are an hour.
const RETRY_AFTER_MS_MAX: u64 = 60 * 60 * 1_000;

/// The API as this plugin reaches it.
pub struct Api<'a> {
    base: String,
    wire: &'a dyn Wire,
}

/// What Linear says to an operation.
pub enum Said {
    /// Its data.
    Data(Value),
    /// It does not know a field of an input: nothing was carried out.
    UnknownField,
}

impl<'a> Api<'a> {
    /// Reads where the API is, and makes sure that there is a credential to call it with.
    ///
    /// # Errors
    /// [`Kind::NotAllowed`] without one, [`Kind::Other`] `misconfigured` for a bad setting.
    pub fn open(host: &dyn Host, wire: &'a dyn Wire) -> Result<Self, Failure> {
        if !host.credential_exists(TOKEN) {
            let message = format!(
                "there is no account at Linear to use: whoever asks can connect theirs, or the operator gives `{TOKEN}` a \
                 value in `[credentials]` and grants this plugin a route that names it"
            );
            return Err(Failure::new(Kind::NotAllowed, message));
        }
        Ok(Self { base: base(host, "linear", API)?, wire })
    }

    /// Carries out `document` with `variables` and gives its data.
    ///
    /// # Errors
    /// What keeps Linear from it, by kind.
    pub fn run(&self, document: &str, variables: &Value) -> Result<Value, Failure> {
        match self.try_run(document, variables)? {
            Said::Data(data) => Ok(data),
            Said::UnknownField => {
                Err(Failure::new(Kind::Malformed, "Linear does not know a field that this plugin gives it"))
            }
        }
    }

    /// The same, for an input that an older server may not know all of.
    ///
    /// # Errors
    /// As [`Api::run`].
    pub fn try_run(&self, document: &str, variables: &Value) -> Result<Said, Failure> {
        let reply = self.exchange(json!({"query": document, "variables": variables}))?;
        if reply.cut {
            let message =
                format!("Linear's answer is longer than {REPLY_BYTES_MAX} bytes: ask for less at once");
            return Err(Failure::new(Kind::TooLarge, message));
        }
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        match first_error(&body) {
            Some(error) if is_unknown_field(error) => Ok(Said::UnknownField),
            Some(error) => Err(failure(&reply, error)),
            None if !(200..300).contains(&reply.status) => Err(failure(&reply, &Value::Null)),
            None => match body {
                Value::Object(mut body) => match body.remove("data") {
                    Some(data @ Value::Object(_)) => Ok(Said::Data(data)),
                    _ => Err(Failure::new(Kind::Malformed, "Linear's answer has no data")),
                },
                _ => Err(Failure::new(Kind::Malformed, "Linear's answer is not JSON as it should be")),
            },
        }
    }

    fn exchange(&self, body: Value) -> Result<Reply, Failure> {
        self.wire.exchange(&Ask {
            method: Method::Post,
            address: Address::parse(&format!("{}/graphql", self.base))?,
            // Nothing beside the media type: a reader's document is recognised in a body of exactly this type.
            headers: vec![
                ("content-type", "application/json"),
                ("accept", "application/json"),
                ("user-agent", "chancery"),
            ],
            body: body.to_string().into_bytes(),
            reply_bytes_max: REPLY_BYTES_MAX,
        })
    }
}

fn first_error(body: &Value) -> Option<&Value> {
    body.get("errors")?.as_array()?.first()
}

/// Whether a validator of GraphQL says this, before anything is carried out: the words are those of the reference
/// implementation, which servers use, to its version 16 and from 17 on.
fn is_unknown_field(error: &Value) -> bool {
    let said = error.get("message").and_then(Value::as_str).unwrap_or_default();
    said.contains("is not defined by type") || said.contains("not to include unknown field")
}

/// The failure that Linear's first error stands for. It has a code of its own beside the status.
fn failure(reply: &Reply, error: &Value) -> Failure {
    let own = |name: &str| error.pointer(&format!("/extensions/{name}")).and_then(Value::as_str);
    let said = own("userPresentableMessage").or_else(|| error.get("message").and_then(Value::as_str));
    let said = excerpt(said.unwrap_or_default(), SAID_CHARS_MAX);
    let code = own("code").unwrap_or_default().to_ascii_uppercase();
    let (kind, what) = match (code.as_str(), reply.status) {
        ("RATELIMITED" | "RATE_LIMITED", _) | (_, 429) => (Kind::RateLimited, "asks to wait"),
        ("AUTHENTICATION_ERROR", _) | (_, 401) => {
            (Kind::NotAllowed, "does not take the credential: it may have expired")
        }
        ("FORBIDDEN" | "FEATURE_NOT_ACCESSIBLE", _) | (_, 403) => {
            (Kind::NotAllowed, "does not allow it: the credential may lack a scope")
        }
        _ if is_not_found(&said) => (Kind::NotFound, "knows nothing by that name, or does not show it"),
        ("INPUT_ERROR" | "GRAPHQL_VALIDATION_FAILED" | "BAD_USER_INPUT", _) => {
            (Kind::InvalidInput, "does not take it as it is")
        }
        (_, 500..) => (Kind::Unavailable, "cannot answer now"),
        (_, 300..=399 | 404) => (Kind::NotFound, "is not there: the setting `api` may be wrong"),
        _ if said.to_ascii_lowercase().contains("scope") => {
            (Kind::NotAllowed, "does not allow it: the credential may lack a scope")
        }
        // An operation that was refused as a whole: whatever the sentence says, it was not carried out.
        (_, 400) => (Kind::InvalidInput, "does not take it"),
        _ => (Kind::Malformed, "answered what nobody expected"),
    };
    let message = match said.is_empty() {
        true => format!("Linear {what} (status {})", reply.status),
        false => format!("Linear {what} (status {}): {said}", reply.status),
    };
    let retry_after_ms =
        (kind == Kind::RateLimited).then(|| reply.wait_ms(RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX));
    Failure { retry_after_ms, ..Failure::new(kind, message) }
}

fn is_not_found(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    said.contains("not found") || said.contains("could not find")
}
