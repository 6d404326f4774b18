//! Who may state what, from rows alone.

use super::{LINE_SEATS_MAX, Look, NoAuthority, Verdict, may_state};
use crate::setting;
use event::{
    Actor, ComponentRevoked, Digest, Fact, MomentSet, NodeStarted, PluginGranted, PrincipalId, SeatCreated,
    SeatHeld, SeatId, Timestamp, Topic,
};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

fn seat(name: &str) -> SeatId {
    SeatId::parse(&format!("seat_{name}")).unwrap()
}

fn created(name: &str, line: Option<&str>, grants: &[&str]) -> SeatCreated {
    SeatCreated {
        seat: seat(name),
        role: "r".into(),
        department: None,
        line: line.map(seat),
        grants: grants.iter().map(|grant| (*grant).to_owned()).collect(),
        accountabilities: Vec::new(),
        stands_in: None,
    }
}

fn agent(name: &str) -> PrincipalId {
    PrincipalId::parse(&format!("agent_{name}")).unwrap()
}

/// An office of seats, each held by the agent of its name.
fn office(seats: &[SeatCreated]) -> BTreeMap<String, Value> {
    let mut rows = BTreeMap::new();
    for one in seats {
        let name = one.seat.as_str().trim_start_matches("seat_");
        let held = SeatHeld { seat: one.seat.clone(), principal: agent(name) };
        rows.insert(setting::seat(&one.seat), serde_json::to_value(one).unwrap());
        rows.insert(setting::holder(&one.seat), serde_json::to_value(held).unwrap());
    }
    rows
}

fn asked(
    rows: &BTreeMap<String, Value>,
    principal: PrincipalId,
    for_seat: Option<&str>,
    fact: impl Into<Fact>,
) -> Verdict {
    let actor = Actor { principal, seat: for_seat.map(seat) };
    let look = |key: &str| rows.get(key).map_or(Look::Absent, |value| Look::Holds(Arc::new(value.clone())));
    may_state(&actor, &fact.into(), &look)
}

fn look_again(name: &str) -> MomentSet {
    MomentSet { seat: seat(name), topic: Topic::parse("t").unwrap(), at: Timestamp(1) }
}

#[test]
fn a_seat_speaks_for_itself_and_only_through_its_holder() {
    let rows = office(&[created("a", None, &[]), created("b", None, &[])]);
    assert_eq!(asked(&rows, agent("a"), Some("a"), look_again("a")), Verdict::May);
    let no = |verdict| matches!(verdict, Verdict::MayNot(_));
    assert!(no(asked(&rows, agent("a"), Some("a"), look_again("b"))));
    assert!(no(asked(&rows, agent("b"), Some("a"), look_again("a"))));
    assert!(no(asked(&rows, agent("a"), None, look_again("a"))));
    assert!(no(asked(&rows, agent("a"), Some("nobody"), look_again("nobody"))));
    let node = NodeStarted { node: "n".into(), version: "1".into() };
    assert!(no(asked(&rows, agent("a"), Some("a"), node.clone())));
    assert_eq!(asked(&rows, PrincipalId::host(), None, node), Verdict::May);
}

#[test]
fn a_seat_hands_on_only_what_it_holds() {
    let rows = office(&[created("head", None, &["record:seat.created", "web.*", "slack.post"])]);
    let makes =
        |grants: &[&str]| asked(&rows, agent("head"), Some("head"), created("new", Some("head"), grants));
    assert_eq!(makes(&["web.fetch", "web.*", "slack.post"]), Verdict::May);
    for more in ["slack.react", "slack.*", "web", "record:policy.applied", "*"] {
        assert!(matches!(makes(&[more]), Verdict::MayNot(NoAuthority::Escalates { .. })), "{more}");
    }
    let role = |grants: &[&str]| {
        let grants = [&["record:seat.created"], grants].concat();
        let rows = office(&[created("head", None, &grants)]);
        let cook = SeatCreated { role: "cook".into(), ..created("new", None, &[]) };
        asked(&rows, agent("head"), Some("head"), cook)
    };
    for held in [&[][..], &["*"], &["role:baker"], &["role:r"]] {
        assert!(matches!(role(held), Verdict::MayNot(NoAuthority::Escalates { .. })), "{held:?}");
    }
    for held in ["role:cook", "role:*", "record:*"] {
        assert_eq!(role(&[held]), Verdict::May, "{held}");
    }
    let without = office(&[created("head", None, &["web.*"])]);
    let verdict = asked(&without, agent("head"), Some("head"), created("new", None, &[]));
    assert!(matches!(verdict, Verdict::MayNot(NoAuthority::NoGrant { .. })));
}

