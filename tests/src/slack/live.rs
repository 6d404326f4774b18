//! What Slack shows while somebody works: streams with their life, statuses, threads of the assistant view, messages that
//! are taken away, threads that are gone. And faults, method by method.
//!
//! The rules are Slack's: a stream has its `ts` from its beginning, takes pieces until it is ended, and takes no edit
//! before. `slack_sdk` speaks with it in `tests/it/live_oracle.rs`.

use super::{BOT_USER, Broken, Inner, Shared, note_token, ts_of};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// What goes wrong with one call of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not done, for this reason.
    No(&'static str),
    /// It is not done: too much was asked within so many seconds.
    Wait(u64),
    /// It is done, and the connection drops before the answer.
    LoseAnswer,
    /// It is not done, and the connection drops.
    LoseRequest,
    /// It is done, and the answer takes a while.
    Slow,
    /// Nothing: the call after this one is meant.
    None,
}

/// How Slack treats a reply to a message that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It says so.
    Said,
    /// It posts the reply into the channel.
    Strays,
}

#[derive(Default)]
pub(super) struct Live {
    faults: BTreeMap<String, VecDeque<Fault>>,
    gone: BTreeMap<String, Gone>,
    deleted: Vec<String>,
    /// The streams that take pieces, by their ts.
    open: Vec<String>,
    /// Every call of a method here that arrived, with its body.
    called: Vec<(String, Value)>,
}

impl super::Slack {
    /// What goes wrong with the next calls of `method`, one after the other.
    pub fn set_faults(&self, method: &str, faults: impl IntoIterator<Item = Fault>) {
        self.inner.lock().unwrap().live.faults.insert(method.to_owned(), faults.into_iter().collect());
    }

    /// The message `ts` is gone, and a reply to it is treated so.
    pub fn set_gone(&self, ts: &str, how: Gone) {
        self.inner.lock().unwrap().live.gone.insert(ts.to_owned(), how);
    }

    /// Each call of a method by which something is shown, with its body.
    pub fn called(&self) -> Vec<(String, Value)> {
        self.inner.lock().unwrap().live.called.clone()
    }

    /// The bodies of the calls of `method`.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        self.called().into_iter().filter(|(name, _)| name == method).map(|(_, body)| body).collect()
    }

    /// The messages that stand, each with its ts; a streamed one as it stands now.
    pub fn standing(&self) -> Vec<(String, Value)> {
        let inner = self.inner.lock().unwrap();
        let posts = inner.posts.iter().enumerate().map(|(n, post)| (ts_of(n + 1), post.clone()));
        posts.filter(|(ts, _)| !inner.live.deleted.contains(ts)).collect()
    }
}

pub(super) fn routes(router: Router<Arc<Mutex<Inner>>>) -> Router<Arc<Mutex<Inner>>> {
    router
        .route("/api/chat.startStream", post(start))
        .route("/api/chat.appendStream", post(append))
        .route("/api/chat.stopStream", post(stop))
        .route("/api/chat.delete", post(delete))
        .route("/api/assistant.threads.setStatus", post(status))
        .route("/api/assistant.threads.setTitle", post(title))
        .route("/api/assistant.threads.setSuggestedPrompts", post(prompts))
}

/// The arguments of a call: Slack takes them as JSON and as a form.
fn arguments(headers: &HeaderMap, body: &Bytes) -> Value {
    let kind = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/json") {
        return serde_json::from_slice(body).unwrap();
    }
    let pairs = url::form_urlencoded::parse(body);
    let read = |value: &str| match serde_json::from_str::<Value>(value) {
        Ok(value @ (Value::Array(_) | Value::Object(_))) => value,
        _ => json!(value),
    };
    Value::Object(pairs.map(|(key, value)| (key.into_owned(), read(&value))).collect())
}

fn no(code: &str) -> Response {
    axum::Json(json!({"ok": false, "error": code})).into_response()
}

/// A body that breaks off: the connection ends before the length that was promised.
fn broken() -> Response {
    (StatusCode::OK, [("content-length", "100")], axum::body::Body::from_stream(Broken)).into_response()
}

