//! What the record says about a message's deliveries, in both orders.

use super::{Office, follow};
use crate::Manner;
use event::{
    Actor, Class, ConnectionIdentified, DeliveryClassified, DeliveryReceived, Digest, Event, EventId, Fact,
    GlobalPosition, Label, MessageMerged, MessageReceived, Position, PrincipalId, SeatId, StreamName,
    Timestamp,
};
use serde_json::{Value, json};

fn office() -> Office {
    let own = ConnectionIdentified {
        source: "slack".into(),
        team: "T1".into(),
        user: "U0BOT".into(),
        bot: "B0BOT".into(),
        app: String::new(),
    };
    Office {
        host: PrincipalId::parse("system_host").unwrap(),
        desk: SeatId::parse("seat_desk").unwrap(),
        own: Some(own),
        manner: Manner::default(),
    }
}

fn event(id: &str, cause: Option<&Event>, fact: impl Into<Fact>) -> Event {
    Event {
        global_position: GlobalPosition(1),
        stream: StreamName::new("delivery", id),
        position: Position(1),
        id: EventId::derived(&[id]),
        at: Timestamp(0),
        actor: Actor { principal: office().host, seat: None },
        cause: cause.map(|event| event.id.clone()),
        label: Label::unknown(),
        fact: fact.into(),
        digest: Digest::of(b""),
        chain: Digest::of(b""),
    }
}

fn delivery(id: &str, event_type: &str, channel: &str) -> Event {
    let payload = json!({"type": "event_callback", "team_id": "T1", "event": {"type": event_type, "channel": channel,
        "user": "U1", "ts": "1.0", "text": "hello <@U0BOT>"}});
    let received = DeliveryReceived {
        source: "slack".into(),
        kind: "event_callback".into(),
        event: event_type.into(),
        subtype: String::new(),
        external_id: id.into(),
        retry: 0,
        payload: payload.into(),
    };
    event(id, None, received)
}

fn said(delivery: &Event, mentions: bool) -> Event {
    let Fact::DeliveryReceived(body) = &delivery.fact else { panic!("no delivery") };
    let message = crate::Arrival::of(body).message(office().own.as_ref()).unwrap();
    event("message", Some(delivery), MessageReceived { mentions_office: mentions, ..message })
}

fn merged(delivery: &Event, original: &Event, mentions: bool) -> Event {
    let Fact::MessageReceived(body) = &original.fact else { panic!("no message") };
    let place = body.place.clone();
    event(
        "merge",
        Some(delivery),
        MessageMerged { message: original.id.clone(), place, via: "x".into(), mentions_office: mentions },
    )
}

