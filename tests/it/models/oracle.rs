//! The vendors' own client libraries as the other side: their types check what is asked and make what is answered, and
//! their clients read what the tests play. They come from PyPI, pinned, into the build folder.

use super::*;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tests::office::repository;
use tests::python::python;

/// A running oracle.
struct Oracle {
    child: Child,
    origin: String,
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn script() -> PathBuf {
    repository().join("tests/oracle/oracle.py")
}

/// Starts it, on a thread of its own: the office of the test goes on meanwhile.
async fn oracle() -> Oracle {
    tokio::task::spawn_blocking(|| {
        let mut child =
            Command::new(python()).arg(script()).arg("serve").stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Oracle { child, origin: format!("http://127.0.0.1:{}", port.trim()) }
    })
    .await
    .unwrap()
}

/// Everything a conversation may hold.
fn everything(api: Api) -> InferRequest {
    let media = |kind: &str, content: &str| gate::Media {
        media_type: kind.to_owned(),
        name: Some("a.pdf".to_owned()),
        content: content.to_owned(),
    };
    let said = vec![
        Part::Text("I will look.".into()),
        Part::Text("  ".into()),
        Part::ToolCall(ToolCall {
            id: "toolu_0".into(),
            name: "web.fetch".into(),
            input: json!({"url": "https://b.example/", "deep": {"list": [1, null, "ä"]}}),
        }),
    ];
    let result = gate::ToolResult { id: "toolu_0".into(), output: json!({"title": "Tide"}), failed: true };
    let asked_for = vec![
        Part::Text("Look at these.".into()),
        Part::Image(media("image/png", "iVBORw0KGgo=")),
        Part::File(media("application/pdf", "JVBERi0=")),
        Part::File(media("text/plain", "aGVsbG8=")),
        Part::CacheMark,
    ];
    let user = |parts| Message { role: Role::User, parts };
    let messages = vec![
        user(asked_for),
        Message { role: Role::Assistant, parts: said },
        user(vec![Part::Text("[office] go on".into()), Part::ToolResult(result), Part::CacheMark]),
    ];
    InferRequest { messages, ..asked(api, "") }
}

async fn answer(office: &Office, request: InferRequest, step: u32) -> gate::InferResponse {
    match office.built.gate.pass(call(office, request, step).await, None).await.unwrap() {
        Passed::Done { output: Output::Model(response), .. } => response,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_types_take_what_is_asked_and_make_what_is_understood() {
    let oracle = oracle().await;
    // What is asked of a provider of one's own goes to the oracle instead.
    for api in APIS {
        let mut provider = Provider::serve().await;
        provider.origin.clone_from(&oracle.origin);
        let office = kit(api, &provider, ", effort = \"low\"").await.open().await;
        let first = answer(&office, everything(api), 1).await;
        let made: Vec<&ToolCall> = first
            .parts
            .iter()
            .filter_map(|part| if let Part::ToolCall(call) = part { Some(call) } else { None })
            .collect();
        assert_eq!(made.len(), 1, "{api:?}: {first:?}");
        assert_eq!(
            (made[0].name.as_str(), &made[0].input),
            ("web.fetch", &json!({"url": "https://a.example/ü"}))
        );
        assert_eq!(first.stop, gate::StopReason::ToolUse);
        assert_eq!(hold(&office).await, ("settled", price(api)), "{api:?}");

        // What it said, its notes included, goes back with what came of it.
        let mut next = everything(api);
        let outcome = gate::ToolResult { id: made[0].id.clone(), output: json!("the-result"), failed: false };
        next.messages.push(Message { role: Role::Assistant, parts: first.parts.clone() });
        next.messages.push(Message { role: Role::User, parts: vec![Part::ToolResult(outcome)] });
        let second = answer(&office, next, 2).await;
        assert!(second.parts.contains(&Part::Text("All read.".into())), "{api:?}: {second:?}");
        assert_eq!(second.stop, gate::StopReason::End);
        office.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_vendors_clients_understand_what_these_tests_play() {
    for api in APIS {
        let provider = Provider::serve().await;
        provider.plays(
            api.answer("Let me see.", Some(("call_a", "web_fetch", r#"{"url":"https://a.example/"}"#))),
        );
        let way = match api {
            Api::Messages => "messages",
            Api::Chat => "chat",
            Api::Responses => "responses",
        };
        let origin = provider.origin.clone();
        let output = tokio::task::spawn_blocking(move || {
            Command::new(python()).arg(script()).args(["read", way, &origin]).output().unwrap()
        });
        let output = output.await.unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{api:?}: {}", String::from_utf8_lossy(&output.stderr));
        let said: Value = serde_json::from_str(said.trim()).unwrap();
        let parts = said["parts"].to_string();
        assert!(parts.contains("Let me see.") && parts.contains("https://a.example/"), "{said}");
        let cached = said["usage"].to_string();
        assert!(cached.contains("60") && cached.contains("30"), "{said}");
    }
}
