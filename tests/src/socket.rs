//! The other side of Slack's Socket Mode: gives out addresses, takes connections, says what a test wants said, and keeps
//! what was acknowledged.
//!
//! Each connection says hello by itself. That it plays as Slack does is shown by Slack's own client, which the tests put
//! before it too.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Json, Router};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// The app-level token; nothing but the request for an address may ever hold it.
pub const APP_TOKEN: &str = "xapp-1-A01APP-0123456789";

#[derive(Default)]
struct Inner {
    tokens: Vec<String>,
    acknowledged: Vec<String>,
    opened: usize,
    open: usize,
}

/// A running Socket Mode.
#[derive(Clone)]
pub struct Socket {
    /// The origin of the Web API, `http://127.0.0.1:port`.
    pub api: String,
    /// The origin that connections go to, as a loopback list names it.
    pub origin: String,
    inner: Arc<Mutex<Inner>>,
    /// Which connection, from 1, and what it says; nothing hangs it up.
    says: broadcast::Sender<(usize, Option<String>)>,
}

impl Socket {
    /// Starts one.
    pub async fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let sockets = listener.local_addr().unwrap();
        let api = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let inner: Arc<Mutex<Inner>> = Arc::default();
        let (says, _) = broadcast::channel(256);
        let socket = Self {
            api: format!("http://{}", api.local_addr().unwrap()),
            origin: format!("http://{sockets}"),
            inner: inner.clone(),
            says: says.clone(),
        };
        let url = format!("ws://{sockets}/link/?ticket=01&app_id=A01APP");
        let open = move |State(inner): State<Arc<Mutex<Inner>>>, headers: HeaderMap| async move {
            give(&inner, &headers, &url)
        };
        let router = Router::new().route("/api/apps.connections.open", any(open)).with_state(inner.clone());
        tokio::spawn(async move { axum::serve(api, router).await.unwrap() });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, inner.clone(), says.subscribe()));
            }
        });
        socket
    }

    /// Lets the connection with this number, from 1, say something.
    pub fn say(&self, connection: usize, said: &Value) {
        self.says.send((connection, Some(said.to_string()))).unwrap();
    }

    /// Hangs up without a word.
    pub fn hang_up(&self, connection: usize) {
        self.says.send((connection, None)).unwrap();
    }

    /// The envelopes that were acknowledged.
    pub fn acknowledged(&self) -> Vec<String> {
        self.inner.lock().unwrap().acknowledged.clone()
    }

    /// How many connections there were, and how many there are.
    pub fn connections(&self) -> (usize, usize) {
        let inner = self.inner.lock().unwrap();
        (inner.opened, inner.open)
    }

    /// The bearer tokens that came with requests for an address.
    pub fn tokens(&self) -> Vec<String> {
        self.inner.lock().unwrap().tokens.clone()
    }

    /// Waits until it is so.
    pub async fn until(&self, what: &str, enough: impl Fn(&Self) -> bool) {
        let began = std::time::Instant::now();
        while !enough(self) {
            assert!(began.elapsed().as_secs() < 60, "the socket never saw: {what}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

fn give(inner: &Arc<Mutex<Inner>>, headers: &HeaderMap, url: &str) -> Response {
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    inner.lock().unwrap().tokens.push(token.to_owned());
    if token != format!("Bearer {APP_TOKEN}") {
        return Json(json!({"ok": false, "error": "invalid_auth"})).into_response();
    }
    Json(json!({"ok": true, "url": url})).into_response()
}

async fn connection(
    stream: TcpStream,
    inner: Arc<Mutex<Inner>>,
    mut says: broadcast::Receiver<(usize, Option<String>)>,
) {
    let Ok(mut stream) = accept_async(stream).await else { return };
    let (number, open) = {
        let mut inner = inner.lock().unwrap();
        inner.opened += 1;
        inner.open += 1;
        (inner.opened, inner.open)
    };
    let hello = json!({"type": "hello", "num_connections": open, "connection_info": {"app_id": "A01APP"},
        "debug_info": {"host": "applink-1", "build_number": 1, "approximate_connection_time": 18_060}});
    let _ = stream.send(Message::text(hello.to_string())).await;
    loop {
        tokio::select! {
            said = says.recv() => match said {
                Ok((to, Some(text))) if to == number => {
                    if stream.send(Message::text(text)).await.is_err() {
                        break;
                    }
                }
                Ok((to, None)) if to == number => break,
                Ok(_) => {}
                Err(_) => break,
            },
            heard = stream.next() => match heard {
                Some(Ok(Message::Text(text))) => {
                    let heard: Value = serde_json::from_str(&text).unwrap_or_default();
                    let id = heard["envelope_id"].as_str().unwrap_or_default().to_owned();
                    inner.lock().unwrap().acknowledged.push(id);
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
        }
    }
    inner.lock().unwrap().open -= 1;
}
