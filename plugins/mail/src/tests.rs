//! The tools against a fake wire, and the manifest against the definitions.

use std::cell::RefCell;
use std::collections::VecDeque;

use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use guest::http::{Ask, Method, Reply, Wire};
use guest::{Failure, Host, Kind, Level, Memory, Tools};
use serde_json::{Value, json};

use crate::api::Api;
use crate::{Mail, attachment, read, recall, write};

struct Granted;

impl Host for Granted {
    fn setting(&self, _: &str) -> Option<Value> {
        None
    }

    fn credential_exists(&self, reference: &str) -> bool {
        reference == "mail.token"
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
    fn giving(replies: impl IntoIterator<Item = Value>) -> Self {
        let replies = replies.into_iter().map(|body| answer(200, &body)).collect();
        Self { replies: RefCell::new(replies), asked: RefCell::default() }
    }

    fn paths(&self) -> Vec<String> {
        self.asked.borrow().iter().map(|ask| ask.address.path_and_query().to_owned()).collect()
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

fn message(id: &str, headers: &[(&str, &str)]) -> Value {
    let headers: Vec<Value> =
        headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({"id": id, "threadId": "t1", "snippet": "It", "payload": {"headers": headers}})
}

fn new() -> Value {
    json!({"to": "bob@example.com", "subject": "It rains", "body": "In the hall."})
}

#[test]
fn the_manifest_names_the_tools_that_are_defined_and_no_other() {
    let manifest: toml::Table = include_str!("../plugin.toml").parse().unwrap();
    let asked: Vec<&str> =
        manifest["tool"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let defined: Vec<&str> = Mail::definitions().iter().map(|tool| tool.name).collect();
    assert_eq!(asked, defined);
}

#[test]
fn what_a_description_promises_is_what_is_done() {
    let described = |name: &str| Mail::definitions().into_iter().find(|tool| tool.name == name).unwrap();
    assert!(described("mail.search").description.contains(&format!("{} messages a page", read::PAGE_MAX)));
    assert_eq!(read::BODY_CHARS_MAX, 50_000);
    assert_eq!(guest::file::FILE_BYTES_MAX, 700_000);
    let most = described("mail.send").input_schema["properties"]["cc"]["maxItems"].clone();
    assert_eq!(most, json!(write::CC_MAX));
}

#[test]
fn a_search_gives_a_line_for_each_message_and_where_to_go_on() {
    let listed = json!({"messages": [{"id": "m1"}, {"id": "../x"}], "nextPageToken": "p2"});
    let wire = Fake::giving([listed, message("m1", &[("from", "ann@example.com"), ("Subject", "Roof")])]);
    let api = Api::open(&Granted, &wire).unwrap();
    let said = read::search(&api, &input(json!({"query": "roof & rain", "after": "p 1"}))).unwrap();
    assert_eq!(
        (&said["messages"][0]["from"], &said["messages"][0]["subject"], &said["next"]),
        (&json!("ann@example.com"), &json!("Roof"), &json!("p2"))
    );
    assert_eq!(
        wire.paths(),
        [
            "/gmail/v1/users/me/messages?maxResults=15&q=roof%20%26%20rain&pageToken=p%201",
            "/gmail/v1/users/me/messages/m1?format=metadata&metadataHeaders=From&metadataHeaders=To\
             &metadataHeaders=Subject&metadataHeaders=Date",
        ],
        "what is no name of a message is not asked for"
    );
}

#[test]
fn a_message_is_read_as_text_and_what_is_attached_is_named() {
    let html = "<div style='display:none'>obey</div><p>Dear <b>Bob</b>";
    for (data, plain, text) in [
        (URL_SAFE.encode("Dear Bob\nöäü??"), true, "Dear Bob\nöäü??"),
        (URL_SAFE_NO_PAD.encode("Dear Bob\nöäü??"), true, "Dear Bob\nöäü??"),
        (URL_SAFE.encode(html), false, "Dear Bob"),
    ] {
        let kind = if plain { "text/plain" } else { "text/html" };
        let whole = json!({"id": "m1", "payload": {"mimeType": "multipart/mixed", "headers": [], "parts": [
            {"partId": "0", "mimeType": "text/plain", "filename": "notes.txt", "body": {"size": 9, "data": "eA"}},
            {"mimeType": "multipart/alternative", "parts": [{"mimeType": kind, "filename": "", "body": {"data": data}}]},
        ]}});
        let wire = Fake::giving([whole]);
        let api = Api::open(&Granted, &wire).unwrap();
        let said = read::read(&api, &input(json!({"message": "m1"}))).unwrap();
        assert_eq!(said["body"], text);
        assert_eq!(
            said["attachments"],
            json!([{"part": "0", "name": "notes.txt", "media_type": "text/plain", "bytes": 9}])
        );
    }
    let mut deep = json!({"mimeType": "text/plain", "body": {"data": URL_SAFE.encode("too deep")}});
    for _ in 0..30 {
        deep = json!({"mimeType": "multipart/mixed", "parts": [deep]});
    }
    let wire = Fake::giving([json!({"id": "m1", "payload": deep})]);
    let api = Api::open(&Granted, &wire).unwrap();
    assert_eq!(read::read(&api, &input(json!({"message": "m1"}))).unwrap()["body"], "");
}

/// A message as Gmail gives it: a text, and a file under `part` with this body.
fn with_file(part: &str, name: &str, body: Value) -> Value {
    json!({"id": "m1", "payload": {"partId": "", "mimeType": "multipart/mixed", "headers": [], "parts": [
        {"partId": "0", "mimeType": "text/plain", "filename": "", "body": {"size": 2, "data": "SGk"}},
        {"partId": part, "mimeType": "application/octet-stream", "filename": name, "body": body},
    ]}})
}

#[test]
fn a_file_that_is_attached_is_read_by_its_part_and_is_what_its_first_bytes_say() {
    let ask = |wire: &Fake, part: &str| {
        let api = Api::open(&Granted, wire).unwrap();
        attachment::read(&api, &input(json!({"message": "m1", "part": part})))
    };
    for (bytes, key) in [(b"%PDF-1.7 a".as_slice(), "media"), ("name,größe".as_bytes(), "text")] {
        // As the published shapes are: the content comes by another request, by a name that changes each time.
        let body = json!({"size": bytes.len(), "attachmentId": "ANGjdJ8_x-1"});
        let content = json!({"size": bytes.len(), "data": URL_SAFE.encode(bytes)});
        let wire = Fake::giving([with_file("1", "plan.pdf", body), content]);
        let said = ask(&wire, "1").unwrap();
        assert_eq!((&said["name"], &said["bytes"]), (&json!("plan.pdf"), &json!(bytes.len())));
        assert!(said.get(key).is_some(), "{said}");
        assert_eq!(
            wire.paths(),
            [
                "/gmail/v1/users/me/messages/m1?format=full",
                "/gmail/v1/users/me/messages/m1/attachments/ANGjdJ8_x-1"
            ]
        );
    }
    let wire = Fake::giving([with_file("1", "a.txt", json!({"size": 2, "data": "SGk"}))]);
    assert_eq!(ask(&wire, "1").unwrap()["text"], "Hi", "it may stand in the message");
}

#[test]
fn what_is_too_long_or_nothing_to_look_at_or_not_there_is_refused_by_kind() {
    let ask = |replies: Vec<Value>, part: &str| {
        let wire = Fake::giving(replies);
        let api = Api::open(&Granted, &wire).unwrap();
        let failure = attachment::read(&api, &input(json!({"message": "m1", "part": part}))).unwrap_err();
        (failure.kind, wire.paths().len())
    };
    let named = |size: u64, id: &str| with_file("1", "a", json!({"size": size, "attachmentId": id}));
    let content = |bytes: &[u8]| json!({"size": bytes.len(), "data": URL_SAFE.encode(bytes)});
    assert_eq!(ask(vec![named(700_001, "a1")], "1"), (Kind::TooLarge, 1), "it is not asked for");
    let long = vec![b'a'; 700_001];
    assert_eq!(ask(vec![named(5, "a1"), content(&long)], "1"), (Kind::TooLarge, 2));
    assert_eq!(ask(vec![named(3, "a1"), content(b"\0\x01\x02")], "1"), (Kind::InvalidInput, 2));
    assert_eq!(ask(vec![named(3, "a1")], "0"), (Kind::NotFound, 1), "the text of the message is no file");
    assert_eq!(ask(vec![named(3, "a1")], "7"), (Kind::NotFound, 1));
    assert_eq!(ask(vec![named(3, "../../drafts")], "1"), (Kind::Malformed, 1), "it is not followed");
    assert_eq!(ask(vec![named(3, "a1"), json!({"size": 3, "data": "%"})], "1"), (Kind::Malformed, 2));
}

#[test]
fn what_is_sent_carries_the_effects_name_and_answers_in_its_thread() {
    let answered = message("m1", &[("Message-ID", "<1@example.com>")]);
    let wire = Fake::giving([answered, json!({"id": "m2", "threadId": "t1"})]);
    let api = Api::open(&Granted, &wire).unwrap();
    let mut asked = new();
    asked["answers"] = json!("m1");
    let said = write::send(&api, &input(asked), "effect_1").unwrap();
    assert_eq!(said, json!({"message": "m2", "thread": "t1"}));
    let asked = wire.asked.borrow();
    assert_eq!(asked[1].address.path_and_query(), "/gmail/v1/users/me/messages/send");
    assert_eq!(asked[1].method, Method::Post);
    let body: Value = serde_json::from_slice(&asked[1].body).unwrap();
    assert_eq!(body["threadId"], "t1");
    let raw = String::from_utf8(URL_SAFE_NO_PAD.decode(body["raw"].as_str().unwrap()).unwrap()).unwrap();
    assert!(
        raw.starts_with(
            "To: bob@example.com\r\nSubject: It rains\r\nMessage-ID: <effect_1@chancery.invalid>"
        ),
        "{raw}"
    );
    assert!(raw.contains("\r\nX-Chancery-Effect: effect_1\r\nIn-Reply-To: <1@example.com>\r\n"), "{raw}");
}

#[test]
fn a_recipient_that_is_none_is_never_written_to() {
    for (at, value) in [
        ("to", json!("bob@example.com, eve@example.com")),
        ("to", json!("bob@example.com\r\nBcc: eve@example.com")),
        ("cc", json!(["Eve <eve@example.com>"])),
    ] {
        let mut asked = new();
        asked[at] = value;
        assert!(serde_json::from_value::<write::New>(asked).is_err());
    }
    let wire = Fake::default();
    let api = Api::open(&Granted, &wire).unwrap();
    let mut asked = new();
    asked["cc"] = Value::from(vec!["eve@example.com"; write::CC_MAX + 1]);
    assert_eq!(write::send(&api, &input(asked), "effect_1").unwrap_err().kind, Kind::InvalidInput);
    assert!(wire.paths().is_empty());
}

#[test]
fn what_was_sent_is_found_by_any_header_that_kept_its_name() {
    let nothing = || json!({"resultSizeEstimate": 0});
    for header in [
        ("Message-ID", "<effect_1@chancery.invalid>"),
        ("X-Google-Original-Message-ID", "<effect_1@chancery.invalid>"),
        ("X-Chancery-Effect", "effect_1"),
    ] {
        let wire = Fake::giving([nothing(), json!({"messages": [{"id": "m9"}]}), message("m9", &[header])]);
        let api = Api::open(&Granted, &wire).unwrap();
        let memory = recall::sent(&api, &input(new()), "effect_1", 1_000_000_000).unwrap();
        assert_eq!(memory, Memory::Found(json!({"message": "m9", "thread": "t1"})), "{header:?}");
        let paths = wire.paths();
        assert!(paths[0].contains("q=rfc822msgid%3Aeffect_1%40chancery.invalid"), "{}", paths[0]);
        assert!(
            paths[1].contains("in%3Asent%20to%3Abob%40example.com%20after%3A999400%20before%3A1086400"),
            "{}",
            paths[1]
        );
    }
    for (listed, memory) in [
        (json!({"messages": [{"id": "m9"}]}), true),
        (json!({"messages": [{"id": "m9"}], "nextPageToken": "p"}), false),
    ] {
        let wire = Fake::giving([nothing(), listed, message("m9", &[("X-Chancery-Effect", "effect_10")])]);
        let api = Api::open(&Granted, &wire).unwrap();
        let said = recall::sent(&api, &input(new()), "effect_1", 0).unwrap();
        assert_eq!(said == Memory::Absent, memory, "{said:?}");
    }
}

#[test]
fn a_draft_is_found_again_unless_its_owner_sent_it() {
    let draft = json!({"id": "r1", "message": message("m1", &[("X-Chancery-Effect", "effect_1")])});
    let wire = Fake::giving([json!({"drafts": [{"id": "r1"}]}), draft]);
    let api = Api::open(&Granted, &wire).unwrap();
    assert_eq!(recall::drafted(&api, "effect_1"), Ok(Memory::Found(json!({"draft": "r1"}))));
    let sent = json!({"messages": [{"id": "m1"}]});
    for (found, absent) in [(sent, false), (json!({}), true)] {
        let wire = Fake::giving([json!({}), found, message("m1", &[])]);
        let api = Api::open(&Granted, &wire).unwrap();
        let memory = recall::drafted(&api, "effect_1").unwrap();
        assert_eq!(memory == Memory::Absent, absent, "{memory:?}");
    }
}

#[test]
fn a_status_is_a_failure_that_says_what_to_do() {
    let error =
        |reason: &str| json!({"error": {"code": 1, "message": "as said", "errors": [{"reason": reason}]}});
    for (status, reason, kind) in [
        (400, "invalidArgument", Kind::InvalidInput),
        (401, "authError", Kind::NotAllowed),
        (403, "insufficientPermissions", Kind::NotAllowed),
        (403, "userRateLimitExceeded", Kind::RateLimited),
        (404, "notFound", Kind::NotFound),
        (429, "rateLimitExceeded", Kind::RateLimited),
        (503, "backendError", Kind::Unavailable),
    ] {
        let wire = Fake { replies: RefCell::new([answer(status, &error(reason))].into()), ..Fake::default() };
        let api = Api::open(&Granted, &wire).unwrap();
        let failure = read::read(&api, &input(json!({"message": "m1"}))).unwrap_err();
        assert_eq!(failure.kind, kind, "{status} {reason}");
        assert!(failure.message.contains("as said"), "{}", failure.message);
        assert_eq!(failure.retry_after_ms.is_some(), kind == Kind::RateLimited);
    }
}
