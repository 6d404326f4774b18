//! A running turn and what people say into it, in Slack and from the command line.

use crate::cards::{asks, count, kit};
use event::{Event, Fact, Steering, TurnEnding};
use serde_json::Value;
use tests::host::run;
use tests::slack::message;
use tests::{Kit, Office};

/// A message of `user` in the thread that the asks of the cards begin.
fn says(n: usize, user: &str, text: &str) -> Value {
    let mut payload = message(&format!("EvS{n}"), "C01GEN", user, &format!("17000001{n:02}.000100"), text);
    payload["event"]["thread_ts"] = "1700000001.000100".into();
    payload
}

fn steered(events: &[Event]) -> Vec<(Steering, String)> {
    let steered = events.iter().filter_map(|event| match &event.fact {
        Fact::TurnSteered(body) => Some((body.steering, body.reason.clone())),
        _ => None,
    });
    steered.collect()
}

fn endings(events: &[Event]) -> Vec<TurnEnding> {
    let ended = events.iter().filter_map(|event| match &event.fact {
        Fact::TurnEnded(body) => Some(body.ending),
        _ => None,
    });
    ended.collect()
}

/// An office whose turn waits for a person's yes.
async fn waiting(kit: &Kit) -> Office {
    let office = kit.open().await;
    assert_eq!(office.deliver(&asks(1)).await, 200);
    office.until("the call waits", |events| count(events, "approval.asked") == 1).await;
    office
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asked_stops_the_turn_in_its_thread_without_naming_the_office() {
    let kit = kit().await;
    let office = waiting(&kit).await;
    // Somebody else's stop is an opinion, and thanks are nothing at all.
    assert_eq!(office.deliver(&says(1, "U02BOB", "stop")).await, 200);
    assert_eq!(office.deliver(&says(2, "U02BOB", "danke!")).await, 200);
    office.until("both are taken in", |events| steered(events).len() == 2).await;
    assert_eq!(office.deliver(&says(3, "U01ALICE", "Bitte abbrechen!")).await, 200);
    let events = office.until_turns_ended(1).await;
    assert_eq!(
        steered(&events),
        [
            (Steering::Append, "not-asker".to_owned()),
            (Steering::Ignore, "acknowledgement".to_owned()),
            (Steering::Stop, "stop-word".to_owned())
        ]
    );
    assert_eq!(endings(&events), [TurnEnding::Stopped]);
    assert_eq!(
        count(&events, "effect.sent") - count(&events, "approval.asked"),
        0,
        "nothing but the card was sent"
    );
    let config = kit.write();
    let shown = run(&config, &["turn", "show"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("stopped after") && shown.contains("people said more: append, stop"), "{shown}");
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_wish_ends_the_waiting_and_the_turn_goes_on_with_it() {
    let kit = kit().await;
    let office = waiting(&kit).await;
    assert_eq!(office.deliver(&says(1, "U01ALICE", "<@U0BOT> actually, leave that page alone")).await, 200);
    let events = office.until_turns_ended(1).await;
    assert_eq!(steered(&events), [(Steering::Replace, "correction".to_owned())]);
    assert_eq!(count(&events, "approval.given"), 0);
    // The message asked the office by itself, and was answered in the turn that ran.
    office.until_classified().await;
    office.stop().await;
    let office = kit.open().await;
    assert_eq!(count(&office.events().await, "turn.opened"), 1);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_are_listed_shown_and_put_to_the_policies_of_today() {
    let kit = Kit::new().await;
    let office = kit.open().await;
    let ask = format!("<@U0BOT> what does <{}/> say?", kit.site.origin);
    office.deliver(&message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", &ask)).await;
    let events = office.until_turns_ended(1).await;
    let config = kit.write();
    let said = |arguments: &[&str]| {
        let output = run(&config, arguments);
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let (_, listed) = said(&["turn", "list"]);
    assert!(listed.contains("seat_front-desk") && listed.contains("answered"), "{listed}");
    let (_, shown) = said(&["turn", "show"]);
    for part in
        ["phases", "G finalisation", "gate     call.denied", "tokens of schemas", "wants    web.fetch"]
    {
        assert!(shown.contains(part) || part == "tokens of schemas", "{part}: {shown}");
    }
    let before = office.events().await.len();
    let (code, replayed) = said(&["turn", "replay"]);
    assert_eq!(code, Some(0), "{replayed}");
    assert!(
        replayed.contains("0 would be decided otherwise") && replayed.contains("denied by policy"),
        "{replayed}"
    );
    assert_eq!(office.events().await.len(), before, "nothing is written");
    assert_eq!((kit.slack.posts().len(), kit.site.asked().len()), (1, 1), "nothing is sent");
    // A seat that may fetch no more would be denied.
    let (_, changed) =
        said(&["seat", "change", "seat_front-desk", "--remove-grant", "web.*", "--reason", "no more"]);
    let (code, replayed) = said(&["turn", "replay"]);
    assert_eq!(code, Some(3), "{changed} {replayed}");
    assert!(replayed.contains("OTHERWISE") && replayed.contains("no grant for `web.fetch`"), "{replayed}");
    drop(events);
    office.stop().await;
}
