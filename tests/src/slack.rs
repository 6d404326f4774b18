//! The other side of Slack: takes Web API calls, keeps every body, and can be told to misbehave.
//!
//! It answers as the documented API does; an independent emulator plays the same story in the demo.

pub mod live;
pub mod views;

use crate::installs::Installs;
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::collections::BTreeMap;
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
    /// Drop the connection without taking the message.
    LoseRequest,
    /// Accept the message and take a while before answering.
    Slow,
    /// Ask to wait a second.
    Busy,
}

struct Inner {
    posts: Vec<Value>,
    /// The bearer token that each post came with.
    senders: Vec<String>,
    /// When each post arrived, in milliseconds since 1970.
    arrived: Vec<i64>,
    /// How often history or replies were asked for.
    looked: usize,
    /// What is said to whoever asks for history, when that is not to work.
    history_error: Option<String>,
    updates: Vec<Value>,
    whispers: Vec<Value>,
    tokens: Vec<String>,
    reactions: Vec<Value>,
    homes: Vec<Value>,
    sockets: Option<String>,
    /// The same for the apps that come with these tokens.
    own_sockets: BTreeMap<String, String>,
    /// Files by id: what is said of each.
    files: BTreeMap<String, Value>,
    /// What stands at each address of a file.
    contents: BTreeMap<String, Vec<u8>>,
    mood: Mood,
    live: live::Live,
    views: views::Views,
}

/// A running Slack.
#[derive(Clone)]
pub struct Slack {
    /// `http://127.0.0.1:port`.
    pub origin: String,
    /// Which token is whose, and how one is got.
    pub installs: Installs,
    inner: Arc<Mutex<Inner>>,
}

impl Slack {
    /// Starts one.
    pub async fn serve() -> Self {
        let inner = Arc::new(Mutex::new(Inner {
            posts: Vec::new(),
            senders: Vec::new(),
            arrived: Vec::new(),
            looked: 0,
            history_error: None,
            updates: Vec::new(),
            whispers: Vec::new(),
            tokens: Vec::new(),
            reactions: Vec::new(),
            homes: Vec::new(),
            sockets: None,
            own_sockets: BTreeMap::new(),
            files: BTreeMap::new(),
            contents: BTreeMap::new(),
            mood: Mood::Good,
            live: live::Live::default(),
            views: views::Views::default(),
        }));
        let installs = Installs::default();
        let who = Router::new()
            .route("/api/auth.test", any(auth_test))
            .with_state((inner.clone(), installs.clone()))
            .merge(installs.routes());
        let router = views::routes(live::routes(Router::new()))
            .route("/api/chat.postMessage", post(post_message))
            .route("/api/conversations.history", get(history))
            .route("/api/conversations.replies", get(history))
            .route("/api/chat.update", post(update))
            .route("/api/chat.postEphemeral", post(post_ephemeral))
            .route("/api/reactions.add", post(react))
            .route("/api/emoji.list", any(emoji))
            .route("/api/files.info", get(file_info))
            .route("/files-pri/{name}", get(file))
            .route("/files-tmb/{name}", get(file))
            .route("/api/apps.connections.open", any(sockets))
            .with_state(inner.clone())
            .merge(who);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { origin, installs, inner }
    }

    /// The messages that arrived with this token.
    pub fn posts_with(&self, token: &str) -> Vec<Value> {
        let inner = self.inner.lock().unwrap();
        let bearer = format!("Bearer {token}");
        let all = inner.posts.iter().zip(&inner.senders);
        all.filter(|(_, sender)| **sender == bearer).map(|(post, _)| post.clone()).collect()
    }

