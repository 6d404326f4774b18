//! One exchange with the token endpoint of an authorisation server: a code, or a refresh token, for a token.
//!
//! What comes back is split here: tokens leave as [`Secret`]s, which nobody but this crate and `vault` can look into, and
//! the rest as JSON without them. The client's secret goes into the one header that RFC 6749 (section 2.3.1) has for it, a
//! refresh token into the body, both after everything else of the request was judged and looked through. The answer is
//! not looked through for known secrets: a server may give again what it gave before, and none of it leaves this file.
//!
//! Source: RFC 6749, sections 4.1.3 and 6. Deliberately absent: asking a person for a code, keeping what was given, and
//! any second try: a refresh token may be good for one exchange.

use crate::connection::connect;
use crate::exchange::exchange;
use crate::exchange::soonest;
use crate::{Egress, Refused};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use event::{Route, RoutePath};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Request, StatusCode};
use serde_json::Value;
use tokio::time::Instant;
use url::form_urlencoded::Serializer;
use vault::Secret;
use zeroize::Zeroizing;

/// Fields whose text is a token, wherever they stand in an answer.
const TOKENS: [&str; 4] = ["access_token", "refresh_token", "id_token", "webhook_url"];

/// What is exchanged for a token.
#[derive(Clone, Copy, Debug)]
pub enum Offer<'a> {
    /// What the server gave to a person for us, and where the person came back to.
    Code {
        /// The code.
        code: &'a str,
        /// The address that was asked for.
        redirect_uri: &'a str,
    },
    /// What the server gave before, by its reference.
    Refresh {
        /// The credential.
        reference: &'a str,
    },
}

/// Who asks, and where.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The token endpoint: the one address that is asked.
    pub address: &'a str,
    /// What the server calls this client.
    pub client_id: &'a str,
    /// The client's secret, by its reference.
    pub client_secret: &'a str,
}

/// What a server gave.
pub struct TokenGiven {
    /// The token.
    pub access: Secret,
    /// What the next one is exchanged for.
    pub refresh: Option<Secret>,
    /// For how long the token is good, in seconds; nothing when it does not end.
    pub expires_in_s: Option<i64>,
    /// Everything else that the answer says, without any token.
    pub rest: Value,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenRefused {
    /// The request did not go out, or its answer did not come back whole.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The server says no.
    #[error("the server says `{code}`")]
    No {
        /// Its word for it.
        code: String,
        /// How long it asks to wait, in milliseconds.
        wait_ms: Option<u64>,
    },
    /// What answered is no token endpoint.
    #[error("it was answered with status {status} and no token")]
    NoToken {
        /// The status.
        status: u16,
    },
}

impl Egress {
    /// Exchanges what is offered for a token, by `deadline` at the latest.
    ///
    /// # Errors
    /// [`TokenRefused`]. After [`Refused`] with a request that may have left, a refresh token may be used up.
    pub async fn token(
        &self,
        asking: Asking<'_>,
        offer: Offer<'_>,
        deadline: Instant,
    ) -> Result<TokenGiven, TokenRefused> {
        let request = self.asked(&asking, &offer)?;
        let judged = self.judge(request, &[exactly(asking.address)])?;
        self.look_through_request(&judged).await?;
        let (origin, mut request) = (judged.target().clone(), self.written(judged)?);
        let secret = self.secret(asking.client_secret)?;
        request.headers_mut().insert(AUTHORIZATION, basic(asking.client_id, &secret, asking.client_secret)?);
        if let Offer::Refresh { reference } = offer {
            let secret = self.secret(reference)?;
            let mut form = Serializer::new(String::new());
            form.append_pair("grant_type", "refresh_token").append_pair("refresh_token", secret.expose());
            *request.body_mut() = Bytes::from(form.finish()).into();
        }
        let connected_by = soonest(deadline, self.limits.connect_ms);
        let addresses = self.addresses(&origin, connected_by).await?;
        let stream = connect(&origin, &addresses, &self.tls, connected_by).await?;
        let answer = exchange(stream, request, &self.limits, deadline).await?;
        let wait = answer.headers.get("retry-after").and_then(|wait| wait.to_str().ok()?.parse::<u64>().ok());
        given(answer.status, &answer.body, wait.map(|seconds| seconds.saturating_mul(1_000)))
    }

    fn asked(&self, asking: &Asking<'_>, offer: &Offer<'_>) -> Result<Request<Bytes>, Refused> {
        let mut form = Serializer::new(String::new());
        if let Offer::Code { code, redirect_uri } = offer {
            form.append_pair("grant_type", "authorization_code");
            form.append_pair("code", code).append_pair("redirect_uri", redirect_uri);
        }
        let request = Request::post(asking.address)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Bytes::from(form.finish()));
        request.map_err(|error| Refused::Broken { left: false, error: error.into() })
    }

