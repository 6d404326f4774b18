//! One request, from judging to answer. See the crate's page for the order and its reasons.

use crate::connection::{Stream, connect, dialable, public_roots, tls};
use crate::exchange::{Answer, exchange, soonest};
use crate::header::{Injection, incoming, outgoing};
use crate::route::route_for;
use crate::{ConfigError, EgressConfig, Limits, Origin, Refused, Resolve, Target, judge_url};
use bytes::Bytes;
use event::{Digest, Route};
use http::header::{ACCEPT_ENCODING, HOST, HeaderValue};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::Full;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use vault::{AccountRef, Secret, Vault};

/// The way out. One for the host.
pub struct Egress {
    loopback: Vec<Origin>,
    injections: BTreeMap<String, Injection>,
    pub(crate) limits: Limits,
    resolve: Arc<dyn Resolve>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) tls: TlsConnector,
}

/// A request that was answered, and the whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The status of the answer; a redirect is an answer like any other.
    pub status: StatusCode,
    /// Its headers, without cookies and those about the connection.
    pub headers: HeaderMap,
    /// Its body, whole.
    pub body: Bytes,
    /// SHA-256 of the body as it arrived.
    pub sha256: Digest,
    /// The method that was sent.
    pub method: Method,
    /// The address that was asked, without credentials.
    pub address: String,
    /// Whether the request left: true, since it was answered. As [`Refused::request_left`].
    pub left: bool,
}

/// A request that was judged: where it goes, and what goes, without the credential yet.
pub(crate) struct Judged {
    target: Target,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
    credential: Option<(String, Secret)>,
}

impl Judged {
    /// Where it goes.
    pub(crate) fn target(&self) -> &Origin {
        self.target.origin()
    }
}

impl Egress {
    /// The way out under this configuration.
    ///
    /// # Errors
    /// When an entry of the loopback list is not on this machine, or TLS cannot be set up.
    pub fn new(
        config: EgressConfig,
        resolve: Arc<dyn Resolve>,
        vault: Arc<Vault>,
    ) -> Result<Self, ConfigError> {
        let EgressConfig { loopback, injections, limits } = config;
        if let Some(entry) = loopback.iter().find(|origin| !origin.names_loopback()) {
            return Err(ConfigError::NotLoopback { entry: entry.clone() });
        }
        let tls = tls(public_roots()).map_err(ConfigError::Tls)?;
        Ok(Self { loopback, injections, limits, resolve, vault, tls })
    }

    /// Sends a request by one of `routes` and returns the whole answer, by `deadline` at the latest. The
    /// request's address is absolute; its headers and body are the guest's.
    ///
    /// Whoever drops the future before it ends must take the request as having left: give a deadline instead.
    ///
    /// # Errors
    /// See [`Refused`]; [`Refused::request_left`] says whether the other side may have acted.
    pub async fn send(
        &self,
        request: Request<Bytes>,
        routes: &[Route],
        deadline: Instant,
    ) -> Result<Sent, Refused> {
        let (request, stream, method, address) = self.connected(request, routes, deadline).await?;
        let answer = exchange(stream, request, &self.limits, deadline).await?;
        self.sent(answer, method, address).await
    }

    /// A judged request as it goes out, and a connection to its origin.
    pub(crate) async fn connected(
        &self,
        request: Request<Bytes>,
        routes: &[Route],
        deadline: Instant,
    ) -> Result<(Request<Full<Bytes>>, Box<dyn Stream>, Method, String), Refused> {
        let judged = self.judge(request, routes)?;
        self.look_through_request(&judged).await?;
        let (origin, address) = (judged.target.origin().clone(), judged.target.to_string());
        let request = self.written(judged)?;
        let method = request.method().clone();
        let connected_by = soonest(deadline, self.limits.connect_ms);
        let addresses = self.addresses(&origin, connected_by).await?;
        let stream = connect(&origin, &addresses, &self.tls, connected_by).await?;
        Ok((request, stream, method, address))
    }

    /// A whole answer, looked through.
    pub(crate) async fn sent(
        &self,
        answer: Answer,
        method: Method,
        address: String,
    ) -> Result<Sent, Refused> {
        let sha256 = self.look_through_answer(&answer).await?;
        tracing::debug!(%method, address, status = answer.status.as_u16(), bytes = answer.body.len(), "answered");
        let (headers, status, body) = (incoming(&answer.headers), answer.status, answer.body);
        Ok(Sent { status, headers, body, sha256, method, address, left: true })
    }

    pub(crate) fn loopback(&self) -> &[Origin] {
        &self.loopback
    }

