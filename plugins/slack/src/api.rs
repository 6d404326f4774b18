//! One call of Slack's Web API: a request out, its answer understood.
//!
//! Slack answers 200 with `"ok": false` for most failures, 429 with `Retry-After` when asked too often, and
//! something in front of it may answer anything else.

use guest::http::{Address, Ask, Method, Reply, Wire, encoded};
use guest::{Failure, Host, Kind};
use serde_json::Value;

use crate::errors;

/// The credential that the host puts into each request.
pub const TOKEN: &str = "slack.bot-token";
/// The header of every answer that names the scopes of the token.
const SCOPES_HEADER: &str = "x-oauth-scopes";
/// Where the API is, unless the setting `api` says otherwise.
const API: &str = "https://slack.com/api/";
/// The most that is read of an answer, in bytes. A posted message comes back whole: twice its blocks, its
/// text, and Slack's own additions fit many times over.
const REPLY_BYTES_MAX: usize = 512 * 1_024;
/// The most that is read of a page of messages, in bytes: a hundred of the longest, each in text and blocks.
const PAGE_BYTES_MAX: usize = 4 * 1_024 * 1_024;
/// How long to wait when Slack asks to wait and does not say how long, in milliseconds: its smallest window.
const RETRY_AFTER_MS_DEFAULT: u64 = 60_000;
/// The longest wait that is believed, in milliseconds: a day.
const RETRY_AFTER_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// What Slack says to a call.
#[derive(Debug)]
pub enum Said {
    /// It was done, with this answer.
    Done(Value),
    /// It was surely not done.
    No(Failure),
}

/// The Web API as this plugin reaches it.
pub struct Api<'a> {
    base: String,
    wire: &'a dyn Wire,
}

impl<'a> Api<'a> {
    /// Reads where the API is, and makes sure that there is a token to call it with.
    ///
    /// # Errors
    /// [`Kind::Other`] `misconfigured` for a bad setting, [`Kind::NotAllowed`] without a token.
    pub fn open(host: &dyn Host, wire: &'a dyn Wire) -> Result<Self, Failure> {
        if !host.credential_exists(TOKEN) {
            let message = format!(
                "there is no token for Slack: give `{TOKEN}` a value in `[credentials]`, and grant this plugin a \
                 route that names it"
            );
            return Err(Failure::new(Kind::NotAllowed, message));
        }
        let base = match host.setting("api") {
            None => API.to_owned(),
            Some(Value::String(base)) => base,
            Some(other) => return Err(misconfigured(&format!("it is {other} and not a string"))),
        };
        let slash = if base.ends_with('/') { "" } else { "/" };
        let base = format!("{base}{slash}");
        Address::parse(&base).map_err(|failure| misconfigured(&failure.message))?;
        Ok(Self { base, wire })
    }

