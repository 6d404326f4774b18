//! What is asked, and what an answer becomes, without a component.

use crate::{MODELS, OpenAi};
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
        false
    }
    fn log(&self, _: Level, _: &str) {}
}

/// Answers once, with these pieces.
struct Canned {
    kind: &'static str,
    pieces: Vec<String>,
    asked: RefCell<Vec<Ask>>,
}

impl Canned {
    fn stream(events: &[Value]) -> Self {
        let event = |data: &Value| format!("data: {data}\n\n");
        let done = std::iter::once("data: [DONE]\n\n".to_owned());
        let pieces = events.iter().map(event).chain(done).collect();
        Self { kind: "text/event-stream", pieces, asked: RefCell::default() }
    }

    fn whole(text: &Value) -> Self {
        Self { kind: "application/json", pieces: vec![text.to_string()], asked: RefCell::default() }
    }

    fn body(&self) -> Value {
        serde_json::from_slice(&self.asked.borrow()[0].body).unwrap()
    }
}

struct Pieces(Vec<(String, Vec<u8>)>, std::vec::IntoIter<String>);

impl Flow for Pieces {
    fn status(&self) -> u16 {
        200
    }
    fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.0
    }
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.1.next().map(String::into_bytes))
    }
}

impl Flows for Canned {
    fn open(&self, ask: &Ask, _: Waits) -> Result<Box<dyn Flow>, Failure> {
        self.asked.borrow_mut().push(ask.clone());
        let headers = vec![("content-type".to_owned(), self.kind.as_bytes().to_vec())];
        Ok(Box::new(Pieces(headers, self.pieces.clone().into_iter())))
    }
}

fn infer(request: Request, settings: Value, way: &Canned) -> Result<Response, ModelFailure> {
    OpenAi::infer(request, &Settings(settings), way, &mut |_| Next::GoOn)
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

/// A conversation with everything in it but images and files.
fn asked(model: &str) -> Request {
    let offer = Offer {
        name: "web.fetch".to_owned(),
        description: "Reads a page.".to_owned(),
        input_schema: "{\"type\":\"object\"}".to_owned(),
    };
    let call = ModelCall { id: "c1".to_owned(), name: "web.fetch".to_owned(), input: json!({"a": 1}) };
    let outcome = Outcome { id: "c1".to_owned(), output: "{}".to_owned(), failed: true };
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"});
    let foreign = json!({"type": "thinking", "thinking": ""});
    let said = vec![Part::Notes(reasoning), Part::Notes(foreign), text("Well."), text(" "), Part::Call(call)];
    let messages = vec![
        Message { role: Role::User, parts: vec![text("hi"), Part::CacheMark] },
        Message { role: Role::Assistant, parts: said },
        Message { role: Role::User, parts: vec![Part::Outcome(outcome), text("[office] go on")] },
    ];
    let system = "Be brief.".to_owned();
    Request { model: model.to_owned(), system, messages, tools: vec![offer], output_tokens_max: 500 }
}

fn chunk(delta: Value, stop: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]})
}

#[test]
fn the_manifest_names_each_model_and_all_but_the_custom_ones_have_a_price() {
    let manifest: toml::Table = include_str!("../plugin.toml").parse().unwrap();
    let models = manifest["model"].as_array().unwrap();
    let names: Vec<&str> = models.iter().map(|model| model["name"].as_str().unwrap()).collect();
    assert_eq!(names, MODELS.map(|(name, ..)| name));
    let prices: toml::Table = include_str!("../../../policies/prices.toml").parse().unwrap();
    for name in names {
        let has_price = prices["price"].get(format!("openai/{name}")).is_some();
        assert_eq!(has_price, !name.starts_with("custom-"), "{name}");
    }
}

#[test]
fn responses_is_asked_with_items_and_nothing_is_kept_there() {
    let way = Canned::stream(&[]);
    infer(asked("gpt-6.2-sol"), json!({"effort": "low"}), &way).unwrap_err();
    assert_eq!(way.asked.borrow()[0].address.origin(), "https://api.openai.com");
    assert_eq!(way.asked.borrow()[0].address.path_and_query(), "/v1/responses");
    let wanted = json!({
        "model": "gpt-6.2-sol",
        "max_output_tokens": 500,
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low"},
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "web_fetch", "description": "Reads a page.",
            "parameters": {"type": "object"}, "strict": false}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2ln"},
            {"role": "assistant", "content": "Well."},
            {"type": "function_call", "call_id": "c1", "name": "web_fetch", "arguments": "{\"a\":1}"},
            {"type": "function_call_output", "call_id": "c1", "output": "{}"},
            {"role": "user", "content": [{"type": "input_text", "text": "[office] go on"}]},
        ],
    });
    assert_eq!(way.body(), wanted);
}

#[test]
fn chat_is_asked_with_messages_and_a_custom_model_by_its_own_name() {
    let way = Canned::stream(&[]);
    let settings =
        json!({"api": "chat", "base_url": "http://127.0.0.1:8080/v1/", "models": {"custom-32k": "tiny"}});
    infer(asked("custom-32k"), settings, &way).unwrap_err();
    assert_eq!(way.asked.borrow()[0].address.path_and_query(), "/v1/chat/completions");
    let wanted = json!({
        "model": "tiny",
        "max_tokens": 500,
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {"name": "web_fetch", "description": "Reads a page.",
            "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "Well.", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "web_fetch", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "{}"},
            {"role": "user", "content": "[office] go on"},
        ],
    });
    assert_eq!(way.body(), wanted);
}

