//! A small site on this machine: pages by path, and a count of who asked for what.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
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
) -> impl IntoResponse {
    let path = path.map(|Path(path)| path).unwrap_or_default();
    let authorization = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    state.asked.lock().unwrap().push(Asked { line: format!("{method} /{path}"), authorization });
    match state.pages.get(&path) {
        Some(body) => (StatusCode::OK, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], body.clone()),
        None => (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "text/plain")], "no such page".to_owned()),
    }
}
