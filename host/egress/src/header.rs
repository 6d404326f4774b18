//! Which headers pass, in both directions, and how a credential gets into a request.
//!
//! An allowed origin reached with an attacker's key is the classic way out, so a guest's own credential
//! headers never pass: names are judged word by word, and a name that speaks of a credential is one. The
//! host's credential goes into one header and nowhere else. Deliberately absent: looking for credentials in
//! queries and bodies, which only the service can tell from content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName,
    HeaderValue, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use vault::Secret;
use zeroize::Zeroizing;

/// How a credential is written into a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Injection {
    /// `Authorization: Bearer <value>`, as most services want it.
    Bearer,
    /// `<name>: <value>`, for services with a header of their own.
    Header(HeaderName),
    /// `Authorization: Basic <user:value>` in base64 (RFC 7617), for services that want a password.
    Basic {
        /// The user; no colon in it.
        user: String,
    },
}

impl Injection {
    /// Writes the credential; `None` when the value cannot stand in a header.
    pub(crate) fn apply(&self, headers: &mut HeaderMap, secret: &Secret) -> Option<()> {
        let (name, text) = match self {
            Self::Bearer => (AUTHORIZATION, Zeroizing::new(format!("Bearer {}", secret.expose()))),
            Self::Header(name) => (name.clone(), Zeroizing::new(secret.expose().to_owned())),
            Self::Basic { user } => {
                let pair = Zeroizing::new(format!("{user}:{}", secret.expose()));
                let written = Zeroizing::new(STANDARD.encode(pair.as_bytes()));
                (AUTHORIZATION, Zeroizing::new(format!("Basic {}", *written)))
            }
        };
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Some(())
    }
}

/// Headers about one connection (RFC 9110, section 7.6.1), and those the host alone sets.
const OF_THE_CONNECTION: [HeaderName; 9] =
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, EXPECT, HOST, CONTENT_LENGTH, ACCEPT_ENCODING];

/// More of them, without a name in the `http` crate.
const OF_THE_CONNECTION_TOO: [&str; 3] = ["keep-alive", "http2-settings", "alt-used"];

/// Words that make a header's name speak of a credential. Names are split at `-`, `_` and `.`.
const CREDENTIAL_WORDS: [&str; 16] = [
    "auth",
    "authentication",
    "authorization",
    "bearer",
    "cookie2",
    "credential",
    "credentials",
    "dpop",
    "jwt",
    "key",
    "oauth",
    "passwd",
    "pat",
    "sig",
    "signature",
    "tokens",
];

/// Endings that do the same, for names whose words run together: `x-authtoken`.
const CREDENTIAL_ENDINGS: [&str; 6] = ["accesskey", "apikey", "cookie", "password", "secret", "token"];

/// Names with such a word that carry none.
const NO_CREDENTIALS: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

/// Headers by which some servers take another method or path than the one in the request line: with them a
/// request would not be the one that was judged.
const OVERRIDES: [&str; 7] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "x-original-uri",
    "x-forwarded-host",
];

/// The headers of a guest's request that may go out.
pub(crate) fn outgoing(headers: &HeaderMap) -> HeaderMap {
    let named = named_by_connection(headers);
    let passes = |name: &HeaderName| {
        !is_of_the_connection(name, &named)
            && !is_credential(name.as_str())
            && !OVERRIDES.contains(&name.as_str())
    };
    kept(headers, passes)
}

/// The headers of an answer that a guest may see. Cookies are credentials the other side hands out.
pub(crate) fn incoming(headers: &HeaderMap) -> HeaderMap {
    let named = named_by_connection(headers);
    kept(headers, |name| {
        *name == CONTENT_LENGTH || *name != SET_COOKIE && !is_of_the_connection(name, &named)
    })
}

fn kept(headers: &HeaderMap, passes: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    headers
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Names that the `Connection` header makes headers of the connection.
fn named_by_connection(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect()
}

fn is_of_the_connection(name: &HeaderName, named: &[String]) -> bool {
    OF_THE_CONNECTION.contains(name)
        || OF_THE_CONNECTION_TOO.contains(&name.as_str())
        || name.as_str().starts_with("proxy-")
        || named.iter().any(|other| other == name.as_str())
}

fn is_credential(name: &str) -> bool {
    let speaks = |word: &str| {
        CREDENTIAL_WORDS.contains(&word) || CREDENTIAL_ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    !NO_CREDENTIALS.contains(&name) && name.split(['-', '_', '.']).any(speaks)
}

#[cfg(test)]
mod tests {
    use super::{incoming, outgoing};
    use http::{HeaderMap, HeaderName, HeaderValue};
    use proptest::prelude::*;

    fn headers(names: &str) -> HeaderMap {
        let value = HeaderValue::from_static("v");
        names.split(' ').map(|name| (name.parse::<HeaderName>().unwrap(), value.clone())).collect()
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        headers.keys().map(HeaderName::as_str).collect()
    }

    #[test]
    fn a_guests_credentials_never_go_out() {
        let set = "authorization cookie cookie2 proxy-authorization x-api-key api-key apikey x-goog-api-key \
            x-auth-token x-access-token x-amz-security-token private-token x-vault-token x-shopify-access-token \
            ocp-apim-subscription-key x-functions-key dd-api-key dd-application-key x-auth-key x-auth-email dpop \
            x_api_key x-secret x-password x-authtoken xapikey sessioncookie x-session-token sec-websocket-key";
        assert_eq!(names(&outgoing(&headers(set))), Vec::<&str>::new());
    }

    #[test]
    fn headers_about_the_connection_or_another_request_never_go_out() {
        let set = "connection keep-alive te trailer transfer-encoding upgrade http2-settings expect host \
            content-length accept-encoding proxy-connection x-http-method-override x-original-url";
        assert_eq!(names(&outgoing(&headers(set))), Vec::<&str>::new());
    }

    #[test]
    fn honest_headers_pass_with_every_value() {
        let set = "accept content-type user-agent if-none-match idempotency-key anthropic-version \
            openai-organization mcp-session-id x-request-id range author keyword x-monkey";
        let mut all = headers(set);
        all.append("accept", HeaderValue::from_static("w"));
        assert_eq!(outgoing(&all), all);
    }

    #[test]
    fn a_header_named_by_connection_goes_with_it() {
        let mut all = headers("x-hop accept");
        all.append("connection", HeaderValue::from_static("close, X-Hop"));
        assert_eq!(names(&outgoing(&all)), ["accept"]);
        assert_eq!(names(&incoming(&all)), ["accept"]);
    }

    #[test]
    fn an_answer_keeps_its_headers_but_cookies_and_the_connections() {
        let all =
            headers("content-type content-length location etag set-cookie transfer-encoding connection");
        let mut passed = incoming(&all);
        for name in ["content-type", "content-length", "location", "etag"] {
            assert!(passed.remove(name).is_some(), "{name}");
        }
        assert!(passed.is_empty(), "{passed:?}");
    }

    proptest! {
        #[test]
        fn a_name_that_speaks_of_a_credential_is_dropped_whatever_surrounds_it(
            before in "([a-z]{1,6}-)?", word in "(Api-Key|TOKEN|Cookie|authorization|secret)", after in "(-[a-z]{1,6})?",
        ) {
            let name = format!("{before}{word}{after}");
            prop_assert!(outgoing(&headers(&name)).is_empty(), "{name}");
        }
    }
}
