//! Once accepted, exactly once: retries, pairs, order, and a record that cannot take it.

use super::{Answer, Desk, EVENTS_MAX, desk_seat, host, own, routes, send, signed};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use event::{Class, Event, Fact, GlobalPosition, PlaceKind};
use fold::message::MessageRow;
use record::Record;
use serde_json::{Value, json};

/// One of the two events that Slack sends for a mention in a channel.
fn mention(kind: &str, event_id: &str) -> Value {
    let mut payload = json!({
        "type": "event_callback", "team_id": "T1", "api_app_id": "A0BOT", "event_id": event_id, "event_time": 1_700_000_000,
        "event": {"type": kind, "channel": "C1", "user": "U1", "ts": "1700000000.000100", "event_ts": "1700000000.000100",
            "text": "<@U0BOT> hello"},
        "authorizations": [{"team_id": "T1", "enterprise_id": null, "user_id": "U0BOT", "is_bot": true}],
        "is_ext_shared_channel": false,
    });
    if kind == "message" {
        payload["event"]["channel_type"] = json!("channel");
    }
    payload
}

async fn retry(desk: &Desk, payload: &Value, num: u32) -> Answer {
    let num = num.to_string();
    let headers = [("x-slack-retry-num", num.as_str()), ("x-slack-retry-reason", "http_timeout")];
    desk.send(signed(payload.to_string(), &headers)).await
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.kind()).collect()
}

async fn message_row(desk: &Desk) -> MessageRow {
    let row = desk.record.row("message", "T1:C1:1700000000.000100").await.unwrap();
    fold::decode(row.as_ref()).unwrap()
}

#[tokio::test]
async fn a_mention_delivered_twice_in_either_order_with_all_retries_is_one_message_that_asks_once() {
    let pair = [mention("message", "Ev1"), mention("app_mention", "Ev2")];
    for order in [[0, 1], [1, 0]] {
        let desk = Desk::open().await;
        for i in order {
            assert_eq!(desk.post(pair[i].to_string()).await.status, StatusCode::OK);
        }
        for num in 1..=3 {
            for payload in &pair {
                assert_eq!(retry(&desk, payload, num).await.status, StatusCode::OK);
            }
        }
        let expected = ["delivery.received", "message.received", "delivery.received", "message.merged"];
        assert_eq!(kinds(&desk.events().await), expected);
        assert!(message_row(&desk).await.mentions_office);
        let health = desk.healthz().await;
        assert_eq!((&health["accepted"], &health["duplicates"]), (&json!(2), &json!(6)));

        let classes = desk.classes().await;
        let asks: Vec<_> = classes.iter().filter(|class| class.asks.is_some()).collect();
        assert_eq!((classes.len(), asks.len()), (2, 1));
        assert_eq!((asks[0].class, asks[0].reason.as_str()), (Class::Explicit, "mention"));
        assert_eq!(asks[0].message.as_ref(), Some(&message_row(&desk).await.event));
        assert_eq!(asks[0].topic.as_ref().unwrap().as_str(), "slack:T1:C1:1700000000.000100");
        assert_eq!(desk.healthz().await["converse"]["lag"], json!(0));
    }
}

