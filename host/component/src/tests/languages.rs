//! Plugins in JavaScript, Python and C run as those in Rust do: the same world, the same limits, the same nothing
//! beside it.

use super::kit::{
    Kit, READ_AT, TOKEN, component, component_if_it_can_be_had, digest, failure, kit_in, output, route,
    target,
};
use super::server::{Manner, Server};
use crate::{Limits, Pool};
use event::{PluginGranted, Route};
use gate::{Catalogue, FailureKind};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The limits of a small machine, with less time: interpreters live under them like everyone.
fn real() -> Pool {
    Pool { tools: Limits { cpu_ms: 1_500, ..Limits::for_tools() }, calls: 4, ..Pool::for_small_machine() }
}

/// Hands over one of them, granted `routes` and the setting `colour`. Its code is kept between runs of the tests:
/// compiling an interpreter takes a while.
async fn speaking(name: &str, routes: Vec<Route>, loopback: &[&str]) -> Option<Kit> {
    let path = component_if_it_can_be_had(name)?;
    let grant = PluginGranted {
        plugin: name.to_owned(),
        digest: digest(&path),
        routes,
        settings: BTreeMap::from([("colour".to_owned(), Value::from("red"))]),
        directories: Vec::new(),
        reason: String::new(),
        handles: Vec::new(),
    };
    Some(kit_in(target().join("test-code"), real(), &[path], &[grant], loopback).await)
}

/// What holds for each of them.
async fn runs_as_a_tool(kit: &Kit, tool: &str, not_found: &str) {
    assert_eq!(kit.hands.tool(tool).unwrap().description, "Says back what it was given.");
    let failed = failure(kit.call(tool, json!({"fail": "that"})).await);
    assert_eq!((failed.kind, failed.message.as_str()), (FailureKind::NotFound, not_found));
}

/// What an interpreter finds of this machine: the recorded year, numbers drawn from the call, and nothing else.
fn finds_the_recorded_world(said: &Value, again: &Value) {
    let wanted =
        [("text", json!("ä\"")), ("key", json!("")), ("setting", json!("\"red\"")), ("year", json!(2026))];
    for (key, value) in wanted {
        assert_eq!(said.get(key), Some(&value), "{said}");
    }
    assert_eq!(said.get("drawn"), again.get("drawn"), "the same call draws the same numbers");
}

#[tokio::test]
async fn a_plugin_in_javascript_runs_as_a_tool() {
    let server = Server::start(Manner::Answers("a page")).await;
    let routes = vec![route(&["GET"], &server.origin, "/open", Some("javascript.token"))];
    let Some(kit) = speaking("javascript", routes, &[&server.origin]).await else { return };
    runs_as_a_tool(&kit, "javascript.echo", "nothing is called that").await;
    let said = output(kit.call("javascript.echo", json!({"text": "ä\""})).await);
    finds_the_recorded_world(&said, &output(kit.call("javascript.echo", json!({"text": "ä\""})).await));
    assert_eq!(said.get("credential"), Some(&json!(true)));
    // Its own `fetch` goes by the gate, with the host's credential put in below it.
    let fetch = |path: &str| kit.call("javascript.fetch", json!({"url": format!("{}{path}", server.origin)}));
    let read = fetch("/open").await;
    assert_eq!((read.readings.len(), read.readings[0].read_at), (1, READ_AT));
    assert_eq!(output(read), json!({"status": 200, "text": "a page"}));
    assert!(server.requests()[0].contains(&format!("authorization: bearer {TOKEN}")));
    let refused = fetch("/secret").await;
    assert!(!refused.request_sent && refused.outcome.is_err());
    assert_eq!(server.requests().len(), 1);
    let spun = failure(kit.call("javascript.echo", json!({"spin": true})).await);
    assert!(spun.message.contains("running for 1500 ms"), "{}", spun.message);
}

#[tokio::test]
async fn two_plugins_with_a_setting_of_one_name_each_read_their_own() {
    let Some(path) = component_if_it_can_be_had("javascript") else { return };
    let grant = |plugin: &str, path: &std::path::Path, colour: &str| PluginGranted {
        plugin: plugin.to_owned(),
        digest: digest(path),
        routes: Vec::new(),
        settings: BTreeMap::from([("colour".to_owned(), Value::from(colour))]),
        directories: Vec::new(),
        reason: String::new(),
        handles: Vec::new(),
    };
    let other = component("hostile");
    let grants = [grant("javascript", &path, "green"), grant("hostile", &other, "blue")];
    let kit = kit_in(target().join("test-code"), real(), &[path, other], &grants, &[]).await;
    for _ in 0..2 {
        for (tool, colour) in [("javascript.echo", "\"green\""), ("hostile.echo", "\"blue\"")] {
            assert_eq!(
                output(kit.call(tool, json!({"setting": "colour"})).await).get("setting"),
                Some(&json!(colour)),
                "{tool}"
            );
        }
    }
}

#[tokio::test]
async fn a_plugin_in_python_runs_as_a_tool() {
    let Some(kit) = speaking("python", Vec::new(), &[]).await else { return };
    runs_as_a_tool(&kit, "python.echo", "nothing is called that").await;
    let said = output(kit.call("python.echo", json!({"text": "ä\""})).await);
    finds_the_recorded_world(&said, &output(kit.call("python.echo", json!({"text": "ä\""})).await));
    assert_eq!((said.get("credential"), said.get("environment")), (Some(&json!(false)), Some(&json!(0))));
    let spun = failure(kit.call("python.echo", json!({"spin": true})).await);
    assert!(spun.message.contains("running for 1500 ms"), "{}", spun.message);
}

#[tokio::test]
async fn a_plugin_in_c_runs_as_a_tool_and_its_stray_pointers_stay_its_own() {
    let Some(kit) = speaking("c", Vec::new(), &[]).await else { return };
    runs_as_a_tool(&kit, "c.echo", "nothing is called that").await;
    let said = output(kit.call("c.echo", json!({"text": "ä\""})).await);
    assert_eq!(said, json!({"input": {"text": "ä\""}, "setting": "red"}));
    let strayed = failure(kit.call("c.echo", json!({"stray": true})).await);
    assert!(strayed.message.contains("out of bounds memory access"), "{}", strayed.message);
    output(kit.call("c.echo", json!({})).await);
}
