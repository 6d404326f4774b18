//! The tools against a fake wire, and the manifest against definitions and documents.

use std::cell::RefCell;
use std::collections::VecDeque;

use guest::http::{Ask, Reply, Wire};
use guest::{Failure, Host, Kind, Level, Memory, Tools};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::api::Api;
use crate::{Linear, documents, name, read, recall, write};

struct Granted;

impl Host for Granted {
    fn setting(&self, _: &str) -> Option<Value> {
        None
    }

    fn credential_exists(&self, reference: &str) -> bool {
        reference == "linear.token"
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

    fn sent(&self) -> Vec<(String, Value)> {
        let body = |ask: &Ask| serde_json::from_slice::<Value>(&ask.body).unwrap();
        let asked = self.asked.borrow();
        asked
            .iter()
            .map(body)
            .map(|body| (body["query"].as_str().unwrap().to_owned(), body["variables"].clone()))
            .collect()
    }
}

impl Wire for Fake {
    fn exchange(&self, ask: &Ask) -> Result<Reply, Failure> {
        self.asked.borrow_mut().push(ask.clone());
        Ok(self.replies.borrow_mut().pop_front().unwrap())
    }
}

fn data(data: Value) -> Reply {
    Reply { status: 200, body: json!({"data": data}).to_string().into_bytes(), ..Reply::default() }
}

fn error(status: u16, error: Value) -> Reply {
    Reply { status, body: json!({"errors": [error]}).to_string().into_bytes(), ..Reply::default() }
}

fn input<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn manifest() -> toml::Table {
    include_str!("../plugin.toml").parse().unwrap()
}

fn team() -> Reply {
    data(json!({"teams": {"nodes": [{"id": "team-1", "key": "ENG", "name": "Engineering"}]}}))
}

#[test]
fn the_manifest_names_the_tools_that_are_defined_and_no_other() {
    let manifest = manifest();
    let asked: Vec<&str> =
        manifest["tool"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let defined: Vec<&str> = Linear::definitions().iter().map(|tool| tool.name).collect();
    assert_eq!(asked, defined);
}

#[test]
fn the_manifest_lists_the_documents_that_read_and_none_that_writes() {
    let manifest = manifest();
    let listed: Vec<&str> =
        manifest["graphql_reads"].as_array().unwrap().iter().map(|digest| digest.as_str().unwrap()).collect();
    let digest = |document: &str| hex::encode(Sha256::digest(document.as_bytes()));
    assert_eq!(listed, documents::READS.map(digest));
    assert!(documents::READS.iter().all(|document| document.starts_with("query ")));
    for writes in [documents::ISSUE_CREATE, documents::ISSUE_UPDATE, documents::COMMENT_CREATE] {
        assert!(writes.starts_with("mutation ") && !listed.contains(&digest(writes).as_str()));
    }
}

#[test]
fn what_a_description_promises_is_what_is_read() {
    let described =
        |name: &str| Linear::definitions().into_iter().find(|tool| tool.name == name).unwrap().description;
    assert!(described("linear.issues").contains(&format!("{} a page", read::PAGE_MAX)));
    assert_eq!(read::BODY_CHARS_MAX, 10_000);
}

#[test]
fn issues_of_a_team_are_found_by_its_key_and_page_by_page() {
    let issue = |name: &str, kind: &str| {
        json!({"identifier": name, "title": "t", "state": {"name": "s", "type": kind},
        "labels": {"nodes": [{"name": "Bug"}]}, "url": "u"})
    };
    let nodes = [issue("ENG-1", "started"), issue("ENG-2", "completed")];
    let page =
        json!({"team": {"issues": {"nodes": nodes, "pageInfo": {"hasNextPage": true, "endCursor": "c"}}}});
    let wire = Fake::giving([team(), data(page)]);
    let api = Api::open(&Granted, &wire).unwrap();
    let said = read::issues(&api, &input(json!({"team": "eng", "title_contains": "roof"}))).unwrap();
    assert_eq!(said["issues"].as_array().unwrap().len(), 1);
    assert_eq!((&said["issues"][0]["issue"], &said["next"]), (&json!("ENG-1"), &json!("c")));
    let sent = wire.sent();
    assert_eq!((sent[1].0.as_str(), &sent[1].1["team"]), (documents::ISSUES, &json!("team-1")));
    assert_eq!(sent[1].1["filter"], json!({"title": {"contains": "roof"}}));
    let wire = Fake::giving([team()]);
    let api = Api::open(&Granted, &wire).unwrap();
    let failure = read::issues(&api, &input(json!({"team": "OPS"}))).unwrap_err();
    assert_eq!(failure.kind, Kind::NotFound);
    assert!(failure.message.contains("`ENG`"), "{}", failure.message);
}

#[test]
fn what_is_opened_has_the_name_of_its_effect_and_is_found_by_it() {
    let made = json!({"id": "i", "identifier": "ENG-7", "url": "u"});
    let new = json!({"team": "ENG", "title": "It rains", "description": "Here."});
    let wire = Fake::giving([team(), data(json!({"issueCreate": {"success": true, "issue": made}}))]);
    let api = Api::open(&Granted, &wire).unwrap();
    let said = write::open(&api, &input(new.clone()), "effect_1").unwrap();
    assert_eq!(said, json!({"issue": "ENG-7", "url": "u"}));
    assert_eq!(wire.sent()[1].1["input"]["id"], json!(name::uuid("effect_1")));
    let wire = Fake::giving([data(json!({"issue": made}))]);
    let api = Api::open(&Granted, &wire).unwrap();
    assert_eq!(recall::opened(&api, &input(new.clone()), "effect_1"), Ok(Memory::Found(said)));
    assert_eq!(wire.sent()[0].1["id"], json!(name::uuid("effect_1")));
    let gone =
        || error(200, json!({"message": "Entity not found: Issue", "extensions": {"code": "INPUT_ERROR"}}));
    let same = |description: &str| json!({"team": {"issues": {"nodes": [{"identifier": "ENG-8", "description": description}]}}});
    for (description, absent) in [("Here.\n", false), ("There.", true)] {
        let wire = Fake::giving([gone(), team(), data(same(description))]);
        let api = Api::open(&Granted, &wire).unwrap();
        let memory = recall::opened(&api, &input(new.clone()), "effect_1").unwrap();
        assert_eq!(memory == Memory::Absent, absent, "{memory:?}");
        assert!(!matches!(memory, Memory::Found(_)));
    }
}

#[test]
fn a_server_that_takes_no_names_is_asked_again_without() {
    for unknown in [
        "Variable \"$input\" got invalid value; Field \"id\" is not defined by type \"IssueCreateInput\".",
        "Variable \"$input\" has invalid value: Expected value of type \"IssueCreateInput\" not to include unknown field \"id\", found: { id: \"…\" }.",
    ] {
        let made = json!({"issueCreate": {"success": true, "issue": {"identifier": "ENG-7", "url": "u"}}});
        let wire = Fake::giving([team(), error(400, json!({ "message": unknown })), data(made)]);
        let api = Api::open(&Granted, &wire).unwrap();
        write::open(&api, &input(json!({"team": "ENG", "title": "t"})), "effect_1").unwrap();
        assert!(wire.sent()[2].1["input"].get("id").is_none());
    }
}

#[test]
fn a_change_names_states_as_people_do_and_nothing_else_changes() {
    let issue = json!({"issue": {"id": "i", "identifier": "ENG-1", "state": {"name": "Todo"}, "url": "u",
        "team": {"states": {"nodes": [{"id": "s1", "name": "Todo"}, {"id": "s2", "name": "Done"}]}}}});
    let made = json!({"issueUpdate": {"success": true, "issue": {"identifier": "ENG-1", "url": "u"}}});
    let wire = Fake::giving([data(issue.clone()), data(made)]);
    let api = Api::open(&Granted, &wire).unwrap();
    write::change(&api, &input(json!({"issue": "ENG-1", "state": "done"}))).unwrap();
    assert_eq!(wire.sent()[1].1, json!({"id": "i", "input": {"stateId": "s2"}}));
    for (change, kind) in [
        (json!({"issue": "ENG-1", "state": "Later"}), Kind::NotFound),
        (json!({"issue": "ENG-1"}), Kind::InvalidInput),
    ] {
        let wire = Fake::giving([data(issue.clone())]);
        let api = Api::open(&Granted, &wire).unwrap();
        assert_eq!(write::change(&api, &input(change)).unwrap_err().kind, kind);
        assert_eq!(wire.sent().len(), 1, "nothing is written");
    }
    for (state, found) in [("todo", true), ("Done", false)] {
        let wire = Fake::giving([data(issue.clone())]);
        let api = Api::open(&Granted, &wire).unwrap();
        let memory = recall::changed(&api, &input(json!({"issue": "ENG-1", "state": state}))).unwrap();
        assert_eq!(matches!(memory, Memory::Found(_)), found, "{memory:?}");
        assert_ne!(memory, Memory::Absent, "an issue that is otherwise now may have been changed back");
    }
}

#[test]
fn nobody_is_assigned_whom_a_filter_did_not_mean() {
    let users = json!({"users": {"nodes": [{"id": "u1", "email": "other@example.com"}]}});
    let wire = Fake::giving([team(), data(users)]);
    let api = Api::open(&Granted, &wire).unwrap();
    let new = json!({"team": "ENG", "title": "t", "assignee": "dev@example.com"});
    assert_eq!(write::open(&api, &input(new), "effect_1").unwrap_err().kind, Kind::NotFound);
}

#[test]
fn a_code_is_a_failure_that_says_what_to_do() {
    for (status, code, message, kind) in [
        (401, "AUTHENTICATION_ERROR", "Authentication required", Kind::NotAllowed),
        (200, "AUTHENTICATION_ERROR", "You need to authenticate", Kind::NotAllowed),
        (200, "FORBIDDEN", "no", Kind::NotAllowed),
        (400, "RATELIMITED", "Rate limit exceeded", Kind::RateLimited),
        (200, "INPUT_ERROR", "Entity not found: Issue", Kind::NotFound),
        (400, "GRAPHQL_VALIDATION_FAILED", "Cannot query field", Kind::InvalidInput),
        (502, "", "", Kind::Unavailable),
    ] {
        let wire = Fake::giving([error(status, json!({"message": message, "extensions": {"code": code}}))]);
        let api = Api::open(&Granted, &wire).unwrap();
        let failure = read::issue(&api, &input(json!({"issue": "ENG-1"}))).unwrap_err();
        assert_eq!(failure.kind, kind, "{status} {code}: {}", failure.message);
        assert_eq!(failure.retry_after_ms.is_some(), kind == Kind::RateLimited);
    }
}

#[test]
fn a_name_that_is_none_is_never_sent() {
    let wire = Fake::default();
    let api = Api::open(&Granted, &wire).unwrap();
    for name in ["", "ENG 1", "ENG-1\") { x }", &"a".repeat(65)] {
        let failure = read::issue(&api, &input(json!({"issue": name}))).unwrap_err();
        assert_eq!(failure.kind, Kind::InvalidInput, "{name}");
    }
    assert!(wire.sent().is_empty());
}
