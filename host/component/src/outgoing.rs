//! The hook under `wasi:http`: every request of a guest passes here, and goes out by `egress` or not at all.
//!
//! The hook knows what the guest cannot be asked about: which routes the call was admitted with, what its
//! effect class may send, how many requests it has left, and when the call ends. It keeps the host's own
//! account of what was sent and read. A guest that is only asked for its definitions has no way out.
//!
//! Headers that carry credentials are dropped in `egress`, quietly: common clients set them, and the host's own
//! are put in under the guest. Nothing is retried, no redirect is followed.

use crate::account::Account;
use crate::limits::Limits;
use crate::route::{in_workspace, narrowed};
use bytes::Bytes;
use egress::{Egress, Flowing, Opened, Piece, Refused, Sent, Times};
use event::{Digest, Route, Timestamp};
use gate::{EffectClass, Reading};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

/// What is read of a guest's body at once; bodies arrive in such pieces.
const CHUNK_BYTES: usize = 64 * 1024;

/// Reads the time. The host's clock, for what the host writes down; never the guest's.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The way out of one call.
#[derive(Clone)]
pub(crate) struct Way {
    pub(crate) plugin: Arc<str>,
    pub(crate) egress: Arc<Egress>,
    pub(crate) routes: Arc<[Route]>,
    /// Documents of GraphQL that a read may send; none when the plugin speaks none.
    pub(crate) operations: Arc<[Digest]>,
    pub(crate) effect: EffectClass,
    pub(crate) deadline: Instant,
    pub(crate) clock: Clock,
    pub(crate) account: Account,
    pub(crate) limits: Limits,
    /// The workspace whose credentials go into its requests; nothing for a plugin that has one of each.
    pub(crate) workspace: Option<Arc<str>>,
    /// Whether answers that are streams of events are handed on as they come.
    pub(crate) flows: bool,
}

/// The hook of one store: a way out, or none.
pub(crate) struct Outgoing {
    way: Option<Way>,
    requests: usize,
}

type Exchange = Result<(Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl Outgoing {
    pub(crate) fn new(way: Option<Way>) -> Self {
        Self { way, requests: 0 }
    }

    /// The way out for one more request, if there is one.
    fn admit(&mut self) -> Result<Way, Error> {
        let way = self.way.clone().ok_or(Error::HttpRequestDenied)?;
        self.requests += 1;
        if self.requests > way.limits.http_requests {
            way.account.refuse(format!("a call makes at most {} requests", way.limits.http_requests));
            return Err(Error::HttpRequestDenied);
        }
        Ok(way)
    }
}

impl WasiHttpHooks for Outgoing {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _body_read: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Exchange> + Send> {
        let way = self.admit();
        Box::new(async move { Ok((way?.exchange(request, options).await?, nothing_more())) })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK_BYTES
    }
}

/// The answer is whole when it is handed over: there is nothing left to do for its connection.
fn nothing_more() -> Box<dyn Future<Output = Result<(), Error>> + Send> {
    Box::new(std::future::ready(Ok(())))
}

impl Way {
    async fn exchange(
        self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Response<WasiBody>, Error> {
        let times = times(self.deadline, options);
        let deadline =
            if self.flows { self.deadline } else { clamped(self.deadline, Instant::now(), options) };
        let (head, body) = request.into_parts();
        let body = timeout_at(deadline, whole(body, self.limits.request_bytes));
        let body = body.await.map_err(|_| Error::ConnectionWriteTimeout)??;
        let routes = narrowed(self.effect, &head, &body, &self.operations, &self.routes);
        let fewer = routes.len() < self.routes.len();
        let routes = in_workspace(routes, self.workspace.as_deref());
        // From here on the request counts as sent, until the way out says otherwise.
        if !self.account.begin() {
            return Err(Error::HttpRequestDenied);
        }
        let request = Request::from_parts(head, body);
        let opened = match self.flows {
            true => self.egress.open(request, &routes, times).await,
            false => self.egress.send(request, &routes, deadline).await.map(Opened::Whole),
        };
        self.account.end(opened.as_ref().map_or_else(Refused::request_left, |_| true));
        match opened {
            Ok(Opened::Whole(sent)) => self.answer(sent),
            Ok(Opened::Flowing(flowing)) => Ok(self.flow(flowing)),
            Err(refused) => Err(self.refused(&refused, fewer)),
        }
    }

    /// Tells the operator, keeps the reason, and says what the guest is told. `fewer` when its class took some routes.
    fn refused(&self, refused: &Refused, fewer: bool) -> Error {
        tracing::warn!(plugin = &*self.plugin, "a request was refused: {}", sentence(refused));
        let narrowed = fewer && matches!(refused, Refused::NotGranted { .. });
        let rule = if narrowed {
            "; a read sends GET and HEAD, or to a path granted exactly, and of GraphQL the documents its manifest lists"
        } else {
            ""
        };
        self.account.refuse(format!("{}{rule}", reason(refused)));
        error_of(refused)
    }

    /// An answer that is handed on as it comes. It is a reading once it is whole.
    fn flow(self, flowing: Box<Flowing>) -> Response<WasiBody> {
        let mut response = Response::new(());
        *response.status_mut() = flowing.status;
        *response.headers_mut() = flowing.headers.clone();
        let pieces = futures_util::stream::unfold((self, flowing), |(way, mut flowing)| async move {
            let piece = match flowing.next().await? {
                Ok(Piece::Bytes(bytes)) => Ok(Frame::data(bytes)),
                Ok(Piece::End { sha256, bytes }) => {
                    way.account.read(Reading {
                        method: flowing.method.to_string(),
                        address: flowing.address.clone(),
                        status: flowing.status.as_u16(),
                        sha256,
                        bytes,
                        read_at: (way.clock)(),
                    });
                    return None;
                }
                Err(refused) => Err(way.refused(&refused, false)),
            };
            Some((piece, (way, flowing)))
        });
        response.map(|()| StreamBody::new(pieces).boxed_unsync())
    }

    fn answer(&self, sent: Sent) -> Result<Response<WasiBody>, Error> {
        self.account.read(Reading {
            method: sent.method.to_string(),
            address: sent.address,
            status: sent.status.as_u16(),
            sha256: sent.sha256,
            bytes: sent.body.len() as u64,
            read_at: (self.clock)(),
        });
        if sent.body.len() > self.limits.response_bytes {
            return Err(Error::HttpResponseBodySize(Some(sent.body.len() as u64)));
        }
        let mut response = Response::new(Full::new(sent.body).map_err(|never| match never {}).boxed_unsync());
        *response.status_mut() = sent.status;
        *response.headers_mut() = sent.headers;
        Ok(response)
    }
}

/// The guest's whole body, if it is not too long.
async fn whole(body: WasiBody, bytes_max: usize) -> Result<Bytes, Error> {
    match Limited::new(body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) => Err(match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(_) => Error::HttpRequestBodySize(Some(bytes_max as u64)),
        }),
    }
}

