//! What something running for a call calls passes the same door, with at most its parent's grants.

use crate::kit::Office;
use event::{Audience, DeniedBy, Integrity, Label};
use gate::call::CHILD_DEPTH_MAX;
use gate::{Call, EffectClass, Passed};
use serde_json::json;

fn words() -> serde_json::Value {
    json!({"channel": "C1", "text": "hello"})
}

fn child(parent: &Call, ordinal: u32, tool: &str, grants: &[&str]) -> Call {
    let grants = grants.iter().map(|grant| (*grant).to_owned()).collect();
    let nothing = Label::join_all([]);
    parent.child(ordinal, 1, (tool, words()), grants, &nothing).unwrap()
}

#[tokio::test]
async fn a_child_may_do_what_its_parent_was_given_and_its_seat_holds_and_no_more() {
    for (tool, given, may) in [
        ("slack.post", vec!["slack.post"], true),
        ("slack.post", vec!["slack.*"], true),
        ("slack.post", vec!["*"], true),
        ("slack.post", vec![], false),
        ("slack.post", vec!["terminal.say"], false),
        // More than the seat holds is given by nobody.
        ("slack.react", vec!["*"], false),
    ] {
        let office = Office::with(EffectClass::External, "component").await;
        let parent = office.call(1, "terminal.say", json!({"session": "s", "text": "hello"}));
        let passed = office.pass(child(&parent, 1, tool, &given)).await;
        match passed {
            Passed::Done { .. } => assert!(may, "{tool} {given:?}"),
            Passed::Denied(denial) => {
                assert!(!may && denial.by == DeniedBy::Grant, "{tool} {given:?} {denial:?}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(office.world.reached().len(), usize::from(may));
    }
}

#[tokio::test]
async fn a_childs_child_has_at_most_what_each_above_it_was_given() {
    let office = Office::with(EffectClass::External, "component").await;
    let parent = office.call(1, "terminal.say", json!({}));
    let narrow = child(&child(&parent, 1, "terminal.say", &["terminal.*"]), 1, "slack.post", &["*"]);
    assert!(matches!(office.pass(narrow).await, Passed::Denied(denial) if denial.by == DeniedBy::Grant));
    let wide = child(&child(&parent, 1, "terminal.say", &["*"]), 1, "slack.post", &["slack.*"]);
    assert!(matches!(office.pass(wide).await, Passed::Done { .. }));
}

#[tokio::test]
async fn a_child_asks_the_same_person_and_says_the_same_words_once() {
    let office = Office::with(EffectClass::Destructive, "component").await;
    let parent = office.call(1, "terminal.say", json!({}));
    let waits = office.pass(child(&parent, 1, "slack.post", &["*"])).await;
    assert!(matches!(waits, Passed::Waits { .. }), "{waits:?}");
    let office = Office::with(EffectClass::External, "component").await;
    // The parent runs again and its script makes the same two calls.
    for attempt in [1, 2] {
        for ordinal in [1, 2] {
            let mut call = child(&parent, ordinal, "slack.post", &["*"]);
            if let event::Origin::Child { attempt: at, .. } = &mut call.origin {
                *at = attempt;
            }
            assert!(matches!(office.pass(call).await, Passed::Done { .. }));
        }
    }
    assert_eq!(office.world.reached().len(), 1);
}

#[test]
fn a_child_carries_the_label_the_topic_and_the_lease_of_its_parent() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let office = runtime.block_on(Office::with(EffectClass::External, "component"));
    let mut parent = office.call(1, "slack.post", words());
    parent.label = Label::within(Audience::Terminal("s".into()), Integrity::Trusted);
    parent.fence = Some(record::Fence { name: "turn".into(), token: 7 });
    let read = Label::public_untrusted();
    let made = parent.child(1, 1, ("slack.post", words()), vec!["*".into()], &read).unwrap();
    assert_eq!(made.label, parent.label.join(&read));
    assert_eq!((&made.seat, &made.topic, &made.fence), (&parent.seat, &parent.topic, &parent.fence));
    assert_eq!(made.origin.turn(), parent.origin.turn());
    let mut deep = parent;
    for _ in 0..CHILD_DEPTH_MAX {
        deep = child(&deep, 1, "slack.post", &["*"]);
    }
    assert!(deep.child(1, 1, ("slack.post", words()), vec!["*".into()], &read).is_err());
}
