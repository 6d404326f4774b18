//! An answer that comes: what was asked, what it became, what it cost, and a whole turn of it.

use super::*;

#[tokio::test]
async fn an_answer_is_streamed_read_and_paid_for() {
    for api in APIS {
        let provider = Provider::serve().await;
        let office = kit(api, &provider, "").await.open().await;
        provider.plays(
            api.answer("Let me see.", Some(("call_a", "web_fetch", r#"{"url":"https://a.example/"}"#))),
        );
        let passed = office.built.gate.pass(call(&office, asked(api, "hi"), 1).await, None).await.unwrap();
        let Passed::Done { output: Output::Model(response), label, .. } = passed else {
            panic!("{passed:?}")
        };
        let wanted = ToolCall {
            id: "call_a".into(),
            name: "web.fetch".into(),
            input: json!({"url": "https://a.example/"}),
        };
        assert_eq!(response.parts, [Part::Text("Let me see.".into()), Part::ToolCall(wanted)], "{api:?}");
        assert_eq!(response.stop, gate::StopReason::ToolUse);
        assert_eq!(label, event::Label::host(), "what a model writes derives from what it was shown");
        assert_eq!(hold(&office).await, ("settled", price(api)), "{api:?}");

        let requests = provider.requests();
        let [request] = requests.as_slice() else { panic!("{requests:?}") };
        assert!(request.head.starts_with(&format!("post {} http/1.1\r\n", api.path())), "{}", request.head);
        let key = match api {
            Api::Messages => format!("x-api-key: {KEY}"),
            _ => format!("authorization: bearer {KEY}"),
        };
        assert!(request.head.lines().any(|line| line == key), "{}", request.head);
        assert!(request.body["stream"].as_bool().unwrap());
        office.stop().await;
    }
}

#[tokio::test]
async fn the_key_is_on_the_wire_and_nowhere_else() {
    let provider = Provider::serve().await;
    let kit = kit(Api::Messages, &provider, "").await;
    let office = kit.open().await;
    provider.plays(vec![error(
        401,
        &[],
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
    )]);
    office.built.gate.pass(call(&office, asked(Api::Messages, "hi"), 1).await, None).await.unwrap();
    // A provider that sends the key back is not believed, and its answer is shown to nobody.
    let said = format!("event: x\ndata: {{\"type\":\"ping\",\"key\":\"{KEY}\"}}\n\n");
    provider.plays(vec![stream_head(), Play::Bytes(said.into_bytes())]);
    let passed =
        office.built.gate.pass(call(&office, asked(Api::Messages, "hi"), 2).await, None).await.unwrap();
    let Passed::Failed { failure, .. } = passed else { panic!("{passed:?}") };
    assert!(failure.message.contains("the answer holds the value of credential"), "{}", failure.message);
    let record = format!("{:?}", office.events().await);
    assert!(!record.contains(KEY) && provider.requests().len() == 2);
}

#[tokio::test]
async fn a_turn_reads_a_page_and_answers_in_its_thread() {
    for api in APIS {
        let provider = Provider::serve().await;
        let kit = kit(api, &provider, "").await;
        let office = kit.open().await;
        let url = json!({"url": format!("{}/", kit.site.origin)}).to_string();
        let first = api.answer("I will read it.", Some(("call_1", "web_fetch", &url)));
        provider.plays(match api {
            Api::Messages => messages(
                &[
                    json!({"thinking": "A page.", "signature": "c2lnbmVk"}),
                    json!({"call": "web_fetch", "id": "call_1", "input": url}),
                ],
                "tool_use",
            ),
            _ => first,
        });
        let finish =
            json!({"outcome": "answered", "text": "The tide turns at six.", "sources": []}).to_string();
        provider.plays(api.answer("", Some(("call_2", "finish", &finish))));
        let text = format!("<@U0BOT> what does <{}/> say?", kit.site.origin);
        office.deliver(&app_mention("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", &text)).await;
        let events = office.until_turns_ended(1).await;
        let ended = events.iter().find_map(|event| match &event.fact {
            Fact::TurnEnded(ended) => Some(ended.ending),
            _ => None,
        });
        assert_eq!(ended, Some(TurnEnding::Answered), "{api:?}\n{}", told(&events));
        assert_eq!(kit.slack.posts()[0]["text"], "The tide turns at six.");
        let requests = provider.requests();
        assert_eq!(requests.len(), 2);
        given_back(api, &requests[1].body);
        office.stop().await;
    }
}

/// What the model said stands in the next request as it said it, with what came of it.
fn given_back(api: Api, body: &Value) {
    match api {
        Api::Messages => {
            let messages = body["messages"].as_array().unwrap();
            let said = &messages[messages.len() - 2]["content"];
            assert_eq!(said[0], json!({"type": "thinking", "thinking": "A page.", "signature": "c2lnbmVk"}));
            assert_eq!((&said[1]["type"], &said[1]["name"]), (&json!("tool_use"), &json!("web_fetch")));
            let result = &messages[messages.len() - 1]["content"][0];
            assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &json!("call_1")));
            let marks = body.to_string().matches("cache_control").count();
            assert!((2..=4).contains(&marks), "{marks} marks of the cache");
        }
        Api::Chat => {
            let messages = body["messages"].as_array().unwrap();
            let result = messages.iter().find(|message| message["role"] == "tool").unwrap();
            assert_eq!(result["tool_call_id"], "call_1");
        }
        Api::Responses => {
            let input = body["input"].as_array().unwrap();
            let of = |kind: &str| input.iter().find(|item| item["type"] == kind).unwrap();
            assert_eq!(of("function_call")["call_id"], of("function_call_output")["call_id"]);
        }
    }
}

fn told(events: &[event::Event]) -> String {
    events.iter().map(app::show::line).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_tool_that_nobody_offered_is_denied_and_the_model_is_told() {
    let provider = Provider::serve().await;
    let api = Api::Messages;
    let kit = kit(api, &provider, "").await;
    let office = kit.open().await;
    provider.plays(api.answer("", Some(("call_1", "launch_rockets", "{}"))));
    let finish = json!({"outcome": "answered", "text": "I cannot.", "sources": []}).to_string();
    provider.plays(api.answer("", Some(("call_2", "finish", &finish))));
    office.deliver(&app_mention("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> fire!")).await;
    let events = office.until_turns_ended(1).await;
    let denied = events.iter().any(|event| {
        matches!(&event.fact, Fact::StepEnded(step) if step.outcome == StepOutcome::Denied
            && step.output.json().to_string().contains("launch_rockets"))
    });
    assert!(denied, "{}", told(&events));
    let told = provider.requests()[1].body.to_string();
    assert!(told.contains("is not on offer"), "{told}");
    office.stop().await;
}
