//! Whose words a turn writes down, and what is left of it when they are erased before, between or under its steps.

use super::kit::*;
use super::script::{answers, call, denied, finish, is_infer, model, posted};
use crate::erased::WHY;
use crate::{Ran, run};
use attention::Wake;
use event::{
    Actor, Author, Event, EventId, Expected, Fact, Label, MessageReceived, Personal, Place, PlaceKind,
    PrincipalId, Proposed, StreamName, SubjectShredded, Topic, TurnEnding, TurnId,
};
use gate::{Call, GateError, Passed};
use record::Record;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use vault::Keyring;

const WORDS: &str = "quicksilver-lantern";

fn person(name: &str) -> PrincipalId {
    PrincipalId::parse(&format!("person_{name}")).unwrap()
}

async fn append(record: &Record, stream: &str, name: &str, fact: Fact) -> EventId {
    let id = EventId::derived(&[stream, name]);
    let actor = Actor { principal: PrincipalId::host(), seat: None };
    let event = Proposed { id: id.clone(), actor, cause: None, label: Label::host(), fact };
    record.append(StreamName::parse(stream).unwrap(), Expected::Any, vec![event]).await.unwrap();
    id
}

async fn says(record: &Record, who: &str, ts: &str) -> EventId {
    says_in(record, who, ts, "1.0").await
}

async fn says_in(record: &Record, who: &str, ts: &str, thread: &str) -> EventId {
    let place = Place {
        kind: PlaceKind::Channel,
        team: "T1".into(),
        channel: "C1".into(),
        ts: ts.into(),
        thread_ts: Some(thread.into()),
    };
    let message = MessageReceived {
        place,
        author: Author { principal: Some(person(who)), external: who.to_uppercase(), bot: false },
        text: Personal::of(WORDS.to_owned(), [person(who)]),
        mentions_office: true,
        subtype: String::new(),
    };
    append(record, "message-1", ts, message.into()).await
}

/// States that the person's words are erased, and erases them.
async fn shred(record: &Record, who: &str) {
    let (ring, subject) = (record.keyring().unwrap(), person(who));
    let key = ring.key_id(&subject).unwrap().unwrap();
    let fact = SubjectShredded { subject: subject.clone(), keys: vec![key.to_string()], reason: "x".into() };
    append(record, "subject-1", &key.to_string(), fact.into()).await;
    assert!(ring.destroy(&subject, &key).unwrap());
}

/// An office with keys in which two persons have said something on one thread, and what woke the turn.
async fn talked(
    script: impl Fn(&Call) -> Result<Passed, GateError> + Send + Sync + 'static,
) -> (Office, EventId) {
    let mut office = Office::seated(script).await;
    office.record = office.record.clone().with_keyring(Keyring::in_memory(1));
    says(&office.record, "a", "1.0").await;
    let woken_by = says(&office.record, "b", "1.1").await;
    (office, woken_by)
}

async fn opened(office: &Office, woken_by: EventId) -> TurnId {
    let wake = Wake {
        asked_by: woken_by,
        topic: Topic::parse("slack:T1:C1:1.0").unwrap(),
        seat: seat(),
        asked: None,
    };
    crate::open(&office.record, crate::Opening { wake, ..opening(60) }).await.unwrap().turn
}

/// Repeats what it is shown: to a tool, and in its answer.
fn repeats(asked: &Call) -> Passed {
    match answers_or_none(asked) {
        Some(0) => model(vec![call("c1", "web.fetch", json!({"url": WORDS}))]),
        Some(_) => model(vec![finish(WORDS)]),
        None => posted(),
    }
}

fn answers_or_none(asked: &Call) -> Option<usize> {
    is_infer(asked).then(|| answers(asked))
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.kind()).collect()
}

/// The last fact of `events` says that the turn was erased, and says it in the open.
fn ended_erased(events: &[Event]) {
    let Fact::TurnEnded(ended) = &events.last().unwrap().fact else { panic!("{:?}", kinds(events)) };
    assert_eq!((ended.ending, ended.summary.text()), (TurnEnding::Failed, WHY));
    assert!(ended.summary.subjects().is_empty());
}

