//! Whole responses, and the story of the demo played from beginning to end.

use serde_json::{Value, json};

use super::*;

const STORY: &str = include_str!("../../../demo/story.toml");

fn offers(names: &[&str]) -> Vec<Offer> {
    let offer = |name: &&str| Offer {
        name: (*name).to_owned(),
        description: String::new(),
        input_schema: "{}".to_owned(),
    };
    names.iter().map(offer).collect()
}

fn asked(text: &str) -> Request {
    Request {
        model: MODEL.to_owned(),
        system: "Be brief.".to_owned(),
        messages: vec![Message { role: Role::User, parts: vec![Part::Text(text.to_owned())] }],
        tools: offers(&["web.fetch", "finish"]),
        output_tokens_max: 500,
    }
}

/// Carries the conversation on: what the model answered, and what its one call returned.
fn go_on(request: &mut Request, response: Response, output: Value, failed: bool) {
    let id = only_call(&response).id.clone();
    request.messages.push(Message { role: Role::Assistant, parts: response.parts });
    let outcome = Part::Outcome(Outcome { id, output, failed });
    request.messages.push(Message { role: Role::User, parts: vec![outcome] });
}

fn only_call(response: &Response) -> &Call {
    let calls: Vec<&Call> = response
        .parts
        .iter()
        .filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None })
        .collect();
    assert_eq!(calls.len(), 1, "{response:?}");
    calls[0]
}

fn text_of(response: &Response) -> &str {
    match &response.parts[..] {
        [Part::Text(text), ..] => text,
        other => panic!("{other:?}"),
    }
}

const READING: &str = r#"
[[rule]]
when = ["read"]
[[rule.step]]
say = "Reading."
call = { tool = "web.fetch", input = { url = "{{url}}" } }
[[rule.step]]
calls = [{ tool = "a" }, { tool = "b", input = { n = 1 } }]
[[rule.step]]
finish = { outcome = "answered", text = "Read.", sources = ["{{result.1.receipt}}", "{{result.9.receipt}}"] }

[[rule]]
when = ["thanks"]
[[rule.step]]
finish = { outcome = "silent" }
"#;

#[test]
fn the_story_of_the_demo_quotes_the_page_and_says_why_the_intranet_was_denied() {
    let mut request = asked("What does http://127.0.0.1:4400/opening-hours.html say?");
    let first = infer(Some(STORY), &request).unwrap();
    assert_eq!(first.stop, Stop::ToolUse);
    assert!(text_of(&first).contains("http://127.0.0.1:4400/opening-hours.html"));
    let call = only_call(&first);
    assert_eq!((call.name.as_str(), call.id.as_str()), ("web.fetch", "call-1"));
    assert_eq!(call.input, json!({"url": "http://127.0.0.1:4400/opening-hours.html"}));
    let page = json!({"title": "Opening hours", "text": "# Hours\n\nWe open at nine. We close at five.", "status": 200});
    go_on(&mut request, first, page, false);

    let second = infer(Some(STORY), &request).unwrap();
    let call = only_call(&second);
    assert_eq!(call.input, json!({"url": "https://intranet.example.com/"}));
    assert_eq!(call.id, "call-2");
    go_on(&mut request, second, json!({"no": "denied", "reason": "no policy permits it"}), true);

    let third = infer(Some(STORY), &request).unwrap();
    let call = only_call(&third);
    assert_eq!(call.name, "finish");
    assert_eq!(call.input["outcome"], "answered");
    let text = call.input["text"].as_str().unwrap();
    for part in ["Opening hours", "We open at nine.", "no policy permits it"] {
        assert!(text.contains(part), "`{part}` in `{text}`");
    }
    assert!(!text.contains("We close") && !text.contains("(nothing)"), "{text}");
}

#[test]
fn the_manifest_names_the_one_model_and_its_price() {
    let manifest: toml::Table = include_str!("../plugin.toml").parse().unwrap();
    let models = manifest["model"].as_array().unwrap();
    assert_eq!(models.len(), 1);
    assert_eq!(models[0]["name"].as_str(), Some(MODEL));
    assert_eq!(models[0]["price_key"].as_str(), Some("scripted/story"));
}

#[test]
fn the_same_request_gives_the_same_response() {
    let request = asked("please read https://example.com/");
    assert_eq!(infer(Some(READING), &request), infer(Some(READING), &request));
}

