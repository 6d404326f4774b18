//! Connecting an account by a browser: OAuth 2.0's authorisation code with PKCE, back to a port of this machine
//! (RFC 6749, RFC 7636, RFC 8252).
//!
//! Always holds: the code is taken from the one request that brings the state that was drawn for it, over loopback
//! alone; what a request says is never shown or logged.

use super::{ASK_MS_MAX, Had};
use crate::config::ServiceConfig;
use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use egress::{Egress, Shown};
use event::{Digest, PrincipalId};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};
use url::Url;
use vault::Secret;

/// How long a person may take in their browser, in milliseconds.
const BROWSER_MS_MAX: u64 = 10 * 60 * 1_000;
/// Longest head of a request that comes back, in bytes: an address with a code in it.
const HEAD_BYTES_MAX: usize = 16 * 1_024;
/// How long one request may take to arrive, in milliseconds.
const REQUEST_MS_MAX: u64 = 5_000;
/// The path that the browser comes back to.
const CALLBACK: &str = "/callback";

/// What is drawn for one connection.
pub(super) struct Drawn {
    /// Comes back with the code.
    pub(super) state: String,
    /// Proves that whoever asks for the token is whoever asked for the code.
    pub(super) verifier: String,
}

impl Drawn {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { state: drawn()?, verifier: drawn()? })
    }

    /// SHA-256 of the verifier, as the method `S256` has it.
    fn challenge(&self) -> Result<String> {
        let digest = Digest::of(self.verifier.as_bytes());
        Ok(URL_SAFE_NO_PAD.encode(hex::decode(digest.as_str())?))
    }
}

pub(super) fn drawn() -> Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).context("the system gives no randomness")?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Sends the person to the service and waits for them to come back.
pub(super) async fn connect(service: &ServiceConfig, egress: &Egress, owner: &PrincipalId) -> Result<Had> {
    let by = service.by_browser().context("no browser can be asked")?;
    let port = service.redirect_port.unwrap_or(0);
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await
        .with_context(|| format!("port {port} of this machine cannot be listened at"))?;
    let redirect = format!("http://127.0.0.1:{}{CALLBACK}", listener.local_addr()?.port());
    let drawn = Drawn::new()?;
    let address = asking(service, &redirect, &drawn)?;
    println!(
        "To connect `{}` for {owner}, open this address and agree there:\n\n  {address}\n",
        service.name
    );
    let wait = Duration::from_millis(BROWSER_MS_MAX);
    let code = timeout(wait, comes_back(&listener, &drawn.state)).await;
    let code = code.context("nobody came back from the browser within ten minutes")??;
    let code = Secret::given(code).context("the service gave no code")?;
    let verifier = Secret::given(drawn.verifier).context("no verifier was drawn")?;
    let shown = Shown::Code { code: &code, verifier: &verifier, redirect: &redirect };
    let deadline = Instant::now() + Duration::from_millis(ASK_MS_MAX);
    let given = egress.ask_token(by.token, &service.client(), &shown, deadline).await;
    let given = given.with_context(|| format!("`{}` gave no token", service.name))?;
    let egress::Granted { access, refresh, lasts_ms, scopes } = given;
    Ok(Had { access, refresh, lasts_ms, scopes })
}

/// The address at which the service asks the person.
pub(super) fn asking(service: &ServiceConfig, redirect: &str, drawn: &Drawn) -> Result<Url> {
    let by = service.by_browser().context("no browser can be asked")?;
    let mut address = Url::parse(by.authorize).context("`authorize` is no address")?;
    let challenge = drawn.challenge()?;
    let mut query = address.query_pairs_mut();
    for (name, value) in &service.parameters {
        query.append_pair(name, value);
    }
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", by.client_id)
        .append_pair("redirect_uri", redirect)
        .append_pair("state", &drawn.state)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256");
    if !service.scopes.is_empty() {
        query.append_pair("scope", &service.scopes.join(" "));
    }
    drop(query);
    Ok(address)
}

/// What one request brought.
enum Brought {
    Code(String),
    /// The service's error code.
    No(String),
    /// It was somebody else's.
    Nothing,
}

/// Waits for the request that brings `state`, and answers all others with nothing.
async fn comes_back(listener: &TcpListener, state: &str) -> Result<String> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let read = timeout(Duration::from_millis(REQUEST_MS_MAX), head(&mut stream)).await;
        let Ok(Ok(head)) = read else { continue };
        match brought(&head, state) {
            Brought::Nothing => answer(&mut stream, "404 Not Found", "There is nothing here.").await,
            Brought::Code(code) => {
                answer(&mut stream, "200 OK", "Connected. You can close this window.").await;
                return Ok(code);
            }
            Brought::No(code) => {
                answer(&mut stream, "200 OK", "Not connected. You can close this window.").await;
                bail!("the service answered `{code}`: nothing is connected");
            }
        }
    }
}

async fn head(stream: &mut TcpStream) -> Result<String> {
    let mut read = Vec::new();
    let mut chunk = [0_u8; 1_024];
    while !read.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = stream.read(&mut chunk).await?;
        if count == 0 || read.len() > HEAD_BYTES_MAX {
            bail!("it is no request");
        }
        read.extend_from_slice(chunk.get(..count).unwrap_or_default());
    }
    Ok(String::from_utf8(read)?)
}

fn brought(head: &str, state: &str) -> Brought {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let Ok(url) = Url::parse("http://127.0.0.1").and_then(|base| base.join(target)) else {
        return Brought::Nothing;
    };
    let one = |name: &str| {
        let mut values =
            url.query_pairs().filter(|(known, _)| known == name).map(|(_, value)| value.into_owned());
        let first = values.next();
        // Said twice, it could be read as either.
        if values.next().is_some() { None } else { first }
    };
    if method != "GET" || url.path() != CALLBACK || one("state").as_deref() != Some(state) {
        return Brought::Nothing;
    }
    match (one("code").filter(|code| !code.is_empty()), one("error")) {
        (Some(code), None) => Brought::Code(code),
        (_, error) => {
            let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
            Brought::No(error.unwrap_or_default().chars().filter(plain).take(64).collect())
        }
    }
}

async fn answer(stream: &mut TcpStream, status: &str, said: &str) {
    let page = format!("<!doctype html><meta charset=utf-8><title>Chancery</title><p>{said}");
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    // Whoever does not wait for the answer has been heard all the same.
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::{Brought, Drawn, brought};

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned();
        let drawn = Drawn { state: String::new(), verifier };
        assert_eq!(drawn.challenge().unwrap(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(Drawn::new().unwrap().verifier.len() >= 43);
    }

    #[test]
    fn only_the_request_with_the_state_brings_a_code() {
        let code = |line: &str| match brought(&format!("{line} HTTP/1.1\r\nhost: x\r\n\r\n"), "s1") {
            Brought::Code(code) => Some(code),
            Brought::No(code) => Some(format!("no {code}")),
            Brought::Nothing => None,
        };
        assert_eq!(code("GET /callback?code=a%2Bb&state=s1").as_deref(), Some("a+b"));
        assert_eq!(
            code("GET /callback?error=access_denied<x>&state=s1").as_deref(),
            Some("no access_deniedx")
        );
        for line in [
            "GET /callback?code=a&state=s2",
            "GET /callback?code=a",
            "GET /callback?code=a&state=s2&state=s1",
            "POST /callback?code=a&state=s1",
            "GET /other?code=a&state=s1",
            "GET //evil.example/callback?code=a&state=s2",
            "",
        ] {
            assert_eq!(code(line), None, "{line}");
        }
    }
}
