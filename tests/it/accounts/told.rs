//! What was read with somebody's account is told to others on their word alone, for one send.

use super::{said, with_alice};
use event::{Event, Fact};
use fold::approval::ApprovalState;
use serde_json::Value;
use tests::office::deliver_click;
use tests::slack::{buttons, click, message};
use tests::{Kit, Office};

/// The card number `n` of those that were shown.
pub(super) async fn card(office: &Office, kit: &Kit, n: usize) -> (String, Value) {
    office.until(&format!("card {n} is shown"), |_| kit.slack.cards().len() >= n).await;
    kit.slack.cards().remove(n - 1)
}

pub(super) async fn clicks(office: &Office, card: &(String, Value), user: &str, action: &str) {
    let payload = click(card, user, action, |payload| {
        payload["trigger_id"] = format!("{user}.{action}.{}", card.0).into()
    });
    assert_eq!(deliver_click(&office.url, &payload, office.built.now()).await, 200);
}

fn asks(n: usize) -> Value {
    let ts = format!("170000000{n}.000100");
    message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &ts, "<@U0BOT> what is there?")
}

/// What was said of it where others read.
fn garden(kit: &Kit) -> usize {
    let posts = kit.slack.posts();
    let told = |post: &&Value| post["channel"] == "C01GEN" && post.to_string().contains("secret garden");
    posts.iter().filter(told).count()
}

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.fact.kind() == kind).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_with_ones_account_is_told_to_others_on_ones_own_word_for_that_send_alone() {
    let Some(mut desk) = with_alice().await else { return };
    // Somebody else is above the software: what is Alice's is not theirs to give.
    desk.kit.owner = "person_slack.T01TEST.U01OWNER".to_owned();
    desk.config = desk.kit.write();
    let office = desk.kit.open().await;
    office.deliver(&asks(1)).await;
    let card = card(&office, &desk.kit, 1).await;
    assert_eq!(card.1["channel"], "D01ALICE", "she alone sees what would be told");
    let text = card.1.to_string();
    assert!(text.contains("secret garden") && text.contains("C01GEN"), "{text}");
    assert_eq!(garden(&desk.kit), 0);
    let events = office.events().await;
    let asked = events.iter().find_map(|event| match &event.fact {
        Fact::ApprovalAsked(body) => Some(body.clone()),
        _ => None,
    });
    let asked = asked.unwrap();
    assert_eq!(
        asked.discloses.as_ref().map(event::PrincipalId::as_str),
        Some("person_slack.T01TEST.U01ALICE")
    );
    assert_eq!(asked.policies, ["no-violating-flow"]);
    // Nobody else's word counts: not that of the office's owner, by click or command, and never ahead.
    for user in ["U01OWNER", "U01BOB"] {
        clicks(&office, &card, user, "approval.yes").await;
    }
    office.until("both are told", |_| desk.kit.slack.whispers().len() >= 2).await;
    for arguments in [
        vec!["approve", asked.approval.as_str()],
        vec!["deny", asked.approval.as_str(), "--reason", "no"],
        vec!["approval", "ahead", asked.approval.as_str(), "--reason", "always"],
    ] {
        let (well, text) = said(&desk.config, &arguments);
        assert!(!well, "{arguments:?}: {text}");
    }
    let row = office.built.gate.approval(&asked.approval).await.unwrap().unwrap();
    assert_eq!((row.state, garden(&desk.kit)), (ApprovalState::Asked, 0));
    clicks(&office, &card, "U01ALICE", "approval.yes").await;
    let events = office.until_turns_ended(1).await;
    assert_eq!((garden(&desk.kit), count(&events, "approval.spent")), (1, 1));
    let changed = |_: &[Event]| !desk.kit.slack.updates().is_empty();
    office.until("the card says so", changed).await;
    let update = desk.kit.slack.updates().remove(0);
    assert_eq!((&update["channel"], buttons(&update).len()), (&Value::from("D01ALICE"), 0));
    assert!(!update.to_string().contains("secret garden"), "{update}");
    // The next send is another question, and a no is a no.
    office.deliver(&asks(2)).await;
    let second = self::card(&office, &desk.kit, 2).await;
    clicks(&office, &second, "U01ALICE", "approval.no").await;
    let events = office.until_turns_ended(2).await;
    let counts = ["approval.spent", "approval.denied"].map(|kind| count(&events, kind));
    assert_eq!((garden(&desk.kit), counts), (1, [1, 1]));
    // What it would say instead is hers too, and she is not asked again and again.
    assert_eq!(desk.kit.slack.cards().len(), 2, "{:?}", desk.kit.slack.cards());
    office.stop().await;
}
