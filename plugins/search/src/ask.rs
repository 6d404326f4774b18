//! One search, with the provider that the operator's setting `provider` names.
//!
//! The shapes are those that the providers publish; each was tried against a server that answers as they say, and none
//! against the live service.

use guest::http::{Address, Ask, Method, Reply, Wire, encoded};
use guest::{Failure, Host, Kind, excerpt, html};
use serde::Deserialize;
use serde_json::{Value, json};

/// The credential of those that want one.
const KEY: &str = "search.key";
/// Most results of one search.
pub const RESULTS_MAX: usize = 20;
/// How many there are when nobody says.
const RESULTS_DEFAULT: usize = 10;
/// Longest query, in characters: the least that a provider takes.
pub const QUERY_CHARS_MAX: usize = 400;
/// Longest title or excerpt that is given, in characters.
const TEXT_CHARS_MAX: usize = 500;
/// The most that is read of an answer, in bytes.
const REPLY_BYTES_MAX: usize = 1_024 * 1_024;
/// How much of a provider's own sentence goes into a failure, in characters.
const SAID_CHARS_MAX: usize = 300;
/// How long to wait when a provider asks to wait and does not say how long, in milliseconds.
const RETRY_AFTER_MS_DEFAULT: u64 = 60_000;
/// The longest wait that is believed, in milliseconds.
const RETRY_AFTER_MS_MAX: u64 = 60 * 60 * 1_000;

/// The input of `search.web`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    query: String,
    #[serde(default)]
    count: Option<usize>,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    /// Brave Search: GET with a key, `web.results` with `title`, `url` and `description`.
    Brave,
    /// `SearXNG` of one's own: GET without a key, `results` with `title`, `url` and `content`.
    SearXng,
    /// Tavily: POST with a key, `results` with `title`, `url` and `content`.
    Tavily,
}

impl Provider {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "brave" => Self::Brave,
            "searxng" => Self::SearXng,
            "tavily" => Self::Tavily,
            _ => return None,
        })
    }

    /// Where it is, unless the setting `api` says otherwise; one's own is where one has it.
    fn api(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::SearXng => None,
        }
    }

    fn request(self, query: &str, count: usize) -> (Method, String, Vec<u8>) {
        let query_encoded = encoded(query);
        match self {
            Self::Brave => {
                let path =
                    format!("/res/v1/web/search?q={query_encoded}&count={count}&text_decorations=false");
                (Method::Get, path, Vec::new())
            }
            Self::SearXng => (Method::Get, format!("/search?q={query_encoded}&format=json"), Vec::new()),
            Self::Tavily => {
                let body = json!({"query": query, "max_results": count, "search_depth": "basic"});
                (Method::Post, "/search".to_owned(), body.to_string().into_bytes())
            }
        }
    }

    /// Where its answer has the results, and what each calls its excerpt.
    fn shape(self) -> (&'static str, &'static str) {
        match self {
            Self::Brave => ("/web/results", "description"),
            Self::SearXng | Self::Tavily => ("/results", "content"),
        }
    }
}

/// Searches through `wire`.
///
/// # Errors
/// [`Kind::Other`] `misconfigured` without a provider, [`Kind::NotAllowed`] without its key, and what the provider says.
pub fn search(search: &Search, host: &dyn Host, wire: &dyn Wire) -> Result<Value, Failure> {
    let (provider, base) = provider(host)?;
    if provider != Provider::SearXng && !host.credential_exists(KEY) {
        let message = format!(
            "there is no key to search with: give `{KEY}` a value in `[credentials]`, and grant this plugin a route that \
             names it"
        );
        return Err(Failure::new(Kind::NotAllowed, message));
    }
    let count = search.count.unwrap_or(RESULTS_DEFAULT).clamp(1, RESULTS_MAX);
    let (method, path, body) = provider.request(&search.query, count);
    let mut headers = vec![("accept", "application/json"), ("user-agent", "chancery")];
    if method == Method::Post {
        headers.push(("content-type", "application/json"));
    }
    let address = Address::parse(&format!("{base}{path}"))?;
    let reply = wire.exchange(&Ask { method, address, headers, body, reply_bytes_max: REPLY_BYTES_MAX })?;
    let answer = understood(&reply)?;
    let (at, excerpt_name) = provider.shape();
    // Brave leaves `web` out when nothing was found.
    let listed = answer.pointer(at).and_then(Value::as_array).into_iter().flatten();
    let results: Vec<Value> = listed.filter_map(|entry| result(entry, excerpt_name)).take(count).collect();
    Ok(json!({"results": results}))
}

