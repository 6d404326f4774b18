//! How far a turn goes: its steps, its tries, its waits.

use super::kit::*;
use super::script::*;
use event::{Fact, StepOutcome, TurnEnding};
use gate::{Call, FailureKind, Part, Passed};
use serde_json::json;

/// Looks at page after page for as long as it may.
pub fn restless(asked: &Call) -> Passed {
    match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => page("More"),
        _ if call_offers(asked, "web.fetch") => {
            let n = answers(asked);
            model(vec![fetch(&format!("c{n}"), &format!("http://site.example/{n}"))])
        }
        _ => model(vec![finish("This is what I have.")]),
    }
}

#[tokio::test]
async fn the_last_step_is_a_finish_and_the_model_was_warned() {
    for steps_max in [1, 2, 3, 4, 5, 10, 11] {
        let office = Office::asked(restless).await;
        let (_, ending) = office.run(steps_max).await;
        assert_eq!(ending, TurnEnding::Answered, "{steps_max}");
        assert_eq!(office.sent()[0]["text"], "This is what I have.");
        let thinking = office.calls().len() - 1;
        assert!(thinking <= steps_max as usize, "{thinking} of {steps_max}");
        for request in office.requests() {
            assert_eq!(
                offered(&request) == ["finish"],
                newest(&request).contains("Only `finish` is on offer")
            );
        }
        assert_eq!(offered(office.requests().last().unwrap()), ["finish"], "{steps_max}");
    }
}

#[tokio::test]
async fn with_three_steps_left_the_model_is_told_and_with_one_it_has_only_finish() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "scripted/story" => model(vec![text("hm")]),
        _ => posted(),
    })
    .await;
    // Each answer of text alone takes one step, so every count of steps left is seen.
    let (turn, ending) = office.run(3).await;
    assert_eq!(ending, TurnEnding::StepsSpent);
    assert!(office.sent().is_empty());
    let requests = office.requests();
    assert!(newest(&requests[0]).contains("3 steps are left"));
    assert_eq!(offered(&requests[0]).len(), 3);
    assert_eq!(offered(&requests[2]), ["finish"]);
    assert_eq!(office.ended(&turn).await.sources, []);
}

#[tokio::test]
async fn calls_that_no_longer_fit_are_not_made_and_the_model_is_told() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => page("One"),
        _ if answers(asked) == 0 => {
            model((0..5).map(|n| fetch(&format!("c{n}"), &format!("http://site.example/{n}"))).collect())
        }
        _ => model(vec![finish("Two of five.")]),
    })
    .await;
    assert_eq!(office.run(4).await.1, TurnEnding::Answered);
    let fetched = office.calls().iter().filter(|call| call.tool == "web.fetch").count();
    assert_eq!(fetched, 2);
    let requests = office.requests();
    let results = &requests[1].messages.last().unwrap().parts;
    assert_eq!(results.iter().filter(|part| matches!(part, Part::ToolResult(_))).count(), 5);
    let Part::ToolResult(not_made) = &results[4] else { panic!("no result") };
    assert_eq!((not_made.id.as_str(), &not_made.output["no"]), ("c4", &json!("not-made")));
}

/// Says nothing at all once, and then what it has to say.
pub fn shy(asked: &Call) -> Passed {
    match (asked.tool.as_str(), &asked.origin) {
        ("slack.post", _) => posted(),
        (_, event::Origin::Step { step: 1, .. }) => model(vec![text("  ")]),
        _ => model(vec![finish("Here.")]),
    }
}

#[tokio::test]
async fn an_empty_answer_is_a_failed_step_and_is_asked_for_once_more() {
    let office = Office::asked(shy).await;
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::Answered);
    let events = office.turn_events(&turn).await;
    let Fact::StepEnded(empty) = &events[2].fact else { panic!("no step") };
    assert_eq!(empty.outcome, StepOutcome::Failed);
    let silent = Office::asked(|_| model(vec![])).await;
    assert_eq!(silent.run(60).await.1, TurnEnding::Failed);
    assert_eq!(silent.calls().len(), 2);
}

/// Is told twice to come back later, and once that the answer cannot be taken yet.
pub fn busy(asked: &Call) -> Passed {
    let event::Origin::Step { step, .. } = &asked.origin else { panic!("no step") };
    match (asked.tool.as_str(), step) {
        ("slack.post", 4) => failed(FailureKind::RateLimited, Some(3_000)),
        ("slack.post", _) => posted(),
        (_, 1) => failed(FailureKind::Unavailable, None),
        (_, 2) => failed(FailureKind::RateLimited, Some(7_000)),
        _ => model(vec![finish("At last.")]),
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_after_the_wait_that_was_asked_for() {
    let office = Office::asked(busy).await;
    assert_eq!(office.run(60).await.1, TurnEnding::Answered);
    assert_eq!(*office.pace.0.lock().unwrap(), [1_000, 7_000, 3_000]);
    assert_eq!(office.sent().len(), 2);
}

#[tokio::test]
async fn a_model_that_stays_away_is_asked_three_times_and_one_that_declines_once() {
    let away = Office::asked(|_| failed(FailureKind::Unavailable, None)).await;
    assert_eq!(away.run(60).await.1, TurnEnding::Failed);
    assert_eq!(away.calls().len(), crate::TRIES_MAX);
    for once in [FailureKind::ProviderRefused, FailureKind::TooLong, FailureKind::Malformed] {
        let office = Office::empty(move |_| Ok(failed(once.clone(), None))).await;
        office.copy(&away.events().await[..3]).await;
        let (turn, ending) = office.run(60).await;
        assert_eq!((ending, office.calls().len()), (TurnEnding::Failed, 1));
        assert!(office.ended(&turn).await.summary.text().contains("not now"));
    }
    let denied = Office::asked(|_| denied("no policy permits this model")).await;
    assert_eq!(denied.run(60).await.1, TurnEnding::Failed);
    assert_eq!(denied.calls().len(), 1);
}

#[tokio::test]
async fn a_result_that_the_record_would_change_is_a_failed_step_and_not_the_end() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => Passed::Done {
            output: gate::Output::Tool(json!({"id": 9_007_199_254_740_993_u64})),
            label: event::Label::public_untrusted(),
            receipts: Vec::new(),
            of: std::collections::BTreeSet::new(),
        },
        _ if answers(asked) == 0 => model(vec![fetch("c", "http://site.example/")]),
        _ => model(vec![finish("It gave a number I cannot keep.")]),
    })
    .await;
    assert_eq!(office.run(60).await.1, TurnEnding::Answered);
    let requests = office.requests();
    let Part::ToolResult(result) = &requests[1].messages.last().unwrap().parts[0] else {
        panic!("no result")
    };
    assert!(result.failed && result.output["message"].as_str().unwrap().contains("/id"), "{}", result.output);
}
