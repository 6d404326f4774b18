//! A credential that is looked for everywhere it must not be: in the memory of the guest whose request it went out
//! with, in what the guest and the host say of the call, and in every line that was logged meanwhile.

use super::kit::{Kit, TOKEN, component, granted, kit, output, route, small};
use super::server::{Manner, Server};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What `hostile.search` unmasks with.
const MASK: u8 = 0x5a;

/// Every line that is logged, at every level.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<String>>);

impl Logged {
    /// Hears everything in this process from now on.
    fn everything() -> Self {
        let logged = Self::default();
        tracing::subscriber::set_global_default(logged.clone()).unwrap();
        logged
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl Visit for Logged {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().unwrap().push_str(&format!("{field}={value:?}\n"));
    }
}

impl Subscriber for Logged {
    /// All but what the host's own log leaves out.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.target().starts_with(crate::REPEATS_GUESTS)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push_str(&format!(
            "{} {}: ",
            event.metadata().level(),
            event.metadata().target()
        ));
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn masked(text: &str) -> String {
    text.bytes().map(|byte| format!("{:02x}", byte ^ MASK)).collect()
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn json_escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("\\u{byte:04x}")).collect()
}

/// The credential in every spelling that somebody might read it in.
fn spellings() -> Vec<String> {
    vec![
        TOKEN.to_owned(),
        STANDARD.encode(TOKEN),
        URL_SAFE_NO_PAD.encode(format!("Bearer {TOKEN}")),
        percent(TOKEN),
        json_escaped(TOKEN),
        TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect(),
    ]
}

fn holds_none(what: &str, text: &str) {
    for spelling in spellings() {
        let line = text.lines().find(|line| line.contains(&spelling));
        assert!(line.is_none(), "{what} holds `{spelling}`: {}", line.unwrap_or_default());
    }
}

fn body(text: &str) -> String {
    format!("200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}

/// Answers that say the credential back, each in a way of its own.
const ECHOES: [fn(&str) -> String; 8] = [
    body,
    |_| body(&format!("your key: {TOKEN}.")),
    |_| body(&format!("{{\"basic\": \"{}\"}}", STANDARD.encode(TOKEN))),
    |_| body(&format!("{{\"bearer\": \"{}\"}}", URL_SAFE_NO_PAD.encode(format!("Bearer {TOKEN}")))),
    |_| body(&format!("https://other.example/?key={}", percent(TOKEN))),
    |_| body(&format!("{{\"key\": \"{}\"}}", json_escaped(TOKEN))),
    |_| format!("302 Found\r\nlocation: /?key={}\r\ncontent-length: 0\r\n\r\n", percent(TOKEN)),
    |_| format!("401 Unauthorized\r\nx-your-key: {TOKEN}\r\ncontent-length: 0\r\n\r\n"),
];

async fn towards(server: &Server) -> Kit {
    let routes = vec![route(&["GET", "POST"], &server.origin, "/", Some("hostile.token"))];
    kit(small(), &[component("hostile")], &[granted(routes)], &[&server.origin]).await
}

/// How often `text` is found in the memory of a guest that makes the request of `input` and then looks.
async fn found(kit: &Kit, text: &str, mut input: Value) -> u64 {
    input["masked"] = json!(masked(text));
    let reached = kit.call("hostile.search", input).await;
    holds_none("what is known of the call", &format!("{reached:?}"));
    output(reached).get("found").and_then(Value::as_u64).unwrap()
}

#[tokio::test]
async fn a_credential_is_nowhere_but_on_its_way_however_it_is_said_back() {
    let logged = Logged::everything();
    for (n, echo) in ECHOES.into_iter().enumerate() {
        let server = Server::start(Manner::Makes(echo)).await;
        let kit = towards(&server).await;
        for spelling in spellings() {
            assert_eq!(found(&kit, &spelling, json!({"url": server.origin})).await, 0, "echo {n}");
        }
        assert!(server.requests().iter().all(|request| request.contains(TOKEN)), "it went out");
    }
    let said = logged.text();
    assert!(said.contains("was refused"), "the log is looked at: {said}");
    holds_none("the log", &said);
}

#[tokio::test]
async fn a_guest_that_knows_the_credential_cannot_send_it_and_nobody_repeats_it() {
    let logged = Logged::everything();
    let server = Server::start(Manner::Answers("a page")).await;
    let kit = towards(&server).await;
    // So that the vault has read it: a value that was never used is not known.
    output(kit.call("hostile.fetch", json!({"url": server.origin})).await);
    for spelling in spellings().iter().take(5) {
        let address = format!("{}/?q={}", server.origin, spelling.replace('\\', "%5c"));
        for input in [
            json!({"url": address}),
            json!({"url": server.origin, "headers": {"x-note": spelling}}),
            json!({"url": server.origin, "method": "POST", "body": spelling}),
        ] {
            let reached = kit.call("hostile.push", input.clone()).await;
            assert!(!reached.request_sent, "{input}");
            holds_none("what is known of the call", &format!("{reached:?}"));
        }
    }
    assert_eq!(server.requests().len(), 1);
    holds_none("the log", &logged.text());
}

#[tokio::test]
async fn what_a_guest_has_in_memory_is_found_there() {
    let server = Server::start(Manner::Answers("a page of words")).await;
    let kit = towards(&server).await;
    assert!(found(&kit, "a page of words", json!({"url": server.origin})).await > 0);
}