fn provider(host: &dyn Host) -> Result<(Provider, String), Failure> {
    let misconfigured = |why: &str| {
        Failure::new(Kind::Other("misconfigured"), format!("search.web does not know whom to ask: {why}"))
    };
    let setting = |key: &str| match host.setting(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(misconfigured(&format!("the setting `{key}` is {other} and not a string"))),
    };
    let Some(word) = setting("provider")? else {
        return Err(misconfigured(
            "the operator sets `provider` of the plugin `search` to \"brave\", \"searxng\" or \"tavily\"",
        ));
    };
    let provider = Provider::of(&word).ok_or_else(|| {
        misconfigured("the setting `provider` is none of \"brave\", \"searxng\", \"tavily\"")
    })?;
    let base = setting("api")?.or_else(|| provider.api().map(ToOwned::to_owned));
    let base = base.ok_or_else(|| misconfigured("the setting `api` says where one's own server is"))?;
    let base = base.trim_end_matches('/').to_owned();
    Address::parse(&base).map_err(|failure| misconfigured(&failure.message))?;
    Ok((provider, base))
}

/// One result; none where it leads nowhere on the web.
fn result(entry: &Value, excerpt_name: &str) -> Option<Value> {
    let words = |name: &str| {
        let text = entry.get(name).and_then(Value::as_str).unwrap_or_default();
        // Some mark the words they found, and all repeat what a page said.
        let text = html::readable(text).text;
        excerpt(&text, TEXT_CHARS_MAX)
    };
    let url = entry.get("url").and_then(Value::as_str).and_then(|url| Address::parse(url).ok())?;
    Some(json!({"title": words("title"), "url": url.to_string(), "excerpt": words(excerpt_name)}))
}

