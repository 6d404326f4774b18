//! What is asked, and what an answer becomes, without a component.

use crate::{Anthropic, MODELS};
use guest::http::{Ask, Flow, Flows, Waits};
use guest::model::{
    Media, Message, ModelCall, ModelFailure, ModelKind, Models, Next, Offer, Outcome, Part, Request,
    Response, Role, Stop, Usage,
};
use guest::{Failure, Host, Level};
use serde_json::{Value, json};
use std::cell::RefCell;

struct Settings(Value);

impl Host for Settings {
    fn setting(&self, key: &str) -> Option<Value> {
        self.0.get(key).cloned()
    }
    fn credential_exists(&self, _: &str) -> bool {
        true
    }
    fn log(&self, _: Level, _: &str) {}
}

/// Answers once, with these pieces.
struct Canned {
    status: u16,
    kind: &'static str,
    pieces: Vec<String>,
    asked: RefCell<Vec<(Ask, Waits)>>,
}

impl Canned {
    fn stream(pieces: &[Value]) -> Self {
        let event = |data: &Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
        Self::whole(200, "text/event-stream", pieces.iter().map(event).collect())
    }

    fn whole(status: u16, kind: &'static str, pieces: Vec<String>) -> Self {
        Self { status, kind, pieces, asked: RefCell::default() }
    }

    fn body(&self) -> Value {
        serde_json::from_slice(&self.asked.borrow()[0].0.body).unwrap()
    }
}

struct Pieces(u16, Vec<(String, Vec<u8>)>, std::vec::IntoIter<String>);

impl Flow for Pieces {
    fn status(&self) -> u16 {
        self.0
    }
    fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.1
    }
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.2.next().map(String::into_bytes))
    }
}

impl Flows for Canned {
    fn open(&self, ask: &Ask, waits: Waits) -> Result<Box<dyn Flow>, Failure> {
        self.asked.borrow_mut().push((ask.clone(), waits));
        let headers = vec![("Content-Type".to_owned(), self.kind.as_bytes().to_vec())];
        Ok(Box::new(Pieces(self.status, headers, self.pieces.clone().into_iter())))
    }
}

fn infer(request: Request, settings: Value, way: &Canned) -> Result<Response, ModelFailure> {
    Anthropic::infer(request, &Settings(settings), way, &mut |_| Next::GoOn)
}

fn user(parts: Vec<Part>) -> Message {
    Message { role: Role::User, parts }
}