    /// Decides from the request, the routes and the vault alone.
    pub(crate) fn judge(&self, request: Request<Bytes>, routes: &[Route]) -> Result<Judged, Refused> {
        let (head, body) = request.into_parts();
        let target = judge_url(&head.uri.to_string(), &self.loopback).map_err(Refused::UrlRefused)?;
        let route = route_for(&head.method, &target, routes).map_err(|refused| {
            // A refusal repeats the address, and ends up in the record.
            let found = self.vault.scan(target.path_and_query().as_str().as_bytes());
            found.map_or(refused, |reference| Refused::SecretInRequest { reference })
        })?;
        let bytes_max = self.limits.request_bytes_max;
        if body.len() > bytes_max {
            return Err(Refused::RequestTooLarge { part: "body", bytes_max });
        }
        // Read before the request is looked through, so that this value is looked for too.
        let credential = match &route.credential {
            None => None,
            Some(reference) => {
                Some((reference.clone(), self.vault.get(reference).map_err(Refused::CredentialMissing)?))
            }
        };
        Ok(Judged { target, method: head.method, headers: outgoing(&head.headers), body, credential })
    }

    /// Every address of the origin's host, if all of them may be dialled.
    pub(crate) async fn addresses(&self, origin: &Origin, end: Instant) -> Result<Vec<SocketAddr>, Refused> {
        let found = match origin.host() {
            url::Host::Ipv4(v4) => vec![IpAddr::V4(*v4)],
            url::Host::Ipv6(v6) => vec![IpAddr::V6(*v6)],
            url::Host::Domain(name) => {
                let found = timeout_at(end, self.resolve.resolve(name, origin.port())).await;
                let found =
                    found.map_err(|_| Refused::TimedOut { during: "resolving the name", left: false })?;
                found.map_err(|error| Refused::Unresolvable { host: name.clone(), error })?
            }
        };
        dialable(origin, self.loopback.contains(origin), &found)
    }

    /// The request as it goes out: the host's own headers, and the credential in its one header.
    pub(crate) fn written(&self, judged: Judged) -> Result<Request<Full<Bytes>>, Refused> {
        let Judged { target, method, mut headers, body, credential } = judged;
        let host = HeaderValue::from_str(&target.origin().authority());
        headers.insert(HOST, host.map_err(|error| Refused::Broken { left: false, error: error.into() })?);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some((reference, secret)) = credential {
            let injection = self.injections.get(AccountRef::plain(&reference)).unwrap_or(&Injection::Bearer);
            injection.apply(&mut headers, &secret).ok_or(Refused::CredentialUnusable { reference })?;
        }
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = target.path_and_query().clone().into();
        *request.headers_mut() = headers;
        Ok(request)
    }

    pub(crate) async fn look_through_request(&self, judged: &Judged) -> Result<(), Refused> {
        let head = head_text(judged.target.path_and_query().as_str(), &judged.headers);
        let bytes_max = self.limits.head_bytes_max;
        if head.len() > bytes_max {
            return Err(Refused::RequestTooLarge { part: "head", bytes_max });
        }
        let (vault, body) = (Arc::clone(&self.vault), judged.body.clone());
        let found = at_leisure(false, move || vault.scan(&head).or_else(|| vault.scan(&body))).await?;
        found.map_or(Ok(()), |reference| Err(Refused::SecretInRequest { reference }))
    }

    /// The digest of the answer's body, if no secret is in the answer.
    async fn look_through_answer(&self, answer: &Answer) -> Result<Digest, Refused> {
        look_through(&self.vault, &answer.headers, answer.body.clone()).await
    }
}

/// The digest of a body, if no secret is in it or in its head.
pub(crate) async fn look_through(
    vault: &Arc<Vault>,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Digest, Refused> {
    let (head, vault) = (head_text("", headers), Arc::clone(vault));
    let look = move || match vault.scan(&head).or_else(|| vault.scan(&body)) {
        Some(reference) => Err(Refused::SecretInResponse { reference }),
        None => Ok(Digest::of(&body)),
    };
    at_leisure(true, look).await?
}

/// Runs `work` on a thread that may take its time: megabytes are looked through.
async fn at_leisure<T: Send + 'static>(
    left: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Refused::Broken { left, error: error.into() })
}

/// A first line and headers, as text to look through.
fn head_text(first: &str, headers: &HeaderMap) -> Vec<u8> {
    let mut text = first.as_bytes().to_vec();
    for (name, value) in headers {
        text.extend_from_slice(b"\n");
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
    }
    text
}
