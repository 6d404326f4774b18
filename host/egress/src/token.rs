//! Asking a service for what opens an account (RFC 6749, sections 4.1.3 and 6; RFC 7636; RFC 7009).
//!
//! The one request that carries secrets in its body, and the one answer that brings some: both are made and read here,
//! so that no other part of the host ever holds a value. What comes back is a [`Secret`], or a refusal in words of this
//! host; of the other side's words only the error code is kept, which RFC 6749 lists.

use crate::connection::connect;
use crate::exchange::{exchange, soonest};
use crate::{Egress, Origin, Refused, Scheme, judge_url};
use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use http::{Method, Request};
use http_body_util::Full;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tokio::time::Instant;
use vault::{Secret, VaultError};
use zeroize::Zeroizing;

/// What stays as it is in a form (the unreserved characters of RFC 3986).
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Longest error code that is repeated, in bytes.
const CODE_BYTES_MAX: usize = 64;

/// A service's application, as it knows this office.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its name there.
    pub id: String,
    /// The credential that proves it, by reference; nothing for an application that has none.
    pub secret: Option<String>,
}

/// What is shown for what is asked for.
pub enum Shown<'a> {
    /// A code that a person's browser brought back.
    Code {
        /// The code.
        code: &'a Secret,
        /// What its challenge was made of.
        verifier: &'a Secret,
        /// Where it was brought to.
        redirect: &'a str,
    },
    /// What was given for this with the value before.
    Refresh(&'a Secret),
}

/// What a service gave.
pub struct Granted {
    /// The value that goes into requests.
    pub access: Secret,
    /// What the next one is had with, when it says one.
    pub refresh: Option<Secret>,
    /// How long the first lasts, in milliseconds, when it says so.
    pub lasts_ms: Option<u64>,
    /// What it may be used for, as the service says it.
    pub scopes: Vec<String>,
}

/// Why nothing was given.
#[derive(Debug, thiserror::Error)]
pub enum NotGranted {
    /// The way there.
    #[error(transparent)]
    Way(#[from] Refused),
    /// It is no place to send a secret to.
    #[error(
        "`{0}` is no place to send a secret to: it is an https:// address, or one that `[egress] loopback` lists"
    )]
    NotSecure(String),
    /// The application's own secret cannot be had.
    #[error(transparent)]
    Client(VaultError),
    /// The service says no. `invalid_grant` means that the person has to connect again.
    #[error("the service answers {status} and `{code}`")]
    No {
        /// The status.
        status: u16,
        /// The code of RFC 6749, section 5.2; empty when it says none.
        code: String,
    },
    /// The answer is not what it should be.
    #[error("the service's answer is not one of OAuth 2.0: {0}")]
    Malformed(&'static str),
}

impl NotGranted {
    /// Whether asking again will not help: the person has to connect anew.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self, Self::No { code, .. } if matches!(code.as_str(), "invalid_grant" | "bad_refresh_token"))
    }
}

#[derive(Deserialize)]
struct Answered {
    access_token: Option<String>,
    refresh_token: Option<String>,
    token_type: Option<String>,
    expires_in: Option<serde_json::Number>,
    scope: Option<String>,
    // Some services answer 200 with an error.
    error: Option<String>,
}

impl Egress {
    /// Asks `url` for what opens an account.
    ///
    /// # Errors
    /// [`NotGranted`].
    pub async fn ask_token(
        &self,
        url: &str,
        client: &Client,
        shown: &Shown<'_>,
        deadline: Instant,
    ) -> Result<Granted, NotGranted> {
        let mut form = Form::default();
        match shown {
            Shown::Code { code, verifier, redirect } => {
                form.add("grant_type", "authorization_code");
                form.add("code", code.expose());
                form.add("redirect_uri", redirect);
                form.add("code_verifier", verifier.expose());
            }
            Shown::Refresh(refresh) => {
                form.add("grant_type", "refresh_token");
                form.add("refresh_token", refresh.expose());
            }
        }
        let (status, body) = self.post(url, client, form, deadline).await?;
        granted(status, &body)
    }

    /// Tells `url` that `secret` opens nothing any more (RFC 7009).
    ///
    /// # Errors
    /// [`NotGranted`]; the value may then still open the account.
    pub async fn revoke_token(
        &self,
        url: &str,
        client: &Client,
        secret: &Secret,
        deadline: Instant,
    ) -> Result<(), NotGranted> {
        let mut form = Form::default();
        form.add("token", secret.expose());
        match self.post(url, client, form, deadline).await? {
            (200..300, _) => Ok(()),
            (status, _) => Err(NotGranted::No { status, code: String::new() }),
        }
    }