    fn secret(&self, reference: &str) -> Result<Secret, Refused> {
        self.vault.get(reference).map_err(Refused::CredentialMissing)
    }
}

/// The route to one address, without its query.
fn exactly(address: &str) -> Route {
    let bare = address.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = bare.split_once("://").unwrap_or_default();
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    Route {
        methods: vec!["POST".to_owned()],
        origin: format!("{scheme}://{authority}"),
        path: RoutePath::Whole(format!("/{path}")),
        credential: None,
    }
}

fn basic(client: &str, secret: &Secret, reference: &str) -> Result<HeaderValue, Refused> {
    let pair = Zeroizing::new(format!("{client}:{}", secret.expose()));
    let text = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
    let unusable = |_| Refused::CredentialUnusable { reference: reference.to_owned() };
    let mut value = HeaderValue::from_str(&text).map_err(unusable)?;
    value.set_sensitive(true);
    Ok(value)
}

/// What an answer gives.
fn given(status: StatusCode, body: &[u8], wait_ms: Option<u64>) -> Result<TokenGiven, TokenRefused> {
    let no_token = || TokenRefused::NoToken { status: status.as_u16() };
    let mut said: Value = serde_json::from_slice(body).map_err(|_| no_token())?;
    let refused = said.get("ok").and_then(Value::as_bool) == Some(false) || !status.is_success();
    if refused {
        let code = said.get("error").and_then(Value::as_str).map(word).ok_or_else(no_token)?;
        return Err(TokenRefused::No { code, wait_ms });
    }
    let token = |said: &Value, key: &str| {
        said.get(key).and_then(Value::as_str).and_then(|text| Secret::given(text.to_owned()))
    };
    let access = token(&said, "access_token").ok_or_else(no_token)?;
    let refresh = token(&said, "refresh_token");
    let expires_in_s = said.get("expires_in").and_then(Value::as_i64).filter(|seconds| *seconds > 0);
    without_tokens(&mut said);
    Ok(TokenGiven { access, refresh, expires_in_s, rest: said })
}

/// What a server calls a refusal: a word, and nothing that somebody may have put there.
fn word(code: &str) -> String {
    let plain =
        code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain { code.to_owned() } else { "something that is no error of its protocol".to_owned() }
}

fn without_tokens(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !TOKENS.contains(&key.as_str()));
            fields.values_mut().for_each(without_tokens);
        }
        Value::Array(items) => items.iter_mut().for_each(without_tokens),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{TokenRefused, exactly, given};
    use http::StatusCode;
    use serde_json::json;

    #[test]
    fn tokens_leave_as_secrets_and_stand_nowhere_else() {
        let answer = json!({"ok": true, "access_token": "xoxe.xoxb-1-abc", "refresh_token": "xoxe-1-def",
            "expires_in": 43200, "team": {"id": "T1"}, "authed_user": {"id": "U1", "access_token": "xoxp-ghi"},
            "incoming_webhook": {"webhook_url": "https://hooks.example/x", "channel_id": "C1"}});
        let given = super::given(StatusCode::OK, answer.to_string().as_bytes(), None).unwrap();
        assert_eq!(given.access.expose(), "xoxe.xoxb-1-abc");
        assert_eq!(given.refresh.unwrap().expose(), "xoxe-1-def");
        assert_eq!(given.expires_in_s, Some(43_200));
        let rest = given.rest.to_string();
        assert!(!["xox", "hooks.example"].iter().any(|secret| rest.contains(secret)), "{rest}");
        assert_eq!(given.rest["authed_user"]["id"], "U1");
    }

    #[test]
    fn a_no_is_a_word_of_the_protocol_and_nothing_else() {
        let no = |status, body: &str| match given(status, body.as_bytes(), None) {
            Err(TokenRefused::No { code, .. }) => code,
            Err(TokenRefused::NoToken { status }) => format!("no token, {status}"),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("a token"),
        };
        assert_eq!(no(StatusCode::OK, r#"{"ok":false,"error":"invalid_code"}"#), "invalid_code");
        assert_eq!(no(StatusCode::BAD_REQUEST, r#"{"error":"invalid_grant"}"#), "invalid_grant");
        assert!(no(StatusCode::OK, r#"{"ok":false,"error":"<script>"}"#).starts_with("something"));
        assert_eq!(no(StatusCode::OK, "<html>"), "no token, 200");
        assert_eq!(no(StatusCode::OK, r#"{"ok":true}"#), "no token, 200");
        assert_eq!(no(StatusCode::OK, r#"{"ok":true,"access_token":" "}"#), "no token, 200");
        assert_eq!(no(StatusCode::BAD_GATEWAY, "{}"), "no token, 502");
    }

    #[test]
    fn the_way_is_to_one_address() {
        let route = exactly("https://slack.com/api/oauth.v2.access?x=1");
        assert_eq!((route.origin.as_str(), route.path.text()), ("https://slack.com", "/api/oauth.v2.access"));
    }
}
