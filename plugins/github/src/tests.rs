//! The tools against a fake wire, and the manifest against the definitions.

use std::cell::RefCell;
use std::collections::VecDeque;

use guest::http::{Ask, Method, Reply, Wire};
use guest::{Failure, Host, Kind, Level, Memory, Tools};
use serde_json::{Value, json};

use crate::api::Api;
use crate::{GitHub, read, write};

struct Granted;

impl Host for Granted {
    fn setting(&self, _: &str) -> Option<Value> {
        None
    }

    fn credential_exists(&self, reference: &str) -> bool {
        reference == "github.token"
    }

    fn log(&self, _: Level, _: &str) {}
}

/// Gives the replies in order, and keeps what was asked.
#[derive(Default)]
struct Fake {
    replies: RefCell<VecDeque<Reply>>,
    asked: RefCell<Vec<Ask>>,
}

impl Fake {
    fn giving(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { replies: RefCell::new(replies.into_iter().collect()), asked: RefCell::default() }
    }
}

impl Wire for Fake {
    fn exchange(&self, ask: &Ask) -> Result<Reply, Failure> {
        self.asked.borrow_mut().push(ask.clone());
        Ok(self.replies.borrow_mut().pop_front().unwrap())
    }
}

fn answer(status: u16, body: &Value) -> Reply {
    Reply { status, body: body.to_string().into_bytes(), ..Reply::default() }
}

fn input<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[test]
fn the_manifest_names_the_tools_that_are_defined_and_no_other() {
    let manifest: toml::Table = include_str!("../plugin.toml").parse().unwrap();
    let asked: Vec<&str> =
        manifest["tool"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let mut defined: Vec<&str> = GitHub::definitions().iter().map(|tool| tool.name).collect();
    defined.sort_by_key(|name| asked.iter().position(|other| other == name));
    assert_eq!(asked, defined);
}

#[test]
fn what_a_description_promises_is_what_is_read() {
    let described =
        |name: &str| GitHub::definitions().into_iter().find(|tool| tool.name == name).unwrap().description;
    assert!(described("github.issues").contains(&format!("{} a page", read::PAGE_MAX)));
    assert!(described("github.issue").contains(&format!("first {} comments", read::COMMENTS_MAX)));
    assert_eq!(read::BODY_CHARS_MAX, 10_000);
}

#[test]
fn a_list_of_issues_leaves_pull_requests_out() {
    let entry = |number: u64, more: Value| {
        let mut entry = json!({"number": number, "title": "t", "state": "open", "user": {"login": "o"},
            "labels": [{"name": "bug"}], "created_at": "2026-01-01T00:00:00Z", "html_url": "https://g/1"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let wire =
        Fake::giving([answer(200, &json!([entry(1, json!({})), entry(2, json!({"pull_request": {}}))]))]);
    let api = Api::open(&Granted, &wire).unwrap();
    let said = read::issues(&api, &input(json!({"repository": "o/r", "state": "all"}))).unwrap();
    assert_eq!(said["issues"].as_array().unwrap().len(), 1);
    assert_eq!((&said["issues"][0]["labels"], &said["more"]), (&json!(["bug"]), &json!(false)));
    let asked = wire.asked.borrow();
    assert_eq!(asked[0].address.path_and_query(), "/repos/o/r/issues?state=all&per_page=50&page=1");
}

#[test]
fn what_is_written_carries_the_effects_name_and_is_found_by_it() {
    let made = json!({"number": 7, "html_url": "https://g/7"});
    let wire = Fake::giving([answer(201, &made)]);
    let api = Api::open(&Granted, &wire).unwrap();
    let new = json!({"repository": "o/r", "title": "It rains", "body": "Here."});
    let said = write::open(&api, &input(new.clone()), "effect_1").unwrap();
    assert_eq!(said, json!({"number": 7, "url": "https://g/7"}));
    let sent: Value = serde_json::from_slice(&wire.asked.borrow()[0].body).unwrap();
    assert_eq!((wire.asked.borrow()[0].method, &sent["title"]), (Method::Post, &json!("It rains")));
    let body = sent["body"].as_str().unwrap().to_owned();
    assert!(body.starts_with("Here.\n\n<!-- chancery effect_1 -->"), "{body}");
    let kept = json!([{"number": 6, "body": null}, {"number": 7, "html_url": "https://g/7", "body": body}]);
    for (key, memory) in [("effect_1", Memory::Found(said)), ("effect_10", Memory::Absent)] {
        let wire = Fake::giving([answer(200, &kept)]);
        let api = Api::open(&Granted, &wire).unwrap();
        assert_eq!(write::recall_issue(&api, &input(new.clone()), key), Ok(memory), "{key}");
    }
    let full = Value::Array(vec![json!({"body": ""}); write::LOOKED_THROUGH_MAX]);
    let wire = Fake::giving([answer(200, &full)]);
    let api = Api::open(&Granted, &wire).unwrap();
    let memory = write::recall_issue(&api, &input(new), "effect_1").unwrap();
    assert!(matches!(memory, Memory::CannotSay(_)), "{memory:?}");
}

#[test]
fn a_status_is_a_failure_that_says_what_to_do() {
    for (status, kind, word) in [
        (401, Kind::NotAllowed, "token"),
        (403, Kind::NotAllowed, "permission"),
        (404, Kind::NotFound, "knows nothing"),
        (301, Kind::NotFound, "moved"),
        (422, Kind::InvalidInput, "Validation Failed"),
        (429, Kind::RateLimited, "wait"),
        (502, Kind::Unavailable, "cannot answer"),
    ] {
        let wire = Fake::giving([answer(status, &json!({"message": "Validation Failed"}))]);
        let api = Api::open(&Granted, &wire).unwrap();
        let failure = read::issue(&api, &input(json!({"repository": "o/r", "number": 1}))).unwrap_err();
        assert_eq!(failure.kind, kind, "{status}");
        assert!(failure.message.contains(word), "{status}: {}", failure.message);
        assert_eq!(failure.retry_after_ms.is_some(), status == 429);
    }
    let waiting =
        Reply { headers: vec![("Retry-After".to_owned(), b"7".to_vec())], ..answer(403, &json!({})) };
    let wire = Fake::giving([waiting]);
    let api = Api::open(&Granted, &wire).unwrap();
    let failure = read::issue(&api, &input(json!({"repository": "o/r", "number": 1}))).unwrap_err();
    assert_eq!((failure.kind, failure.retry_after_ms), (Kind::RateLimited, Some(7_000)));
}

#[test]
fn a_file_that_is_no_text_is_a_failure() {
    let wire = Fake::giving([Reply { status: 200, body: b"\x89PNG\0".to_vec(), ..Reply::default() }]);
    let api = Api::open(&Granted, &wire).unwrap();
    let asked = input(json!({"repository": "o/r", "path": "a.png"}));
    assert_eq!(read::file(&api, &asked).unwrap_err().kind, Kind::Malformed);
}
