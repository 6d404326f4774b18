//! What a guest says is not believed.

use super::kit::{Heard, component, failure, hostile, kit, output, small};
use crate::Plugins;
use gate::{Catalogue, Deltas, FailureKind, Payload};
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn an_answer_outside_its_schema_is_a_failure_of_the_guest() {
    let kit = hostile(small()).await;
    assert_eq!(output(kit.call("hostile.lie", json!({})).await), json!({"truth": true}));
    for (how, words) in [
        ("schema", "`/truth`: \"maybe\" is not of type \"boolean\""),
        ("json", "what should be JSON is not"),
        ("inexact", "the number at `/n` is beyond"),
        ("panic", "`hostile.lie` trapped: "),
    ] {
        let failure = failure(kit.call("hostile.lie", json!({"how": how})).await);
        assert_eq!(failure.kind, FailureKind::Guest, "{how}");
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_failure_is_one_short_line_with_a_word_for_its_kind() {
    let kit = hostile(small()).await;
    let word = failure(kit.call("hostile.lie", json!({"how": "word"})).await);
    assert_eq!(word.kind, FailureKind::Other("unnamed".to_owned()));
    let long = failure(kit.call("hostile.lie", json!({"how": "long"})).await);
    assert_eq!((long.kind, long.message.len()), (FailureKind::Unavailable, small().tools.message_bytes));
    assert_eq!(failure(kit.call("hostile.lie", json!({"how": "two lines"})).await).message, "one\u{fffd}two");
}

#[tokio::test]
async fn a_call_runs_the_component_that_was_admitted_or_none() {
    let kit = hostile(small()).await;
    let mut request = kit.request("hostile.echo", json!({}));
    request.digest = event::Digest::of(b"another");
    let failed = failure(kit.hands.run(request).await);
    assert_eq!(failed.kind, FailureKind::Unavailable);
    assert!(failed.message.contains("not loaded any more"), "{}", failed.message);
    let request = kit.request("hostile.echo", json!({}));
    // The set before is still found by a call that was admitted just then; the one before that is gone.
    kit.hands.replace(Plugins::default());
    kit.hands.replace(Plugins::default());
    assert!(kit.hands.tools().is_empty());
    assert_eq!(failure(kit.hands.run(request).await).kind, FailureKind::Unavailable);
}

#[tokio::test]
async fn a_tool_that_the_component_does_not_offer_is_a_failure() {
    let kit = kit(small(), &[component("hostile"), component("parrot")], &[], &[]).await;
    let mut request = kit.request("hostile.echo", json!({}));
    request.tool = "hostile.other".to_owned();
    assert!(failure(kit.hands.run(request).await).message.contains("does not offer `hostile.other`"));
    let mut request = kit.infer("hello", None);
    request.payload = Payload::Tool(json!({}));
    assert_eq!(failure(kit.hands.run(request).await).kind, FailureKind::Guest);
}

#[tokio::test]
async fn a_fault_of_the_host_under_a_guest_stays_within_its_call() {
    struct Faulty;
    impl Deltas for Faulty {
        fn write(&self, _: &str) {
            panic!("a fault of this test");
        }
    }
    let kit = kit(small(), &[component("parrot")], &[], &[]).await;
    let failed = failure(kit.hands.run(kit.infer("hello", Some(Arc::new(Faulty)))).await);
    assert_eq!(failed.kind, FailureKind::Guest);
    assert!(
        failed.message.ends_with("a fault of the host, not its own: a fault of this test"),
        "{}",
        failed.message
    );
    assert!(kit.hands.run(kit.infer("hello", Some(Arc::new(Heard::default())))).await.outcome.is_ok());
}
