//! The other side of Slack: takes Web API calls, keeps every body, and can be told to misbehave.
//!
//! It answers as the documented API does; an independent emulator plays the same story in the demo.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::sync::{Arc, Mutex};

/// The office's user on this Slack.
pub const BOT_USER: &str = "U0BOT";
/// The workspace.
pub const TEAM: &str = "T01TEST";
/// The signing secret.
pub const SECRET: &str = "test-signing-secret";
/// The bot token; nothing but a request to this server may ever hold it.
pub const TOKEN: &str = "xoxb-test-token-0123456789";

/// What to do with the next posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Answer as documented.
    Good,
    /// Say that the bot is not in the channel.
    NotInChannel,
    /// Accept the message and drop the connection without an answer.
    LoseAnswer,
    /// Take a while before answering.
    Slow,
}

struct Inner {
    posts: Vec<Value>,
    tokens: Vec<String>,
    mood: Mood,
}

/// A running Slack.
#[derive(Clone)]
pub struct Slack {
    /// `http://127.0.0.1:port`.
    pub origin: String,
    inner: Arc<Mutex<Inner>>,
}

impl Slack {
    /// Starts one.
    pub async fn serve() -> Self {
        let inner = Arc::new(Mutex::new(Inner { posts: Vec::new(), tokens: Vec::new(), mood: Mood::Good }));
        let router = Router::new()
            .route("/api/auth.test", any(auth_test))
            .route("/api/chat.postMessage", post(post_message))
            .with_state(inner.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { origin, inner }
    }

    /// The messages that arrived, as their JSON bodies.
    pub fn posts(&self) -> Vec<Value> {
        self.inner.lock().unwrap().posts.clone()
    }

    /// The bearer tokens that came with calls.
    pub fn tokens(&self) -> Vec<String> {
        self.inner.lock().unwrap().tokens.clone()
    }

    /// How to behave from now on.
    pub fn set_mood(&self, mood: Mood) {
        self.inner.lock().unwrap().mood = mood;
    }
}

type Shared = State<Arc<Mutex<Inner>>>;

fn note_token(inner: &Arc<Mutex<Inner>>, headers: &HeaderMap) {
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    inner.lock().unwrap().tokens.push(token.to_owned());
}

async fn auth_test(State(inner): Shared, headers: HeaderMap) -> Response {
    note_token(&inner, &headers);
    axum::Json(json!({"ok": true, "url": "https://test.slack.com/", "team": "Test", "user": "chancery",
        "team_id": TEAM, "user_id": BOT_USER, "bot_id": "B0BOT", "is_enterprise_install": false}))
    .into_response()
}

async fn post_message(State(inner): Shared, headers: HeaderMap, body: axum::Json<Value>) -> Response {
    note_token(&inner, &headers);
    let mood = inner.lock().unwrap().mood;
    if mood == Mood::NotInChannel {
        return axum::Json(json!({"ok": false, "error": "not_in_channel"})).into_response();
    }
    if mood == Mood::Slow {
        tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    }
    let ts = {
        let mut inner = inner.lock().unwrap();
        inner.posts.push(body.0.clone());
        format!("1700000100.{:06}", inner.posts.len())
    };
    if mood == Mood::LoseAnswer {
        // A body that breaks off: the connection ends before the length that was promised.
        let broken = axum::body::Body::from_stream(Broken);
        return (StatusCode::OK, [("content-length", "100")], broken).into_response();
    }
    axum::Json(json!({"ok": true, "channel": body["channel"], "ts": ts,
        "message": {"type": "message", "user": BOT_USER, "ts": ts, "text": body["text"], "thread_ts": body["thread_ts"]}}))
    .into_response()
}

/// A stream that fails at once.
struct Broken;

impl futures_core::Stream for Broken {
    type Item = Result<axum::body::Bytes, std::io::Error>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionReset.into())))
    }
}

/// The signature headers of `body` sent at `seconds`, signed with `secret`.
pub fn signed(secret: &str, seconds: i64, body: &str) -> [(&'static str, String); 2] {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("v0:{seconds}:{body}").as_bytes());
    let signature = format!("v0={}", hex::encode(mac.finalize().into_bytes()));
    [("x-slack-request-timestamp", seconds.to_string()), ("x-slack-signature", signature)]
}

/// A `message` event of `user` in `channel`.
pub fn message(event_id: &str, channel: &str, user: &str, ts: &str, text: &str) -> Value {
    event("message", event_id, channel, user, ts, text)
}

/// The `app_mention` event of the same message.
pub fn app_mention(event_id: &str, channel: &str, user: &str, ts: &str, text: &str) -> Value {
    event("app_mention", event_id, channel, user, ts, text)
}

fn event(kind: &str, event_id: &str, channel: &str, user: &str, ts: &str, text: &str) -> Value {
    json!({
        "type": "event_callback", "team_id": TEAM, "api_app_id": "A01APP", "event_id": event_id,
        "event_time": 1_700_000_000, "is_ext_shared_channel": false,
        "authorizations": [{"enterprise_id": null, "team_id": TEAM, "user_id": BOT_USER, "is_bot": true}],
        "event": {"type": kind, "channel": channel, "channel_type": "channel", "user": user, "team": TEAM,
            "ts": ts, "event_ts": ts, "text": text},
    })
}
