//! What a change of the policies may be, from rows alone.

use super::super::{Look, NoAuthority, Verdict, may_state};
use super::{beyond_organisation, is_organisation};
use crate::setting;
use event::{
    Actor, Digest, Fact, PolicyApplied, PolicyProposed, PolicyText, PrincipalId, SeatCreated, SeatHeld,
    SeatId,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

type Rows = BTreeMap<String, Value>;

fn text(name: &str, text: &str) -> PolicyText {
    PolicyText { name: name.to_owned(), text: text.to_owned() }
}

fn person() -> PrincipalId {
    PrincipalId::parse("person_a").unwrap()
}

fn seat(name: &str) -> SeatId {
    SeatId::parse(&format!("seat_{name}")).unwrap()
}

fn first() -> PolicyApplied {
    PolicyApplied {
        digest: Digest::of(b"first"),
        files: vec![text("seat.cedar", "a"), text("org-quiet.cedar", "b")],
        base: None,
        reason: String::new(),
        corrective: false,
        by: None,
    }
}

/// The organisation's own file, changed.
fn next() -> PolicyApplied {
    PolicyApplied {
        digest: Digest::of(b"next"),
        files: vec![text("seat.cedar", "a"), text("org-quiet.cedar", "c")],
        base: Some(first().digest),
        reason: "quiet".to_owned(),
        corrective: false,
        by: Some(person()),
    }
}

/// A first set, and a person who holds each of these seats.
fn office(seats: &[(&str, &str)]) -> Rows {
    let mut rows = Rows::from([(setting::POLICY.to_owned(), serde_json::to_value(first()).unwrap())]);
    for (name, grant) in seats {
        let created = SeatCreated {
            seat: seat(name),
            role: "r".into(),
            department: None,
            line: None,
            grants: vec![(*grant).to_owned()],
            accountabilities: Vec::new(),
            stands_in: None,
        };
        let held = SeatHeld { seat: seat(name), principal: person() };
        rows.insert(setting::seat(&seat(name)), serde_json::to_value(created).unwrap());
        rows.insert(setting::holder(&seat(name)), serde_json::to_value(held).unwrap());
    }
    rows
}

fn stated(rows: &Rows, principal: PrincipalId, by: Option<&str>, fact: impl Into<Fact>) -> Verdict {
    let actor = Actor { principal, seat: by.map(seat) };
    let look = |key: &str| rows.get(key).map_or(Look::Absent, |value| Look::Holds(Arc::new(value.clone())));
    may_state(&actor, &fact.into(), &look)
}

fn by_gate(rows: &Rows, by: &str, fact: impl Into<Fact>) -> Verdict {
    stated(rows, PrincipalId::gate(), Some(by), fact)
}

fn no(verdict: Verdict) -> NoAuthority {
    match verdict {
        Verdict::MayNot(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_seat_with_the_right_changes_the_organisations_files_through_the_gate_alone() {
    let rows = office(&[("a", "record:policy.applied"), ("b", "record:policy.proposed")]);
    assert_eq!(by_gate(&rows, "a", next()), Verdict::May);
    // The same, stated by the holder itself: nobody has read it.
    assert!(matches!(no(stated(&rows, person(), Some("a"), next())), NoAuthority::GateAlone { .. }));
    assert!(matches!(no(by_gate(&rows, "b", next())), NoAuthority::NoGrant { .. }));
    let nobodys = PolicyApplied { by: Some(PrincipalId::parse("person_b").unwrap()), ..next() };
    assert!(matches!(no(by_gate(&rows, "a", nobodys)), NoAuthority::NotHolder { .. }));
    assert!(matches!(
        no(by_gate(&rows, "a", PolicyApplied { by: None, ..next() })),
        NoAuthority::NotHolder { .. }
    ));
    assert!(matches!(no(stated(&rows, PrincipalId::gate(), None, next())), NoAuthority::NoSeat { .. }));
    let silent = PolicyApplied { reason: " ".to_owned(), ..next() };
    assert!(matches!(no(by_gate(&rows, "a", silent)), NoAuthority::NoReason { .. }));
}

#[test]
fn a_set_is_put_in_force_on_the_one_in_force_whoever_says_so() {
    let rows = office(&[("a", "record:*")]);
    for base in [None, Some(Digest::of(b"another"))] {
        for principal in [PrincipalId::gate(), PrincipalId::host()] {
            let stale = PolicyApplied { base: base.clone(), ..next() };
            let why = no(stated(&rows, principal, Some("a"), stale));
            assert!(matches!(why, NoAuthority::NotOnWhatStands { stands: Some(_), .. }), "{why}");
        }
    }
    assert_eq!(stated(&rows, PrincipalId::host(), None, next()), Verdict::May);
    assert_eq!(stated(&Rows::new(), PrincipalId::host(), None, first()), Verdict::May);
    let why = no(stated(&Rows::new(), PrincipalId::host(), None, next())).to_string();
    assert!(why.contains("no set is in force"), "{why}");
}

#[test]
fn files_beyond_the_organisations_are_the_owners_to_change() {
    let rows = office(&[("a", "record:*"), ("owner", "record:*")]);
    let wider = || PolicyApplied { files: vec![text("seat.cedar", "more")], ..next() };
    match no(by_gate(&rows, "a", wider())) {
        NoAuthority::BeyondOrganisation { files, .. } => assert_eq!(files, ["seat.cedar"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(by_gate(&rows, "owner", wider()), Verdict::May);
}

#[test]
fn what_was_proposed_as_a_correction_is_applied_as_one() {
    let mut rows = office(&[("a", "record:*")]);
    let applied = next();
    let proposed = PolicyProposed {
        digest: applied.digest.clone(),
        base: first().digest,
        files: applied.files.clone(),
        reason: applied.reason.clone(),
        corrective: true,
        by: Some(person()),
    };
    assert_eq!(by_gate(&rows, "a", proposed.clone()), Verdict::May);
    rows.insert(setting::proposal(&applied.digest), serde_json::to_value(proposed).unwrap());
    assert!(matches!(no(by_gate(&rows, "a", applied.clone())), NoAuthority::NotAsProposed { .. }));
    assert_eq!(by_gate(&rows, "a", PolicyApplied { corrective: true, ..applied }), Verdict::May);
}

#[test]
fn files_that_are_not_the_organisations_own_are_named() {
    assert!(is_organisation("org-quiet.cedar") && is_organisation("cases/DENY/org-quiet.json"));
    assert!(!is_organisation("seat.cedar") && !is_organisation("cases/DENY/not-org-quiet.json"));
    let old = [text("seat.cedar", "a"), text("org-quiet.cedar", "b")];
    let own = [text("seat.cedar", "a"), text("org-loud.cedar", "c"), text("cases/DENY/org-loud.json", "d")];
    assert_eq!(beyond_organisation(&old, &own), [] as [&str; 0]);
    let more = [text("seat.cedar", "a2"), text("org-quiet.cedar", "b"), text("cases/DENY/x.json", "d")];
    assert_eq!(beyond_organisation(&old, &more), ["cases/DENY/x.json", "seat.cedar"]);
}
