//! A small site on this machine: pages by path, one that takes as long as its path says, and a count of who asked for
//! what.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// One request that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Method and path.
    pub line: String,
    /// The `authorization` header, when there was one.
    pub authorization: Option<String>,
}

/// A running site.
pub struct Site {
    /// `http://127.0.0.1:port`.
    pub origin: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

#[derive(Clone)]
struct Pages {
    pages: Arc<BTreeMap<String, String>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    /// Serves `pages`, by path without the leading slash.
    pub async fn serve(pages: &[(&str, &str)]) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let pages = pages.iter().map(|(path, body)| ((*path).to_owned(), (*body).to_owned())).collect();
        let state = Pages { pages: Arc::new(pages), asked: asked.clone() };
        let router = Router::new().route("/", any(page)).route("/{*path}", any(page)).with_state(state);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { origin, asked }
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn page(
    State(state): State<Pages>,
    path: Option<Path<String>>,
    method: axum::http::Method,
    headers: HeaderMap,
) -> Response {
    let path = path.map(|Path(path)| path).unwrap_or_default();
    let authorization = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    state.asked.lock().unwrap().push(Asked { line: format!("{method} /{path}"), authorization });
    if let Some(spelling) = path.strip_prefix("echo/") {
        let token = state.asked.lock().unwrap().last().and_then(|asked| asked.authorization.clone());
        return said_back(spelling, &token.unwrap_or_default());
    }
    if let Some(ms) = path.strip_prefix("slow/").and_then(|ms| ms.parse().ok()) {
        tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
        return (StatusCode::OK, [(header::CONTENT_TYPE, "text/plain")], "It took a while.").into_response();
    }
    match state.pages.get(&path) {
        Some(body) => (StatusCode::OK, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], body.clone())
            .into_response(),
        None => {
            (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "text/plain")], "no such page").into_response()
        }
    }
}

/// The ways in which `/echo/{way}` says the authorization back that came with the request.
pub const ECHOES: [&str; 5] = ["plain", "percent", "json", "header", "redirect"];

fn said_back(way: &str, token: &str) -> Response {
    let percent = || token.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    match way {
        "plain" => token.to_owned().into_response(),
        "percent" => percent().into_response(),
        "json" => token.bytes().map(|byte| format!("\\u{byte:04x}")).collect::<String>().into_response(),
        "header" => ([("x-yours", token.to_owned())], "").into_response(),
        _ => (StatusCode::FOUND, [(header::LOCATION, format!("/?key={}", percent()))]).into_response(),
    }
}
