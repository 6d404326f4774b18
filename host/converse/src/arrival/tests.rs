//! Payloads with the traps that Slack's own examples hold, and arbitrary ones.

use super::{Arrival, is_plain};
use event::{ConnectionIdentified, DeliveryReceived, PlaceKind};
use proptest::prelude::*;
use serde_json::{Value, json};

fn slack(payload: Value) -> DeliveryReceived {
    let text =
        |pointer: &str| payload.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let stated = text("/type");
    DeliveryReceived {
        source: "slack".into(),
        kind: if stated.is_empty() { "event_callback".into() } else { stated },
        event: text("/event/type"),
        subtype: text("/event/subtype"),
        external_id: text("/event_id"),
        retry: 0,
        payload: payload.into(),
    }
}

fn own() -> ConnectionIdentified {
    let id = |text: &str| text.to_owned();
    ConnectionIdentified {
        source: id("slack"),
        team: id("T1"),
        user: id("U0BOT"),
        bot: id("B0BOT"),
        app: id("A0BOT"),
    }
}

#[test]
fn the_team_is_the_installations_and_survives_an_org_wide_install() {
    for (payload, team) in [
        (json!({"team_id": "T9", "authorizations": [{"team_id": "T1"}]}), "T1"),
        (json!({"team_id": "T1", "authorizations": [{"team_id": null, "enterprise_id": "E1"}]}), "T1"),
        (json!({"team_id": "T1", "authorizations": [{"enterprise_id": "E1"}]}), "T1"),
        (json!({"enterprise_id": "E1", "authorizations": []}), "E1"),
        (json!({"type": "block_actions", "team": {"id": "T1"}}), "T1"),
        (json!({"type": "event_callback"}), "unknown"),
    ] {
        assert_eq!(Arrival::of(&slack(payload.clone())).team(), team, "{payload}");
    }
}

#[test]
fn a_mention_without_a_timestamp_falls_back_to_the_events() {
    let payload = json!({"team_id": "T1", "event": {"type": "app_mention", "channel": "C1", "user": "U1",
        "text": "<@U0BOT> hi", "event_ts": "1515449522000016"}});
    let message = Arrival::of(&slack(payload)).message(Some(&own())).unwrap();
    assert_eq!(message.place.ts, "1515449522000016");
    assert_eq!(message.place.kind, PlaceKind::Unknown);
    assert!(message.mentions_office);
    assert_eq!(message.author.principal.unwrap().as_str(), "person_slack.T1.U1");
}

#[test]
fn an_edit_without_an_inner_timestamp_points_at_the_message_before() {
    let payload = json!({"team_id": "T1", "event": {"type": "message", "subtype": "message_changed", "channel": "C1",
        "ts": "3.0", "message": {"text": "b", "user": "U1"}, "previous_message": {"text": "a", "user": "U1", "ts": "1.0", "thread_ts": "0.5"}}});
    let place = Arrival::of(&slack(payload)).place().unwrap();
    assert_eq!((place.ts.as_str(), place.thread_ts), ("1.0", None));
}

#[test]
fn the_author_is_of_the_workspace_that_the_delivery_states() {
    let payload = json!({"team_id": "T1", "event": {"type": "message", "channel": "C1", "user": "U1", "ts": "1.0",
        "team": "T1", "user_team": "T2"}});
    let message = Arrival::of(&slack(payload)).message(Some(&own())).unwrap();
    assert_eq!(message.author.principal.unwrap().as_str(), "person_slack.T2.U1");
}

#[test]
fn a_message_that_another_delivery_quotes_is_not_said() {
    let event = json!({"type": "message", "channel": "D1", "user": "U1", "ts": "1.0", "text": "<@U0BOT> hi"});
    let quoted = slack(json!({"type": "block_actions", "team_id": "T1", "event": event, "message": event}));
    assert_eq!(Arrival::of(&quoted).message(Some(&own())), None);
}

#[test]
fn a_program_is_no_person_and_neither_is_the_office_itself() {
    for who in [json!({"user": "U2", "bot_id": "B2"}), json!({"user": "U0BOT"})] {
        let event = json!({"type": "message", "channel": "C1", "user": who["user"], "bot_id": who["bot_id"], "ts": "1.0"});
        let author = Arrival::of(&slack(json!({"team_id": "T1", "event": event})))
            .message(Some(&own()))
            .unwrap()
            .author;
        assert!(author.bot && author.principal.is_none(), "{who}");
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from)
    ];
    let key = prop::sample::select(vec![
        "event",
        "type",
        "subtype",
        "message",
        "previous_message",
        "channel",
        "ts",
        "thread_ts",
        "user",
        "blocks",
        "team",
        "authorizations",
        "text",
        "id",
    ]);
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_payload_panics_and_every_place_is_plain(payload in json_value(), subtype in "(message_changed|message_deleted)?") {
        let mut delivery = slack(payload);
        delivery.kind = "event_callback".into();
        delivery.event = "message".into();
        delivery.subtype = subtype;
        let arrival = Arrival::of(&delivery);
        let _ = (arrival.is_outside(&own()), arrival.leads_with_another(&own()), arrival.leaves_text(), arrival.topic());
        if let Some(message) = arrival.message(Some(&own())) {
            prop_assert!(is_plain(&message.place.team) && is_plain(&message.place.channel) && is_plain(&message.place.ts));
            prop_assert!(message.place.topic().is_some());
        }
    }
}