/// The next fault of `method`.
pub(super) fn fault(inner: &Arc<Mutex<Inner>>, method: &str) -> Fault {
    let mut inner = inner.lock().unwrap();
    inner.live.faults.get_mut(method).and_then(VecDeque::pop_front).unwrap_or(Fault::None)
}

/// The answer to a call that is not done, when it is not.
pub(super) fn refused(fault: Fault) -> Option<Response> {
    Some(match fault {
        Fault::No(code) => no(code),
        Fault::Wait(seconds) => {
            let wait = [("retry-after", seconds.to_string())];
            let body = axum::Json(json!({"ok": false, "error": "ratelimited"}));
            (StatusCode::TOO_MANY_REQUESTS, wait, body).into_response()
        }
        Fault::LoseRequest => broken(),
        Fault::LoseAnswer | Fault::Slow | Fault::None => return None,
    })
}

/// `answer`, or what becomes of it on its way.
pub(super) async fn on_its_way(fault: Fault, answer: Response) -> Response {
    match fault {
        Fault::LoseAnswer => broken(),
        Fault::Slow => {
            tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
            answer
        }
        _ => answer,
    }
}

/// What Slack does with a reply to a message that is gone.
pub(super) fn gone(inner: &Inner, thread: &Value) -> Option<Gone> {
    inner.live.gone.get(thread.as_str()?).copied()
}

pub(super) fn is_deleted(inner: &Inner, ts: &str) -> bool {
    inner.live.deleted.iter().any(|deleted| deleted == ts)
}

/// An edit of a streamed message, once it takes one.
///
/// # Errors
/// Why not.
pub(super) fn edited(inner: &mut Inner, body: &Value) -> Result<(), &'static str> {
    let ts = body["ts"].as_str().unwrap_or_default().to_owned();
    if is_deleted(inner, &ts) {
        return Err("message_not_found");
    }
    if inner.live.open.contains(&ts) {
        return Err("streaming_state_conflict");
    }
    if let Some(post) = streamed(inner, &ts) {
        post["blocks"] = body["blocks"].clone();
        post["metadata"] = body["metadata"].clone();
    }
    Ok(())
}

fn streamed<'a>(inner: &'a mut Inner, ts: &str) -> Option<&'a mut Value> {
    let at = (0..inner.posts.len()).find(|n| ts_of(n + 1) == ts)?;
    inner.posts.get_mut(at).filter(|post| post["streamed"] == true)
}

async fn call(
    inner: Arc<Mutex<Inner>>,
    method: &str,
    (headers, body): (HeaderMap, Bytes),
    act: impl FnOnce(&mut Inner, &Value) -> Result<Value, &'static str>,
) -> Response {
    note_token(&inner, &headers);
    let body = arguments(&headers, &body);
    inner.lock().unwrap().live.called.push((method.to_owned(), body.clone()));
    let fault = fault(&inner, method);
    if let Some(response) = refused(fault) {
        return response;
    }
    let answer = match act(&mut inner.lock().unwrap(), &body) {
        Ok(answer) => axum::Json(answer).into_response(),
        Err(code) => no(code),
    };
    on_its_way(fault, answer).await
}

/// The blocks of `body`'s chunks; text is a block of its own.
fn blocks(body: &Value) -> Result<Vec<Value>, &'static str> {
    let mut blocks = Vec::new();
    for chunk in body["chunks"].as_array().into_iter().flatten() {
        match chunk["type"].as_str() {
            Some("blocks") => blocks.extend(chunk["blocks"].as_array().ok_or("invalid_chunks")?.clone()),
            Some("markdown_text") => blocks.push(json!({"type": "markdown", "text": chunk["text"]})),
            _ => return Err("invalid_chunks"),
        }
    }
    if let Some(text) = body["markdown_text"].as_str() {
        blocks.push(json!({"type": "markdown", "text": text}));
    }
    Ok(blocks)
}