    async fn post(
        &self,
        url: &str,
        client: &Client,
        mut form: Form,
        deadline: Instant,
    ) -> Result<(u16, Bytes), NotGranted> {
        let target = judge_url(url, self.loopback()).map_err(Refused::UrlRefused)?;
        let origin = target.origin().clone();
        if origin.scheme() != Scheme::Https && !self.loopback().contains(&origin) {
            return Err(NotGranted::NotSecure(origin.to_string()));
        }
        form.add("client_id", &client.id);
        if let Some(reference) = &client.secret {
            let secret = self.vault.get(reference).map_err(NotGranted::Client)?;
            form.add("client_secret", secret.expose());
        }
        let request = request(target.path_and_query().clone(), &origin, form)?;
        let connected_by = soonest(deadline, self.limits.connect_ms);
        let addresses = self.addresses(&origin, connected_by).await?;
        let stream = connect(&origin, &addresses, &self.tls, connected_by).await?;
        let answer = exchange(stream, request, &self.limits, deadline).await?;
        Ok((answer.status.as_u16(), answer.body))
    }
}

fn request(
    path: http::uri::PathAndQuery,
    origin: &Origin,
    form: Form,
) -> Result<Request<Full<Bytes>>, Refused> {
    let broken =
        |error: http::header::InvalidHeaderValue| Refused::Broken { left: false, error: error.into() };
    let body = Bytes::copy_from_slice(form.0.as_bytes());
    let mut request = Request::new(Full::new(body.clone()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = path.into();
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(&origin.authority()).map_err(broken)?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(USER_AGENT, HeaderValue::from_static("chancery"));
    Ok(request)
}

fn granted(status: u16, body: &[u8]) -> Result<Granted, NotGranted> {
    let answered: Option<Answered> = serde_json::from_slice(body).ok();
    let code = answered.as_ref().and_then(|answered| answered.error.as_deref()).unwrap_or_default();
    if !(200..300).contains(&status) || !code.is_empty() {
        let plain =
            code.len() <= CODE_BYTES_MAX && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        return Err(NotGranted::No { status, code: if plain { code.to_owned() } else { String::new() } });
    }
    let answered = answered.ok_or(NotGranted::Malformed("it is not JSON"))?;
    let bearer = answered.token_type.as_deref().is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !bearer {
        return Err(NotGranted::Malformed("its token is not a bearer's"));
    }
    let access =
        answered.access_token.and_then(Secret::given).ok_or(NotGranted::Malformed("it has no token"))?;
    let lasts = answered.expires_in.as_ref().and_then(|number| number.as_f64()).filter(|s| *s > 0.0);
    // A year is as long as anything is believed to last.
    let lasts_ms = lasts.map(|seconds| (seconds.min(31_536_000.0) * 1_000.0) as u64);
    let scopes = answered.scope.unwrap_or_default();
    let scopes = scopes.split([' ', ',']).filter(|scope| !scope.is_empty()).take(100);
    Ok(Granted {
        access,
        refresh: answered.refresh_token.and_then(Secret::given),
        lasts_ms,
        scopes: scopes.map(str::to_owned).collect(),
    })
}

/// A form that is wiped when it is dropped.
#[derive(Default)]
struct Form(Zeroizing<String>);

impl Form {
    fn add(&mut self, name: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push('&');
        }
        self.0.push_str(name);
        self.0.push('=');
        utf8_percent_encode(value, FORM).for_each(|part| self.0.push_str(part));
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, NotGranted, granted};

    #[test]
    fn a_form_says_one_thing_whatever_its_values_hold() {
        let mut form = Form::default();
        form.add("code", "a&b=c d+%");
        form.add("client_id", "x.y-z_~");
        assert_eq!(form.0.as_str(), "code=a%26b%3Dc%20d%2B%25&client_id=x.y-z_~");
    }

    #[test]
    fn an_answer_is_read_as_oauth_has_it() {
        let body = br#"{"access_token":"a1","refresh_token":"r1","token_type":"Bearer","expires_in":3600,"scope":"read,write issues"}"#;
        let given = granted(200, body).unwrap();
        assert_eq!((given.access.expose(), given.refresh.unwrap().expose()), ("a1", "r1"));
        assert_eq!(
            (given.lasts_ms, given.scopes),
            (Some(3_600_000), vec!["read".to_owned(), "write".into(), "issues".into()])
        );
        let given = granted(200, br#"{"access_token":"a1"}"#).unwrap();
        assert!(given.refresh.is_none() && given.lasts_ms.is_none());
        for (status, body, code) in [
            (400, r#"{"error":"invalid_grant","error_description":"secret stuff"}"#, "invalid_grant"),
            (200, r#"{"error":"bad_verification_code"}"#, "bad_verification_code"),
            (400, r#"{"error":"<script>"}"#, ""),
            (502, "<html>", ""),
        ] {
            match granted(status, body.as_bytes()) {
                Err(NotGranted::No { status: said, code: found }) => {
                    assert_eq!((said, found.as_str()), (status, code))
                }
                other => panic!("{body}: {:?}", other.err()),
            }
        }
        for body in [r"{}", r#"{"access_token":" "}"#, r#"{"access_token":"a","token_type":"mac"}"#, "x"] {
            assert!(matches!(granted(200, body.as_bytes()), Err(NotGranted::Malformed(_))), "{body}");
        }
    }
}