    /// Asks a method that changes nothing. A plugin may send nothing but GET for a read.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub fn get(&self, method: &str) -> Result<Value, Failure> {
        understand(method, &self.exchange(method, Method::Get, Vec::new(), Vec::new())?, None)
    }

    /// The same, and the scopes of the token where Slack names them.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub fn get_with_scopes(&self, method: &str) -> Result<(Value, Option<Vec<String>>), Failure> {
        let reply = self.exchange(method, Method::Get, Vec::new(), Vec::new())?;
        let named = |scope: &str| Some(scope.trim()).filter(|scope| !scope.is_empty()).map(str::to_owned);
        let scopes = reply.header(SCOPES_HEADER).map(|scopes| scopes.split(',').filter_map(named).collect());
        Ok((understand(method, &reply, None)?, scopes))
    }

    /// Reads a page of messages. The values of `query` are encoded here.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub fn read(&self, method: &str, query: &[(&str, String)]) -> Result<Value, Failure> {
        let pairs: Vec<String> =
            query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let address = Address::parse(&format!("{}{method}?{}", self.base, pairs.join("&")))?;
        let ask = Ask {
            method: Method::Get,
            address,
            headers: Vec::new(),
            body: Vec::new(),
            reply_bytes_max: PAGE_BYTES_MAX,
        };
        understand(method, &self.wire.exchange(&ask)?, None)
    }

    /// Calls a method with a JSON body.
    ///
    /// # Errors
    /// What keeps Slack from doing it, by kind, with a sentence that says what to do.
    pub fn send(&self, method: &str, body: &Value) -> Result<Value, Failure> {
        understand(method, &self.post(method, body)?, None)
    }

    /// Calls a method with a JSON body where a no is something to go on from.
    ///
    /// # Errors
    /// When nobody knows whether it was done: no answer came, or one that says of itself that it may have been.
    pub fn ask(&self, method: &str, body: &Value) -> Result<Said, Failure> {
        let reply = self.post(method, body)?;
        match understand(method, &reply, None) {
            Ok(answer) => Ok(Said::Done(answer)),
            Err(failure) if is_no(&reply, &failure) => Ok(Said::No(failure)),
            Err(failure) => Err(failure),
        }
    }

    /// Calls a method whose deed may be done already: an answer of `already` is as good as one of ok.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub fn ensure(&self, method: &str, body: &Value, already: &str) -> Result<(), Failure> {
        understand(method, &self.post(method, body)?, Some(already)).map(|_| ())
    }

    /// Hands the bytes of a file over, which nobody sees until it is shared: its id.
    ///
    /// # Errors
    /// As [`Api::send`], and when where Slack takes files cannot be reached or does not take it.
    pub fn hand_over(&self, name: &str, bytes: &[u8]) -> Result<String, Failure> {
        let method = "files.getUploadURLExternal";
        let headers = vec![("content-type", "application/x-www-form-urlencoded")];
        let form = format!("filename={name}&length={}", bytes.len()).into_bytes();
        let answer = understand(method, &self.exchange(method, Method::Post, headers, form)?, None)?;
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        let (Some(url), Some(id)) = (text("upload_url"), text("file_id")) else {
            return Err(Failure::new(Kind::Malformed, "Slack does not say where it takes the file"));
        };
        let headers = vec![("content-type", "application/octet-stream")];
        let address = Address::parse(url)?;
        let ask = Ask {
            method: Method::Post,
            address,
            headers,
            body: bytes.to_vec(),
            reply_bytes_max: REPLY_BYTES_MAX,
        };
        match self.wire.exchange(&ask)?.status {
            200 => Ok(id.to_owned()),
            status => {
                Err(Failure::new(Kind::Unavailable, format!("the file was answered with status {status}")))
            }
        }
    }

    /// The bytes of a file at an address that Slack named; nothing when there are more than `bytes_max`.
    ///
    /// # Errors
    /// When the host does not let the request out, or what comes back is no file.
    pub fn download(&self, address: &str, bytes_max: usize) -> Result<Option<Vec<u8>>, Failure> {
        let address = Address::parse(address)?;
        let (headers, body) = (Vec::new(), Vec::new());
        let ask = Ask { method: Method::Get, address, headers, body, reply_bytes_max: bytes_max };
        let reply = self.wire.exchange(&ask)?;
        let no = |kind, message: &str| Err(Failure::new(kind, message));
        match reply.status {
            200 if reply.cut => Ok(None),
            200 => Ok(Some(reply.body)),
            429 => Err(limited("a file", &reply)),
            // To a page where a person would sign in.
            300..=399 => no(
                Kind::NotAllowed,
                "Slack does not give this file to the app: does it have files:read, and is it in the channel?",
            ),
            401 | 403 => no(Kind::NotAllowed, "Slack does not give this file to the app"),
            404 | 410 => no(Kind::NotFound, "the file is not there any more"),
            status => {
                Err(Failure::new(Kind::Unavailable, format!("the file was answered with status {status}")))
            }
        }
    }

    fn post(&self, method: &str, body: &Value) -> Result<Reply, Failure> {
        let headers = vec![("content-type", "application/json; charset=utf-8")];
        self.exchange(method, Method::Post, headers, body.to_string().into_bytes())
    }

    fn exchange(
        &self,
        method: &str,
        verb: Method,
        headers: Vec<(&'static str, &'static str)>,
        body: Vec<u8>,
    ) -> Result<Reply, Failure> {
        let address = Address::parse(&format!("{}{method}", self.base))?;
        self.wire.exchange(&Ask { method: verb, address, headers, body, reply_bytes_max: REPLY_BYTES_MAX })
    }
}

fn misconfigured(why: &str) -> Failure {
    Failure::new(
        Kind::Other("misconfigured"),
        format!("the setting `api` of the plugin `slack` is wrong: {why}"),
    )
}