#[test]
fn a_custom_model_without_a_name_and_an_unknown_api_are_refused_and_say_what_to_set() {
    for (settings, said) in [(json!({}), "`models`"), (json!({"api": "assistants"}), "`api`")] {
        let failure = infer(asked("custom-8k"), settings, &Canned::stream(&[])).unwrap_err();
        assert_eq!(failure.kind, ModelKind::Refused);
        assert!(failure.message.contains(said), "{}", failure.message);
    }
}

#[test]
fn images_and_files_go_in_the_form_of_their_type_or_not_at_all() {
    let media = |kind: &str, content: &str| Media {
        media_type: kind.to_owned(),
        name: None,
        content: content.to_owned(),
    };
    let with = |parts: Vec<Part>| Request {
        messages: vec![Message { role: Role::User, parts }],
        ..asked("gpt-6-luna")
    };
    let parts = || {
        let files = [media("application/pdf", "aQ=="), media("text/csv", "YSxi")].map(Part::File);
        std::iter::once(Part::Image(media("image/png", "aQ=="))).chain(files).collect::<Vec<_>>()
    };
    let way = Canned::stream(&[]);
    infer(with(parts()), json!({}), &way).unwrap_err();
    let content = way.body()["input"][0]["content"].clone();
    assert_eq!(content[0]["image_url"], "data:image/png;base64,aQ==");
    assert_eq!(content[1]["file_data"], "data:application/pdf;base64,aQ==");
    assert_eq!(content[2], json!({"type": "input_text", "text": "file:\na,b"}));
    let way = Canned::stream(&[]);
    infer(with(parts()), json!({"api": "chat"}), &way).unwrap_err();
    let content = way.body()["messages"][1]["content"].clone();
    assert_eq!(content[0]["image_url"]["url"], "data:image/png;base64,aQ==");
    assert_eq!(content[1]["file"]["filename"], "file");
    let wrong = with(vec![Part::File(media("video/mp4", "aQ=="))]);
    assert_eq!(infer(wrong, json!({}), &Canned::stream(&[])).unwrap_err().kind, ModelKind::Refused);
}

#[test]
fn a_server_that_leaves_out_what_it_may_is_understood_all_the_same() {
    // No ids, no indices, `stop` where tools are wanted, no `[DONE]`, and no usage.
    let call = json!({"tool_calls": [{"function": {"name": "web_fetch", "arguments": "{}"}}]});
    let mut way =
        Canned::stream(&[chunk(json!({"content": "Hm."}), Value::Null), chunk(call, json!("stop"))]);
    way.pieces.pop();
    let response = infer(asked("gpt-6-luna"), json!({"api": "chat"}), &way).unwrap();
    let wanted = ModelCall { id: "call_2".to_owned(), name: "web.fetch".to_owned(), input: json!({}) };
    assert_eq!(
        response,
        Response { parts: vec![text("Hm."), Part::Call(wanted)], stop: Stop::ToolUse, usage: None }
    );
}

#[test]
fn an_answer_that_was_not_streamed_is_read_whole() {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 14});
    let message = json!({"role": "assistant", "content": "Hi.", "tool_calls": null, "refusal": null});
    let whole =
        json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage});
    let response = infer(asked("gpt-6-luna"), json!({"api": "chat"}), &Canned::whole(&whole)).unwrap();
    let used = Usage { input_tokens: 5, output_tokens: 9, ..Usage::default() };
    assert_eq!(response, Response { parts: vec![text("Hi.")], stop: Stop::End, usage: Some(used) });
    let item = json!({"type": "message", "content": [{"type": "output_text", "text": "Hi."}]});
    let usage = json!({"input_tokens": 5, "output_tokens": 9});
    let whole = json!({"status": "completed", "output": [item], "usage": usage});
    let response = infer(asked("gpt-6-luna"), json!({}), &Canned::whole(&whole)).unwrap();
    assert_eq!((response.parts, response.usage), (vec![text("Hi.")], Some(used)));
}

#[test]
fn why_a_model_stopped_is_told_in_the_hosts_words() {
    for (reason, wanted) in [
        ("stop", Stop::End),
        ("length", Stop::Length),
        ("content_filter", Stop::Declined),
        ("tired_of_it", Stop::Other("tired-of-it".to_owned())),
    ] {
        let way = Canned::stream(&[chunk(json!({"content": "Hi."}), json!(reason))]);
        assert_eq!(infer(asked("gpt-6-luna"), json!({"api": "chat"}), &way).unwrap().stop, wanted);
    }
    let call = json!({"type": "function_call", "call_id": "c", "name": "web_fetch", "arguments": "{\"a"});
    let notes = json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": null});
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]});
    for (status, reason, output, wanted) in [
        // Half a call is left out, and the notes that led to it.
        ("incomplete", "max_output_tokens", vec![notes.clone(), call], Stop::Length),
        ("incomplete", "content_filter", vec![], Stop::Declined),
        ("completed", "", vec![refusal], Stop::Declined),
    ] {
        let response = json!({"status": status, "output": output, "incomplete_details": {"reason": reason}});
        let told = json!({"type": format!("response.{status}"), "sequence_number": 0, "response": response});
        let response = infer(asked("gpt-6-luna"), json!({}), &Canned::stream(&[told])).unwrap();
        assert_eq!((response.parts, response.stop), (Vec::new(), wanted));
    }
}

#[test]
fn notes_go_back_without_what_was_never_said() {
    let notes = json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": null, "status": null});
    let response = json!({"status": "completed", "output": [notes]});
    let told = json!({"type": "response.completed", "sequence_number": 0, "response": response});
    let response = infer(asked("gpt-6-luna"), json!({}), &Canned::stream(&[told])).unwrap();
    assert_eq!(response.parts, [Part::Notes(json!({"type": "reasoning", "id": "rs_1", "summary": []}))]);
}