#[test]
fn steps_follow_each_other_and_calls_are_numbered_through_the_conversation() {
    let mut request = asked("please read https://example.com/");
    let first = infer(Some(READING), &request).unwrap();
    go_on(&mut request, first, json!({"receipt": "receipt_1"}), false);
    let second = infer(Some(READING), &request).unwrap();
    let call =
        |id: &str, name: &str, input| Part::Call(Call { id: id.to_owned(), name: name.to_owned(), input });
    assert_eq!(second.parts, [call("call-2", "a", json!({})), call("call-3", "b", json!({"n": 1}))]);
    request.messages.push(Message { role: Role::Assistant, parts: second.parts });
    let third = infer(Some(READING), &request).unwrap();
    let input = json!({"outcome": "answered", "text": "Read.", "sources": ["receipt_1"]});
    assert_eq!(third.parts, [call("call-4", "finish", input)]);
    request.messages.push(Message { role: Role::Assistant, parts: third.parts });
    let beyond = infer(Some(READING), &request).unwrap();
    assert!(only_call(&beyond).input["text"].as_str().unwrap().contains("no further step"));
}

#[test]
fn when_only_finish_is_left_any_step_finishes() {
    let mut request = asked("please read https://example.com/");
    request.tools = offers(&["finish"]);
    let response = infer(Some(READING), &request).unwrap();
    let call = only_call(&response);
    assert_eq!(call.input, json!({"outcome": "answered", "text": "Reading.", "sources": []}));
    assert_eq!(response.parts.len(), 1);
    // A step that says nothing ends with a plain sentence.
    request.messages.push(Message { role: Role::Assistant, parts: response.parts });
    let response = infer(Some(READING), &request).unwrap();
    assert!(only_call(&response).input["text"].as_str().unwrap().contains("`a` is not on offer"));
}

#[test]
fn without_any_tool_the_model_only_speaks() {
    let mut request = asked("please read https://example.com/");
    request.tools = Vec::new();
    let response = infer(Some(READING), &request).unwrap();
    assert_eq!((response.parts, response.stop), (vec![Part::Text("Reading.".to_owned())], Stop::End));
}

#[test]
fn a_silent_finish_says_nothing() {
    let response = infer(Some(READING), &asked("Thanks!")).unwrap();
    assert_eq!(only_call(&response).input, json!({"outcome": "silent", "text": "", "sources": []}));
}

#[test]
fn when_no_rule_fires_the_model_says_what_it_knows() {
    let response = infer(Some(READING), &asked("Sing!")).unwrap();
    let text = only_call(&response).input["text"].as_str().unwrap();
    assert!(text.contains("`read`") && text.contains("`thanks`"), "{text}");
}

#[test]
fn usage_counts_what_was_sent_and_written() {
    let request = asked("read");
    let response = infer(Some(READING), &request).unwrap();
    // `Be brief.` 9, `read` 4, two offers `web.fetch{}` 11 and `finish{}` 8: 32 bytes.
    assert_eq!(response.usage.input_tokens, 8);
    assert_eq!(response.usage.cached_input_tokens, 0);
    // `Reading.` 8, `web.fetch` 9, `{"url":"(nothing)"}` 19: 36 bytes.
    assert_eq!(response.usage.output_tokens, 9);
}

#[test]
fn a_response_that_reaches_its_limit_says_so() {
    let mut request = asked("read");
    request.output_tokens_max = 1;
    let response = infer(Some(READING), &request).unwrap();
    assert_eq!((response.parts, response.stop), (vec![Part::Text("Read".to_owned())], Stop::Length));
}

#[test]
fn a_conversation_that_does_not_fit_is_too_long() {
    let request = asked(&"x".repeat(4 * WINDOW_TOKENS as usize));
    assert_eq!(infer(Some(READING), &request).unwrap_err().kind, FailureKind::TooLong);
}

#[test]
fn a_script_that_is_missing_or_wrong_is_malformed_and_says_where() {
    let missing = infer(None, &asked("read")).unwrap_err();
    assert_eq!(missing.kind, FailureKind::Malformed);
    assert!(missing.message.contains("`script`"), "{}", missing.message);
    let wrong = infer(Some("[[rule]]\nwhen = 7\n"), &asked("read")).unwrap_err();
    assert_eq!(wrong.kind, FailureKind::Malformed);
    assert!(wrong.message.contains("line 2, column 8"), "{}", wrong.message);
}

#[test]
fn another_model_is_refused() {
    let request = Request { model: "novel".to_owned(), ..asked("read") };
    assert_eq!(infer(Some(READING), &request).unwrap_err().kind, FailureKind::Refused);
}

#[test]
fn text_is_streamed_word_by_word_and_whole() {
    let text = "Reading  the page.\nOne moment";
    let pieces: Vec<&str> = words(text).collect();
    assert_eq!(pieces.concat(), text);
    assert_eq!(pieces, ["Reading ", " ", "the ", "page.\n", "One ", "moment"]);
}
