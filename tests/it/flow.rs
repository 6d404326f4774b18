//! One thread through everything: a signed event in, a turn, a tool, a no, and an answer in the thread.

use event::{Class, Fact, StepOutcome, TurnEnding};
use serde_json::{Value, json};
use tests::office::PAGE;
use tests::slack::{TOKEN, app_mention, message};
use tests::{Kit, story};

fn ask(site: &str) -> String {
    format!("<@U0BOT> what does <{site}/> say?")
}

#[tokio::test]
async fn a_mention_is_answered_in_its_thread_from_what_was_read() {
    a_mention_is_answered(Kit::new().await).await;
}

#[tokio::test]
async fn a_mention_is_answered_in_its_thread_from_what_was_read_on_postgres() {
    a_mention_is_answered(Kit::on_postgres().await).await;
}

async fn a_mention_is_answered(kit: Kit) {
    let office = kit.open().await;
    let text = ask(&kit.site.origin);
    assert_eq!(office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", &text)).await, 200);
    assert_eq!(
        office.deliver(&app_mention("Ev2", "C01GEN", "U01ALICE", "1700000000.000100", &text)).await,
        200
    );
    office.until_turns_ended(1).await;
    let events = story::after_settings(office.until_classified().await);

    insta::assert_snapshot!("the_story", story::told(&stable(events.clone())));

    // What arrived outside is what the record says.
    let posts = kit.slack.posts();
    assert_eq!(posts.len(), 1);
    assert_eq!(
        (&posts[0]["channel"], &posts[0]["thread_ts"]),
        (&json!("C01GEN"), &json!("1700000000.000100"))
    );
    let said = posts[0]["text"].as_str().unwrap();
    assert!(said.contains("The tide turns at six.") && said.contains("intranet.example.com"), "{said}");
    let asked = kit.site.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0].line, "GET /");
    // The credential went to Slack and to nobody else.
    assert!(kit.slack.tokens().iter().all(|token| *token == format!("Bearer {TOKEN}")));
    assert_eq!(asked[0].authorization, None);

    // The receipt names the bytes, and the answer names the receipt.
    let receipt = events
        .iter()
        .find_map(|event| match &event.fact {
            Fact::ReceiptRecorded(receipt) if receipt.address.text().starts_with(&kit.site.origin) => {
                Some(receipt.clone())
            }
            _ => None,
        })
        .unwrap();
    assert_eq!(receipt.sha256, event::Digest::of(PAGE.as_bytes()));
    assert!(receipt.untrusted);
    let ended = events.iter().find_map(|event| match &event.fact {
        Fact::TurnEnded(ended) => Some(ended.clone()),
        _ => None,
    });
    let ended = ended.unwrap();
    assert_eq!((ended.ending, ended.sources), (TurnEnding::Answered, vec![receipt.receipt]));
    office.stop().await;
}

/// Two deliveries of one message are classified while the turn runs: their place among its events differs from
/// run to run, so they are told first.
fn stable(events: Vec<event::Event>) -> Vec<event::Event> {
    let arrives = |event: &event::Event| {
        event.fact.kind().starts_with("delivery.") || event.fact.kind().starts_with("message.")
    };
    let (mut first, rest): (Vec<_>, Vec<_>) = events.into_iter().partition(arrives);
    first.sort_by_key(|event| (event.stream.clone(), event.position));
    // Streams are named after digests; the order of arrival is what a reader expects.
    first.sort_by_key(|event| match event.fact.kind() {
        "delivery.received" => 0,
        "message.received" => 1,
        "message.merged" => 2,
        _ => 3,
    });
    first.sort_by_key(|event| matches!(&event.fact, Fact::DeliveryReceived(d) if d.event == "app_mention"));
    first.into_iter().chain(rest).collect()
}

#[tokio::test]
async fn a_remark_to_nobody_gets_nothing() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    assert_eq!(
        office.deliver(&message("Ev1", "C02RAND", "U01BOB", "1700000000.000200", "lunch anyone?")).await,
        200
    );
    let events = office.until_classified().await;
    let class = events.iter().find_map(|event| match &event.fact {
        Fact::DeliveryClassified(body) => Some((body.class, body.asks.clone())),
        _ => None,
    });
    assert_eq!(class, Some((Class::Passive, None)));
    office.stop().await;
    assert!(!events.iter().any(|event| event.fact.kind() == "turn.opened"));
    assert_eq!(kit.slack.posts(), Vec::<Value>::new());
}

#[tokio::test]
async fn the_model_is_told_why_it_was_denied() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", &ask(&kit.site.origin))).await;
    let events = office.until_turns_ended(1).await;
    let denied = events.iter().find_map(|event| match &event.fact {
        Fact::StepEnded(step) if step.outcome == StepOutcome::Denied => Some(step.output.clone()),
        _ => None,
    });
    let reason = denied.unwrap().json()["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.contains("`https://intranet.example.com`") && reason.contains(&kit.site.origin),
        "{reason}"
    );
    // The next answer of the model quotes it: it was told.
    let last = events.iter().rev().find_map(|event| match &event.fact {
        Fact::StepEnded(step) if step.output.json().get("parts").is_some() => Some(step.output.to_string()),
        _ => None,
    });
    assert!(last.unwrap().contains("intranet.example.com"));
    office.stop().await;
}

#[tokio::test]
async fn every_event_is_labelled_by_what_it_came_from() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", &ask(&kit.site.origin))).await;
    let events = office.until_turns_ended(1).await;
    let channel = event::Audience::SlackChannel { team: "T01TEST".into(), channel: "C01GEN".into() };
    let within = |event: &event::Event| match &event.label.readers {
        event::Readers::Within(audiences) => audiences.contains(&channel),
        event::Readers::Unknown | event::Readers::UnknownWithin(_) => false,
    };
    for event in &events {
        let integrity = event.label.integrity;
        match &event.fact {
            Fact::MessageReceived(_) => assert!(within(event) && integrity < event::Integrity::Trusted),
            Fact::ReceiptRecorded(receipt) if receipt.address.text().starts_with(&kit.site.origin) => {
                assert_eq!(integrity, event::Integrity::Untrusted);
            }
            // Whatever the model wrote after the page is as untrusted as the page, for the channel alone.
            Fact::StepEnded(step) if step.step >= 3 && step.output.json().get("parts").is_some() => {
                assert!(within(event), "{event:?}");
                assert_eq!(integrity, event::Integrity::Untrusted, "{event:?}");
            }
            _ => {}
        }
    }
    office.stop().await;
}

#[tokio::test]
async fn what_was_folded_live_is_what_a_rebuild_folds() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", &ask(&kit.site.origin))).await;
    office.until_turns_ended(1).await;
    let live = office.built.record.rows_digest().await.unwrap();
    office.built.record.rebuild().await.unwrap();
    assert_eq!(office.built.record.rows_digest().await.unwrap(), live);
    office.built.record.verify(None).await.unwrap();
    office.stop().await;
}