async fn start(shared: Shared, headers: HeaderMap, body: Bytes) -> Response {
    call(shared.0, "chat.startStream", (headers, body), |inner, body| {
        let in_channel = body["channel"].as_str().is_some_and(|channel| !channel.starts_with('D'));
        if in_channel && body["recipient_team_id"].is_null() {
            return Err("missing_recipient_team_id");
        }
        if in_channel && body["recipient_user_id"].is_null() {
            return Err("missing_recipient_user_id");
        }
        if gone(inner, &body["thread_ts"]).is_some() {
            return Err("thread_not_found");
        }
        let post = json!({"channel": body["channel"], "thread_ts": body["thread_ts"], "streamed": true,
            "blocks": blocks(body)?, "text": ""});
        inner.posts.push(post);
        inner.arrived.push(record::Clock::now(&record::SystemClock).0);
        let ts = ts_of(inner.posts.len());
        inner.live.open.push(ts.clone());
        Ok(json!({"ok": true, "channel": body["channel"], "ts": ts}))
    })
    .await
}

/// Adds the pieces of `body` to an open stream.
fn add(inner: &mut Inner, body: &Value) -> Result<String, &'static str> {
    let ts = body["ts"].as_str().unwrap_or_default().to_owned();
    if is_deleted(inner, &ts) {
        return Err("message_not_found");
    }
    if !inner.live.open.contains(&ts) {
        return Err("message_not_in_streaming_state");
    }
    let more = blocks(body)?;
    let post = streamed(inner, &ts).ok_or("message_not_found")?;
    post["blocks"].as_array_mut().unwrap().extend(more);
    Ok(ts)
}

async fn append(shared: Shared, headers: HeaderMap, body: Bytes) -> Response {
    call(shared.0, "chat.appendStream", (headers, body), |inner, body| {
        let ts = add(inner, body)?;
        Ok(json!({"ok": true, "channel": body["channel"], "ts": ts}))
    })
    .await
}

async fn stop(shared: Shared, headers: HeaderMap, body: Bytes) -> Response {
    call(shared.0, "chat.stopStream", (headers, body), |inner, body| {
        let ts = add(inner, body)?;
        inner.live.open.retain(|open| *open != ts);
        let post = streamed(inner, &ts).ok_or("message_not_found")?;
        if !body["metadata"].is_null() {
            post["metadata"] = body["metadata"].clone();
        }
        let message = json!({"type": "message", "user": BOT_USER, "ts": ts, "thread_ts": post["thread_ts"]});
        Ok(json!({"ok": true, "channel": body["channel"], "ts": ts, "message": message}))
    })
    .await
}

async fn delete(shared: Shared, headers: HeaderMap, body: Bytes) -> Response {
    call(shared.0, "chat.delete", (headers, body), |inner, body| {
        let ts = body["ts"].as_str().unwrap_or_default().to_owned();
        if is_deleted(inner, &ts) || !(1..=inner.posts.len()).any(|n| ts_of(n) == ts) {
            return Err("message_not_found");
        }
        inner.live.deleted.push(ts.clone());
        Ok(json!({"ok": true, "channel": body["channel"], "ts": ts}))
    })
    .await
}

async fn status(shared: Shared, headers: HeaderMap, body: Bytes) -> Response {
    call(shared.0, "assistant.threads.setStatus", (headers, body), |_, body| in_thread(body, "status")).await
}

async fn title(shared: Shared, headers: HeaderMap, body: Bytes) -> Response {
    call(shared.0, "assistant.threads.setTitle", (headers, body), |_, body| in_thread(body, "title")).await
}

async fn prompts(shared: Shared, headers: HeaderMap, body: Bytes) -> Response {
    let method = "assistant.threads.setSuggestedPrompts";
    call(shared.0, method, (headers, body), |_, body| in_thread(body, "prompts")).await
}

fn in_thread(body: &Value, needs: &str) -> Result<Value, &'static str> {
    let known = ["channel_id", "thread_ts"].iter().all(|key| body[*key].is_string());
    if known && !body[needs].is_null() { Ok(json!({"ok": true})) } else { Err("invalid_arguments") }
}
