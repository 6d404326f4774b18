//! The noes and the purse, seen from a whole office.

use event::{Fact, NanoUsd, TurnEnding};
use tests::Kit;
use tests::slack::{Mood, message};

async fn greeted(kit: &Kit) -> (tests::Office, Vec<event::Event>) {
    let office = kit.open().await;
    office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> hello")).await;
    let events = office.until_turns_ended(1).await;
    (office, events)
}

fn ending(events: &[event::Event]) -> (TurnEnding, String) {
    let ended = events.iter().find_map(|event| match &event.fact {
        Fact::TurnEnded(ended) => Some((ended.ending, ended.summary.text().to_owned())),
        _ => None,
    });
    ended.unwrap()
}

fn count(events: &[event::Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

#[tokio::test]
async fn a_budget_of_zero_refuses_and_the_refusal_is_told_without_inference() {
    let mut kit = Kit::new().await;
    kit.day = "0".to_owned();
    let (office, events) = greeted(&kit).await;
    assert_eq!(ending(&events).0, TurnEnding::Refused);
    assert_eq!((count(&events, "hold.taken"), count(&events, "call.refused")), (0, 1));
    let said = kit.slack.posts()[0]["text"].as_str().unwrap().to_owned();
    assert!(said.contains("organisation-day") && said.contains("settled"), "{said}");
    office.stop().await;
}

#[tokio::test]
async fn a_model_without_a_price_is_not_bought() {
    let mut kit = Kit::new().await;
    kit.prices = "[price.\"another/model\"]\ninput_per_mtok = \"1\"\noutput_per_mtok = \"1\"\n".to_owned();
    let (office, events) = greeted(&kit).await;
    assert_eq!(ending(&events).0, TurnEnding::Refused);
    assert!(
        events.iter().any(
            |event| matches!(&event.fact, Fact::CallRefused(no) if no.subject == "price/scripted/story")
        )
    );
    office.stop().await;
}

#[tokio::test]
async fn every_hold_is_settled_for_what_was_used_and_no_more_than_was_held() {
    let kit = Kit::new().await;
    let (office, events) = greeted(&kit).await;
    let (mut held, mut charged) = (0, 0);
    for event in &events {
        match &event.fact {
            Fact::HoldTaken(_) => held += 1,
            Fact::HoldSettled(settled) => {
                assert!(settled.charged > NanoUsd::ZERO && settled.charged <= settled.held);
                charged += settled.charged.0;
            }
            _ => {}
        }
    }
    assert_eq!((held, count(&events, "hold.settled")), (1, 1));
    let day = office.built.now().to_string();
    let key = format!("organisation-day/{}", &day[..10]);
    let account = office.built.record.row("account", &key).await.unwrap();
    let account: fold::purse::AccountRow = fold::decode(account.as_ref()).unwrap();
    assert_eq!(
        (account.settled, account.held, account.unknown),
        (NanoUsd(charged), NanoUsd::ZERO, NanoUsd::ZERO)
    );
    office.stop().await;
}

#[tokio::test]
async fn a_send_that_slack_refuses_is_a_failed_effect_and_says_what_to_do() {
    let kit = Kit::new().await;
    kit.slack.set_mood(Mood::NotInChannel);
    let (office, events) = greeted(&kit).await;
    let (ending, summary) = ending(&events);
    assert_eq!(ending, TurnEnding::Failed);
    assert!(summary.contains("channel"), "{summary}");
    assert!(count(&events, "effect.failed") >= 1 && count(&events, "effect.sent") == 0);
    office.stop().await;
}

#[tokio::test]
async fn an_answer_lost_after_slack_took_the_message_is_unknown_and_never_sent_again() {
    let kit = Kit::new().await;
    kit.slack.set_mood(Mood::LoseAnswer);
    let (office, events) = greeted(&kit).await;
    assert_eq!(ending(&events).0, TurnEnding::Failed);
    assert_eq!(count(&events, "effect.left-unknown"), 1);
    office.stop().await;
    // The same office again, with Slack in good health: nothing is tried blind.
    kit.slack.set_mood(Mood::Good);
    let office = kit.open().await;
    office.deliver(&message("Ev9", "C01GEN", "U01ALICE", "1700000009.000100", "<@U0BOT> hello")).await;
    office.until_turns_ended(2).await;
    assert_eq!(kit.slack.posts().len(), 2, "one that was lost, one for the new message");
    office.stop().await;
}

#[tokio::test]
async fn asking_for_the_same_denied_thing_twice_ends_the_turn() {
    let mut kit = Kit::new().await;
    kit.script = r#"
[[rule]]
when = []
[[rule.step]]
call = { tool = "web.fetch", input = { url = "https://intranet.example.com/" } }
[[rule.step]]
call = { tool = "web.fetch", input = { url = "https://intranet.example.com/" } }
[[rule.step]]
call = { tool = "web.fetch", input = { url = "https://intranet.example.com/" } }
"#
    .to_owned();
    let (office, events) = greeted(&kit).await;
    assert_eq!(count(&events, "call.denied"), 2);
    assert_eq!(ending(&events).0, TurnEnding::DeniedAgain);
    office.stop().await;
}

#[tokio::test]
async fn the_model_itself_cannot_post_where_it_likes() {
    let mut kit = Kit::new().await;
    kit.script = r#"
[[rule]]
when = []
[[rule.step]]
call = { tool = "slack.post", input = { channel = "C99SECRET", text = "hello from elsewhere" } }
[[rule.step]]
finish = { outcome = "answered", text = "done" }
"#
    .to_owned();
    let (office, events) = greeted(&kit).await;
    let posts = kit.slack.posts();
    assert!(posts.iter().all(|post| post["channel"] == "C01GEN"), "{posts:?}");
    assert_eq!(ending(&events).0, TurnEnding::Answered);
    office.stop().await;
}

#[tokio::test]
async fn a_turn_of_few_steps_still_answers() {
    let mut kit = Kit::new().await;
    kit.steps_max = 4;
    let office = kit.open().await;
    let text = format!("<@U0BOT> what does {}/ say?", kit.site.origin);
    office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", &text)).await;
    let events = office.until_turns_ended(1).await;
    assert_eq!(kit.slack.posts().len(), 1, "{}", tests::story::told(&events));
    assert_eq!(ending(&events).0, TurnEnding::Answered);
    office.stop().await;
}