fn class(delivery: &Event, carried: Option<&Event>, before: &[Event]) -> DeliveryClassified {
    let proposed = follow(delivery, carried, before, &office()).unwrap();
    assert_eq!(proposed.cause.as_ref(), Some(&delivery.id));
    match proposed.fact {
        Fact::DeliveryClassified(body) => body,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_mention_asks_the_desk_about_its_thread() {
    let delivery = delivery("a", "message", "C1");
    let message = said(&delivery, true);
    let class = class(&delivery, Some(&message), &[]);
    assert_eq!((class.class, class.reason.as_str()), (Class::Explicit, "mention"));
    assert_eq!(class.asks, Some(office().desk));
    assert_eq!(class.message, Some(message.id));
    assert_eq!(class.topic.unwrap().as_str(), "slack:T1:C1:1.0");
}

#[test]
fn a_message_that_becomes_a_mention_asks_once_for_the_original() {
    let (plain, mention, third) = (
        delivery("a", "message", "C1"),
        delivery("b", "app_mention", "C1"),
        delivery("c", "app_mention", "C1"),
    );
    let original = said(&plain, false);
    assert_eq!(class(&plain, Some(&original), &[]).class, Class::Passive);
    let merge = merged(&mention, &original, true);
    let second = class(&mention, Some(&merge), std::slice::from_ref(&original));
    assert_eq!((second.class, second.reason.as_str()), (Class::Explicit, "mention"));
    assert_eq!((second.message.as_ref(), second.asks), (Some(&original.id), Some(office().desk)));
    let again = merged(&third, &original, true);
    let last = class(&third, Some(&again), &[original, merge]);
    assert_eq!((last.class, last.reason.as_str(), last.asks), (Class::Ignored, "duplicate", None));
}

#[test]
fn a_merge_that_adds_nothing_is_a_duplicate() {
    let (mention, plain) = (delivery("a", "app_mention", "C1"), delivery("b", "message", "C1"));
    let original = said(&mention, true);
    for merge_mentions in [true, false] {
        let merge = merged(&plain, &original, merge_mentions);
        let found = class(&plain, Some(&merge), std::slice::from_ref(&original));
        assert_eq!((found.reason.as_str(), found.asks), ("duplicate", None));
    }
    let direct = said(&delivery("c", "message", "D1"), false);
    let merge = merged(&mention, &direct, true);
    assert_eq!(
        class(&mention, Some(&merge), &[direct]).reason,
        "duplicate",
        "a direct message was answered already"
    );
}

#[test]
fn a_second_delivery_never_makes_an_outsiders_message_ask() {
    let (plain, mention) = (delivery("a", "message", "C1"), delivery("b", "app_mention", "C1"));
    let mut original = said(&plain, false);
    original.label = Label::public_untrusted();
    let merge = merged(&mention, &original, true);
    assert_eq!(class(&mention, Some(&merge), &[original]).asks, None);
}

#[test]
fn what_follows_in_the_record_belongs_to_the_delivery_only_when_it_says_so() {
    let (delivery, other) = (delivery("a", "message", "C1"), delivery("b", "message", "C1"));
    let message = said(&other, true);
    let class = class(&delivery, Some(&message), &[]);
    assert_eq!((class.reason.as_str(), class.message, class.asks), ("incomplete-message", None, None));
}

#[test]
fn following_twice_states_one_event() {
    let delivery = delivery("a", "message", "C1");
    let message = said(&delivery, true);
    let once = follow(&delivery, Some(&message), &[], &office()).unwrap();
    assert_eq!(follow(&delivery, Some(&message), &[], &office()).unwrap(), once);
    assert!(follow(&message, None, &[], &office()).is_none());
}

#[test]
fn a_terminal_line_is_explicit_without_slack() {
    let payload: Value =
        json!({"session": "main", "ts": "1.0", "person": "person_local.alice", "text": "hello"});
    let received = DeliveryReceived {
        source: "terminal".into(),
        kind: "line".into(),
        event: String::new(),
        subtype: String::new(),
        external_id: String::new(),
        retry: 0,
        payload: payload.into(),
    };
    let delivery = event("a", None, received);
    let message = said(&delivery, false);
    let proposed = follow(&delivery, Some(&message), &[], &Office { own: None, ..office() }).unwrap();
    let Fact::DeliveryClassified(class) = proposed.fact else { panic!("no class") };
    assert_eq!((class.class, class.reason.as_str()), (Class::Explicit, "terminal"));
    assert_eq!(class.topic.unwrap().as_str(), "terminal:local:main:0");
}

#[test]
fn where_the_asked_are_weighed_first_a_mention_waits_for_that_and_a_terminal_does_not() {
    let manner = Manner { weighs: true, weighs_asked: true, ..Manner::default() };
    let weighing = Office { manner, ..office() };
    let mention = delivery("a", "message", "C1");
    let message = said(&mention, true);
    let Fact::DeliveryClassified(body) = follow(&mention, Some(&message), &[], &weighing).unwrap().fact
    else {
        panic!("no class")
    };
    assert_eq!((body.class, body.asks), (Class::Explicit, None));
    assert!(body.message.is_some() && body.topic.is_some(), "triage finds it by these");
}
