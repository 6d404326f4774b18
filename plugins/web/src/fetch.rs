//! One GET, and its answer as an output or a failure.

use guest::http::{Address, Ask, Method, Reply, Wire};
use guest::{Failure, Kind, excerpt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::link;
use crate::text;
use guest::html;

/// The most that is read of a page, in bytes: long articles fit, and a model could not read more.
pub const BODY_BYTES_MAX: usize = 1_024 * 1_024;
/// The most that the text of a page takes as JSON, in bytes. A host takes one mebibyte of output, and what is
/// escaped or marked as no UTF-8 takes several times its own size; the rest is for address, type, title and links.
const TEXT_JSON_BYTES_MAX: usize = 832 * 1_024;
/// How much of a location or content type a message repeats, in characters.
const EXCERPT_CHARS_MAX: usize = 2_048;

/// The input of `web.fetch`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    url: String,
    max_bytes: Option<usize>,
    #[serde(default)]
    part: Part,
}

/// Which part of a page is wanted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    /// What the page marks as its main part, or all of it where it marks none.
    #[default]
    Main,
    /// All of it.
    Page,
}

/// The output of `web.fetch`.
#[derive(Debug, Serialize)]
struct Page {
    url: String,
    status: u16,
    content_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    part: Part,
    text: String,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<link::Lead>,
}

/// Fetches through `wire`.
///
/// # Errors
/// `invalid-input` for an address that cannot be asked; what [`Wire::exchange`] says; `other("redirect")`
/// naming where a redirect leads; `malformed` when the answer is not text. An HTTP error is an output.
pub fn fetch(input: Fetch, wire: &dyn Wire) -> Result<Value, Failure> {
    let address = Address::parse(&input.url)?;
    let reply = wire.exchange(&Ask {
        method: Method::Get,
        address: address.clone(),
        headers: vec![
            ("accept", "text/html, application/xhtml+xml, text/plain, application/json;q=0.9, */*;q=0.1"),
            ("accept-encoding", "identity"),
            ("user-agent", concat!("chancery-web/", env!("CARGO_PKG_VERSION"))),
        ],
        body: Vec::new(),
        reply_bytes_max: input.max_bytes.unwrap_or(BODY_BYTES_MAX).clamp(1, BODY_BYTES_MAX),
    })?;
    refuse_redirect(&address, &reply)?;
    let page = read(&address, &reply, input.part)?;
    serde_json::to_value(page)
        .map_err(|e| Failure::new(Kind::Malformed, format!("the page is not JSON: {e}")))
}

/// Nobody granted the address that a redirect names, so it is for the caller to ask for it.
fn refuse_redirect(address: &Address, reply: &Reply) -> Result<(), Failure> {
    match (reply.status, reply.header("location")) {
        (301 | 302 | 303 | 307 | 308, Some(location)) => {
            let location = excerpt(&target_of(address, &location), EXCERPT_CHARS_MAX);
            let message = format!(
                "the page redirects ({}) to `{location}`: fetch that address if it is wanted",
                reply.status
            );
            Err(Failure::new(Kind::Other("redirect"), message))
        }
        _ => Ok(()),
    }
}

/// Where a location leads, so that it can be asked for as it stands. One that is relative to the page's
/// folder is rare, and is repeated as it came.
fn target_of(address: &Address, location: &str) -> String {
    match location.strip_prefix("//") {
        Some(rest) if address.is_secure() => format!("https://{rest}"),
        Some(rest) => format!("http://{rest}"),
        None if location.starts_with('/') => format!("{}{location}", address.origin()),
        None => location.to_owned(),
    }
}

fn read(address: &Address, reply: &Reply, wanted: Part) -> Result<Page, Failure> {
    let coding = reply.header("content-encoding").unwrap_or_default();
    if !coding.is_empty() && !coding.eq_ignore_ascii_case("identity") {
        let coding = excerpt(&coding, EXCERPT_CHARS_MAX);
        return Err(Failure::new(
            Kind::Malformed,
            format!("the page came as `{coding}`, which nobody asked for"),
        ));
    }
    let content_type = reply.header("content-type").unwrap_or_default();
    let mut links = Vec::new();
    let (title, part, text) = match text::form_of(&content_type, &reply.body) {
        text::Form::Html => {
            let page = html::readable(&text::decode(&reply.body, reply.cut));
            links = link::leads(address, &page);
            match page.main.filter(|_| wanted == Part::Main) {
                Some(main) => (page.title, Part::Main, main),
                None => (page.title, Part::Page, page.text),
            }
        }
        text::Form::Plain => (None, Part::Page, text::decode(&reply.body, reply.cut)),
        text::Form::Other => {
            let shown = excerpt(&content_type, EXCERPT_CHARS_MAX);
            let message = format!("the page is `{shown}`, not text: web.fetch reads HTML and other text");
            return Err(Failure::new(Kind::Malformed, message));
        }
    };
    let whole = text.len();
    let text = fitted(text);
    Ok(Page {
        url: address.to_string(),
        status: reply.status,
        content_type: excerpt(&content_type, EXCERPT_CHARS_MAX),
        title,
        part,
        truncated: reply.cut || text.len() < whole,
        text,
        links,
    })
}

