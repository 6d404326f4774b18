//! Whatever a model and the world do: the turn ends, within its steps, and at most one answer gets out.

use super::kit::*;
use super::replay::{facts, steps_ended};
use super::script::*;
use crate::run;
use event::canon::canonical_digest;
use event::{Event, Fact, StepKind, StepOutcome, StepStarted, TurnEnding};
use gate::{Call, FailureKind, Passed};
use proptest::prelude::*;
use serde_json::json;

/// A number below `below` that depends on `seed` and the call alone, so that a call made again is answered
/// alike.
fn draw(seed: u64, asked: &Call, below: u64) -> u64 {
    let digest = canonical_digest(&json!([seed.to_string(), asked.origin.deed(), asked.input()]));
    u64::from_str_radix(&digest.as_str()[..12], 16).unwrap() % below
}

/// Does anything a model, a policy, a purse or a service may do.
fn anything(seed: u64, asked: &Call) -> Passed {
    let dice = draw(seed, asked, 20);
    match asked.tool.as_str() {
        "slack.post" => match dice {
            0..14 => posted(),
            14..17 => failed(FailureKind::RateLimited, Some(dice * 100)),
            17 => denied("no"),
            18 => refused(),
            _ => Passed::Unknown { reason: "it left".into() },
        },
        "web.fetch" | "slack.react" => match dice {
            0..10 => page("News"),
            10..16 => denied("no"),
            16..19 => failed(FailureKind::NotFound, None),
            _ => refused(),
        },
        _ => match dice {
            0..7 => model(vec![text("Looking."), fetch("a", &format!("http://site.example/{}", dice % 2))]),
            7..10 => model(vec![fetch("a", "http://one.example/"), fetch("b", "http://two.example/")]),
            10 => model(vec![call("x", "slack.post", json!({"channel": "C9"})), finish("Both.")]),
            11..13 => model(vec![text("I am working on it.")]),
            13 => model(vec![]),
            14 => failed(FailureKind::Unavailable, None),
            15 => model(vec![call("f", "finish", json!({"outcome": "perhaps"}))]),
            16 => model(vec![call("f", "finish", json!({"outcome": "silent"}))]),
            17 => failed(FailureKind::TooLong, None),
            _ => model(vec![finish("Found it.")]),
        },
    }
}

fn steps(events: &[Event]) -> Vec<(StepStarted, StepOutcome)> {
    let mut steps = Vec::new();
    for pair in events.windows(2) {
        if let (Fact::StepStarted(started), Fact::StepEnded(ended)) = (&pair[0].fact, &pair[1].fact) {
            steps.push((started.clone(), ended.outcome));
        }
    }
    steps
}

fn check(ending: TurnEnding, events: &[Event], steps_max: u32) -> Result<(), TestCaseError> {
    let steps = steps(events);
    let thinking = steps.iter().filter(|(started, _)| started.kind != StepKind::Send).count();
    prop_assert!(thinking <= steps_max as usize, "{thinking} steps of {steps_max}");
    let sent = |(started, outcome): &&(StepStarted, StepOutcome)| {
        started.kind == StepKind::Send && *outcome == StepOutcome::Succeeded
    };
    let sent = steps.iter().filter(sent).count();
    match ending {
        TurnEnding::Answered | TurnEnding::Refused => prop_assert_eq!(sent, 1),
        TurnEnding::Silent | TurnEnding::StepsSpent | TurnEnding::Failed => prop_assert_eq!(sent, 0),
        TurnEnding::DeniedAgain => prop_assert!(sent <= 1),
        TurnEnding::Stopped | TurnEnding::OutOfTime => prop_assert!(false, "nobody said stop"),
    }
    for (started, _) in &steps {
        let destination = (&started.input.json()["channel"], &started.input.json()["thread_ts"]);
        prop_assert!(started.kind != StepKind::Send || destination == (&json!("C1"), &json!("1.0")));
    }
    Ok(())
}

async fn holds(seed: u64, steps_max: u32, stop: u64) -> Result<(), TestCaseError> {
    let base = Office::asked(|_| panic!("nothing is called here")).await;
    let whole = Office::empty(move |call| Ok(anything(seed, call))).await;
    whole.copy(&base.events().await).await;
    let (turn, ending) = whole.run(steps_max).await;
    let (events, told) = (whole.events().await, whole.turn_events(&turn).await);
    check(ending, &told, steps_max)?;
    let opened = events.len() - told.len() + 1;
    let stop = opened + usize::try_from(stop).unwrap() % told.len();
    let again = Office::empty(move |call| Ok(anything(seed, call))).await;
    again.copy(&events[..stop]).await;
    let fence = again.fence(&turn).await;
    prop_assert_eq!(run(&again.parts(), &turn, fence).await.unwrap().ending(), Some(ending));
    prop_assert_eq!(facts(&again.turn_events(&turn).await), facts(&told));
    prop_assert_eq!(
        again.calls().len(),
        whole.calls().len() - passed_before(&whole, &steps_ended(&events[..stop]))
    );
    Ok(())
}

/// How many of the calls that reached the door belong to steps that had ended.
fn passed_before(whole: &Office, ended: &std::collections::BTreeSet<u32>) -> usize {
    let is_ended = |call: &&Call| match &call.origin {
        event::Origin::Step { step, .. } => ended.contains(step),
        event::Origin::Duty { .. } | event::Origin::Child { .. } => false,
    };
    whole.calls().iter().filter(is_ended).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_turn_ends_within_its_steps_and_alike_after_a_stop(seed: u64, steps_max in 0_u32..14, stop: u16) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(holds(seed, steps_max, u64::from(stop)))?;
    }
}
