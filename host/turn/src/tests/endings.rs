//! What is published, and what is not.

use super::kit::*;
use super::script::*;
use event::TurnEnding;
use gate::{Call, FailureKind, Part, Passed};
use serde_json::json;

/// Writes text and never calls `finish` until nothing else is on offer.
pub fn chatty(asked: &Call) -> Passed {
    match asked.tool.as_str() {
        "slack.post" => posted(),
        _ if call_offers(asked, "web.fetch") => model(vec![text("I am working on it.")]),
        _ => model(vec![finish("Here it is.")]),
    }
}

#[tokio::test]
async fn text_without_finish_publishes_nothing_until_it_is_salvaged() {
    let office = Office::asked(chatty).await;
    assert_eq!(office.run(60).await.1, TurnEnding::Answered);
    let requests = office.requests();
    assert_eq!(requests.len(), 3);
    let Part::Text(nudge) = &requests[1].messages.last().unwrap().parts[0] else { panic!("no nudge") };
    assert!(nudge.starts_with("[office] ") && nudge.contains("finish"), "{nudge}");
    assert_eq!(offered(&requests[2]), ["finish"]);
    assert_eq!(office.sent().len(), 1);
    assert_eq!(office.sent()[0]["text"], "Here it is.");
}

#[tokio::test]
async fn a_turn_that_never_finishes_publishes_nothing() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => panic!("nothing may be sent"),
        _ => model(vec![text("I am working on it.")]),
    })
    .await;
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::Failed);
    assert_eq!(office.requests().len(), 3);
    assert!(office.ended(&turn).await.summary.text().contains("finish"));
}

#[tokio::test]
async fn with_nothing_to_say_nothing_is_sent() {
    let office = Office::asked(|_| model(vec![call("f", "finish", json!({"outcome": "silent"}))])).await;
    assert_eq!(office.run(60).await.1, TurnEnding::Silent);
    assert_eq!(office.calls().len(), 1);
}

#[tokio::test]
async fn a_finish_beside_other_calls_or_without_words_does_not_end_the_turn() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => page("Read"),
        _ => match answers(asked) {
            0 => model(vec![fetch("c", "http://site.example/"), finish("Before reading.")]),
            1 => model(vec![call("f", "finish", json!({"outcome": "answered"}))]),
            _ => model(vec![finish("After reading.")]),
        },
    })
    .await;
    assert_eq!(office.run(60).await.1, TurnEnding::Answered);
    assert_eq!(office.sent().len(), 1);
    assert_eq!(office.sent()[0]["text"], "After reading.");
    let requests = office.requests();
    let result = |n: usize, at: usize| match &requests[n].messages.last().unwrap().parts[at] {
        Part::ToolResult(result) => result.output.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(result(1, 0)["title"], "Read");
    assert_eq!(result(1, 1)["no"], "not-finished");
    assert!(result(2, 0)["reason"].as_str().unwrap().contains("text"));
}

/// Tries to publish past `finish`, by the very tool its answer goes out by.
#[tokio::test]
async fn the_reply_tool_is_not_on_offer_and_calling_it_does_not_reach_the_gate() {
    let office = Office::asked(|asked| match (asked.tool.as_str(), is_infer(asked)) {
        ("slack.post", _) => posted(),
        _ if answers(asked) == 0 => {
            model(vec![call("p", "slack.post", json!({"channel": "C9", "text": "psst"}))])
        }
        _ => model(vec![finish("Answer.")]),
    })
    .await;
    assert_eq!(office.run(60).await.1, TurnEnding::Answered);
    assert_eq!(office.sent(), [json!({"channel": "C1", "thread_ts": "1.0", "text": "Answer."})]);
}