/// As much of the beginning of `text` as takes [`TEXT_JSON_BYTES_MAX`] in JSON.
fn fitted(mut text: String) -> String {
    let mut left = TEXT_JSON_BYTES_MAX;
    let end = text.char_indices().find_map(|(at, c)| match left.checked_sub(json_bytes(c)) {
        Some(rest) => {
            left = rest;
            None
        }
        None => Some(at),
    });
    text.truncate(end.unwrap_or(text.len()));
    text
}

/// How many bytes a character takes in a JSON string (RFC 8259, section 7).
fn json_bytes(c: char) -> usize {
    match c {
        '"' | '\\' | '\u{8}' | '\u{c}' | '\n' | '\r' | '\t' => 2,
        '\0'..='\u{1f}' => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;

    /// Answers every request with one reply, and keeps what was asked.
    struct Canned {
        reply: Result<Reply, Failure>,
        asked: RefCell<Vec<Ask>>,
    }

    impl Wire for Canned {
        fn exchange(&self, ask: &Ask) -> Result<Reply, Failure> {
            self.asked.borrow_mut().push(ask.clone());
            self.reply.clone()
        }
    }

    fn canned(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Canned {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec())).collect();
        let reply = Reply { status, headers, body: body.to_vec(), cut: false };
        Canned { reply: Ok(reply), asked: RefCell::default() }
    }

    fn fetch_from(wire: &Canned, input: Value) -> Result<Value, Failure> {
        fetch(serde_json::from_value(input).unwrap(), wire)
    }

    #[test]
    fn a_page_comes_back_as_title_and_text() {
        let wire = canned(
            200,
            &[("content-type", "text/html; charset=utf-8")],
            b"<title>Opening hours</title><h1>Hours</h1><p>Open from nine &amp; on time.</p>",
        );
        let page = fetch_from(&wire, json!({"url": "https://Example.com/hours#today"}));
        assert_eq!(
            page,
            Ok(json!({
                "url": "https://example.com/hours",
                "status": 200,
                "content_type": "text/html; charset=utf-8",
                "title": "Opening hours",
                "part": "page",
                "text": "# Hours\n\nOpen from nine & on time.",
                "truncated": false,
            }))
        );
    }

    #[test]
    fn the_main_part_is_given_unless_all_is_wanted_and_links_lead_somewhere() {
        let words = "The fox is here. ".repeat(20);
        let body = format!(
            "<nav><a href='/'>Home</a></nav><article>{words}<a href='next?a=1#x'>Next</a><a href='javascript:x'>No</a></article>"
        );
        let wire = canned(200, &[("content-type", "text/html")], body.as_bytes());
        let page = fetch_from(&wire, json!({"url": "https://example.com/docs/fox"})).unwrap();
        assert_eq!(page["part"], "main");
        assert!(!page["text"].as_str().unwrap().contains("Home"));
        assert_eq!(
            page["links"],
            json!([{"words": "Home", "url": "https://example.com/"}, {"words": "Next", "url": "https://example.com/docs/next?a=1"}])
        );
        let wire = canned(200, &[("content-type", "text/html")], body.as_bytes());
        let page = fetch_from(&wire, json!({"url": "https://example.com/docs/fox", "part": "page"})).unwrap();
        assert_eq!(page["part"], "page");
        assert!(page["text"].as_str().unwrap().contains("Home"));
    }

    #[test]
    fn a_page_full_of_long_links_fits_into_an_output() {
        let link = |n: usize| format!("<a href='/{n}/{}'>{}</a>", "\u{1}".repeat(1_000), "\u{1}".repeat(100));
        let body: String = (0..1_000).map(link).collect();
        let wire = canned(200, &[("content-type", "text/html")], body.as_bytes());
        let page = fetch_from(&wire, json!({"url": "https://example.com/a"})).unwrap();
        assert!(page.to_string().len() < 1_024 * 1_024, "{}", page.to_string().len());
    }

    #[test]
    fn one_get_is_sent_with_no_credential_and_no_wish_for_compression() {
        let wire = canned(200, &[("content-type", "text/plain")], b"hello");
        fetch_from(&wire, json!({"url": "https://example.com/a", "max_bytes": 10})).unwrap();
        let asked = wire.asked.into_inner();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].method, Method::Get);
        assert_eq!(asked[0].reply_bytes_max, 10);
        let names: Vec<&str> = asked[0].headers.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["accept", "accept-encoding", "user-agent"]);
    }

    #[test]
    fn a_page_of_any_bytes_fits_into_an_output_and_says_that_it_was_cut() {
        for byte in [b'a', b'<', b'"', b'\n', 1, 0xff] {
            let body = vec![byte; BODY_BYTES_MAX];
            let wire = canned(200, &[("content-type", "text/plain")], &body);
            let page = fetch_from(&wire, json!({"url": "https://example.com/a"})).unwrap();
            assert_eq!(page.pointer("/truncated"), Some(&json!(true)), "{byte}");
            let bytes = page.to_string().len();
            assert!((800 * 1_024..1_024 * 1_024).contains(&bytes), "{byte}: {bytes}");
        }
        let long = format!("text/plain; x={}", "\u{fffd}".repeat(30_000));
        let wire = canned(200, &[("content-type", &long)], b"hello");
        let page = fetch_from(&wire, json!({"url": "https://example.com/a"})).unwrap();
        assert!(page.to_string().len() < 10_000);
        assert_eq!(
            (page.pointer("/text"), page.pointer("/truncated")),
            (Some(&json!("hello")), Some(&json!(false)))
        );
    }

    #[test]
    fn nobody_can_ask_for_more_than_the_limit() {
        let wire = canned(200, &[("content-type", "text/plain")], b"hello");
        fetch_from(&wire, json!({"url": "https://example.com/a", "max_bytes": 99_000_000})).unwrap();
        assert_eq!(wire.asked.into_inner()[0].reply_bytes_max, BODY_BYTES_MAX);
    }

    #[test]
    fn an_http_error_is_an_output_with_its_status() {
        let wire = canned(404, &[("content-type", "text/plain")], b"no such page");
        let page = fetch_from(&wire, json!({"url": "https://example.com/gone"})).unwrap();
        assert_eq!(page.pointer("/status"), Some(&json!(404)));
        assert_eq!(page.pointer("/text"), Some(&json!("no such page")));
        assert_eq!(page.pointer("/title"), None);
    }

    #[test]
    fn a_redirect_is_not_followed_and_names_where_it_leads() {
        for (status, location, target) in [
            (301, "https://elsewhere.example/", "https://elsewhere.example/"),
            (302, "/new?x=1", "https://example.com/new?x=1"),
            (303, "//cdn.example/a", "https://cdn.example/a"),
            (307, "next.html", "next.html"),
            (308, "http://example.com/", "http://example.com/"),
        ] {
            let wire = canned(status, &[("location", location)], b"");
            let failure = fetch_from(&wire, json!({"url": "https://example.com/old"})).unwrap_err();
            assert_eq!(failure.kind, Kind::Other("redirect"));
            assert!(failure.message.contains(&format!("`{target}`")), "{}", failure.message);
            assert_eq!(wire.asked.into_inner().len(), 1);
        }
    }

    #[test]
    fn what_is_not_text_is_malformed() {
        for (content_type, coding) in [("image/png", ""), ("text/html", "gzip")] {
            let wire =
                canned(200, &[("content-type", content_type), ("content-encoding", coding)], b"\x89PNG\0");
            let failure = fetch_from(&wire, json!({"url": "https://example.com/logo.png"})).unwrap_err();
            assert_eq!(failure.kind, Kind::Malformed, "{content_type} {coding}");
        }
    }

    #[test]
    fn the_hosts_no_reaches_the_caller_unchanged() {
        let no = Failure::new(Kind::NotAllowed, "the host let no request out");
        let wire = Canned { reply: Err(no.clone()), asked: RefCell::default() };
        assert_eq!(fetch_from(&wire, json!({"url": "https://intranet.example.com/"})), Err(no));
    }

    #[test]
    fn an_address_that_cannot_be_asked_is_never_sent() {
        let wire = canned(200, &[], b"");
        let failure = fetch_from(&wire, json!({"url": "file:///etc/passwd"})).unwrap_err();
        assert_eq!(failure.kind, Kind::InvalidInput);
        assert!(wire.asked.into_inner().is_empty());
    }
}
