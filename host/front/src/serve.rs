//! The HTTP front: `POST /slack/events` for everything Slack sends, `GET /healthz` for whoever watches, and `/slack/install`
//! for whoever brings the office into a workspace.
//!
//! The order never changes: cap, signature, reading, the append, the answer. A 200 means that the delivery is
//! on the record. A record that cannot take it is a 503, which Slack repeats; what would fail again is
//! answered so that Slack does not. Nothing but the signature decides whether a request is Slack's.

use crate::health::{Counts, Rejection};
use crate::inbox::{Inbox, Incoming, Taken};
use crate::slack::install::{self, Installs};
use crate::slack::parse::parse;
use crate::slack::socket::Line;
use crate::slack::verify::verify;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use converse::Arrival;
use event::{GlobalPosition, PrincipalId};
use http_body_util::LengthLimitError;
use record::{Clock, Error, Record, Status};
use serde_json::{Value, json};
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;
use vault::{SignatureError, Signers};

/// Largest request body: many times the largest event Slack sends, checked before anything is computed.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// How long a body may take to arrive. Slack has given up after three seconds.
pub const BODY_READ_MS_MAX: u64 = 5_000;
/// How long the append may take, so that the 503 still arrives within Slack's three seconds.
pub const APPEND_MS_MAX: u64 = 2_500;
/// How long the record may take to answer a question about health.
pub const HEALTH_MS_MAX: u64 = 2_000;

/// Header that tells Slack not to send this again; only on answers other than 200.
const NO_RETRY: &str = "x-slack-no-retry";
/// Header with which Slack counts its retries, from 1.
const RETRY_NUM: &str = "x-slack-retry-num";

/// What the HTTP front needs.
pub struct Front {
    /// Where deliveries go.
    pub record: Record,
    /// The principal that states what arrives: the host.
    pub host: PrincipalId,
    /// Slack's signing secrets; without them there is no `/slack/events`.
    pub keys: Option<Signers>,
    /// How the office is installed in a workspace over Slack's own pages; without it there is no `/slack/install`.
    pub installs: Option<Arc<dyn Installs>>,
    /// The time that signatures are judged by.
    pub clock: Arc<dyn Clock>,
    /// How far the journal is, when one is kept.
    pub journal: Option<watch::Receiver<Status>>,
    /// How each socket to Slack is: of a workspace's own app by that, of the office's one without.
    pub sockets: Vec<(Option<String>, watch::Receiver<Line>)>,
}

struct Parts {
    inbox: Inbox,
    record: Record,
    clock: Arc<dyn Clock>,
    journal: Option<watch::Receiver<Status>>,
    sockets: Vec<(Option<String>, watch::Receiver<Line>)>,
    counts: Counts,
}

struct SlackParts {
    signers: Signers,
    parts: Arc<Parts>,
}

/// The routes of the front.
pub fn router(front: Front) -> Router {
    let inbox = Inbox::new(front.record.clone(), front.host);
    let parts = Arc::new(Parts {
        inbox,
        record: front.record,
        clock: front.clock,
        journal: front.journal,
        sockets: front.sockets,
        counts: Counts::default(),
    });
    let health = Router::new().route("/healthz", get(healthz)).with_state(Arc::clone(&parts));
    let mut all = health;
    if let Some(signers) = front.keys {
        let slack = Arc::new(SlackParts { signers, parts });
        all = all.merge(Router::new().route("/slack/events", post(slack_events)).with_state(slack));
    }
    if let Some(installs) = front.installs {
        all = all.merge(install::routes(installs));
    }
    all
}

async fn slack_events(State(slack): State<Arc<SlackParts>>, request: Request<Body>) -> Response {
    let parts = &slack.parts;
    match take(&slack, request).await {
        Ok(answer) => answer,
        Err(rejection) => {
            parts.counts.rejected(rejection);
            refusal(rejection)
        }
    }
}

/// Cap, signature, reading, the append, the answer.
async fn take(slack: &SlackParts, request: Request<Body>) -> Result<Response, Rejection> {
    let parts = &slack.parts;
    let (head, body) = request.into_parts();
    let body = read_body(&head.headers, body).await?;
    let signed = verify(&slack.signers, &head.headers, &body, parts.clock.now()).map_err(unsigned)?;
    let content_type = text_of(&head.headers, header::CONTENT_TYPE.as_str());
    let retry = text_of(&head.headers, RETRY_NUM).parse().unwrap_or(0);
    let incoming = parse(content_type, retry, &body).map_err(|error| {
        tracing::warn!(error = &error as &dyn std::error::Error, "a signed request could not be read");
        Rejection::Unparsable
    })?;
    if !slack.signers.speaks_for(&signed, workspace(&incoming)) {
        return Err(Rejection::WrongSignature);
    }
    let answer = answer(&incoming);
    append(parts, incoming).await?;
    Ok(answer)
}

/// The workspace that a delivery is of; nothing for what is of the app alone. Whoever signs such a thing learns and does
/// nothing by it.
fn workspace(incoming: &Incoming) -> Option<&str> {
    let of_the_app = matches!(incoming.delivery.kind.as_str(), "url_verification" | "ssl_check");
    (!of_the_app).then(|| Arrival::of(&incoming.delivery).team())
}

