//! Clicks as Slack sends them, each field in turn as it should not be.

use super::{Click, Saw, Says, click};
use crate::fixture::own;
use crate::{Arrival, Reason, classify};
use event::{Class, ConnectionIdentified, DeliveryReceived};
use serde_json::{Value, json};

/// A click on a button of a message in a thread.
fn payload() -> Value {
    json!({
        "type": "block_actions", "api_app_id": "A1", "team": {"id": "T1", "domain": "test"},
        "enterprise": null, "is_enterprise_install": false,
        "user": {"id": "U1", "username": "owner", "name": "owner", "team_id": "T1"},
        "container": {"type": "message", "message_ts": "3.0", "channel_id": "C1", "is_ephemeral": false, "thread_ts": "1.0"},
        "channel": {"id": "C1", "name": "general"},
        "message": {"type": "message", "user": "U0BOT", "bot_id": "B1", "app_id": "A1", "ts": "3.0", "text": "x"},
        "state": {"values": {}}, "trigger_id": "sha256:0", "response_url": "sha256:1",
        "actions": [{"action_id": "approval.yes", "block_id": "b", "type": "button", "value": "approval_0a",
            "text": {"type": "plain_text", "text": "Approve"}, "action_ts": "4.0"}],
    })
}

fn delivery(payload: Value) -> DeliveryReceived {
    DeliveryReceived {
        source: "slack".into(),
        kind: payload["type"].as_str().unwrap_or_default().into(),
        event: String::new(),
        subtype: String::new(),
        external_id: String::new(),
        retry: 0,
        payload: payload.into(),
    }
}

/// The payload with `value` at `pointer`; removed where it is null.
fn with(pointer: &str, value: Value) -> DeliveryReceived {
    let mut payload = payload();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = payload.pointer_mut(parent).unwrap();
    if value.is_null() {
        parent.as_object_mut().unwrap().remove(key);
    } else {
        parent[key] = value;
    }
    delivery(payload)
}

fn asks(delivery: &DeliveryReceived) -> Reason {
    classify(&Arrival::of(delivery), false, Some(&own()), &crate::Manner::default())
}

#[test]
fn a_click_on_a_card_is_an_answer_of_whoever_clicked() {
    let clicked = delivery(payload());
    assert_eq!(asks(&clicked), Reason::ApprovalAnswer);
    assert_eq!(Reason::ApprovalAnswer.class(), Class::Explicit);
    let Click { says, by, user, channel, ts, thread_ts } = click(&clicked, Some(&own())).unwrap();
    let approval = event::ApprovalId::parse("approval_0a").unwrap();
    assert_eq!(says, Says::Approval { approval: approval.clone(), yes: true });
    assert_eq!(by.as_str(), "person_slack.T1.U1");
    assert_eq!(
        (user.as_str(), channel.as_str(), ts.as_str(), thread_ts.as_deref()),
        ("U1", "C1", "3.0", Some("1.0"))
    );
    let no = with("/actions/0/action_id", json!("approval.no"));
    assert_eq!(click(&no, Some(&own())).unwrap().says, Says::Approval { approval, yes: false });
    // Older and smaller payloads name the person's workspace nowhere but in the installation.
    let small = with("/user", json!({"id": "U1"}));
    assert_eq!(click(&small, Some(&own())).unwrap().by.as_str(), "person_slack.T1.U1");
}

#[test]
fn a_click_may_say_what_became_of_an_effect() {
    for (action, saw) in
        [("effect.happened", Saw::Happened), ("effect.absent", Saw::Absent), ("effect.again", Saw::Again)]
    {
        let mut payload = payload();
        payload["actions"][0]["action_id"] = json!(action);
        assert_eq!(asks(&delivery(payload.clone())), Reason::BlockAction, "an approval is no effect");
        payload["actions"][0]["value"] = json!("effect_0a");
        let clicked = delivery(payload);
        assert_eq!(asks(&clicked), Reason::EffectAnswer);
        let effect = event::EffectId::parse("effect_0a").unwrap();
        assert_eq!(click(&clicked, Some(&own())).unwrap().says, Says::Effect { effect, saw });
    }
}