    /// Keeps a file, and smaller renditions of it: the file as a message names it.
    pub fn keep_file(
        &self,
        id: &str,
        name: &str,
        mimetype: &str,
        content: &[u8],
        smaller: &[(&str, &[u8])],
    ) -> Value {
        let mut inner = self.inner.lock().unwrap();
        let at = |folder: &str, name: &str| format!("/{folder}/T01TEST-{id}-{name}");
        let whole = at("files-pri", name);
        let mut file = json!({"id": id, "name": name, "mimetype": mimetype, "mode": "hosted", "is_external": false,
            "size": content.len(), "url_private": format!("{}{whole}", self.origin)});
        inner.contents.insert(whole, content.to_vec());
        for (rendition, content) in smaller {
            let path = at("files-tmb", rendition);
            file[*rendition] = format!("{}{path}", self.origin).into();
            inner.contents.insert(path, content.to_vec());
        }
        inner.files.insert(id.to_owned(), file.clone());
        file
    }

    /// The messages that arrived, as their JSON bodies.
    pub fn posts(&self) -> Vec<Value> {
        self.inner.lock().unwrap().posts.clone()
    }

    /// The changes of messages that arrived.
    pub fn updates(&self) -> Vec<Value> {
        self.inner.lock().unwrap().updates.clone()
    }

    /// What one person was told.
    pub fn whispers(&self) -> Vec<Value> {
        self.inner.lock().unwrap().whispers.clone()
    }

    /// Whoever asks for an address of a connection with `token` gets one of `socket`.
    pub fn set_socket_of(&self, token: &str, socket: &crate::socket::Socket) {
        let origin = socket.origin.replacen("http://", "ws://", 1);
        self.inner.lock().unwrap().own_sockets.insert(format!("Bearer {token}"), origin);
    }

    /// Who asks for an address of a connection here gets one of `socket`.
    pub fn set_sockets(&self, socket: &crate::socket::Socket) {
        self.inner.lock().unwrap().sockets = Some(socket.origin.replacen("http://", "ws://", 1));
    }

    /// The Home tabs that were published.
    pub fn homes(&self) -> Vec<Value> {
        self.inner.lock().unwrap().homes.clone()
    }

    /// The emoji that were put on messages.
    pub fn reactions(&self) -> Vec<Value> {
        self.inner.lock().unwrap().reactions.clone()
    }

    /// The cards that were posted, each with the ts it got.
    pub fn cards(&self) -> Vec<(String, Value)> {
        let posts = self.posts().into_iter().enumerate();
        posts.filter(|(_, post)| !buttons(post).is_empty()).map(|(n, post)| (ts_of(n + 1), post)).collect()
    }

    /// How often history or replies were asked for.
    pub fn looked(&self) -> usize {
        self.inner.lock().unwrap().looked
    }

