//! Bringing the office into a workspace, in a person's browser: off to Slack's own page, and back with a code.
//!
//! Always holds: nothing that came with the request stands on a page, in a header or in the log; what is answered to a
//! browser is never kept and names nobody. Deliberately absent: who may install it where, what a code is exchanged for
//! and where a token goes, which are the caller's ([`Installs`]).

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use url::form_urlencoded;

/// Where a person begins.
pub const INSTALL_PATH: &str = "/slack/install";
/// Where Slack sends the person back to.
pub const CALLBACK_PATH: &str = "/slack/oauth/callback";
/// The cookie that ties what comes back to the browser that went.
const COOKIE: &str = "chancery_install";
/// Longest value that is looked at, in bytes: Slack's codes and our own states are a tenth of it.
const VALUE_BYTES_MAX: usize = 1_024;

/// What a person is sent to Slack with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Slack's page.
    pub location: String,
    /// What the person's browser keeps meanwhile.
    pub cookie: String,
    /// For how long, in seconds.
    pub seconds: i64,
    /// Whether the browser may send it over plain HTTP: on this machine alone.
    pub plain: bool,
}

/// What a person came back with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Returned {
    /// What Slack gave for us.
    pub code: String,
    /// What we gave Slack.
    pub state: String,
    /// What the browser kept.
    pub cookie: String,
    /// Why Slack gave nothing, in its word.
    pub error: String,
}

/// What came of it, for the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The office is in the workspace.
    Installed {
        /// The workspace, `T…`.
        team: String,
        /// What is missing all the same, a sentence each.
        missing: Vec<String>,
    },
    /// It is not: a sentence that says why, and what to do.
    Not(String),
    /// It could not be tried: the same may work later.
    Later(String),
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whoever installs the office.
pub trait Installs: Send + Sync {
    /// Lets a person begin.
    fn begin(&self) -> Answer<'_, Result<Begun, String>>;
    /// Takes what a person came back with.
    fn finish(&self, returned: Returned) -> Answer<'_, Ended>;
}

/// The two addresses.
pub(crate) fn routes(installs: Arc<dyn Installs>) -> Router {
    Router::new().route(INSTALL_PATH, get(begin)).route(CALLBACK_PATH, get(finish)).with_state(installs)
}

async fn begin(State(installs): State<Arc<dyn Installs>>) -> Response {
    let begun = match installs.begin().await {
        Ok(begun) => begun,
        Err(why) => {
            tracing::error!(why, "nobody can install the office");
            return page(
                StatusCode::SERVICE_UNAVAILABLE,
                "Not now",
                &["The office cannot be installed now; its log says why.".to_owned()],
            );
        }
    };
    let secure = if begun.plain { "" } else { "; Secure" };
    let cookie = format!(
        "{COOKIE}={}; Path={CALLBACK_PATH}; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
        begun.cookie, begun.seconds
    );
    let (Ok(location), Ok(cookie)) = (HeaderValue::from_str(&begun.location), HeaderValue::from_str(&cookie))
    else {
        return page(StatusCode::SERVICE_UNAVAILABLE, "Not now", &[]);
    };
    let mut response = quiet(StatusCode::FOUND.into_response());
    response.headers_mut().insert(header::LOCATION, location);
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}

async fn finish(
    State(installs): State<Arc<dyn Installs>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    match installs.finish(returned(query.as_deref().unwrap_or_default(), &headers)).await {
        Ended::Installed { team, missing } => {
            let mut lines = vec![format!(
                "The office is in the workspace {team}. Invite it to a channel, or write to it."
            )];
            lines.extend(missing);
            page(StatusCode::OK, "Installed", &lines)
        }
        Ended::Not(why) => page(StatusCode::FORBIDDEN, "Not installed", &[why]),
        Ended::Later(why) => page(StatusCode::SERVICE_UNAVAILABLE, "Not now", &[why]),
    }
}

/// What came back, each value once: of two nobody could say which is meant.
fn returned(query: &str, headers: &HeaderMap) -> Returned {
    let value = |name: &str| {
        let mut values = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
        match (values.next(), values.next()) {
            (Some((_, value)), None) if value.len() <= VALUE_BYTES_MAX => value.into_owned(),
            _ => String::new(),
        }
    };
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut own = pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value);
    let cookie = match (own.next(), own.next()) {
        (Some(value), None) if value.len() <= VALUE_BYTES_MAX => value.to_owned(),
        _ => String::new(),
    };
    Returned { code: value("code"), state: value("state"), error: value("error"), cookie }
}

/// A page of sentences, kept by nobody. The address it stands at holds a code, which no other site is told.
fn page(status: StatusCode, title: &str, lines: &[String]) -> Response {
    let lines: String = lines.iter().map(|line| format!("<p>{}</p>\n", escaped(line))).collect();
    let html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body><h1>{title}</h1>\n\
         {lines}</body></html>\n"
    );
    quiet((status, Html(html)).into_response())
}

fn quiet(mut response: Response) -> Response {
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{Answer, Begun, CALLBACK_PATH, Ended, INSTALL_PATH, Installs, Returned, routes};
    use axum::body::{Body, to_bytes};
    use axum::http::{Request, StatusCode};
    use std::sync::{Arc, Mutex};
    use tower::ServiceExt;

    #[derive(Default)]
    struct Kept(Mutex<Vec<Returned>>);

    impl Installs for Kept {
        fn begin(&self) -> Answer<'_, Result<Begun, String>> {
            Box::pin(async {
                Ok(Begun {
                    location: "https://slack.com/oauth/v2/authorize?state=s".to_owned(),
                    cookie: "c".to_owned(),
                    seconds: 540,
                    plain: false,
                })
            })
        }

        fn finish(&self, returned: Returned) -> Answer<'_, Ended> {
            self.0.lock().unwrap().push(returned);
            Box::pin(async { Ended::Not("no: <script>".to_owned()) })
        }
    }

    #[tokio::test]
    async fn a_person_is_sent_to_slack_with_a_cookie_that_only_the_way_back_gets() {
        let request = Request::get(INSTALL_PATH).body(Body::empty()).unwrap();
        let response = routes(Arc::new(Kept::default())).oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::FOUND);
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("location"), "https://slack.com/oauth/v2/authorize?state=s");
        let cookie = header("set-cookie");
        for wanted in
            ["chancery_install=c;", "HttpOnly", "SameSite=Lax", "Secure", "Path=/slack/oauth/callback;"]
        {
            assert!(cookie.contains(wanted), "{wanted}: {cookie}");
        }
        assert_eq!(
            (header("cache-control").as_str(), header("referrer-policy").as_str()),
            ("no-store", "no-referrer")
        );
    }

    #[tokio::test]
    async fn what_comes_back_is_each_value_once_and_never_on_the_page() {
        let kept = Arc::new(Kept::default());
        for query in [
            "code=a&state=s",
            "code=a&code=b&state=s&error=%3Cscript%3Ealert(1)%3C/script%3E",
            &"code=".repeat(2_000),
        ] {
            let request =
                Request::get(format!("{CALLBACK_PATH}?{query}")).header("cookie", "x=1; chancery_install=c");
            let response = routes(kept.clone()).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(response.status(), StatusCode::FORBIDDEN);
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert!(!body.contains("<script") && body.contains("no: &lt;script&gt;"), "{body}");
        }
        let came = kept.0.lock().unwrap();
        let codes: Vec<&str> = came.iter().map(|one| one.code.as_str()).collect();
        assert_eq!((codes, came[0].state.as_str(), came[0].cookie.as_str()), (vec!["a", "", ""], "s", "c"));
    }
}
