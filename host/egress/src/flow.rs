//! An answer that comes piece by piece: the events of a model while it writes.
//!
//! A stream of events (`text/event-stream`, with a status of success) is handed on line by line, each line looked
//! through for secrets before anyone sees it, together with the end of what came before it. Before its last piece the
//! whole answer is looked through once more, and only then has it a digest. Every other answer comes whole, as from
//! [`Egress::send`]. Whoever drops the answer hangs up.

use crate::exchange::{Begun, begin, broken_after, readable, soonest};
use crate::header::incoming;
use crate::send::look_through;
use crate::{Egress, Limits, Refused, Sent};
use bytes::{Bytes, BytesMut};
use event::{Digest, Route};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use vault::Vault;

/// How much of what was handed on is looked through again with the next line: a value of 200 bytes, each of them
/// written as a JSON escape within percent signs, is shorter.
const BEFORE_BYTES: usize = 4 * 1024;

/// When an exchange ends. The limits of the host hold besides.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// All of it, at the latest.
    pub deadline: Instant,
    /// How long the head of the answer may take, when the caller waits less than the host does.
    pub first_byte: Option<Duration>,
    /// How long the other side may be silent between two pieces, likewise.
    pub between_bytes: Option<Duration>,
}

/// An answer, whole or still to come.
pub enum Opened {
    /// It came whole.
    Whole(Sent),
    /// Its head is here.
    Flowing(Box<Flowing>),
}

/// An answer that comes piece by piece.
pub struct Flowing {
    /// The status.
    pub status: StatusCode,
    /// The headers, without cookies and those about the connection.
    pub headers: HeaderMap,
    /// The method that was sent.
    pub method: Method,
    /// The address that was asked, without credentials.
    pub address: String,
    body: Incoming,
    /// Everything that came, up to the limit of a body.
    whole: BytesMut,
    /// How much of it was handed on.
    given: usize,
    vault: Arc<Vault>,
    limits: Limits,
    times: Times,
    ended: bool,
    _driver: JoinSet<hyper::Result<()>>,
}

/// One piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// More bytes: whole lines, but for the last ones.
    Bytes(Bytes),
    /// The end.
    End {
        /// SHA-256 of the whole body.
        sha256: Digest,
        /// Its length.
        bytes: u64,
    },
}

impl Egress {
    /// Sends a request as [`Egress::send`] does, and hands on the answer as it comes when it is a stream of events.
    ///
    /// # Errors
    /// As [`Egress::send`].
    pub async fn open(
        &self,
        request: Request<Bytes>,
        routes: &[Route],
        times: Times,
    ) -> Result<Opened, Refused> {
        let deadline = times.deadline;
        let (request, stream, method, address) = self.connected(request, routes, deadline).await?;
        let head_by = times.first_byte.and_then(|wait| Instant::now().checked_add(wait));
        let head_by = head_by.map_or(deadline, |by| by.min(deadline));
        let begun = begin(stream, request, &self.limits, head_by).await?;
        if !is_event_stream(&begun) {
            let answer = begun.whole(&self.limits, deadline).await?;
            return Ok(Opened::Whole(self.sent(answer, method, address).await?));
        }
        // Any body that is not plain cannot be looked through; whether it is empty is not known yet.
        readable(&begun.headers, b"?")?;
        look_through(&self.vault, &begun.headers, Bytes::new()).await?;
        let Begun { status, headers, body, driver } = begun;
        let headers = incoming(&headers);
        let (vault, limits) = (Arc::clone(&self.vault), self.limits);
        let (whole, given, ended, _driver) = (BytesMut::new(), 0, false, driver);
        let flowing = Flowing {
            status,
            headers,
            method,
            address,
            body,
            whole,
            given,
            vault,
            limits,
            times,
            ended,
            _driver,
        };
        Ok(Opened::Flowing(Box::new(flowing)))
    }
}

fn is_event_stream(begun: &Begun) -> bool {
    let kind = begun.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    begun.status.is_success() && kind.eq_ignore_ascii_case("text/event-stream")
}

impl Flowing {
    /// The next piece; nothing after the end or a refusal.
    ///
    /// # Errors
    /// [`Refused`]: the answer is too long, stalls, breaks off, or holds a secret. The request had left.
    pub async fn next(&mut self) -> Option<Result<Piece, Refused>> {
        if self.ended {
            return None;
        }
        let piece = self.read().await;
        self.ended = !matches!(piece, Ok(Piece::Bytes(_)));
        Some(piece)
    }

    async fn read(&mut self) -> Result<Piece, Refused> {
        // Ends with the body, or with its limit of length.
        loop {
            match self.frame().await? {
                Some(piece) => {
                    let bytes_max = self.limits.body_bytes_max;
                    if self.whole.len().saturating_add(piece.len()) > bytes_max {
                        return Err(Refused::BodyTooLarge { bytes_max });
                    }
                    self.whole.extend_from_slice(&piece);
                    let lines_end = self.fresh().iter().rposition(|byte| *byte == b'\n');
                    if let Some(last) = lines_end {
                        return self.give(self.given.saturating_add(last).saturating_add(1));
                    }
                }
                None if self.given < self.whole.len() => {
                    self.looked_through().await?;
                    return self.give(self.whole.len());
                }
                None => {
                    let sha256 = self.looked_through().await?;
                    return Ok(Piece::End { sha256, bytes: self.whole.len() as u64 });
                }
            }
        }
    }

    /// The next bytes of the body; nothing at its end.
    async fn frame(&mut self) -> Result<Option<Bytes>, Refused> {
        let idle = soonest(self.times.deadline, self.limits.idle_ms);
        let wished = self.times.between_bytes.and_then(|wait| Instant::now().checked_add(wait));
        let until = wished.map_or(idle, |by| by.min(idle));
        loop {
            let frame = timeout_at(until, self.body.frame()).await;
            let frame = frame.map_err(|_| Refused::TimedOut { during: "reading the answer", left: true })?;
            match frame.transpose().map_err(broken_after)? {
                None => return Ok(None),
                // Trailers come from the other side's body, late; nobody reads them.
                Some(frame) => match frame.into_data() {
                    Ok(bytes) => return Ok(Some(bytes)),
                    Err(_) => continue,
                },
            }
        }
    }

    fn fresh(&self) -> &[u8] {
        self.whole.get(self.given..).unwrap_or_default()
    }

    /// Hands on everything up to `end`, if no secret is in it.
    fn give(&mut self, end: usize) -> Result<Piece, Refused> {
        let from = self.given.saturating_sub(BEFORE_BYTES);
        let looked_at = self.whole.get(from..end).unwrap_or_default();
        if let Some(reference) = self.vault.scan(looked_at) {
            return Err(Refused::SecretInResponse { reference });
        }
        let piece = Bytes::copy_from_slice(self.whole.get(self.given..end).unwrap_or_default());
        self.given = end;
        Ok(Piece::Bytes(piece))
    }

    async fn looked_through(&self) -> Result<Digest, Refused> {
        look_through(&self.vault, &HeaderMap::new(), Bytes::copy_from_slice(&self.whole)).await
    }
}
