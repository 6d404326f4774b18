//! Denied and refused: what a no does to a turn.

use super::kit::*;
use super::script::*;
use event::TurnEnding;
use gate::{Call, Passed};

/// Insists on a page it is denied.
pub fn stubborn(asked: &Call) -> Passed {
    match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => denied("no policy permits it"),
        _ if call_offers(asked, "web.fetch") => model(vec![fetch("again", "https://intranet.example/")]),
        _ => model(vec![finish("I was not allowed to read it.")]),
    }
}

#[tokio::test]
async fn the_same_denial_twice_ends_the_turn_which_may_still_hand_back() {
    let office = Office::asked(stubborn).await;
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::DeniedAgain);
    assert_eq!(office.requests().len(), 3);
    assert_eq!(offered(&office.requests()[2]), ["finish"]);
    assert_eq!(office.sent()[0]["text"], "I was not allowed to read it.");
    assert_eq!(office.ended(&turn).await.summary.text(), "I was not allowed to read it.");
}

#[tokio::test]
async fn a_turn_denied_twice_that_still_does_not_finish_publishes_nothing() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "web.fetch" => denied("no"),
        "slack.post" => panic!("nothing may be sent"),
        _ => model(vec![fetch("again", "https://intranet.example/")]),
    })
    .await;
    assert_eq!(office.run(60).await.1, TurnEnding::DeniedAgain);
    assert_eq!(office.requests().len(), 3);
}

#[tokio::test]
async fn different_denials_and_denials_with_news_in_between_end_nothing() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" if asked.input()["url"] == "http://site.example/" => page("News"),
        "web.fetch" => denied("no"),
        _ => match answers(asked) {
            0 => model(vec![fetch("a", "https://one.example/"), fetch("b", "https://one.example/")]),
            1 => model(vec![fetch("c", "https://two.example/")]),
            2 => model(vec![fetch("d", "http://site.example/")]),
            3 => model(vec![fetch("e", "https://one.example/")]),
            _ => model(vec![finish("Done.")]),
        },
    })
    .await;
    assert_eq!(office.run(60).await.1, TurnEnding::Answered);
}

/// Is refused when it asks the model a second time.
pub fn spent(asked: &Call) -> Passed {
    match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => page("One"),
        _ if answers(asked) == 0 => model(vec![fetch("c", "http://site.example/")]),
        _ => refused(),
    }
}

#[tokio::test]
async fn a_refusal_ends_the_turn_without_inference_and_is_still_reported() {
    let office = Office::asked(spent).await;
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::Refused);
    assert_eq!(office.requests().len(), 2);
    let report = office.sent()[0]["text"].as_str().unwrap().to_owned();
    assert!(report.contains("the day's budget is spent") && report.contains("2026-12-01T00:00"), "{report}");
    assert_eq!(office.ended(&turn).await.summary.text(), "the day's budget is spent");
}

#[tokio::test]
async fn a_tool_that_is_refused_ends_the_turn_as_well() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => refused(),
        _ => model(vec![fetch("c", "http://site.example/"), fetch("d", "http://site.example/2")]),
    })
    .await;
    assert_eq!(office.run(60).await.1, TurnEnding::Refused);
    // Both reads were under way at once.
    assert_eq!((office.requests().len(), office.calls().len(), office.sent().len()), (1, 4, 1));
}
