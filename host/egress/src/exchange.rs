//! One HTTP/1.1 exchange over one connection: a request out, a whole answer back, within limits.

use crate::connection::{Left, Stream, Watched};
use crate::{Limits, Refused};
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, HeaderName, TRANSFER_ENCODING};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// An answer as it came, headers not yet judged.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The sooner of `deadline` and `ms` from now.
pub(crate) fn soonest(deadline: Instant, ms: u64) -> Instant {
    Instant::now().checked_add(Duration::from_millis(ms)).map_or(deadline, |limit| limit.min(deadline))
}

/// An answer whose head is here and whose body is still to come.
pub(crate) struct Begun {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Incoming,
    /// Dropped with the answer, and the connection with it: nothing outlives the exchange.
    pub(crate) driver: JoinSet<hyper::Result<()>>,
}

/// Sends the request and reads the whole answer.
pub(crate) async fn exchange(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
    limits: &Limits,
    deadline: Instant,
) -> Result<Answer, Refused> {
    begin(stream, request, limits, deadline).await?.whole(limits, deadline).await
}

impl Begun {
    /// The rest of it.
    pub(crate) async fn whole(self, limits: &Limits, deadline: Instant) -> Result<Answer, Refused> {
        let Self { status, headers, body, driver: _driver } = self;
        let body = collected(body, limits, deadline).await?;
        readable(&headers, &body)?;
        Ok(Answer { status, headers, body })
    }
}

/// Sends the request and reads the head of the answer.
pub(crate) async fn begin(
    stream: Box<dyn Stream>,
    request: Request<Full<Bytes>>,
    limits: &Limits,
    deadline: Instant,
) -> Result<Begun, Refused> {
    let left = Left::default();
    let broken = |error: hyper::Error| Refused::Broken { left: left.get(), error: error.into() };
    let io = TokioIo::new(Watched::new(stream, left.clone()));
    let mut http = hyper::client::conn::http1::Builder::new();
    http.max_header_size(limits.head_bytes_max);
    let (mut sender, connection) = http.handshake(io).await.map_err(broken)?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let head = timeout_at(soonest(deadline, limits.head_ms), sender.send_request(request)).await;
    let head = head.map_err(|_| Refused::TimedOut { during: "waiting for the answer", left: left.get() })?;
    let (head, body) = head.map_err(broken)?.into_parts();
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        return Err(broken_after("the other side switched protocols"));
    }
    Ok(Begun { status: head.status, headers: head.headers, body, driver })
}

/// Something is wrong with an answer, hence the request had left.
pub(crate) fn broken_after(error: impl Into<Box<dyn Error + Send + Sync>>) -> Refused {
    Refused::Broken { left: true, error: error.into() }
}

/// The whole body, unless it is too long, says it will be, or stalls.
async fn collected(mut body: Incoming, limits: &Limits, deadline: Instant) -> Result<Bytes, Refused> {
    let bytes_max = limits.body_bytes_max;
    let too_large = || Refused::BodyTooLarge { bytes_max };
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    let mut whole = BytesMut::new();
    loop {
        let frame = timeout_at(soonest(deadline, limits.idle_ms), body.frame()).await;
        let frame = frame.map_err(|_| Refused::TimedOut { during: "reading the answer", left: true })?;
        let Some(frame) = frame.transpose().map_err(broken_after)? else { return Ok(whole.freeze()) };
        // Trailers come from the other side's body, late; nobody reads them.
        let Ok(piece) = frame.into_data() else { continue };
        if whole.len().saturating_add(piece.len()) > bytes_max {
            return Err(too_large());
        }
        whole.extend_from_slice(&piece);
    }
}

/// Holds for an answer that can be looked through: no coding but the chunks that were undone already.
pub(crate) fn readable(headers: &HeaderMap, body: &[u8]) -> Result<(), Refused> {
    let coding = |name: HeaderName, harmless: &str| {
        let values = headers.get_all(name).iter().flat_map(|value| value.as_bytes().split(|b| *b == b','));
        let codings = values.map(|coding| String::from_utf8_lossy(coding).trim().to_ascii_lowercase());
        codings.into_iter().find(|coding| !coding.is_empty() && coding != harmless)
    };
    let found = coding(CONTENT_ENCODING, "identity").or_else(|| coding(TRANSFER_ENCODING, "chunked"));
    match found {
        Some(encoding) if !body.is_empty() => Err(Refused::Encoded { encoding }),
        _ => Ok(()),
    }
}