    /// Lets history and replies answer with this error, or as documented again.
    pub fn set_history_error(&self, error: Option<&str>) {
        self.inner.lock().unwrap().history_error = error.map(str::to_owned);
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

async fn auth_test(
    State((inner, installs)): State<(Arc<Mutex<Inner>>, Installs)>,
    headers: HeaderMap,
) -> Response {
    note_token(&inner, &headers);
    if installs.is_dead(&headers) {
        return axum::Json(json!({"ok": false, "error": "account_inactive"})).into_response();
    }
    if let Some(member) = installs.member(&headers) {
        let answer = json!({"ok": true, "url": "https://some.slack.com/", "team": "Some", "user": "chancery",
            "team_id": member.team, "user_id": member.user, "bot_id": member.bot, "is_enterprise_install": false});
        return ([("x-oauth-scopes", installs.scopes())], axum::Json(answer)).into_response();
    }
    let scopes = [("x-oauth-scopes", "app_mentions:read,chat:write,channels:history")];
    (
        scopes,
        axum::Json(json!({"ok": true, "url": "https://test.slack.com/", "team": "Test", "user": "chancery",
        "team_id": TEAM, "user_id": BOT_USER, "bot_id": "B0BOT", "is_enterprise_install": false})),
    )
        .into_response()
}

async fn post_message(State(inner): Shared, headers: HeaderMap, body: String) -> Response {
    note_token(&inner, &headers);
    let body = axum::Json(to_person(said(&body)));
    let mood = inner.lock().unwrap().mood;
    let is_absent =
        |inner: &Inner| inner.views.absent.iter().any(|channel| body["channel"] == channel.as_str());
    if mood == Mood::NotInChannel || is_absent(&inner.lock().unwrap()) {
        return axum::Json(json!({"ok": false, "error": "not_in_channel"})).into_response();
    }
    if mood == Mood::Busy {
        let wait = [("retry-after", "1")];
        return (
            StatusCode::TOO_MANY_REQUESTS,
            wait,
            axum::Json(json!({"ok": false, "error": "ratelimited"})),
        )
            .into_response();
    }
    let fault = live::fault(&inner, "chat.postMessage");
    if let Some(response) = live::refused(fault) {
        return response;
    }
    let gone = live::gone(&inner.lock().unwrap(), &body["thread_ts"]);
    if gone == Some(live::Gone::Said) {
        return axum::Json(json!({"ok": false, "error": "thread_not_found"})).into_response();
    }
    let broken = || axum::body::Body::from_stream(Broken);
    if mood == Mood::LoseRequest {
        return (StatusCode::OK, [("content-length", "100")], broken()).into_response();
    }
    let ts = {
        let mut inner = inner.lock().unwrap();
        let mut post = body.0.clone();
        if gone == Some(live::Gone::Strays) {
            post.as_object_mut().unwrap().remove("thread_ts");
        }
        inner.posts.push(post);
        let sender = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
        inner.senders.push(sender.to_owned());
        inner.arrived.push(record::Clock::now(&record::SystemClock).0);
        ts_of(inner.posts.len())
    };
    if mood == Mood::Slow {
        tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    }
    if mood == Mood::LoseAnswer {
        // A body that breaks off: the connection ends before the length that was promised.
        return (StatusCode::OK, [("content-length", "100")], broken()).into_response();
    }
    let mut message = json!({"type": "message", "user": BOT_USER, "ts": ts, "text": body["text"], "thread_ts": body["thread_ts"]});
    if gone == Some(live::Gone::Strays) {
        message.as_object_mut().unwrap().remove("thread_ts");
    }
    let answer = axum::Json(json!({"ok": true, "channel": body["channel"], "ts": ts, "message": message}));
    live::on_its_way(fault, answer.into_response()).await
}

/// What is posted to a person stands in their direct message: `U01ALICE` has `D01ALICE` here.
fn to_person(mut body: Value) -> Value {
    if let Some(rest) = body["channel"].as_str().and_then(|channel| channel.strip_prefix('U')) {
        body["channel"] = json!(format!("D{rest}"));
    }
    body
}

/// What a call says: as JSON, or as a form, which Slack takes too and its own libraries send.
fn said(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| json!(crate::installs::fields(body)))
}

/// Both methods that show messages, newest first, a page of one at a time. A message arrived when it arrived, whatever
/// its ts says: the ts of this server are made to be told apart.
async fn history(State(inner): Shared, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    note_token(&inner, &headers);
    // Ids, moments and cursors need no decoding.
    let pairs = query.iter().flat_map(|query| query.split('&')).filter_map(|pair| pair.split_once('='));
    let asked: BTreeMap<String, String> = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let mut inner = inner.lock().unwrap();
    inner.looked += 1;
    if let Some(error) = &inner.history_error {
        return axum::Json(json!({"ok": false, "error": error})).into_response();
    }
    let ms =
        |name: &str| (asked.get(name).and_then(|text| text.parse::<f64>().ok())).map(|s| (s * 1e3) as i64);
    let within = ms("oldest").unwrap_or(0)..=ms("latest").unwrap_or(i64::MAX);
    // One message is asked for by its ts.
    let one = asked.get("oldest").filter(|oldest| asked.get("latest") == Some(oldest));
    let is_within = |n: usize, at: &i64| one.map_or_else(|| within.contains(at), |ts| ts_of(n + 1) == *ts);
    let posts = inner.posts.iter().zip(&inner.arrived).enumerate();
    let mut found: Vec<Value> = posts
        .filter(|(n, (post, at))| post["channel"] == asked["channel"].as_str() && is_within(*n, at))
        .filter(|(n, _)| !live::is_deleted(&inner, &ts_of(n + 1)))
        .filter(|(_, (post, _))| post["thread_ts"].as_str() == asked.get("ts").map(String::as_str))
        .map(|(n, (post, _))| {
            let mut message = json!({"type": "message", "user": BOT_USER, "ts": ts_of(n + 1), "text": post["text"],
                "thread_ts": post["thread_ts"], "blocks": post["blocks"]});
            if asked.get("include_all_metadata").map(String::as_str) == Some("true") {
                message["metadata"] = post["metadata"].clone();
            }
            message
        })
        .collect();
    found.reverse();
    let start = asked.get("cursor").and_then(|cursor| cursor.parse::<usize>().ok()).unwrap_or(0);
    let more = found.len() > start + 1;
    let next = if more { (start + 1).to_string() } else { String::new() };
    let page: Vec<Value> = found.into_iter().skip(start).take(1).collect();
    axum::Json(
        json!({"ok": true, "messages": page, "has_more": more, "response_metadata": {"next_cursor": next}}),
    )
    .into_response()
}

async fn update(State(inner): Shared, headers: HeaderMap, body: axum::Json<Value>) -> Response {
    note_token(&inner, &headers);
    let fault = live::fault(&inner, "chat.update");
    if let Some(response) = live::refused(fault) {
        return response;
    }
    {
        let mut inner = inner.lock().unwrap();
        if let Err(code) = live::edited(&mut inner, &body) {
            return axum::Json(json!({"ok": false, "error": code})).into_response();
        }
        inner.updates.push(body.0.clone());
    }
    let answer =
        axum::Json(json!({"ok": true, "channel": body["channel"], "ts": body["ts"], "text": body["text"]}));
    live::on_its_way(fault, answer.into_response()).await
}

async fn post_ephemeral(State(inner): Shared, headers: HeaderMap, body: axum::Json<Value>) -> Response {
    note_token(&inner, &headers);
    inner.lock().unwrap().whispers.push(body.0.clone());
    axum::Json(json!({"ok": true, "message_ts": "1700000200.000001"})).into_response()
}

async fn react(State(inner): Shared, headers: HeaderMap, body: axum::Json<Value>) -> Response {
    note_token(&inner, &headers);
    inner.lock().unwrap().reactions.push(body.0);
    axum::Json(json!({"ok": true})).into_response()
}

async fn sockets(State(inner): Shared, headers: HeaderMap) -> Response {
    note_token(&inner, &headers);
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let inner = inner.lock().unwrap();
    match inner.own_sockets.get(token).or(inner.sockets.as_ref()) {
        Some(origin) => {
            axum::Json(json!({"ok": true, "url": format!("{origin}/link/?ticket=01")})).into_response()
        }
        None => axum::Json(json!({"ok": false, "error": "not_allowed_token_type"})).into_response(),
    }
}

async fn emoji(State(inner): Shared, headers: HeaderMap) -> Response {
    note_token(&inner, &headers);
    let url = "https://emoji.slack-edge.com/T01TEST/party-parrot/1.gif";
    axum::Json(json!({"ok": true, "emoji": {"party-parrot": url, "shipit": "alias:squirrel"}}))
        .into_response()
}

async fn file_info(State(inner): Shared, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    note_token(&inner, &headers);
    let id = query.unwrap_or_default().replace("file=", "");
    match inner.lock().unwrap().files.get(&id) {
        Some(file) => axum::Json(json!({"ok": true, "file": file})).into_response(),
        None => axum::Json(json!({"ok": false, "error": "file_not_found"})).into_response(),
    }
}

/// A file's bytes for whoever has the token; anybody else is led to where a person signs in.
async fn file(State(inner): Shared, headers: HeaderMap, uri: axum::http::Uri) -> Response {
    let is_known = headers.get("authorization").is_some_and(|value| *value == format!("Bearer {TOKEN}"));
    if !is_known {
        return (StatusCode::FOUND, [("location", "https://test.slack.com/?redir=x")]).into_response();
    }
    match inner.lock().unwrap().contents.get(uri.path()) {
        Some(content) => content.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The ts of the message that was posted as number `n`, from 1.
fn ts_of(n: usize) -> String {
    format!("1700000100.{n:06}")
}

/// The buttons of a message.
pub fn buttons(message: &Value) -> Vec<&Value> {
    let blocks = message["blocks"].as_array().into_iter().flatten();
    let elements = blocks.filter_map(|block| block["elements"].as_array()).flatten();
    elements.filter(|element| element["type"] == "button").collect()
}

/// A click of `user` on the button `action` of a card, as it arrives: one field of a form. Whatever changes the
/// payload is done by `with`.
pub fn click(card: &(String, Value), user: &str, action: &str, with: impl FnOnce(&mut Value)) -> Value {
    let (ts, message) = card;
    let button = buttons(message).into_iter().find(|button| button["action_id"] == action).unwrap().clone();
    let mut payload = json!({
        "type": "block_actions", "api_app_id": "A01APP", "team": {"id": TEAM, "domain": "test"},
        "enterprise": null, "is_enterprise_install": false,
        "user": {"id": user, "username": user.to_lowercase(), "name": user.to_lowercase(), "team_id": TEAM},
        "container": {"type": "message", "message_ts": ts, "channel_id": message["channel"], "is_ephemeral": false,
            "thread_ts": message["thread_ts"]},
        "channel": {"id": message["channel"], "name": "general"},
        "message": {"type": "message", "user": BOT_USER, "bot_id": "B0BOT", "app_id": "A01APP", "ts": ts,
            "thread_ts": message["thread_ts"], "text": message["text"], "blocks": message["blocks"], "team": TEAM},
        "state": {"values": {}},
        "trigger_id": format!("{user}.{action}.{ts}"),
        "response_url": "https://hooks.slack.example/actions/T01TEST/1/x",
        "actions": [{"type": "button", "action_id": action, "block_id": "b", "value": button["value"],
            "text": button["text"], "action_ts": "1700000150.000001"}],
    });
    with(&mut payload);
    payload
}

/// `payload` as the form that Slack posts for a click.
pub fn form(payload: &Value) -> String {
    let bytes = payload.to_string().into_bytes().into_iter();
    let escaped = bytes
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") });
    format!("payload={}", escaped.collect::<String>())
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

/// `payload` as it comes from the workspace `team`, where the office has a user of its own.
pub fn from_team(mut payload: Value, team: &str) -> Value {
    payload["team_id"] = json!(team);
    payload["authorizations"][0]["team_id"] = json!(team);
    payload["authorizations"][0]["user_id"] = json!(crate::installs::Member::of(team).user);
    payload["event"]["team"] = json!(team);
    payload
}

/// A `message` event of `user` in `channel`.
pub fn message(event_id: &str, channel: &str, user: &str, ts: &str, text: &str) -> Value {
    event("message", event_id, channel, user, ts, text)
}

/// The `app_mention` event of the same message.
pub fn app_mention(event_id: &str, channel: &str, user: &str, ts: &str, text: &str) -> Value {
    event("app_mention", event_id, channel, user, ts, text)
}

/// The same message, with files that came with it.
pub fn with_files(mut message: Value, files: Vec<Value>) -> Value {
    message["event"]["subtype"] = "file_share".into();
    message["event"]["files"] = files.into();
    message
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
