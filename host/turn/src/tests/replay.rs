//! A turn that is stopped anywhere ends in the same record, and nothing that ended runs twice.

use super::endings::chatty;
use super::kit::*;
use super::noes::{spent, stubborn};
use super::pace::{busy, restless, shy};
use super::story::story;
use crate::{ATTEMPTS_MAX, run};
use event::{Actor, Event, Fact, Label, Origin, TurnEnding};
use gate::GateError;
use std::collections::BTreeSet;

/// The facts of a turn, without the tries that never ended and without the numbers of the others, step by step: of steps
/// that run at once, the one that is begun again begins later.
pub fn facts(events: &[Event]) -> Vec<(Fact, Label, Actor)> {
    let ended: BTreeSet<(u32, u32)> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::StepEnded(ended) => Some((ended.step, ended.attempt)),
            _ => None,
        })
        .collect();
    let mut facts = Vec::new();
    for event in events {
        let mut fact = event.fact.clone();
        match &mut fact {
            Fact::StepStarted(started) if !ended.contains(&(started.step, started.attempt)) => continue,
            Fact::StepStarted(started) => started.attempt = 0,
            Fact::StepEnded(ended) => ended.attempt = 0,
            _ => {}
        }
        facts.push((fact, event.label.clone(), event.actor.clone()));
    }
    facts.sort_by_key(|(fact, _, _)| match fact {
        Fact::TurnOpened(_) => 0,
        Fact::StepStarted(started) => started.step,
        Fact::StepEnded(ended) => ended.step,
        Fact::InboxDrained(drained) => drained.before_step.saturating_sub(1),
        _ => u32::MAX,
    });
    facts
}

pub fn steps_ended(events: &[Event]) -> BTreeSet<u32> {
    let ended = |event: &Event| match &event.fact {
        Fact::StepEnded(ended) => Some(ended.step),
        _ => None,
    };
    events.iter().filter_map(ended).collect()
}

fn step_of(origin: &Origin) -> u32 {
    match origin {
        Origin::Step { step, .. } => *step,
        Origin::Duty { .. } | Origin::Child { .. } => panic!("a turn makes neither"),
    }
}

const SCRIPTS: [(&str, Script, u32); 7] = [
    ("story", story, 60),
    ("restless", restless, 9),
    ("stubborn", stubborn, 60),
    ("spent", spent, 60),
    ("shy", shy, 60),
    ("chatty", chatty, 60),
    ("busy", busy, 60),
];

#[tokio::test]
async fn a_stop_after_any_event_ends_in_the_same_record() {
    for (name, script, steps_max) in SCRIPTS {
        let whole = Office::asked(script).await;
        let (turn, ending) = whole.run(steps_max).await;
        let (events, told) = (whole.events().await, whole.turn_events(&turn).await);
        let opened = events.len() - told.len() + 1;
        for stop in opened..=events.len() {
            let office = Office::empty(move |call| Ok(script(call))).await;
            office.copy(&events[..stop]).await;
            let fence = office.fence(&turn).await;
            // Something more is said meanwhile: a turn that has begun does not look at it.
            if stop > opened {
                office.message("1.9", "U09", "one more thing").await;
            }
            assert_eq!(
                run(&office.parts(), &turn, fence).await.unwrap().ending(),
                Some(ending),
                "{name} {stop}"
            );
            assert_eq!(facts(&office.turn_events(&turn).await), facts(&told), "{name} {stop}");
            let done = steps_ended(&events[..stop]);
            for call in office.calls() {
                assert!(!done.contains(&step_of(&call.origin)), "{name} {stop}: step ran again");
            }
            let all = steps_ended(&events).len();
            assert_eq!(office.calls().len(), all - done.len(), "{name} {stop}");
        }
    }
}

#[tokio::test]
async fn a_door_that_breaks_at_the_first_try_of_every_step_changes_nothing_but_the_tries() {
    let whole = Office::asked(story).await;
    let (turn, _) = whole.run(60).await;
    let office = Office::empty(|call| match call.origin.attempt() {
        1 => Err(GateError::NoPolicy),
        _ => Ok(story(call)),
    })
    .await;
    office.copy(&whole.events().await[..3]).await;
    assert_eq!(office.open(60).await, turn);
    let fence = office.fence(&turn).await;
    let mut broken = 0;
    while run(&office.parts(), &turn, fence.clone()).await.is_err() {
        broken += 1;
    }
    assert_eq!(broken, 6);
    assert_eq!(facts(&office.turn_events(&turn).await), facts(&whole.turn_events(&turn).await));
}

#[tokio::test]
async fn a_step_that_never_ends_is_given_up() {
    let office = Office::empty(|_| Err(GateError::NoPolicy)).await;
    let asked = Office::asked(story).await;
    office.copy(&asked.events().await).await;
    let turn = office.open(60).await;
    let fence = office.fence(&turn).await;
    let mut tries = 0;
    let ending = loop {
        match run(&office.parts(), &turn, fence.clone()).await {
            Ok(ran) => break ran.ending(),
            Err(_) => tries += 1,
        }
    };
    assert_eq!((ending, tries), (Some(TurnEnding::Failed), ATTEMPTS_MAX));
}
