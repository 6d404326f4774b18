//! How long a turn works, and clocks that jump.

use super::kit::*;
use super::pace::restless;
use super::script::*;
use crate::{Opening, Ran, run};
use event::{ApprovalId, Fact, Timestamp, TurnEnding};
use gate::Passed;
use serde_json::json;
use std::sync::atomic::Ordering;

async fn with_clock(office: &Office, each_ms: i64) {
    let clock = office.clock.clone();
    office.meanwhile(move |_, _, call| {
        let clock = clock.clone();
        async move {
            if call.tool == "web.fetch" {
                clock.0.fetch_add(each_ms, Ordering::SeqCst);
            }
        }
    });
}

#[tokio::test]
async fn a_turn_whose_time_is_up_answers_with_what_it_has() {
    let office = Office::asked(restless).await;
    with_clock(&office, 25_000).await;
    let opening = Opening { ms_max: Some(60_000), ..opening(60) };
    let (_, ending) = office.run_with(&office.parts(), opening).await;
    assert_eq!(ending, TurnEnding::Answered);
    let requests = office.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(offered(requests.last().unwrap()), ["finish"]);
}

#[tokio::test]
async fn a_turn_that_does_not_finish_when_its_time_is_up_ends() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => panic!("nothing may be sent"),
        "web.fetch" => page("More"),
        // Also where it is not on offer.
        _ => model(vec![fetch(
            &format!("c{}", answers(asked)),
            &format!("http://site.example/{}", answers(asked)),
        )]),
    })
    .await;
    let clock = office.clock.clone();
    office.meanwhile(move |_, _, _| {
        clock.0.fetch_add(100_000, Ordering::SeqCst);
        async {}
    });
    let opening = Opening { ms_max: Some(60_000), ..opening(60) };
    assert_eq!(office.run_with(&office.parts(), opening).await.1, TurnEnding::OutOfTime);
}

#[tokio::test]
async fn the_model_is_told_once_in_ten_seconds_that_people_wait() {
    let office = Office::asked(restless).await;
    with_clock(&office, 6_000).await;
    assert_eq!(office.run(11).await.1, TurnEnding::Answered);
    let told: Vec<bool> = office
        .requests()
        .iter()
        .map(|request| newest(request).contains("have heard nothing for 1"))
        .collect();
    assert_eq!(told[..4], [false, false, true, false]);
}

#[tokio::test]
async fn a_clock_that_jumps_ends_no_turn() {
    for jump_ms in [86_400_000, -86_400_000] {
        let office = Office::asked(restless).await;
        let clock = office.clock.clone();
        office.meanwhile(move |_, before, _| {
            if before == 1 {
                clock.0.fetch_add(jump_ms, Ordering::SeqCst);
            }
            async {}
        });
        let opening = Opening { ms_max: Some(600_000), ..opening(9) };
        let (turn, ending) = office.run_with(&office.parts(), opening).await;
        assert_eq!(ending, TurnEnding::Answered, "{jump_ms}");
        assert_eq!(office.requests().len(), 5, "{jump_ms}");
        let times: Vec<Timestamp> = office.turn_events(&turn).await.iter().map(|event| event.at).collect();
        assert!(times.is_sorted(), "{jump_ms}");
    }
}

/// Another host takes the turn over while this one waits for a tool.
#[tokio::test]
async fn a_host_that_lost_its_lease_writes_nothing_and_the_other_ends_the_turn_alike() {
    let office = Office::asked(restless).await;
    let clock = office.clock.clone();
    office.meanwhile(move |record, before, _| {
        let clock = clock.clone();
        async move {
            if before == 1 {
                clock.0.fetch_add(61_000, Ordering::SeqCst);
                let turn = opening(5).wake.turn();
                assert!(record.lease(turn.as_str(), "another", 60_000).await.unwrap().is_some());
            }
        }
    });
    let turn = office.open(5).await;
    let fence = office.fence(&turn).await;
    let lost = run(&office.parts(), &turn, fence).await;
    assert!(matches!(lost, Err(crate::Error::LeaseLost(_))), "{lost:?}");
    let left = office.turn_events(&turn).await;
    assert_eq!(left.last().unwrap().fact.kind(), "step.started");
    office.clock.0.fetch_add(61_000, Ordering::SeqCst);
    let fence = office.fence(&turn).await;
    assert_eq!(run(&office.parts(), &turn, fence).await.unwrap(), Ran::Ended(TurnEnding::Answered));
    let whole = Office::asked(restless).await;
    let (alike, _) = whole.run(5).await;
    assert_eq!(alike, turn);
    let (told, other) = (office.turn_events(&turn).await, whole.turn_events(&turn).await);
    assert_eq!(super::replay::facts(&told), super::replay::facts(&other));
}

#[tokio::test]
async fn waiting_for_a_person_takes_none_of_a_turns_time() {
    let office = Office::asked(|asked| match (asked.tool.as_str(), asked.origin.attempt()) {
        ("slack.post", _) => posted(),
        ("web.fetch", 1) => {
            Passed::Waits { approval: ApprovalId::derived(&["a"]), expires_at: Timestamp(i64::MAX) }
        }
        ("web.fetch", _) => page("One"),
        _ if answers(asked) == 0 => model(vec![fetch("c", "http://site.example/")]),
        _ if call_offers(asked, "web.fetch") => model(vec![finish("In time.")]),
        _ => model(vec![finish("Too late.")]),
    })
    .await;
    let opening = Opening { ms_max: Some(60_000), ..opening(60) };
    let turn = crate::open(&office.record, opening).await.unwrap().turn;
    let fence = office.fence(&turn).await;
    assert!(matches!(run(&office.parts(), &turn, fence.clone()).await.unwrap(), Ran::Waits(_)));
    office.clock.0.fetch_add(50_000, Ordering::SeqCst);
    let ran = run(&office.parts(), &turn, fence).await.unwrap();
    assert_eq!(ran, Ran::Ended(TurnEnding::Answered));
    assert_eq!(office.sent()[0]["text"], "In time.");
}

#[tokio::test]
async fn a_turn_that_wants_to_look_again_sets_its_moment_as_it_ends() {
    let office = Office::asked(|asked| match asked.tool.as_str() {
        "slack.post" => posted(),
        _ if answers(asked) == 0 => {
            model(vec![call("f", "finish", json!({"outcome": "silent", "look_again_minutes": 0}))])
        }
        _ => model(vec![call("f", "finish", json!({"outcome": "silent", "look_again_minutes": 30}))]),
    })
    .await;
    let (turn, ending) = office.run(60).await;
    assert_eq!(ending, TurnEnding::Silent);
    let events = office.events().await;
    let [ended, set] = &events[events.len() - 2..] else { panic!() };
    let Fact::MomentSet(moment) = &set.fact else { panic!("{}", set.fact.kind()) };
    assert_eq!((ended.fact.kind(), ended.at), ("turn.ended", set.at));
    let before = office.turn_events(&turn).await;
    let newest = before[before.len() - 2].at;
    let (from, to) = (newest.plus_ms(30 * 60_000), ended.at.plus_ms(30 * 60_000));
    assert!(from <= moment.at && moment.at <= to, "{from} {} {to}", moment.at);
}
