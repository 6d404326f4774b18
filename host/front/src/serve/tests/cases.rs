//! Slack's own payloads, as its SDKs test with them. They lie beside the repository; without them this says so
//! and passes.

use super::{Desk, own};
use axum::http::StatusCode;
use event::{Class, ConnectionIdentified, Fact};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Payloads by file name; nothing when the folder is absent.
fn cases() -> Option<Vec<(String, Value)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/slack");
    if !folder.is_dir() {
        eprintln!("skipped: the folder of Slack's payloads is not there");
        return None;
    }
    let files =
        ["behaviour", "shapes"].into_iter().flat_map(|kind| std::fs::read_dir(folder.join(kind)).unwrap());
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    Some(
        files
            .iter()
            .map(|path| (name(path), serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()))
            .collect(),
    )
}

/// As it would be sent: interactivity in a form, the rest as JSON.
fn body(payload: &Value) -> String {
    match payload["type"].as_str() {
        Some("event_callback" | "url_verification" | "app_rate_limited") => payload.to_string(),
        _ => {
            let text: String = url::form_urlencoded::byte_serialize(payload.to_string().as_bytes()).collect();
            format!("payload={text}")
        }
    }
}

/// The office, installed where the payload says.
fn installed(payload: &Value) -> ConnectionIdentified {
    let text =
        |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let first = |a: String, b: String| if a.is_empty() { b } else { a };
    ConnectionIdentified { team: first(text("/authorizations/0/team_id"), text("/team_id")), ..own() }
}

#[tokio::test]
async fn each_of_slacks_payloads_is_taken_and_gets_one_class_and_one_reason() {
    for (name, payload) in cases().unwrap_or_default() {
        let desk = Desk::open_as(installed(&payload)).await;
        assert_eq!(desk.post(body(&payload)).await.status, StatusCode::OK, "{name}");
        let classes = desk.classes().await;
        assert_eq!(classes.len(), 1, "{name}");
        let class = &classes[0];
        eprintln!("{:?} {} {name}", class.class, class.reason);
        assert_ne!(class.reason, "unknown-type", "{name}");
        assert_eq!(class.asks.is_some(), class.class == Class::Explicit, "{name}");
        if payload["is_ext_shared_channel"] == true
            || payload.pointer("/event/bot_id").is_some_and(Value::is_string)
        {
            assert_ne!(class.class, Class::Explicit, "{name}");
        }
        let text = desk.events().await[0].to_json().to_string();
        for word in ["verification_token", "verification-token", "hooks.slack.com"] {
            assert!(!text.contains(word), "{name}: {word}");
        }
    }
}

#[tokio::test]
async fn all_of_slacks_payloads_through_one_front_leave_a_class_for_each_delivery() {
    let Some(cases) = cases() else { return };
    let desk = Desk::open().await;
    for (name, payload) in &cases {
        assert_eq!(desk.post(body(payload)).await.status, StatusCode::OK, "{name}");
    }
    let classes = desk.classes().await;
    let events = desk.events().await;
    let deliveries = events.iter().filter(|event| matches!(event.fact, Fact::DeliveryReceived(_))).count();
    assert_eq!(classes.len(), deliveries);
    let health = desk.healthz().await;
    let taken = health["accepted"].as_u64().unwrap() + health["duplicates"].as_u64().unwrap();
    assert_eq!((taken, health["accepted"].as_u64().unwrap()), (cases.len() as u64, deliveries as u64));
    eprintln!("{} payloads, {deliveries} deliveries", cases.len());
}
