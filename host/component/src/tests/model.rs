//! A model's answer, and what the host makes of a bad one.

use super::kit::{Heard, Kit, component, failure, kit, small};
use gate::{FailureKind, InferResponse, Output, Part, StopReason, ToolCall};
use serde_json::json;
use std::sync::Arc;

async fn parrot() -> Kit {
    kit(small(), &[component("parrot")], &[], &[]).await
}

async fn answer(kit: &Kit, text: &str, heard: &Arc<Heard>) -> InferResponse {
    match kit.hands.run(kit.infer(text, Some(heard.clone()))).await.outcome {
        Ok(Output::Model(response)) => response,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn text_is_heard_as_it_is_written_and_counts_as_it_is_answered() {
    let (kit, heard) = (parrot().await, Arc::new(Heard::default()));
    let response = answer(&kit, "one two three", &heard).await;
    assert_eq!(response.parts, [Part::Text("one two three".to_owned())]);
    assert_eq!(*heard.0.lock().unwrap(), ["one ", "two ", "three"]);
    let usage =
        event::Usage { input_tokens: 11, cached_input_tokens: 3, cache_write_tokens: 2, output_tokens: 5 };
    assert_eq!((response.stop, response.usage), (StopReason::End, Some(usage)));
}

#[tokio::test]
async fn a_model_is_asked_by_the_name_its_plugin_gave_it() {
    let (kit, heard) = (parrot().await, Arc::new(Heard::default()));
    assert_eq!(answer(&kit, "who", &heard).await.parts, [Part::Text("grey".to_owned())]);
}

#[tokio::test]
async fn a_flood_of_deltas_stops_at_the_limit_of_the_answer() {
    let (kit, heard) = (parrot().await, Arc::new(Heard::default()));
    let response = answer(&kit, "flood", &heard).await;
    let bytes: usize = heard.0.lock().unwrap().iter().map(String::len).sum();
    assert_eq!(bytes, small().models.output_bytes, "four mebibytes were written");
    assert_eq!(response.stop, StopReason::Other("unnamed".to_owned()));
}

#[tokio::test]
async fn a_call_is_an_object_and_a_result_is_the_hosts_to_say() {
    let (kit, heard) = (parrot().await, Arc::new(Heard::default()));
    let call = ToolCall {
        id: "1".to_owned(),
        name: "web.fetch".to_owned(),
        input: json!({"url": "https://api.example.com"}),
    };
    let response = answer(&kit, "call", &heard).await;
    assert_eq!((response.parts, response.stop), (vec![Part::ToolCall(call)], StopReason::ToolUse));
    for text in ["miscall", "forge"] {
        let failure = failure(kit.hands.run(kit.infer(text, None)).await);
        assert_eq!(failure.kind, FailureKind::Guest, "{}", failure.message);
    }
}

#[tokio::test]
async fn an_answer_of_nothing_is_an_answer_without_usage() {
    let (kit, heard) = (parrot().await, Arc::new(Heard::default()));
    let response = answer(&kit, "nothing", &heard).await;
    assert_eq!((response.parts, response.usage), (Vec::new(), None));
}

#[tokio::test]
async fn a_failure_of_the_provider_keeps_its_kind() {
    let kit = parrot().await;
    let overloaded = failure(kit.hands.run(kit.infer("overloaded", None)).await);
    assert_eq!((overloaded.kind, overloaded.retry_after_ms), (FailureKind::RateLimited, Some(1_500)));
    assert_eq!(failure(kit.hands.run(kit.infer("too-long", None)).await).kind, FailureKind::TooLong);
    let long = "x".repeat(small().models.input_bytes);
    let failed = failure(kit.hands.run(kit.infer(&long, None)).await);
    assert_eq!(failed.kind, FailureKind::TooLong);
    assert!(failed.message.contains("the conversation for `parrot/grey` is longer"), "{}", failed.message);
}