async fn read_body(headers: &HeaderMap, body: Body) -> Result<axum::body::Bytes, Rejection> {
    let announced = text_of(headers, header::CONTENT_LENGTH.as_str()).parse::<u64>();
    if announced.is_ok_and(|bytes| bytes > BODY_BYTES_MAX as u64) {
        return Err(Rejection::TooLarge);
    }
    let read = timeout(Duration::from_millis(BODY_READ_MS_MAX), to_bytes(body, BODY_BYTES_MAX)).await;
    match read {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if error.source().is_some_and(|e| e.is::<LengthLimitError>()) => {
            Err(Rejection::TooLarge)
        }
        Ok(Err(_)) | Err(_) => Err(Rejection::Incomplete),
    }
}

async fn append(parts: &Parts, incoming: Incoming) -> Result<(), Rejection> {
    let kind = incoming.delivery.kind.clone();
    let taken = timeout(Duration::from_millis(APPEND_MS_MAX), parts.inbox.take(incoming)).await;
    let now = parts.clock.now();
    match taken {
        Ok(Ok(Taken::Accepted(_))) => parts.counts.accepted(now),
        Ok(Ok(Taken::Duplicate)) => parts.counts.duplicate(now),
        Ok(Err(error)) => {
            tracing::error!(error = &error as &dyn std::error::Error, kind, "a delivery was not recorded");
            return Err(match error {
                // What the record will not take however often it comes.
                Error::TooLarge { .. } | Error::Inexact { .. } | Error::Unreadable { .. } => {
                    Rejection::Unparsable
                }
                _ => Rejection::RecordUnavailable,
            });
        }
        // It may be recorded after all; the retry will find it.
        Err(_) => {
            tracing::error!(kind, "a delivery was not recorded in time");
            return Err(Rejection::RecordUnavailable);
        }
    }
    Ok(())
}

/// What Slack gets for a delivery that is recorded: the challenge it asks for, or nothing.
fn answer(incoming: &Incoming) -> Response {
    let challenge = incoming.delivery.payload.json().get("challenge").and_then(Value::as_str);
    match challenge.filter(|_| incoming.delivery.kind == "url_verification") {
        Some(challenge) => Json(json!({ "challenge": challenge })).into_response(),
        None => StatusCode::OK.into_response(),
    }
}

fn unsigned(error: SignatureError) -> Rejection {
    match error {
        SignatureError::Stale => Rejection::StaleTimestamp,
        SignatureError::Future => Rejection::FutureTimestamp,
        SignatureError::Malformed => Rejection::MalformedSignature,
        SignatureError::Mismatch => Rejection::WrongSignature,
    }
}

/// The answer to a request that is turned away. It says the word and nothing about the host.
fn refusal(why: Rejection) -> Response {
    let (status, may_retry) = match why {
        Rejection::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, false),
        Rejection::Unparsable => (StatusCode::BAD_REQUEST, false),
        Rejection::Incomplete => (StatusCode::REQUEST_TIMEOUT, true),
        Rejection::RecordUnavailable => (StatusCode::SERVICE_UNAVAILABLE, true),
        // A wrong secret here may be put right before the last retry.
        Rejection::MalformedSignature
        | Rejection::StaleTimestamp
        | Rejection::FutureTimestamp
        | Rejection::WrongSignature => (StatusCode::UNAUTHORIZED, true),
    };
    let mut response = (status, Json(json!({ "rejected": why.word() }))).into_response();
    if !may_retry {
        response.headers_mut().insert(NO_RETRY, HeaderValue::from_static("1"));
    }
    response
}

/// `status` (`ok` or `record-unavailable`), the counts, `record.head` and `converse.lag` in events.
async fn healthz(State(parts): State<Arc<Parts>>) -> Response {
    let mut health = parts.counts.to_json();
    for (app, socket) in &parts.sockets {
        let Line { connections, counted, acknowledged, problem } = socket.borrow().clone();
        let line = json!({ "connections": connections, "counted": counted, "acknowledged": acknowledged, "problem": problem });
        let name = app.as_ref().map_or_else(|| "socket".to_owned(), |team| format!("socket.{team}"));
        health.insert(name, line);
    }
    let head = async { Ok::<_, Error>((parts.record.head().await?.0, converse::lag(&parts.record).await?)) };
    let status = match timeout(Duration::from_millis(HEALTH_MS_MAX), head).await {
        Ok(Ok((head, lag))) => {
            health.insert("record".to_owned(), json!({ "head": head }));
            health.insert("converse".to_owned(), json!({ "lag": lag }));
            if let Some(journal) = &parts.journal {
                health.insert("journal".to_owned(), behind(&journal.borrow(), head));
            }
            if parts.counts.is_refusing() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }
        }
        Ok(Err(_)) | Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let word = if status == StatusCode::OK { "ok" } else { "record-unavailable" };
    health.insert("status".to_owned(), json!(word));
    (status, Json(Value::Object(health))).into_response()
}

/// How many events the journal is behind a record that ends at `head`, and why. What only it and nobody else would
/// have after a fire is no reason to turn deliveries away: the status stays `ok`, and who watches sees the figures.
fn behind(status: &Status, head: GlobalPosition) -> Value {
    json!({
        "lines_behind": status.lines_behind(head),
        "pushes_behind": status.pushes.then(|| status.pushes_behind(head)),
        "problem": status.problem.as_ref().or(status.push_problem.as_ref()),
    })
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
