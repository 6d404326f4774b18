//! Which tools a model sees, and how several of one answer are called.

use super::kit::*;
use super::script::*;
use crate::{ENABLE_TOOLS, TurnParts};
use event::{Fact, StepKind, TurnEnding};
use gate::{EffectClass, Part};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::sync::Barrier;

#[tokio::test]
async fn reads_of_one_answer_run_at_once_and_end_in_their_order() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => page(asked.input()["url"].as_str().unwrap()),
        _ if answers(asked) == 0 => {
            model((0..3).map(|n| fetch(&format!("c{n}"), &format!("http://site.example/{n}"))).collect())
        }
        _ => model(vec![finish("All three.")]),
    })
    .await;
    // Whoever comes alone waits for ever.
    let all = Arc::new(Barrier::new(3));
    office.meanwhile(move |_, _, call| {
        let all = all.clone();
        async move {
            if call.tool == "web.fetch" {
                all.wait().await;
            }
        }
    });
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::Answered);
    let ends: Vec<u32> = office
        .turn_events(&turn)
        .await
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::StepEnded(ended) => Some(ended.step),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [1, 2, 3, 4, 5, 6]);
    let titles: Vec<String> = office.requests()[1]
        .messages
        .last()
        .unwrap()
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolResult(result) => Some(result.output["title"].as_str().unwrap().to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(titles, ["http://site.example/0", "http://site.example/1", "http://site.example/2"]);
}

#[tokio::test]
async fn effects_of_one_answer_run_one_after_the_other() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" | "mail.send" => posted(),
        _ if answers(asked) == 0 => {
            model((0..3).map(|n| call(&format!("c{n}"), "mail.send", json!({"n": n}))).collect())
        }
        _ => model(vec![finish("Sent.")]),
    })
    .await;
    let catalogue = Arc::new(Shelf { more: &[("mail.send", EffectClass::External)], window_tokens: None });
    let under_way = Arc::new(Mutex::new(0));
    office.meanwhile(move |_, _, call| {
        let under_way = under_way.clone();
        async move {
            if call.tool == "mail.send" {
                *under_way.lock().unwrap() += 1;
                tokio::task::yield_now().await;
                let mut now = under_way.lock().unwrap();
                assert_eq!(*now, 1);
                *now -= 1;
            }
        }
    });
    let parts = TurnParts { catalogue, ..office.parts() };
    assert_eq!(office.run_with(&parts, opening(60)).await.1, TurnEnding::Answered);
}

#[tokio::test]
async fn a_hidden_family_is_shown_once_it_is_asked_for_and_only_at_the_end() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => page("Shown"),
        _ => match answers(asked) {
            0 => model(vec![fetch("c0", "http://site.example/")]),
            1 => model(vec![call("e", ENABLE_TOOLS, json!({"families": ["web", "moon"]}))]),
            2 => model(vec![fetch("c1", "http://site.example/")]),
            _ => model(vec![finish("Seen.")]),
        },
    })
    .await;
    let parts = TurnParts { hidden_families: vec!["web".into()], ..office.parts() };
    let (turn, ending) = office.run_with(&parts, opening(60)).await;
    assert_eq!(ending, TurnEnding::Answered);
    let requests = office.requests();
    assert_eq!(offered(&requests[0]), ["slack.react", "finish", ENABLE_TOOLS]);
    assert_eq!(offered(&requests[2]), ["slack.react", "finish", ENABLE_TOOLS, "web.fetch"]);
    // What stands before is the same, byte for byte.
    assert_eq!(requests[0].tools[..], requests[2].tools[..3]);
    let Part::ToolResult(told) = &requests[1].messages.last().unwrap().parts[0] else { panic!() };
    assert!(told.output["reason"].as_str().unwrap().contains(ENABLE_TOOLS), "{}", told.output);
    let Part::ToolResult(shown) = &requests[2].messages.last().unwrap().parts[0] else { panic!() };
    assert_eq!(shown.output, json!({"enabled": ["web"], "not_enabled": ["moon"]}));
    // The step says what was hidden and what the schemas took.
    let events = office.turn_events(&turn).await;
    let inputs: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::StepStarted(started) if started.kind == StepKind::Infer => {
                Some(started.input.json().clone())
            }
            _ => None,
        })
        .collect();
    assert_eq!(inputs[0]["hidden"], json!(["web"]));
    assert!(inputs[0]["schema_tokens"].as_u64() < inputs[2]["schema_tokens"].as_u64());
}

#[tokio::test]
async fn to_say_that_it_works_on_it_is_no_answer() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        _ if answers(asked) == 0 => model(vec![finish("Working on it…")]),
        _ => model(vec![finish("Six o'clock.")]),
    })
    .await;
    assert_eq!(office.run(60).await.1, TurnEnding::Answered);
    assert_eq!(office.sent().len(), 1);
    assert_eq!(office.sent()[0]["text"], "Six o'clock.");
    assert_eq!(offered(&office.requests()[1]), ["finish"]);
    let never = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => panic!("nothing may be sent"),
        _ => model(vec![finish("Working on it…")]),
    })
    .await;
    assert_eq!(never.run(60).await.1, TurnEnding::Failed);
    assert_eq!(never.requests().len(), 2);
}