fn asked(messages: Vec<Message>) -> Request {
    let offer = Offer {
        name: "web.fetch".to_owned(),
        description: "Reads a page.".to_owned(),
        input_schema: "{\"type\":\"object\"}".to_owned(),
    };
    Request {
        model: MODELS[0].to_owned(),
        system: "Be brief.".to_owned(),
        messages,
        tools: vec![offer],
        output_tokens_max: 500,
    }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn spoken() -> Vec<Value> {
    let usage = json!({"input_tokens": 5, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 3, "output_tokens": 1});
    vec![
        json!({"type": "message_start", "message": {"content": [], "stop_reason": null, "usage": usage}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "server_news", "x": 1}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "news_delta", "x": 2}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}),
        json!({"type": "news"}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn the_manifest_names_each_model_with_a_price_of_its_name() {
    let manifest: toml::Table = include_str!("../plugin.toml").parse().unwrap();
    let models = manifest["model"].as_array().unwrap();
    let names: Vec<&str> = models.iter().map(|model| model["name"].as_str().unwrap()).collect();
    assert_eq!(names, MODELS);
    let prices: toml::Table = include_str!("../../../policies/prices.toml").parse().unwrap();
    for model in models {
        let key = model["price_key"].as_str().unwrap();
        assert_eq!(key, format!("anthropic/{}", model["name"].as_str().unwrap()));
        assert!(prices["price"].get(key).is_some(), "`{key}` has no price");
    }
}

#[test]
fn what_is_added_to_the_api_later_is_passed_over() {
    let way = Canned::stream(&spoken());
    let response = infer(asked(vec![user(vec![text("hi")])]), json!({}), &way).unwrap();
    let usage = Usage { input_tokens: 10, cached_input_tokens: 3, cache_write_tokens: 2, output_tokens: 9 };
    assert_eq!(response, Response { parts: vec![text("Hi.")], stop: Stop::End, usage: Some(usage) });
}

#[test]
fn a_request_has_the_form_the_provider_takes() {
    let way = Canned::stream(&spoken());
    let call = ModelCall { id: "c1".to_owned(), name: "web.fetch".to_owned(), input: json!({"a": 1}) };
    let outcome = Outcome { id: "c1".to_owned(), output: "{}".to_owned(), failed: true };
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "c2ln"});
    let foreign = json!({"type": "reasoning", "id": "rs_1"});
    let said = vec![Part::Notes(thinking.clone()), Part::Notes(foreign), text(" "), Part::Call(call)];
    let request = asked(vec![
        user(vec![text("hi"), Part::CacheMark]),
        Message { role: Role::Assistant, parts: said },
        user(vec![text("[office] go on"), Part::Outcome(outcome)]),
    ]);
    infer(request, json!({"base_url": "https://gateway.example/", "effort": "low"}), &way).unwrap();
    let asks = way.asked.borrow();
    let (ask, waits) = &asks[0];
    assert_eq!(ask.address.origin(), "https://gateway.example");
    assert_eq!(ask.address.path_and_query(), "/v1/messages");
    assert!(waits.first_byte_ms > 0 && ask.headers.contains(&("anthropic-version", "2023-06-01")));
    let mark = json!({"type": "ephemeral"});
    let wanted = json!({
        "model": "claude-opus-5-5",
        "max_tokens": 500,
        "stream": true,
        "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
        "output_config": {"effort": "low"},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
        "tools": [{"name": "web_fetch", "description": "Reads a page.", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": mark}]},
            {"role": "assistant", "content": [
                thinking,
                {"type": "tool_use", "id": "c1", "name": "web_fetch", "input": {"a": 1}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "{}", "is_error": true},
                {"type": "text", "text": "[office] go on"},
            ]},
        ],
    });
    assert_eq!(way.body(), wanted);
}

#[test]
fn at_most_four_places_are_marked_and_never_thinking() {
    let way = Canned::stream(&spoken());
    let thinking = Part::Notes(json!({"type": "thinking", "thinking": "", "signature": "c2ln"}));
    let marked = |n: usize| user(vec![text(&format!("{n}")), Part::CacheMark]);
    let mut messages: Vec<Message> = (0..5).map(marked).collect();
    messages.push(Message { role: Role::Assistant, parts: vec![text("ok"), thinking, Part::CacheMark] });
    infer(asked(messages), json!({}), &way).unwrap();
    let body = way.body();
    assert_eq!(body.to_string().matches("cache_control").count(), 4);
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert!(
        last["content"][0].get("cache_control").is_some()
            && last["content"][1].get("cache_control").is_none()
    );
}

#[test]
fn a_conversation_without_marks_is_kept_to_its_end_and_begins_with_people() {
    let way = Canned::stream(&spoken());
    let earlier = Message { role: Role::Assistant, parts: vec![text("Earlier.")] };
    infer(asked(vec![earlier, user(vec![text("hi")])]), json!({"thinking": false}), &way).unwrap();
    let body = way.body();
    assert_eq!((&body["messages"][0]["role"], body.get("thinking")), (&json!("user"), None));
    assert!(body["messages"][2]["content"][0].get("cache_control").is_some());
    assert!(!way.asked.borrow()[0].0.headers.iter().any(|(name, _)| *name == "anthropic-beta"));
}

#[test]
fn images_and_files_go_in_the_form_of_their_type_or_not_at_all() {
    let media = |kind: &str, content: &str| Media {
        media_type: kind.to_owned(),
        name: Some("a".to_owned()),
        content: content.to_owned(),
    };
    let way = Canned::stream(&spoken());
    let parts = vec![
        Part::Image(media("image/png", "aQ==")),
        Part::File(media("application/pdf", "aQ==")),
        Part::File(media("text/csv", "YSxi")),
    ];
    infer(asked(vec![user(parts)]), json!({}), &way).unwrap();
    let content = way.body()["messages"][0]["content"].clone();
    assert_eq!(content[0]["source"], json!({"type": "base64", "media_type": "image/png", "data": "aQ=="}));
    assert_eq!(content[1]["source"]["media_type"], "application/pdf");
    assert_eq!(content[2]["source"], json!({"type": "text", "media_type": "text/plain", "data": "a,b"}));
    for wrong in [Part::Image(media("image/tiff", "aQ==")), Part::File(media("text/plain", "/w=="))] {
        let failure = infer(asked(vec![user(vec![wrong])]), json!({}), &way).unwrap_err();
        assert_eq!(failure.kind, ModelKind::Refused, "{}", failure.message);
    }
}

#[test]
fn an_answer_that_was_not_streamed_is_read_whole() {
    let content = json!([
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "text", "text": "Hi."},
        {"type": "tool_use", "id": "c", "name": "web_fetch", "input": {"a": 1}},
    ]);
    let usage = json!({"input_tokens": 5, "output_tokens": 9});
    let whole =
        json!({"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage}).to_string();
    let way = Canned::whole(200, "application/json", vec![whole]);
    let response = infer(asked(vec![user(vec![text("hi")])]), json!({}), &way).unwrap();
    assert_eq!((response.parts.len(), response.stop), (3, Stop::ToolUse));
    assert_eq!(response.usage.unwrap().input_tokens, 5);
}

#[test]
fn a_call_that_the_limit_cut_is_left_out_with_the_thinking_before_it() {
    let mut told = vec![spoken()[0].clone()];
    for (index, (block, delta)) in [
        (
            json!({"type": "thinking", "thinking": ""}),
            json!({"type": "signature_delta", "signature": "c2ln"}),
        ),
        (
            json!({"type": "tool_use", "id": "c", "name": "a"}),
            json!({"type": "input_json_delta", "partial_json": "{\"a"}),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        told.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        told.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        told.push(json!({"type": "content_block_stop", "index": index}));
    }
    told.push(json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}}));
    told.push(json!({"type": "message_stop"}));
    let response = infer(asked(vec![user(vec![text("hi")])]), json!({}), &Canned::stream(&told)).unwrap();
    assert_eq!((response.parts, response.stop), (Vec::new(), Stop::Length));
}

#[test]
fn why_a_model_stopped_is_told_in_the_hosts_words() {
    for (reason, wanted) in [
        ("stop_sequence", Stop::End),
        ("max_tokens", Stop::Length),
        ("model_context_window_exceeded", Stop::Length),
        ("refusal", Stop::Declined),
        ("pause_turn", Stop::Other("pause-turn".to_owned())),
    ] {
        let mut told = spoken();
        told[8]["delta"]["stop_reason"] = json!(reason);
        let response = infer(asked(vec![user(vec![text("hi")])]), json!({}), &Canned::stream(&told)).unwrap();
        assert_eq!(response.stop, wanted);
    }
}

#[test]
fn who_is_told_to_stop_hangs_up() {
    let way = Canned::stream(&spoken());
    let request = asked(vec![user(vec![text("hi")])]);
    let stopped = Anthropic::infer(request, &Settings(json!({})), &way, &mut |_| Next::Stop).unwrap_err();
    assert_eq!(stopped.kind, ModelKind::Stopped);
}