/// The body of an answer that says `"ok": true`, or no more than `already`; else why there is none.
fn understand(method: &str, reply: &Reply, already: Option<&str>) -> Result<Value, Failure> {
    if reply.status == 429 {
        return Err(limited(method, reply));
    }
    let body: Option<Value> = serde_json::from_slice(&reply.body).ok().filter(|_| !reply.cut);
    let ok = body.as_ref().and_then(|body| body.get("ok")).and_then(Value::as_bool);
    match (body, ok) {
        (Some(body), Some(true)) => Ok(body),
        (Some(body), Some(false)) => match errors::code_of(&body).as_str() {
            "ratelimited" => Err(limited(method, reply)),
            code if Some(code) == already => Ok(body),
            _ => Err(errors::failure_of(method, &body)),
        },
        _ if reply.status >= 500 => {
            let message = format!("Slack answered {} to {method}: it has trouble of its own", reply.status);
            Err(Failure::new(Kind::Unavailable, message))
        }
        _ => {
            let message = format!(
                "{method} was answered with status {} and something that is not Slack's: is the setting `api` \
                 right?",
                reply.status
            );
            Err(Failure::new(Kind::Malformed, message))
        }
    }
}

/// Whether such an answer says that nothing was done. Of its own trouble Slack says that some of it may have been.
fn is_no(reply: &Reply, failure: &Failure) -> bool {
    let says_no = reply.status == 200 && !matches!(failure.kind, Kind::Malformed | Kind::Unavailable);
    says_no || (400..500).contains(&reply.status)
}

fn limited(method: &str, reply: &Reply) -> Failure {
    let wait_ms = reply.wait_ms(RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX);
    Failure {
        kind: Kind::RateLimited,
        message: format!("Slack asks to wait {} s before {method} is called again", wait_ms / 1_000),
        retry_after_ms: Some(wait_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec())).collect();
        Reply { status, headers, body: body.as_bytes().to_vec(), cut: false }
    }

    #[test]
    fn an_answer_that_says_ok_is_the_answer() {
        let body = understand("auth.test", &reply(200, &[], r#"{"ok":true,"team_id":"T1"}"#), None).unwrap();
        assert_eq!(body["team_id"], "T1");
    }

    #[test]
    fn being_asked_too_often_says_how_long_to_wait() {
        for (limited, wait_ms) in [
            (reply(429, &[("Retry-After", "30")], ""), 30_000),
            (reply(429, &[], r#"{"ok":false,"error":"ratelimited"}"#), RETRY_AFTER_MS_DEFAULT),
            (reply(200, &[("retry-after", "2")], r#"{"ok":false,"error":"ratelimited"}"#), 2_000),
            (reply(429, &[("retry-after", "soon")], "<html>"), RETRY_AFTER_MS_DEFAULT),
            (reply(429, &[("retry-after", "18446744073709551615")], ""), RETRY_AFTER_MS_MAX),
        ] {
            let failure = understand("chat.postMessage", &limited, None).unwrap_err();
            assert_eq!(
                (failure.kind, failure.retry_after_ms),
                (Kind::RateLimited, Some(wait_ms)),
                "{limited:?}"
            );
        }
    }

    #[test]
    fn an_answer_that_is_not_slacks_is_malformed() {
        for stranger in [
            reply(404, &[], r#"{"message":"Not Found"}"#),
            reply(200, &[], "<html>Log in</html>"),
            reply(200, &[], ""),
            reply(200, &[], r#"{"ok":"yes"}"#),
            reply(200, &[], "[]"),
        ] {
            assert_eq!(
                understand("auth.test", &stranger, None).unwrap_err().kind,
                Kind::Malformed,
                "{stranger:?}"
            );
        }
        let cut = Reply { cut: true, ..reply(200, &[], r#"{"ok":true}"#) };
        assert_eq!(understand("auth.test", &cut, None).unwrap_err().kind, Kind::Malformed);
    }

    #[test]
    fn a_no_is_what_says_that_nothing_was_done() {
        for (answer, no) in [
            (reply(200, &[], r#"{"ok":false,"error":"unknown_method"}"#), true),
            (reply(404, &[], r#"{"message":"Not Found"}"#), true),
            (reply(429, &[], ""), true),
            (reply(200, &[], r#"{"ok":false,"error":"fatal_error"}"#), false),
            (reply(200, &[], "<html>"), false),
            (reply(502, &[], "<html>"), false),
        ] {
            let failure = understand("chat.startStream", &answer, None).unwrap_err();
            assert_eq!(is_no(&answer, &failure), no, "{answer:?}");
        }
    }

    #[test]
    fn trouble_of_slacks_own_is_unavailable() {
        assert_eq!(
            understand("auth.test", &reply(503, &[], "<html>"), None).unwrap_err().kind,
            Kind::Unavailable
        );
    }
}
