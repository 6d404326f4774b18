//! An effect of which nobody knows what came: a person is asked in the thread, and a click is their word.

use super::{Ahead, OWNER, THREAD, asks, clicks, opened, tools};
use crate::cards::count;
use event::Fact;
use fold::effect::recall::RECALLS_MAX;
use fold::effect::{EffectRow, EffectState};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tests::office::deliver_click;
use tests::slack::{Mood, TEAM, buttons, click};
use tests::{Kit, Office};

/// An office whose answer was lost, that Slack does not let read back: a person is asked.
async fn asked(kit: &Kit) -> (Office, Arc<Ahead>, event::EffectId, (String, Value)) {
    kit.slack.set_mood(Mood::LoseAnswer);
    let (office, clock) = opened(kit).await;
    office.deliver(&asks("hello")).await;
    let events = office.until_turns_ended(1).await;
    kit.slack.set_mood(Mood::Good);
    kit.slack.set_history_error(Some("missing_scope"));
    let effect = events.iter().find_map(|event| match &event.fact {
        Fact::EffectIntended(body) if body.tool == "slack.post" => Some(body.effect.clone()),
        _ => None,
    });
    let effect = effect.unwrap();
    for tries in 1..=RECALLS_MAX as usize {
        let next = row(&office, &effect).await.recalling.unwrap().next_at.unwrap();
        clock.0.fetch_add(next.since_ms(office.built.now()).max(0) + 1, Ordering::SeqCst);
        office.until("it was tried", |events| count(events, "effect.recalled") >= tries).await;
    }
    office
        .until("somebody is asked", |events| tools(events, "slack.ask") == 1 && !kit.slack.cards().is_empty())
        .await;
    let card = kit.slack.cards().remove(0);
    (office, clock, effect, card)
}

async fn row(office: &Office, effect: &event::EffectId) -> EffectRow {
    office.built.gate.effect(effect).await.unwrap().unwrap()
}

async fn owned() -> Kit {
    let mut kit = Kit::new().await;
    kit.owner = format!("person_slack.{TEAM}.{OWNER}");
    kit
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_knows_is_asked_in_the_thread_and_a_click_is_a_persons_word() {
    let kit = owned().await;
    let (office, _, effect, card) = asked(&kit).await;
    let (_, shown) = &card;
    assert_eq!((&shown["channel"], &shown["thread_ts"]), (&json!("C01GEN"), &json!(THREAD)));
    let actions: Vec<&str> =
        buttons(shown).iter().map(|button| button["action_id"].as_str().unwrap()).collect();
    assert_eq!(actions, ["effect.happened", "effect.absent", "effect.again"]);
    let text = shown.to_string();
    assert!(text.contains(effect.as_str()) && text.contains("slack.post"), "{text}");
    assert!(text.contains(&format!("<@{OWNER}> ")) && !text.contains("<!"), "{text}");
    // Somebody who may not say is told so, alone.
    clicks(&office, &card, "U03ELSE", "effect.happened").await;
    office.until("they are told", |_| kit.slack.whispers().len() == 1).await;
    assert_eq!(kit.slack.whispers()[0]["user"], "U03ELSE");
    assert_eq!(row(&office, &effect).await.state, EffectState::Unknown);
    clicks(&office, &card, OWNER, "effect.happened").await;
    let events = office.until("the question was changed", |_| kit.slack.updates().len() == 1).await;
    assert_eq!(row(&office, &effect).await.state, EffectState::Sent);
    assert_eq!((count(&events, "effect.stated"), count(&events, "request.answered")), (1, 1));
    let update = kit.slack.updates().remove(0);
    assert_eq!((&update["ts"], buttons(&update).len()), (&json!(card.0), 0));
    assert!(update.to_string().contains("it happened"), "{update}");
    assert_eq!(kit.slack.posts().len(), 2, "the answer once, and the question");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_not_there_is_sent_once_more_when_a_person_says_so_and_not_twice() {
    let kit = owned().await;
    let (office, _, effect, card) = asked(&kit).await;
    clicks(&office, &card, OWNER, "effect.again").await;
    office.until("it was sent again", |_| kit.slack.posts().len() == 3).await;
    assert_eq!(kit.slack.posts()[0]["text"], kit.slack.posts()[2]["text"]);
    assert_eq!(kit.slack.posts()[2]["thread_ts"], THREAD);
    let again = click(&card, OWNER, "effect.again", |payload| payload["trigger_id"] = json!("another"));
    assert_eq!(deliver_click(&office.url, &again, office.built.now()).await, 200);
    office.until("they are told", |_| kit.slack.whispers().len() == 1).await;
    let events = office.events().await;
    assert_eq!((kit.slack.posts().len(), row(&office, &effect).await.state), (3, EffectState::Sent));
    assert_eq!(tools(&events, "slack.post"), 2, "one effect, meant twice");
    office.built.record.verify(None).await.unwrap();
    office.stop().await;
}