#[tokio::test]
async fn a_mention_that_only_the_second_delivery_states_is_merged_and_asks() {
    let desk = Desk::open().await;
    let mut plain = mention("message", "Ev1");
    plain["event"]["text"] = json!("chancery, hello");
    let mut named = mention("app_mention", "Ev2");
    named["event"]["text"] = json!("chancery, hello");
    desk.post(plain.to_string()).await;
    assert_eq!(desk.classes().await[0].class, Class::Passive);
    assert!(!message_row(&desk).await.mentions_office);
    desk.post(named.to_string()).await;
    assert!(message_row(&desk).await.mentions_office);
    let classes = desk.classes().await;
    assert_eq!((classes[1].class, classes[1].reason.as_str()), (Class::Explicit, "mention"));
    assert_eq!(classes[1].asks, Some(desk_seat()));
    assert_eq!(classes[1].message, classes[0].message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_that_race_leave_one_message() {
    let desk = Desk::open().await;
    let pair = [mention("message", "Ev1"), mention("app_mention", "Ev2")];
    let racing: Vec<_> = (0..16_u32)
        .map(|i| {
            let (router, num) = (desk.router.clone(), (i / 2).to_string());
            let request = signed(pair[i as usize % 2].to_string(), &[("x-slack-retry-num", &num)]);
            tokio::spawn(async move { send(&router, request).await.status })
        })
        .collect();
    for answer in racing {
        assert_eq!(answer.await.unwrap(), StatusCode::OK);
    }
    let mut kinds = kinds(&desk.events().await);
    kinds.sort_unstable();
    assert_eq!(kinds, ["delivery.received", "delivery.received", "message.merged", "message.received"]);
    assert!(message_row(&desk).await.mentions_office);
}

#[tokio::test]
async fn a_retry_that_is_the_first_to_arrive_is_taken() {
    let desk = Desk::open().await;
    assert_eq!(retry(&desk, &mention("app_mention", "Ev2"), 3).await.status, StatusCode::OK);
    let events = desk.events().await;
    let Fact::DeliveryReceived(delivery) = &events[0].fact else { panic!("{:?}", events[0]) };
    assert_eq!((delivery.retry, delivery.external_id.as_str()), (3, "Ev2"));
    assert_eq!(desk.classes().await[0].class, Class::Explicit);
}

#[tokio::test]
async fn a_record_that_cannot_be_written_is_503_so_that_slack_tries_again() {
    let desk = Desk::open().await;
    let folder = desk.path.parent().unwrap();
    let read_only = Record::open_sqlite_read_only(&desk.path).await.unwrap();
    let router = routes(&read_only, folder);
    let answer = send(&router, signed(mention("app_mention", "Ev2").to_string(), &[])).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers.get("x-slack-no-retry").is_none());
    assert!(desk.record.read_all(GlobalPosition(1), EVENTS_MAX).await.unwrap().is_empty());
    let health = send(&router, Request::get("/healthz").body(Body::empty()).unwrap()).await;
    assert_eq!(health.status, StatusCode::SERVICE_UNAVAILABLE, "that it can be read is not enough");
    let health: Value = serde_json::from_str(&health.body).unwrap();
    assert_eq!(
        (&health["status"], &health["rejections"]["record-unavailable"]),
        (&json!("record-unavailable"), &json!(1))
    );
    assert_eq!(retry(&desk, &mention("app_mention", "Ev2"), 1).await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_is_recorded_is_the_payload_without_what_could_be_used() {
    let desk = Desk::open().await;
    let mut payload = mention("message", "Ev1");
    payload["token"] = json!("legacy-verification-token");
    payload["event"]["response_url"] = json!("https://hooks.slack.com/actions/T1/1/secret");
    payload["event"]["huge"] = serde_json::from_str("9007199254740993").unwrap();
    assert_eq!(desk.post(payload.to_string()).await.status, StatusCode::OK);
    let events = desk.events().await;
    let text = events[0].to_json().to_string();
    assert!(!text.contains("legacy-verification-token") && !text.contains("hooks.slack.com"), "{text}");
    let Fact::DeliveryReceived(delivery) = &events[0].fact else { panic!("{:?}", events[0]) };
    assert_eq!(delivery.payload.json()["event"]["huge"], json!("9007199254740993"));
    assert_eq!(delivery.payload.json()["event"]["text"], json!("<@U0BOT> hello"));
    let Fact::MessageReceived(message) = &events[1].fact else { panic!("{:?}", events[1]) };
    assert_eq!((message.place.kind, message.text.text()), (PlaceKind::Channel, "<@U0BOT> hello"));
    assert_eq!(message.author.principal.as_ref().unwrap().as_str(), "person_slack.T1.U1");
    assert_eq!(events[0].label, events[1].label);
    assert_eq!(events[1].cause.as_ref(), Some(&events[0].id));
}

#[tokio::test]
async fn a_payload_of_a_million_bytes_is_kept_whole() {
    let desk = Desk::open().await;
    let mut payload = mention("message", "Ev1");
    payload["event"]["text"] = json!("x".repeat(1_000_000));
    assert_eq!(desk.post(payload.to_string()).await.status, StatusCode::OK);
    let events = desk.events().await;
    let Fact::MessageReceived(message) = &events[1].fact else { panic!("{:?}", events[1]) };
    assert_eq!(message.text.text().len(), 1_000_000);
}

#[tokio::test]
async fn slacks_own_checks_are_answered_and_recorded() {
    let desk = Desk::open().await;
    let answer =
        desk.post(r#"{"type":"url_verification","token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV"}"#).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(
        serde_json::from_str::<Value>(&answer.body).unwrap(),
        json!({"challenge": "3eZbrw1aBm2rZgRNFdxV"})
    );
    let check = desk.post("ssl_check=1&token=x").await;
    assert_eq!((check.status, check.body.as_str()), (StatusCode::OK, ""));
    let reasons: Vec<_> = desk.classes().await.into_iter().map(|class| class.reason).collect();
    assert_eq!(reasons, ["url-verification", "ssl-check"]);
}

#[tokio::test]
async fn following_again_from_the_start_states_nothing_twice() {
    let desk = Desk::open().await;
    desk.post(mention("message", "Ev1").to_string()).await;
    desk.post(mention("app_mention", "Ev2").to_string()).await;
    let classes = desk.classes().await;
    desk.record.set_cursor(converse::CURSOR, GlobalPosition(0)).await.unwrap();
    assert_eq!(desk.classes().await, classes);
}

#[tokio::test]
async fn a_delivery_that_got_its_class_before_the_office_was_known_keeps_it_and_stops_nothing() {
    let desk = Desk::open_as(event::ConnectionIdentified { source: "elsewhere".into(), ..own() }).await;
    desk.post(mention("app_mention", "Ev2").to_string()).await;
    assert_eq!(desk.classes().await[0].reason, "identity-unknown");
    let identified = event::Proposed {
        id: event::EventId::derived(&["later"]),
        actor: event::Actor { principal: host(), seat: None },
        cause: None,
        label: event::Label::host(),
        fact: own().into(),
    };
    let stream = event::StreamName::new("connection", "slack");
    desk.record.append(stream, event::Expected::Any, vec![identified]).await.unwrap();
    desk.record.set_cursor(converse::CURSOR, GlobalPosition(0)).await.unwrap();
    let classes = desk.classes().await;
    assert_eq!((classes.len(), classes[0].reason.as_str()), (1, "identity-unknown"));
}

/// Keys under which a delivery and its message are kept, read without any.
async fn sealed_for(desk: &Desk) -> Vec<(&'static str, Vec<String>)> {
    let kept = desk.record.clone().without_keyring().read_all(GlobalPosition(0), EVENTS_MAX).await.unwrap();
    let mut found = Vec::new();
    for event in kept {
        for (_, field) in event.fact.personal() {
            assert!(field.sealed().is_some() || field.subjects().is_empty(), "{event:?}");
            let persons = field.subjects().iter().map(|person| person.as_str().to_owned()).collect();
            found.push((event.fact.kind(), persons));
        }
    }
    found
}

#[tokio::test]
async fn a_delivery_is_kept_sealed_for_who_sent_it_and_an_echo_for_who_spoke_there() {
    let desk = Desk::open().await;
    let said = |ts: &str, more: Value| {
        let mut payload = mention("message", &format!("Ev{ts}"));
        let event = payload["event"].as_object_mut().unwrap();
        event.extend(json!({"ts": ts, "event_ts": ts}).as_object().unwrap().clone());
        event.extend(more.as_object().unwrap().clone());
        payload
    };
    let own = json!({"user": "U0BOT", "bot_id": "B0BOT", "text": "you said hello"});
    let mut in_thread = own.clone();
    in_thread["thread_ts"] = json!("1.0");
    let mut in_direct = own.clone();
    in_direct
        .as_object_mut()
        .unwrap()
        .extend(json!({"channel": "D1", "channel_type": "im"}).as_object().unwrap().clone());
    for payload in [
        said("1.0", json!({"user": "U1"})),
        said("1.1", json!({"user": "U2", "thread_ts": "1.0"})),
        said("1.2", in_thread),
        said("2.0", json!({"user": "U3", "channel": "D1", "channel_type": "im"})),
        said("2.1", in_direct),
        // Where nobody spoke, it repeats nobody.
        said("3.0", own),
    ] {
        assert_eq!(desk.post(payload.to_string()).await.status, StatusCode::OK);
    }
    let of = |users: &[&str]| users.iter().map(|user| format!("person_slack.T1.{user}")).collect::<Vec<_>>();
    let mut expected = Vec::new();
    for users in [&["U1"][..], &["U2"], &["U1", "U2"], &["U3"], &["U3"], &[]] {
        expected.extend([("delivery.received", of(users)), ("message.received", of(users))]);
    }
    assert_eq!(sealed_for(&desk).await, expected);
}
