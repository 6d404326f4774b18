//! Who may state what, as the record refuses it.

use super::kit::{Place, count, id, on_every_store};
use crate::{Append, Error};
use event::{
    Actor, Digest, Expected, Fact, Label, MomentSet, PolicyApplied, PolicyText, PrincipalId, Proposed,
    SeatCreated, SeatHeld, SeatId, StreamName, Timestamp, Topic,
};
use fold::authority::NoAuthority;

fn seat(name: &str) -> SeatId {
    SeatId::parse(&format!("seat_{name}")).unwrap()
}

fn created(name: &str, line: Option<&str>, grants: &[&str]) -> Fact {
    SeatCreated {
        seat: seat(name),
        role: "r".into(),
        department: None,
        line: line.map(seat),
        grants: grants.iter().map(|grant| (*grant).to_owned()).collect(),
        accountabilities: Vec::new(),
        stands_in: None,
    }
    .into()
}

fn held(name: &str) -> Fact {
    SeatHeld { seat: seat(name), principal: agent(name) }.into()
}

fn agent(name: &str) -> PrincipalId {
    PrincipalId::parse(&format!("agent_{name}")).unwrap()
}

fn by_host(name: &str, fact: Fact) -> Proposed {
    let actor = Actor { principal: PrincipalId::host(), seat: None };
    Proposed { id: id(name), actor, cause: None, label: Label::host(), fact }
}

fn by(who: &str, name: &str, fact: Fact) -> Proposed {
    let actor = Actor { principal: agent(who), seat: Some(seat(who)) };
    Proposed { actor, ..by_host(name, fact) }
}

fn one(event: Proposed) -> Vec<Append> {
    vec![Append::new(StreamName::new("seat", "a"), Expected::Any, vec![event])]
}

async fn a_seat_hands_on_only_what_it_holds_and_a_refused_append_writes_nothing(place: Place) {
    let record = place.open().await;
    let office = vec![
        by_host("1", created("head", None, &["record:seat.created", "web.*"])),
        by_host("2", held("head")),
    ];
    record.append(StreamName::new("seat", "a"), Expected::NoStream, office).await.unwrap();
    record.append_all(one(by("head", "3", created("new", Some("head"), &["web.fetch"])))).await.unwrap();
    let more = record.append_all(one(by("head", "4", created("more", None, &["slack.post"])))).await;
    assert!(
        matches!(more, Err(Error::NoAuthority { source: NoAuthority::Escalates { .. }, .. })),
        "{more:?}"
    );
    let stranger = record.append_all(one(by("stranger", "5", created("x", None, &[])))).await;
    assert!(
        matches!(stranger, Err(Error::NoAuthority { source: NoAuthority::NotHolder { .. }, .. })),
        "{stranger:?}"
    );
    assert_eq!(count(&record).await, 3);
}

async fn no_line_closes_on_itself_not_even_within_one_append(place: Place) {
    let record = place.open().await;
    let both = vec![by_host("1", created("a", Some("b"), &[])), by_host("2", created("b", Some("a"), &[]))];
    let circle = record.append(StreamName::new("seat", "a"), Expected::NoStream, both).await;
    assert!(
        matches!(circle, Err(Error::NoAuthority { source: NoAuthority::OwnLine { .. }, .. })),
        "{circle:?}"
    );
    assert_eq!(count(&record).await, 0);
}

async fn a_seat_that_changes_hands_takes_its_voice_with_it(place: Place) {
    let record = place.open().await;
    let looks = |who: &str, name: &str| {
        let set = MomentSet { seat: seat("desk"), topic: Topic::parse("t").unwrap(), at: Timestamp(1) };
        let actor = Actor { principal: agent(who), seat: Some(seat("desk")) };
        one(Proposed { actor, ..by_host(name, set.into()) })
    };
    let hands = |name: &str, who: &str| {
        one(by_host(name, SeatHeld { seat: seat("desk"), principal: agent(who) }.into()))
    };
    record.append_all(one(by_host("1", created("desk", None, &[])))).await.unwrap();
    record.append_all(hands("2", "dmitri")).await.unwrap();
    record.append_all(looks("dmitri", "3")).await.unwrap();
    record.append_all(hands("4", "delbert")).await.unwrap();
    assert!(matches!(record.append_all(looks("dmitri", "5")).await, Err(Error::NoAuthority { .. })));
    record.append_all(looks("delbert", "6")).await.unwrap();
}

async fn a_set_of_policies_made_by_hand_is_refused_and_one_that_the_gate_states_needs_the_right(
    place: Place,
) {
    let record = place.open().await;
    let policy = |name: &str, base: Option<&str>| PolicyApplied {
        digest: Digest::of(name.as_bytes()),
        files: vec![PolicyText { name: format!("org-{name}.cedar"), text: String::new() }],
        base: base.map(|base| Digest::of(base.as_bytes())),
        reason: "quiet".to_owned(),
        corrective: true,
        by: Some(agent("head")),
    };
    let office = vec![
        by_host("1", created("head", None, &["record:policy.applied"])),
        by_host("2", held("head")),
        by_host("3", created("desk", None, &[])),
        by_host("4", held("desk")),
        by_host("5", policy("first", None).into()),
    ];
    record.append(StreamName::new("seat", "a"), Expected::NoStream, office).await.unwrap();
    let gate = |name: &str, seat_of: &str, base: &str, by: &str| {
        let actor = Actor { principal: PrincipalId::gate(), seat: Some(seat(seat_of)) };
        let fact = PolicyApplied { by: Some(agent(by)), ..policy(name, Some(base)) };
        one(Proposed { actor, ..by_host(name, fact.into()) })
    };
    let why = |refused: Result<_, Error>| match refused {
        Err(Error::NoAuthority { source, .. }) => source,
        other => panic!("{other:?}"),
    };
    // The right is there, and nobody has read the set.
    let by_hand = record.append_all(one(by("head", "6", policy("next", Some("first")).into()))).await;
    assert!(matches!(why(by_hand), NoAuthority::GateAlone { .. }));
    let rightless = record.append_all(gate("next", "desk", "first", "desk")).await;
    assert!(matches!(why(rightless), NoAuthority::NoGrant { .. }));
    let stale = record.append_all(gate("next", "head", "another", "head")).await;
    assert!(matches!(why(stale), NoAuthority::NotOnWhatStands { .. }));
    assert_eq!(count(&record).await, 5);
    record.append_all(gate("next", "head", "first", "head")).await.unwrap();
}

on_every_store! {
    a_set_of_policies_made_by_hand_is_refused_and_one_that_the_gate_states_needs_the_right,
    a_seat_hands_on_only_what_it_holds_and_a_refused_append_writes_nothing,
    no_line_closes_on_itself_not_even_within_one_append,
    a_seat_that_changes_hands_takes_its_voice_with_it,
}
