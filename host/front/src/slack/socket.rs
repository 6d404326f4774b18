//! Socket Mode: Slack's deliveries over a connection that the office opens, for where nothing can reach it.
//!
//! What always holds: an envelope is acknowledged when its delivery is on the record and not before, so that one whose
//! acknowledgement is lost comes again and is found to be there; a connection that Slack wants renewed is read until its
//! successor has said hello; a connection that has fallen silent is replaced; and nobody knocks without a pause.
//! Deliberately absent: opening the connection (the caller's [`Door`]), and any answer within an acknowledgement.
//!
//! Source: docs.slack.dev/apis/events-api/using-socket-mode.

use crate::inbox::Inbox;
use crate::slack::parse::from_socket;
use converse::Arrival;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// Largest message: that of a request body, which is many times the largest event Slack sends.
const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// How long opening a connection and its hello may take, in milliseconds.
const OPEN_MS_MAX: u64 = 30_000;
/// How long the append may take: as over HTTP, where Slack waits for three seconds.
const APPEND_MS_MAX: u64 = 2_500;
/// How long a connection may be silent, in milliseconds: Slack pings several times a minute.
const SILENT_MS_MAX: u64 = 90_000;
/// How long a connection is read on after its successor said hello, in milliseconds: Slack warns about ten seconds
/// before it hangs up.
const DRAIN_MS: u64 = 10_000;
/// The first pause after a failure, in milliseconds; it doubles up to the longest.
const PAUSE_MS: u64 = 1_000;
/// The longest pause, in milliseconds.
const PAUSE_MS_MAX: u64 = 60_000;
/// How long a connection has to last, in milliseconds, to count as one that worked.
const WORKED_MS: u64 = 30_000;
/// Connections of one office at once: one, and the one that replaces it. Slack allows ten.
const CONNECTIONS_MAX: usize = 2;

/// A byte stream both ways.
pub trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Bytes for S {}

/// An open way to Slack, and the address it was opened for.
pub struct Opened {
    /// The bytes.
    pub stream: Box<dyn Bytes>,
    /// The address, `ws://…` or `wss://…`: what the handshake names.
    pub address: String,
}

/// What opens connections.
pub trait Door: Send + Sync {
    /// Asks Slack for a new address and connects to it.
    fn open(&self) -> Pin<Box<dyn Future<Output = Result<Opened, DoorError>> + Send + '_>>;
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// Trying again will not help: the token, or a switch in the app's settings.
    #[error("{0}")]
    Shut(String),
    /// It may work later.
    #[error("{why}")]
    Later {
        /// What went wrong.
        why: String,
        /// How long Slack asks to wait.
        wait_ms: Option<u64>,
    },
}

/// How it goes, for whoever watches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Connections that have said hello and are read.
    pub connections: usize,
    /// How many Slack counts for this app, by the newest hello.
    pub counted: Option<u64>,
    /// Envelopes that were acknowledged.
    pub acknowledged: u64,
    /// Why there is none, the last time that there was none.
    pub problem: Option<String>,
}

