//! Where a person's browser connects an account: a link from their private card, the service, and back.
//!
//! `GET /account/{ticket}` says whose account will be connected, and changes nothing: whatever previews links may fetch it.
//! `POST` to it sends the browser to the service, with a cookie that it has to bring back; `GET /account/callback` is
//! where it comes back to. Deliberately absent: what a ticket holds, and anything of a token ([`Connecting`]).

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// The cookie that a browser brings back.
const COOKIE: &str = "chancery_account";
/// How long it is kept, in seconds: as long as a person may take.
const COOKIE_S: u32 = 600;
/// Longest ticket, query or cookie that is looked at, in bytes.
const TEXT_BYTES_MAX: usize = 4 * 1_024;

/// Whoever knows what tickets mean. The sentences it gives are shown to the person.
pub trait Connecting: Send + Sync {
    /// What a ticket connects, in a sentence; nothing when it is none, or its time is over.
    fn about(&self, ticket: &str) -> Option<String>;

    /// Where the browser goes, and what it has to bring back in its cookie; nothing as above.
    fn begin(&self, ticket: &str) -> Option<Begun>;

    /// What came of it, for a browser that came back with this query and cookie.
    fn back<'a>(&'a self, query: &'a str, cookie: &'a str)
    -> Pin<Box<dyn Future<Output = Came> + Send + 'a>>;
}

/// A browser on its way.
#[derive(Debug)]
pub struct Begun {
    /// Where it goes.
    pub address: String,
    /// What it brings back.
    pub cookie: String,
    /// Whether people reach the office by TLS, so that the cookie goes by nothing else.
    pub secure: bool,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Came {
    /// Whether the account is connected.
    pub well: bool,
    /// A sentence for the person.
    pub said: String,
}

/// The routes.
pub fn router(connecting: Arc<dyn Connecting>) -> Router {
    Router::new()
        .route("/account/callback", get(back))
        .route("/account/{ticket}", get(about).post(begin))
        .with_state(connecting)
}

async fn about(State(connecting): State<Arc<dyn Connecting>>, Path(ticket): Path<String>) -> Response {
    match sound(&ticket).then(|| connecting.about(&ticket)).flatten() {
        Some(said) => page(
            StatusCode::OK,
            &format!("<p>{}</p><form method=\"post\"><button>Go on</button></form>", escaped(&said)),
        ),
        None => over(),
    }
}

async fn begin(State(connecting): State<Arc<dyn Connecting>>, Path(ticket): Path<String>) -> Response {
    let Some(begun) = sound(&ticket).then(|| connecting.begin(&ticket)).flatten() else { return over() };
    let secure = if begun.secure { "; Secure" } else { "" };
    let cookie = format!(
        "{COOKIE}={}; Path=/account; HttpOnly; SameSite=Lax; Max-Age={COOKIE_S}{secure}",
        begun.cookie
    );
    let mut response = (StatusCode::SEE_OTHER, guarded()).into_response();
    match (HeaderValue::from_str(&begun.address), HeaderValue::from_str(&cookie)) {
        (Ok(address), Ok(cookie)) => {
            response.headers_mut().insert(header::LOCATION, address);
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response
        }
        _ => over(),
    }
}

async fn back(
    State(connecting): State<Arc<dyn Connecting>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(|line| line.split(';')).filter_map(|one| one.trim().split_once('='));
    let cookie = cookies.find(|(name, _)| *name == COOKIE).map(|(_, value)| value.to_owned());
    let Some(cookie) = cookie.filter(|cookie| sound(cookie) && sound(&query)) else { return over() };
    let Came { well, said } = connecting.back(&query, &cookie).await;
    let mut response = page(
        if well { StatusCode::OK } else { StatusCode::BAD_REQUEST },
        &format!("<p>{}</p>", escaped(&said)),
    );
    let gone = format!("{COOKIE}=; Path=/account; HttpOnly; SameSite=Lax; Max-Age=0");
    if let Ok(gone) = HeaderValue::from_str(&gone) {
        response.headers_mut().insert(header::SET_COOKIE, gone);
    }
    response
}

fn sound(text: &str) -> bool {
    !text.is_empty() && text.len() <= TEXT_BYTES_MAX
}

fn over() -> Response {
    page(StatusCode::NOT_FOUND, "<p>This link is none, or its ten minutes are over. Ask for another.</p>")
}

/// Nothing is loaded from anywhere, nobody frames it, nothing is kept, and the next site does not learn this address.
fn guarded() -> [(HeaderName, HeaderValue); 5] {
    [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
        ),
    ]
}

fn page(status: StatusCode, body: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Chancery</title>{body}</html>"
    );
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"))];
    (status, guarded(), kind, page).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{Begun, Came, Connecting, router};
    use axum::body::{Body, to_bytes};
    use axum::http::{Request, Response, header};
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::Arc;
    use tower::ServiceExt;

    struct One;

    impl Connecting for One {
        fn about(&self, ticket: &str) -> Option<String> {
            (ticket == "t1").then(|| "For <you> & nobody else.".to_owned())
        }

        fn begin(&self, ticket: &str) -> Option<Begun> {
            let address = "https://service.example/authorize?state=s".to_owned();
            (ticket == "t1").then(|| Begun { address, cookie: "c1".to_owned(), secure: true })
        }

        fn back<'a>(
            &'a self,
            query: &'a str,
            cookie: &'a str,
        ) -> Pin<Box<dyn Future<Output = Came> + Send + 'a>> {
            let well = query == "code=a&state=s" && cookie == "c1";
            Box::pin(std::future::ready(Came { well, said: "Said.".to_owned() }))
        }
    }

    async fn ask(method: &str, path: &str, cookie: Option<&str>) -> (Response<Body>, String) {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(cookie) = cookie {
            request = request.header(header::COOKIE, cookie);
        }
        let response = router(Arc::new(One)).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        let body = to_bytes(body, 100_000).await.unwrap();
        (Response::from_parts(head, Body::empty()), String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn looking_at_a_link_changes_nothing_and_going_on_takes_a_cookie_along() {
        let (page, body) = ask("GET", "/account/t1", None).await;
        assert_eq!(page.status(), 200);
        assert!(body.contains("For &lt;you&gt; &amp; nobody else."), "{body}");
        assert!(page.headers().get(header::SET_COOKIE).is_none());
        assert_eq!(page.headers()[header::REFERRER_POLICY], "no-referrer");
        let (sent, _) = ask("POST", "/account/t1", None).await;
        assert_eq!(
            (sent.status().as_u16(), sent.headers()[header::LOCATION].to_str().unwrap()),
            (303, "https://service.example/authorize?state=s")
        );
        let cookie = sent.headers()[header::SET_COOKIE].to_str().unwrap();
        assert!(
            cookie.starts_with("chancery_account=c1; ")
                && cookie.contains("HttpOnly")
                && cookie.ends_with("; Secure"),
            "{cookie}"
        );
        for (method, path) in [("GET", "/account/t2"), ("POST", "/account/t2")] {
            assert_eq!(ask(method, path, None).await.0.status(), 404, "{method} {path}");
        }
    }

    #[tokio::test]
    async fn who_comes_back_without_the_cookie_is_nobody() {
        let back = "/account/callback?code=a&state=s";
        let (page, body) = ask("GET", back, Some("other=x; chancery_account=c1")).await;
        assert_eq!(page.status(), 200);
        assert!(body.contains("Said."), "{body}");
        assert_eq!(ask("GET", back, None).await.0.status(), 404);
        assert_eq!(ask("GET", back, Some("chancery_account=c2")).await.0.status(), 400);
    }
}