fn understood(reply: &Reply) -> Result<Value, Failure> {
    let body: Option<Value> = serde_json::from_slice(&reply.body).ok();
    if (200..300).contains(&reply.status) {
        return match body {
            Some(body @ Value::Object(_)) if !reply.cut => Ok(body),
            _ => Err(Failure::new(Kind::Malformed, "the provider's answer is not the JSON it promises")),
        };
    }
    let body = body.unwrap_or_default();
    let said = ["/detail/error", "/error/detail", "/error/message", "/detail", "/message"]
        .into_iter()
        .find_map(|at| body.pointer(at).and_then(Value::as_str));
    let said = excerpt(said.unwrap_or_default(), SAID_CHARS_MAX);
    let (kind, what) = match reply.status {
        429 | 432 | 433 => (Kind::RateLimited, "asks to wait, or its quota is used up"),
        401 | 403 => (Kind::NotAllowed, "does not take the key, or does not give JSON"),
        400 | 422 => (Kind::InvalidInput, "does not take the query"),
        300..=399 | 404 => (Kind::NotFound, "is not there: the setting `api` may be wrong"),
        500.. => (Kind::Unavailable, "cannot answer now"),
        _ => (Kind::Malformed, "answered what nobody expected"),
    };
    let message = match said.is_empty() {
        true => format!("the search provider {what} (status {})", reply.status),
        false => format!("the search provider {what} (status {}): {said}", reply.status),
    };
    let retry_after_ms =
        (kind == Kind::RateLimited).then(|| reply.wait_ms(RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX));
    Err(Failure { retry_after_ms, ..Failure::new(kind, message) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use guest::Level;
    use std::cell::RefCell;

    struct Set(Value, bool);

    impl Host for Set {
        fn setting(&self, key: &str) -> Option<Value> {
            self.0.get(key).cloned()
        }

        fn credential_exists(&self, reference: &str) -> bool {
            self.1 && reference == KEY
        }

        fn log(&self, _: Level, _: &str) {}
    }

    struct Canned(Reply, RefCell<Vec<Ask>>);

    impl Wire for Canned {
        fn exchange(&self, ask: &Ask) -> Result<Reply, Failure> {
            self.1.borrow_mut().push(ask.clone());
            Ok(self.0.clone())
        }
    }

    fn ask(settings: Value, key: bool, status: u16, body: Value) -> (Result<Value, Failure>, Vec<Ask>) {
        let reply = Reply { status, body: body.to_string().into_bytes(), ..Reply::default() };
        let wire = Canned(reply, RefCell::default());
        let asked: Search = serde_json::from_value(json!({"query": "rain in & out", "count": 2})).unwrap();
        let said = search(&asked, &Set(settings, key), &wire);
        (said, wire.1.into_inner())
    }

    #[test]
    fn each_provider_is_asked_and_read_as_it_says() {
        let entry = |excerpt: &str| json!({"title": "<b>Rain</b>", "url": "https://Rain.example/a", excerpt: "It <strong>rains</strong> &amp; pours"});
        let fine =
            |excerpt: &str| json!({"title": "Rain", "url": "https://rain.example/", excerpt: "It rains"});
        let listed =
            |excerpt: &str| json!([{"title": "x", "url": "javascript:x"}, entry(excerpt), fine(excerpt)]);
        for (settings, body, method, address) in [
            (
                json!({"provider": "brave"}),
                json!({"type": "search", "web": {"results": listed("description")}}),
                Method::Get,
                "https://api.search.brave.com/res/v1/web/search?q=rain%20in%20%26%20out&count=2&text_decorations=false",
            ),
            (
                json!({"provider": "searxng", "api": "https://search.example.com/"}),
                json!({"query": "rain", "results": listed("content")}),
                Method::Get,
                "https://search.example.com/search?q=rain%20in%20%26%20out&format=json",
            ),
            (
                json!({"provider": "tavily"}),
                json!({"query": "rain", "results": listed("content")}),
                Method::Post,
                "https://api.tavily.com/search",
            ),
        ] {
            let (said, asked) = ask(settings, true, 200, body);
            assert_eq!(
                said,
                Ok(json!({"results": [
                    {"title": "Rain", "url": "https://rain.example/a", "excerpt": "It rains & pours"},
                    {"title": "Rain", "url": "https://rain.example/", "excerpt": "It rains"},
                ]})),
                "{address}"
            );
            assert_eq!((asked[0].method, asked[0].address.to_string().as_str()), (method, address));
        }
        let (said, _) = ask(json!({"provider": "brave"}), true, 200, json!({"type": "search"}));
        assert_eq!(said, Ok(json!({"results": []})), "nothing was found");
    }

    #[test]
    fn without_a_provider_or_its_key_nothing_is_asked() {
        for (settings, kind, word) in [
            (json!({}), Kind::Other("misconfigured"), "operator"),
            (json!({"provider": "altavista"}), Kind::Other("misconfigured"), "none of"),
            (json!({"provider": "searxng"}), Kind::Other("misconfigured"), "`api`"),
            (json!({"provider": "brave"}), Kind::NotAllowed, "`search.key`"),
        ] {
            let (said, asked) = ask(settings, false, 200, json!({}));
            let failure = said.unwrap_err();
            assert_eq!((failure.kind, asked.len()), (kind, 0), "{}", failure.message);
            assert!(failure.message.contains(word), "{}", failure.message);
        }
    }

    #[test]
    fn a_status_is_a_failure_that_says_what_to_do() {
        for (status, body, kind, word) in [
            (401, json!({"detail": {"error": "Unauthorized: missing key"}}), Kind::NotAllowed, "missing key"),
            (422, json!({"error": {"detail": "Unable to validate"}}), Kind::InvalidInput, "validate"),
            (429, json!({}), Kind::RateLimited, "wait"),
            (503, json!({}), Kind::Unavailable, "now"),
        ] {
            let (said, _) = ask(json!({"provider": "brave"}), true, status, body);
            let failure = said.unwrap_err();
            assert_eq!(failure.kind, kind, "{status}");
            assert!(failure.message.contains(word), "{}", failure.message);
            assert_eq!(failure.retry_after_ms.is_some(), status == 429);
        }
    }
}