#[test]
fn no_seat_reports_to_itself_even_when_the_host_says_so() {
    let rows = office(&[created("a", Some("b"), &[]), created("b", Some("c"), &[]), created("c", None, &[])]);
    let verdict = asked(&rows, PrincipalId::host(), None, created("c", Some("a"), &[]));
    assert!(matches!(verdict, Verdict::MayNot(NoAuthority::OwnLine { .. })));
    assert!(matches!(
        asked(&rows, PrincipalId::host(), None, created("d", Some("d"), &[])),
        Verdict::MayNot(_)
    ));
    assert_eq!(asked(&rows, PrincipalId::host(), None, created("d", Some("a"), &[])), Verdict::May);
}

#[test]
fn a_row_that_nobody_looked_at_is_asked_for_and_never_guessed() {
    let actor = Actor { principal: agent("a"), seat: Some(seat("a")) };
    let verdict = may_state(&actor, &look_again("a").into(), &|_| Look::NotYet);
    assert_eq!(verdict, Verdict::LookAt(setting::holder(&seat("a"))));
}

#[test]
fn a_component_that_was_revoked_is_granted_by_nobody_and_another_is() {
    let (bad, good) = (Digest::of(b"bad"), Digest::of(b"good"));
    let mut rows = office(&[created("a", None, &["record:*"])]);
    let revoked = ComponentRevoked { digest: bad.clone(), plugin: "p".into(), reason: "it lied".into() };
    rows.insert(setting::revoked_component(&bad), serde_json::to_value(revoked).unwrap());
    let grant = |digest: &Digest| PluginGranted {
        plugin: "p".into(),
        digest: digest.clone(),
        routes: Vec::new(),
        settings: BTreeMap::new(),
        directories: Vec::new(),
        reason: String::new(),
        handles: Vec::new(),
    };
    for (who, seat) in [(PrincipalId::host(), None), (agent("a"), Some("a"))] {
        assert_eq!(asked(&rows, who.clone(), seat, grant(&good)), Verdict::May);
        let verdict = asked(&rows, who, seat, grant(&bad));
        assert!(matches!(verdict, Verdict::MayNot(NoAuthority::RevokedComponent { .. })), "{verdict:?}");
    }
}

proptest! {
    /// Whatever the lines of an office, the walk ends, and it says yes only when following them ends too.
    #[test]
    fn the_walk_up_a_line_ends(lines in proptest::collection::vec(proptest::option::of(0_usize..12), 12), to in 0_usize..12) {
        let name = |n: usize| format!("s{n}");
        let seats: Vec<SeatCreated> =
            lines.iter().enumerate().map(|(n, line)| created(&name(n), line.map(name).as_deref(), &[])).collect();
        let rows = office(&seats);
        let verdict = asked(&rows, PrincipalId::host(), None, created(&name(0), Some(&name(to)), &[]));
        let (mut at, mut steps, mut circles) = (Some(to), 0, false);
        while let Some(n) = at {
            steps += 1;
            if n == 0 || steps > LINE_SEATS_MAX {
                circles = true;
                break;
            }
            at = lines[n];
        }
        prop_assert_eq!(verdict == Verdict::May, !circles);
    }
}
