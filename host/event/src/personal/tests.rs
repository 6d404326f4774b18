//! What a personal field is as JSON, and that nothing from outside passes for a sealed one.

use super::{ERASED, Field, Personal};
use crate::{Fact, MessageReceived, Place, PlaceKind, PrincipalId};
use proptest::prelude::*;
use serde_json::{Value, json};

fn person(name: &str) -> PrincipalId {
    PrincipalId::parse(&format!("person_{name}")).unwrap()
}

fn back(personal: &Personal<Value>) -> Personal<Value> {
    let text = serde_json::to_string(personal).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_words_of_nobody_stand_bare_as_they_did_before() {
    let text: Personal<String> = "hello".into();
    assert_eq!(serde_json::to_value(&text).unwrap(), json!("hello"));
    let payload = Personal::from(json!({"of": 1, "else": 2}));
    assert_eq!(serde_json::to_value(&payload).unwrap(), json!({"of": 1, "else": 2}));
}

#[test]
fn only_persons_have_words_of_their_own() {
    let agent = PrincipalId::parse("agent_a").unwrap();
    let of = Personal::of("x".to_owned(), [agent, PrincipalId::host(), person("a")]);
    assert_eq!(of.subjects().iter().collect::<Vec<_>>(), [&person("a")]);
}

#[test]
fn a_sealed_field_shows_nothing_and_says_whose_it_is() {
    let mut text = Personal::of("hello".to_owned(), [person("a")]);
    assert_eq!(text.to_seal(), Some(json!("hello")));
    text.seal("AAAA".to_owned());
    assert_eq!((text.value(), text.text(), text.to_string().as_str()), (None, ERASED, ERASED));
    assert_eq!(serde_json::to_value(&text).unwrap(), json!({"of": ["person_a"], "sealed": "AAAA"}));
    assert_eq!(text.to_seal(), None);
    text.open(json!("hello")).unwrap();
    assert_eq!(text.text(), "hello");
}

#[test]
fn a_body_from_before_that_only_looks_sealed_stays_what_it_was() {
    for old in
        [json!({"of": 1, "sealed": "x"}), json!({"of": [], "sealed": 7}), json!({"of": ["U1"], "open": 1})]
    {
        let read: Personal<Value> = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(read, Personal::from(old));
    }
}

#[test]
fn an_event_for_people_has_its_open_words_bare() {
    let fact: Fact = MessageReceived {
        place: Place {
            kind: PlaceKind::Im,
            team: "T1".into(),
            channel: "D1".into(),
            ts: "1.0".into(),
            thread_ts: None,
        },
        author: crate::Author { principal: Some(person("a")), external: "U1".into(), bot: false },
        text: Personal::of("hello".to_owned(), [person("a")]),
        mentions_office: true,
        subtype: String::new(),
    }
    .into();
    assert_eq!(fact.shown_body()["text"], json!("hello"));
    assert_eq!(fact.body()["text"], json!({"of": ["person_a"], "open": "hello"}));
}

/// Objects of few members, so that those of a wrapper come up often.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!("AAAA")),
        Just(json!(["person_a"])),
        Just(json!([])),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let key = prop_oneof![Just("of"), Just("open"), Just("sealed"), Just("x")];
        let fields = prop::collection::btree_map(key, inner.clone(), 0..4).prop_map(|fields| json!(fields));
        prop_oneof![fields, prop::collection::vec(inner, 0..3).prop_map(Value::from)]
    })
}

proptest! {
    /// Whatever a value from outside holds, it comes back as that value and as nobody's.
    #[test]
    fn no_value_from_outside_passes_for_a_sealed_one(value in value()) {
        let bare = Personal::from(value);
        prop_assert_eq!(back(&bare), bare);
    }

    #[test]
    fn an_open_value_comes_back_open_and_a_sealed_one_sealed(value in value(), sealed in any::<bool>()) {
        let mut personal = Personal::of(value, [person("a"), person("b")]);
        if sealed {
            personal.seal("AAAA".to_owned());
        }
        prop_assert_eq!(back(&personal), personal);
    }
}