#[tokio::test]
async fn whatever_a_turn_writes_down_is_of_everyone_it_was_shown() {
    let (office, woken_by) = talked(|call| Ok(repeats(call))).await;
    let turn = opened(&office, woken_by).await;
    run(&office.parts(), &turn, office.fence(&turn).await).await.unwrap();
    let both: BTreeSet<PrincipalId> = [person("a"), person("b")].into();
    let events = office.turn_events(&turn).await;
    assert!(events.len() > 7, "{:?}", kinds(&events));
    for event in &events {
        for (field, personal) in event.fact.personal() {
            assert_eq!(personal.subjects(), &both, "{} {field}", event.fact.kind());
        }
    }
    assert!(office.calls().iter().all(|call| call.of == both));
    // Nothing of it is kept in the open.
    let kept = office.record.clone().without_keyring();
    for event in kept.read_all(event::GlobalPosition(0), 1_000).await.unwrap() {
        assert!(!format!("{event:?}").contains(WORDS), "{event:?}");
    }
    // One of the two is enough to close all of it, and the turns that come later are shown none of it.
    shred(&office.record, "a").await;
    let woken_by = says(&office.record, "b", "1.2").await;
    let later = opened(&office, woken_by).await;
    run(&office.parts(), &later, office.fence(&later).await).await.unwrap();
    let of: BTreeSet<PrincipalId> = [person("b")].into();
    assert_eq!(office.calls().last().unwrap().of, of);
    assert_eq!(office.ended(&later).await.ending, TurnEnding::Answered);
}

#[tokio::test]
async fn a_turn_whose_words_were_erased_before_it_ran_asks_nobody_anything() {
    let (office, woken_by) = talked(|call| Ok(repeats(call))).await;
    let turn = opened(&office, woken_by).await;
    shred(&office.record, "b").await;
    let ran = run(&office.parts(), &turn, office.fence(&turn).await).await.unwrap();
    assert_eq!(ran, Ran::Ended(TurnEnding::Failed));
    let events = office.turn_events(&turn).await;
    assert_eq!(kinds(&events), ["turn.opened", "turn.ended"]);
    ended_erased(&events);
    assert!(office.calls().is_empty());
}

#[tokio::test]
async fn a_turn_that_is_taken_up_after_an_erasure_ends_and_repeats_nothing() {
    // The host dies in the middle of the second call.
    let (office, woken_by) = talked(|call| match answers_or_none(call) {
        Some(0) => Ok(repeats(call)),
        _ => Err(GateError::NoPurse),
    })
    .await;
    let turn = opened(&office, woken_by).await;
    let fence = office.fence(&turn).await;
    run(&office.parts(), &turn, fence.clone()).await.unwrap_err();
    shred(&office.record, "a").await;
    let calls = office.calls().len();
    let ran = run(&office.parts(), &turn, fence).await.unwrap();
    assert_eq!(ran, Ran::Ended(TurnEnding::Failed));
    ended_erased(&office.turn_events(&turn).await);
    assert_eq!(office.calls().len(), calls);
}

#[tokio::test]
async fn the_words_of_a_person_who_said_no_are_theirs_in_all_that_follows() {
    let (office, woken_by) = talked(|call| match answers_or_none(call) {
        None if call.tool == "web.fetch" => {
            let Passed::Denied(no) = denied("person_c said no: not today") else { panic!("no denial") };
            Ok(Passed::Denied(gate::Denial { quotes: Some(person("c")), ..no }))
        }
        _ => Ok(repeats(call)),
    })
    .await;
    says_in(&office.record, "c", "9.0", "9.0").await;
    let turn = opened(&office, woken_by).await;
    run(&office.parts(), &turn, office.fence(&turn).await).await.unwrap();
    let of: Vec<usize> = office.calls().iter().map(|call| call.of.len()).collect();
    // The model, the call that is denied, the model that is told why, the answer.
    assert_eq!(of, [2, 2, 3, 3]);
    shred(&office.record, "c").await;
    let Fact::TurnEnded(ended) = office.turn_events(&turn).await.pop().unwrap().fact else {
        panic!("no end")
    };
    assert_eq!(ended.summary.value(), None);
}

/// Erases `a` while the first call is under way; with `anew`, `a` has spoken again before it comes back.
async fn erased_under_way(anew: bool) {
    let record: Arc<OnceLock<Record>> = Arc::default();
    let within = Arc::clone(&record);
    let (office, woken_by) = talked(move |call| {
        if answers_or_none(call) == Some(0) {
            let record = within.get().unwrap().clone();
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    shred(&record, "a").await;
                    if anew {
                        says(&record, "a", "1.3").await;
                    }
                });
            });
        }
        Ok(repeats(call))
    })
    .await;
    record.set(office.record.clone()).unwrap();
    let turn = opened(&office, woken_by).await;
    let ran = run(&office.parts(), &turn, office.fence(&turn).await).await.unwrap();
    assert_eq!(ran, Ran::Ended(TurnEnding::Failed));
    let events = office.turn_events(&turn).await;
    assert_eq!(kinds(&events), ["turn.opened", "step.started", "turn.ended"]);
    ended_erased(&events);
    assert_eq!(office.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_back_after_an_erasure_is_not_written_down() {
    erased_under_way(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_speaks_again_does_not_bring_an_erased_turn_back() {
    erased_under_way(true).await;
}