/// When an exchange ends: with the call, or sooner if the guest asked for that. An answer is read whole before
/// the guest sees its first byte, so a wish for the first byte covers what the guest allows in all.
fn clamped(call_ends: Instant, now: Instant, options: Option<RequestOptions>) -> Instant {
    let options = options.unwrap_or_default();
    let Some(first_byte) = options.first_byte_timeout else { return call_ends };
    let others = [options.connect_timeout, options.between_bytes_timeout];
    let wish = others.into_iter().flatten().fold(first_byte, Duration::saturating_add);
    now.checked_add(wish).map_or(call_ends, |wished| wished.min(call_ends))
}

/// The same for an answer that is handed on as it comes: each wait by itself.
fn times(call_ends: Instant, options: Option<RequestOptions>) -> Times {
    let options = options.unwrap_or_default();
    let before = [options.connect_timeout, options.first_byte_timeout];
    let first_byte = options
        .first_byte_timeout
        .map(|_| before.into_iter().flatten().fold(Duration::ZERO, Duration::saturating_add));
    Times { deadline: call_ends, first_byte, between_bytes: options.between_bytes_timeout }
}

/// What the guest is told. It can react to the kind; the sentence goes with the call's failure.
fn error_of(refused: &Refused) -> Error {
    match refused {
        Refused::NotGranted { .. }
        | Refused::CredentialMissing(_)
        | Refused::CredentialUnusable { .. }
        | Refused::SecretInRequest { .. }
        | Refused::SecretInResponse { .. } => Error::HttpRequestDenied,
        Refused::UrlRefused(_) => Error::HttpRequestUriInvalid,
        Refused::AddressRefused { .. } => Error::DestinationIpProhibited,
        Refused::Unresolvable { .. } => Error::DestinationNotFound,
        Refused::ConnectFailed { .. } => Error::ConnectionRefused,
        Refused::TimedOut { .. } => Error::HttpResponseTimeout,
        Refused::RequestTooLarge { .. } => Error::HttpRequestBodySize(None),
        Refused::BodyTooLarge { bytes_max } => Error::HttpResponseBodySize(Some(*bytes_max as u64)),
        Refused::Encoded { encoding } => Error::HttpResponseContentCoding(Some(encoding.clone())),
        Refused::Broken { .. } => Error::ConnectionTerminated,
    }
}

/// What a model and a person may read of a refusal. Where credentials are kept is the operator's business.
fn reason(refused: &Refused) -> String {
    match refused {
        Refused::CredentialMissing(_) | Refused::CredentialUnusable { .. } => {
            "the credential of this route cannot be used; the operator finds the reason in the host's log"
                .to_owned()
        }
        other => sentence(other),
    }
}

/// The refusal and its cause in one sentence.
fn sentence(refused: &Refused) -> String {
    let mut said = refused.to_string();
    let mut cause = std::error::Error::source(refused);
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::{Outgoing, clamped, whole};
    use bytes::Bytes;
    use http_body_util::{BodyExt, Full};
    use std::time::Duration;
    use tokio::time::Instant;
    use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

    fn body(bytes: usize) -> WasiBody {
        Full::new(Bytes::from(vec![b'x'; bytes])).map_err(|never| match never {}).boxed_unsync()
    }

    #[tokio::test]
    async fn a_body_beyond_its_limit_is_refused_and_not_cut() {
        assert_eq!(whole(body(10), 10).await.unwrap().len(), 10);
        assert!(matches!(whole(body(11), 10).await, Err(Error::HttpRequestBodySize(Some(10)))));
    }

    #[tokio::test]
    async fn a_guest_may_wait_less_than_the_call_and_never_more() {
        let now = Instant::now();
        let call_ends = now + Duration::from_secs(30);
        let options = |first_byte, connect| {
            Some(RequestOptions {
                connect_timeout: connect,
                first_byte_timeout: first_byte,
                between_bytes_timeout: None,
            })
        };
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(clamped(call_ends, now, None), call_ends);
        assert_eq!(clamped(call_ends, now, options(None, seconds(1))), call_ends);
        assert_eq!(clamped(call_ends, now, options(seconds(2), seconds(1))), now + Duration::from_secs(3));
        assert_eq!(clamped(call_ends, now, options(seconds(600), None)), call_ends);
        assert_eq!(clamped(call_ends, now, options(Some(Duration::MAX), None)), call_ends);
    }

    #[test]
    fn without_a_call_there_is_no_way_out() {
        assert!(matches!(Outgoing::new(None).admit(), Err(Error::HttpRequestDenied)));
    }
}
