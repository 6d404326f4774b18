//! What of a turn is one commit: the clock of these tests goes on with every look at it, so that events of one commit
//! have one time and those of two have two.

use super::kit::*;
use super::script::*;
use event::{Event, Fact, TurnEnding};
use gate::{Call, FailureKind, Passed};
use std::sync::atomic::Ordering;

/// The kinds of the turn's events, commit by commit.
fn commits(events: &[Event]) -> Vec<Vec<&'static str>> {
    events
        .chunk_by(|one, next| one.at == next.at)
        .map(|commit| commit.iter().map(|event| event.fact.kind()).collect())
        .collect()
}

async fn told(script: Script) -> (Vec<Event>, TurnEnding) {
    let office = Office::asked(script).await;
    office.clock.1.store(10, Ordering::SeqCst);
    let (turn, ending) = office.run(60).await;
    (office.turn_events(&turn).await, ending)
}

fn looks_twice(asked: &Call) -> Passed {
    match asked.tool.as_str() {
        "slack.post" => posted(),
        "web.fetch" => page("One"),
        _ if answers(asked) == 0 => {
            model(vec![fetch("a", "http://one.example/"), fetch("b", "http://two.example/")])
        }
        _ => model(vec![finish("Both.")]),
    }
}

#[tokio::test]
async fn a_step_is_one_commit() {
    let (events, ending) = told(looks_twice).await;
    assert_eq!(ending, TurnEnding::Answered);
    assert_eq!(
        commits(&events),
        [
            vec!["turn.opened"],
            vec!["step.started"],
            // Two reads start at once, with the end of what wanted them, and end with the start of what reads them.
            vec!["step.ended", "step.started", "step.started"],
            vec!["step.ended", "step.ended", "step.started"],
            vec!["step.ended", "finish.accepted", "step.started"],
            vec!["step.ended", "turn.ended"],
        ]
    );
}

#[tokio::test]
async fn what_a_call_came_to_is_written_before_the_turn_waits() {
    fn busy(asked: &Call) -> Passed {
        match (asked.tool.as_str(), asked.origin.deed().ends_with("/1")) {
            ("slack.post", _) => posted(),
            (_, true) => failed(FailureKind::RateLimited, Some(2_000)),
            _ => model(vec![finish("At last.")]),
        }
    }
    let (events, _) = told(busy).await;
    assert_eq!(commits(&events)[1..4], [vec!["step.started"], vec!["step.ended"], vec!["step.started"]]);
}

#[tokio::test]
async fn a_no_costs_no_commit_of_its_own() {
    fn denied_once(asked: &Call) -> Passed {
        match asked.tool.as_str() {
            "slack.post" => posted(),
            "web.fetch" => denied("no"),
            _ if answers(asked) == 0 => model(vec![fetch("a", "http://one.example/")]),
            _ => model(vec![finish("No.")]),
        }
    }
    let (events, _) = told(denied_once).await;
    let whole = vec!["step.ended", "step.started", "step.ended", "step.started"];
    assert_eq!(commits(&events)[2], whole);
    let tries = events.iter().filter(|event| matches!(event.fact, Fact::StepStarted(_))).count();
    assert_eq!(tries, 4);
}