/// Whether an app speaks for a workspace: what its socket says of another is not believed.
pub type Speaks = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Keeps a connection of one app open until `stop` says so; what it says for a workspace that it `speaks` for goes into
/// `inbox`.
///
/// # Errors
/// When Slack says that there will be none: the sentence says why.
pub async fn keep(
    door: Arc<dyn Door>,
    (inbox, speaks): (Inbox, Speaks),
    line: watch::Sender<Line>,
    mut stop: watch::Receiver<bool>,
) -> Result<(), String> {
    let mut socket = Socket { door, inbox, speaks, line, tasks: JoinSet::new(), pause_ms: PAUSE_MS };
    let (tell, mut told) = mpsc::channel(16);
    let mut next = Some(Instant::now());
    // Ends with `stop`, or when Slack says that there will be none.
    loop {
        let at = next.unwrap_or_else(|| Instant::now() + Duration::from_secs(3_600));
        tokio::select! {
            () = stopped(&mut stop) => break,
            () = sleep_until(at), if next.is_some() => next = socket.connect(&tell).await?,
            Some(news) = told.recv() => next = socket.hear(news, next)?,
        }
    }
    // A connection nobody reads would go on taking deliveries: each is ended before this returns.
    socket.tasks.shutdown().await;
    Ok(())
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// What a connection tells whoever keeps it.
enum News {
    /// It should be replaced before it ends.
    Renew,
    /// It ended after so long, or failed.
    Ended { lasted_ms: u64, why: String, shut: bool, wait_ms: Option<u64> },
}

struct Socket {
    door: Arc<dyn Door>,
    inbox: Inbox,
    speaks: Speaks,
    line: watch::Sender<Line>,
    tasks: JoinSet<()>,
    pause_ms: u64,
}

impl Socket {
    /// Opens one connection more: when to try again, when it is not there.
    async fn connect(&mut self, tell: &mpsc::Sender<News>) -> Result<Option<Instant>, String> {
        while self.tasks.try_join_next().is_some() {}
        if self.tasks.len() >= CONNECTIONS_MAX {
            return Ok(Some(Instant::now() + Duration::from_millis(PAUSE_MS)));
        }
        let open = async {
            let opened = self.door.open().await?;
            greet(opened).await
        };
        match timeout(Duration::from_millis(OPEN_MS_MAX), open).await {
            Ok(Ok((stream, counted))) => {
                self.line.send_modify(|line| {
                    line.connections = line.connections.saturating_add(1);
                    (line.counted, line.problem) = (counted, None);
                });
                // The one before has a successor that has said hello.
                let connection = Connection {
                    stream,
                    inbox: self.inbox.clone(),
                    speaks: self.speaks.clone(),
                    line: self.line.clone(),
                    tell: tell.clone(),
                };
                self.tasks.spawn(connection.read());
                Ok(None)
            }
            Ok(Err(DoorError::Shut(why))) => Err(why),
            Ok(Err(DoorError::Later { why, wait_ms })) => Ok(Some(self.later(&why, wait_ms))),
            Err(_) => Ok(Some(self.later("Slack did not say hello in time", None))),
        }
    }

    fn hear(&mut self, news: News, next: Option<Instant>) -> Result<Option<Instant>, String> {
        match news {
            News::Renew => Ok(next.or(Some(Instant::now()))),
            News::Ended { shut: true, why, .. } => Err(why),
            News::Ended { lasted_ms, why, wait_ms, .. } => {
                if lasted_ms >= WORKED_MS {
                    self.pause_ms = PAUSE_MS;
                }
                let left = self.line.borrow().connections;
                if left > 0 {
                    return Ok(next);
                }
                let at = self.later(&why, wait_ms);
                Ok(Some(next.map_or(at, |next| next.min(at))))
            }
        }
    }

    fn later(&mut self, why: &str, wait_ms: Option<u64>) -> Instant {
        let wait_ms = wait_ms.unwrap_or(0).max(self.pause_ms).min(PAUSE_MS_MAX);
        self.pause_ms = self.pause_ms.saturating_mul(2).min(PAUSE_MS_MAX);
        tracing::warn!(why, wait_ms, "no connection to Slack");
        self.line.send_modify(|line| line.problem = Some(why.to_owned()));
        Instant::now() + Duration::from_millis(wait_ms)
    }
}

type Stream = WebSocketStream<Box<dyn Bytes>>;

/// Shakes hands and waits for hello: the stream, and how many connections Slack counts.
async fn greet(opened: Opened) -> Result<(Stream, Option<u64>), DoorError> {
    let later = |why: String| DoorError::Later { why, wait_ms: None };
    let request = opened.address.as_str().into_client_request().map_err(|e| later(e.to_string()))?;
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(MESSAGE_BYTES_MAX);
    config.max_frame_size = Some(MESSAGE_BYTES_MAX);
    let (mut stream, _) = client_async_with_config(request, opened.stream, Some(config))
        .await
        .map_err(|error| later(format!("the handshake failed: {error}")))?;
    while let Some(message) = stream.next().await {
        let Message::Text(text) = message.map_err(|e| later(e.to_string()))? else { continue };
        let Ok(said) = serde_json::from_str::<Said>(&text) else { continue };
        return match said.kind.as_str() {
            "hello" => Ok((stream, said.num_connections)),
            "disconnect" if said.reason == "link_disabled" => Err(disabled()),
            "disconnect" => Err(turned_away(&said.reason)),
            // What comes before hello is not acknowledged, and so comes again.
            _ => continue,
        };
    }
    Err(later("Slack hung up before it said hello".to_owned()))
}

fn disabled() -> DoorError {
    DoorError::Shut(
        "Socket Mode is switched off for the app: switch it on in the app's settings, or take `[slack] \
        socket` out of the configuration"
            .to_owned(),
    )
}

fn turned_away(reason: &str) -> DoorError {
    let wait_ms = (reason == "too_many_websockets").then_some(PAUSE_MS_MAX / 2);
    DoorError::Later { why: format!("Slack turned the connection away: {reason}"), wait_ms }
}

/// What Slack says, as far as it is looked at.
#[derive(Debug, Deserialize)]
struct Said {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    envelope_id: String,
    #[serde(default)]
    payload: Value,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    retry_attempt: u32,
    num_connections: Option<u64>,
}

struct Connection {
    stream: Stream,
    inbox: Inbox,
    speaks: Speaks,
    line: watch::Sender<Line>,
    tell: mpsc::Sender<News>,
}

/// Why a connection is over.
struct Over {
    why: String,
    shut: bool,
    wait_ms: Option<u64>,
}

impl Over {
    fn of(why: impl Into<String>) -> Self {
        Self { why: why.into(), shut: false, wait_ms: None }
    }
}

impl Connection {
    async fn read(mut self) {
        let began = Instant::now();
        let mut drained: Option<Instant> = None;
        let over = loop {
            let silent = Instant::now() + Duration::from_millis(SILENT_MS_MAX);
            let until = drained.map_or(silent, |end| end.min(silent));
            let message = tokio::select! {
                message = self.stream.next() => message,
                () = sleep_until(until) => {
                    break Over::of(if drained.is_some() { "it was replaced" } else { "it fell silent" });
                }
            };
            match message {
                Some(Ok(Message::Text(text))) => match self.hear(&text).await {
                    Ok(false) => {}
                    Ok(true) => {
                        let _ = self.tell.send(News::Renew).await;
                        drained.get_or_insert(Instant::now() + Duration::from_millis(DRAIN_MS));
                    }
                    Err(over) => break over,
                },
                // The library answers a ping by itself, with the next write or read.
                Some(Ok(Message::Close(_))) | None => break Over::of("Slack hung up"),
                Some(Ok(_)) => {}
                Some(Err(error)) => break Over::of(error.to_string()),
            }
        };
        let _ = timeout(Duration::from_millis(PAUSE_MS), self.stream.close(None)).await;
        self.line.send_modify(|line| line.connections = line.connections.saturating_sub(1));
        let lasted_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Over { why, shut, wait_ms } = over;
        let _ = self.tell.send(News::Ended { lasted_ms, why, shut, wait_ms }).await;
    }

    /// Takes what Slack says; whether the connection is to be renewed.
    async fn hear(&mut self, text: &str) -> Result<bool, Over> {
        let Ok(said) = serde_json::from_str::<Said>(text) else {
            tracing::warn!("Slack said something over the socket that is no JSON object");
            return Ok(false);
        };
        match said.kind.as_str() {
            "hello" => Ok(false),
            "disconnect" => match said.reason.as_str() {
                "warning" | "refresh_requested" => Ok(true),
                "link_disabled" => Err(Over { why: disabled().to_string(), shut: true, wait_ms: None }),
                reason => match turned_away(reason) {
                    DoorError::Later { why, wait_ms } => Err(Over { why, shut: false, wait_ms }),
                    DoorError::Shut(why) => Err(Over { why, shut: true, wait_ms: None }),
                },
            },
            _ if said.envelope_id.is_empty() => Ok(false),
            _ => self.take(said).await.map(|()| false),
        }
    }

    /// The delivery onto the record, and then its acknowledgement.
    async fn take(&mut self, said: Said) -> Result<(), Over> {
        let Said { kind, envelope_id, payload, retry_attempt, .. } = said;
        match from_socket(&kind, retry_attempt, payload) {
            // Neither recorded nor acknowledged: Slack hears what HTTP would answer with 401.
            Ok(incoming) if !(self.speaks)(Arrival::of(&incoming.delivery).team()) => {
                let team = Arrival::of(&incoming.delivery).team();
                tracing::warn!(team, kind, "an app's socket speaks for a workspace that is not that app's");
                return Ok(());
            }
            Ok(incoming) => {
                let taking = self.inbox.take(incoming);
                match timeout(Duration::from_millis(APPEND_MS_MAX), taking).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => {
                        tracing::error!(
                            error = &error as &dyn std::error::Error,
                            kind,
                            "a delivery was not recorded"
                        );
                        return Ok(());
                    }
                    Err(_) => {
                        tracing::error!(kind, "a delivery was not recorded in time");
                        return Ok(());
                    }
                }
            }
            // Sending it again would not help.
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    kind,
                    "an envelope could not be read"
                );
            }
        }
        let ack = json!({ "envelope_id": envelope_id }).to_string();
        self.stream.send(Message::text(ack)).await.map_err(|error| Over::of(error.to_string()))?;
        self.line.send_modify(|line| line.acknowledged = line.acknowledged.saturating_add(1));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