#[tokio::test]
async fn an_answer_that_did_not_get_out_ends_the_turn_as_failed_and_says_why() {
    type Outcome = fn() -> Passed;
    let outcomes: [(&str, usize, Outcome); 4] = [
        // Said once more in the same words, and denied once more.
        ("no policy permits it", 2, || denied("no policy permits it")),
        ("the day's budget is spent", 1, refused),
        ("not now", 1, || failed(FailureKind::NotAllowed, None)),
        ("the request left", 1, || Passed::Unknown { reason: "the request left".into() }),
    ];
    for (why, sends, outcome) in outcomes {
        let office = Office::empty(move |asked| {
            Ok(if asked.tool == "slack.post" { outcome() } else { model(vec![finish("Words.")]) })
        })
        .await;
        let base = Office::asked(chatty).await;
        office.copy(&base.events().await).await;
        let (turn, ending) = office.run(60).await;
        assert_eq!((ending, office.sent().len()), (TurnEnding::Failed, sends), "{why}");
        assert!(office.ended(&turn).await.summary.text().contains(why), "{why}");
    }
}

#[tokio::test]
async fn a_denied_answer_goes_back_to_the_model_which_may_word_another() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" if asked.input()["text"] == "The key is AKIA." => denied("a guard saw a credential"),
        "slack.post" => posted(),
        _ if answers(asked) == 0 => model(vec![finish("The key is AKIA.")]),
        _ => model(vec![finish("I may not say the key here.")]),
    })
    .await;
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::Answered);
    assert_eq!(office.ended(&turn).await.summary.text(), "I may not say the key here.");
    let told = match office.requests()[1].messages.last().unwrap().parts.first() {
        Some(Part::ToolResult(result)) => result.output.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((&told["no"], &told["reason"]), (&json!("denied"), &json!("a guard saw a credential")));
}

#[tokio::test]
async fn an_answer_that_is_denied_however_it_is_worded_ends_the_turn() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => denied("not here"),
        _ => model(vec![finish(&format!("Wording {}.", answers(asked)))]),
    })
    .await;
    let (turn, ending) = office.run(60).await;
    assert_eq!((ending, office.sent().len()), (TurnEnding::Failed, 3));
    assert!(office.ended(&turn).await.summary.text().contains("not here"));
    // With no step left there is nobody to tell.
    let short = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => denied("not here"),
        _ => model(vec![finish("Words.")]),
    })
    .await;
    let (turn, ending) = short.run(1).await;
    assert_eq!((ending, short.sent().len()), (TurnEnding::Failed, 1));
    assert!(short.ended(&turn).await.summary.text().contains("not here"));
}

#[tokio::test]
async fn an_answer_that_rests_on_a_receipt_nobody_has_is_refused_and_the_model_is_told() {
    fn cites(asked: &Call, made_up: usize) -> Passed {
        let cited = |source: &str| {
            let input = json!({"outcome": "answered", "text": "It says so.", "sources": [source]});
            model(vec![call("f", "finish", input)])
        };
        match asked.tool.as_str() {
            "slack.post" => posted(),
            "web.fetch" => page("Read"),
            _ => match answers(asked) {
                0 => model(vec![fetch("c", "http://site.example/")]),
                n if n <= made_up => cited("receipt_made-up"),
                _ => cited(event::ReceiptId::derived(&["Read"]).as_str()),
            },
        }
    }
    let office = Office::asked(|asked| cites(asked, 1)).await;
    let (turn, ending) = office.run(60).await;
    assert_eq!((ending, office.sent().len()), (TurnEnding::Answered, 1));
    assert_eq!(office.ended(&turn).await.sources, [event::ReceiptId::derived(&["Read"])]);
    let requests = office.requests();
    assert_eq!(requests.len(), 3);
    let Part::ToolResult(told) = &requests[2].messages.last().unwrap().parts[0] else {
        panic!("told nothing")
    };
    let reason = told.output["reason"].as_str().unwrap();
    assert!(told.failed && reason.contains("`receipt_made-up` is no receipt"), "{reason}");
    // Whoever says it again and again gets an answer out with nothing else on offer, and it rests on no such thing.
    let office = Office::asked(|asked| cites(asked, 9)).await;
    let (turn, ending) = office.run(60).await;
    assert_eq!((ending, office.sent().len()), (TurnEnding::Answered, 1));
    assert_eq!(office.ended(&turn).await.sources, [event::ReceiptId::derived(&["Read"])]);
    assert_eq!(offered(&office.requests()[3]), ["finish"]);
}