#[test]
fn any_other_button_and_any_forged_value_is_no_answer() {
    for (pointer, value) in [
        ("/actions/0/action_id", json!("approval.maybe")),
        ("/actions/0/action_id", json!(7)),
        ("/actions/0/value", json!("turn_1")),
        ("/actions/0/value", json!("approval_")),
        ("/actions/0/value", json!("approval_1\n")),
        ("/actions/0/value", json!(["approval_1"])),
        ("/actions/0/value", Value::Null),
        ("/actions/0/type", json!("static_select")),
        ("/actions", json!([])),
        ("/actions", json!({"action_id": "approval.yes"})),
        ("/actions", Value::Null),
    ] {
        assert_eq!(asks(&with(pointer, value.clone())), Reason::BlockAction, "{pointer} {value}");
    }
    let mut two = payload();
    two["actions"] = json!([two["actions"][0], two["actions"][0]]);
    assert_eq!(asks(&delivery(two)), Reason::BlockAction);
    // A view, a shortcut or an older kind of message with the same words in it.
    for kind in ["view_submission", "interactive_message", "message_action"] {
        assert_ne!(asks(&with("/type", json!(kind))), Reason::ApprovalAnswer, "{kind}");
    }
}

#[test]
fn somebody_from_outside_answers_nothing() {
    for (pointer, value) in [
        ("/team/id", json!("T2")),
        ("/team", Value::Null),
        ("/user/team_id", json!("T2")),
        ("/user/is_stranger", json!(true)),
        ("/user/is_restricted", json!(true)),
        ("/user/is_ultra_restricted", json!("yes")),
        ("/user/deleted", json!(true)),
        ("/is_ext_shared_channel", json!(true)),
        ("/channel/is_ext_shared", json!(true)),
    ] {
        assert_eq!(asks(&with(pointer, value.clone())), Reason::ExternalPerson, "{pointer} {value}");
    }
    let mut elsewhere = payload();
    (elsewhere["team"], elsewhere["user"]["team_id"]) = (json!({"id": "T2"}), json!("T2"));
    assert_eq!(asks(&delivery(elsewhere.clone())), Reason::ExternalPerson);
    // The same workspace, when the app is installed for the organisation it belongs to.
    elsewhere["team"]["enterprise_id"] = json!("E1");
    let org = ConnectionIdentified { team: "E1".into(), ..own() };
    assert_eq!(click(&delivery(elsewhere), Some(&org)).unwrap().by.as_str(), "person_slack.T2.U1");
}

#[test]
fn a_program_answers_nothing() {
    assert_eq!(asks(&with("/user/id", json!("U0BOT"))), Reason::OwnAct);
    for (pointer, value) in [
        ("/user/is_bot", json!(true)),
        ("/user/is_app_user", json!(true)),
        ("/bot_id", json!("B2")),
        ("/user/id", json!("USLACKBOT")),
    ] {
        assert_eq!(asks(&with(pointer, value.clone())), Reason::BotMessage, "{pointer} {value}");
    }
}

#[test]
fn a_click_that_does_not_say_who_or_where_is_incomplete() {
    for (pointer, value) in [("/user/id", json!("")), ("/user/id", json!("U1 U2")), ("/user/id", Value::Null)]
    {
        assert_eq!(asks(&with(pointer, value.clone())), Reason::IncompleteMessage, "{pointer} {value}");
    }
    let mut nowhere = payload();
    nowhere
        .as_object_mut()
        .unwrap()
        .retain(|key, _| !["container", "message", "channel"].contains(&key.as_str()));
    assert_eq!(asks(&delivery(nowhere)), Reason::IncompleteMessage);
}

#[test]
fn an_office_that_does_not_know_itself_takes_no_answer() {
    let clicked = delivery(payload());
    assert_eq!(
        classify(&Arrival::of(&clicked), false, None, &crate::Manner::default()),
        Reason::IdentityUnknown
    );
}
