//! Any sequence of wishes by anybody, decided and then held against authority as the record does it.

use super::{ACCOUNTABILITIES_MAX, Command, SeatState, decide, holds_grant};
use crate::authority::{EVERY_FACT, LINE_SEATS_MAX, Look, Verdict, may_state};
use crate::setting;
use event::{Actor, Fact, PrincipalId, SeatCreated, SeatHeld, SeatId};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

const SEATS: usize = 6;
const GRANTS: &[&str] = &[
    "*",
    "web.*",
    "web.fetch",
    "slack.post",
    "record:*",
    "record:seat.created",
    "record:seat.changed",
    "record:seat.held",
];
/// What anybody could call or state: what grants are measured by.
const DEEDS: &[&str] =
    &["web.fetch", "web.search", "slack.post", "m/story", "record:seat.created", "record:budget.set"];

fn seat(n: usize) -> SeatId {
    SeatId::parse(&format!("seat_{n}")).unwrap()
}

fn agent(n: usize) -> PrincipalId {
    PrincipalId::parse(&format!("agent_{n}")).unwrap()
}

#[derive(Clone, Debug)]
struct Wished {
    /// The seat in which it is wished, and who says so: its holder, or anybody.
    by: usize,
    who: Option<usize>,
    about: usize,
    wish: Wish,
}

#[derive(Clone, Debug)]
enum Wish {
    Be { line: Option<usize>, grants: Vec<usize>, accountabilities: usize },
    Hold(usize),
    Vacate,
}

fn wished() -> impl Strategy<Value = Wished> {
    let be = (
        proptest::option::of(0..SEATS),
        proptest::collection::vec(0..GRANTS.len(), 0..4),
        0..ACCOUNTABILITIES_MAX + 2,
    );
    let wish = prop_oneof![
        4 => be.prop_map(|(line, grants, accountabilities)| Wish::Be { line, grants, accountabilities }),
        2 => (0..SEATS).prop_map(Wish::Hold),
        1 => Just(Wish::Vacate),
    ];
    let who = proptest::option::weighted(0.2, 0..SEATS);
    (0..SEATS, who, 0..SEATS, wish).prop_map(|(by, who, about, wish)| Wished { by, who, about, wish })
}

/// The rows of `setting`, as the record keeps them.
#[derive(Default)]
struct Office(BTreeMap<String, Value>);

impl Office {
    fn row<T: serde::de::DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.0.get(key).map(|value| serde_json::from_value(value.clone()).unwrap())
    }

    fn state(&self, id: &SeatId) -> Option<SeatState> {
        let held: Option<SeatHeld> = self.row(&setting::holder(id));
        let seat = self.row(&setting::seat(id))?;
        Some(SeatState { seat, holder: held.map(|held| held.principal) })
    }

    fn put(&mut self, fact: &Fact) {
        match setting::stated(fact) {
            Some((key, Some(value))) => drop(self.0.insert(key, value)),
            Some((key, None)) => drop(self.0.remove(&key)),
            None => {}
        }
    }

    /// The fact that the wish comes to, when it is anybody's to state.
    fn takes(&mut self, wished: &Wished) -> Option<Fact> {
        let (about, by) = (seat(wished.about), seat(wished.by));
        let before = self.state(&about);
        let command = match &wished.wish {
            Wish::Hold(who) => Command::Hold(agent(*who)),
            Wish::Vacate => Command::Vacate("it left".into()),
            Wish::Be { line, grants, accountabilities } => {
                let now = SeatCreated {
                    seat: about,
                    role: "assistant".into(),
                    department: None,
                    line: line.map(seat),
                    grants: grants.iter().filter_map(|n| GRANTS.get(*n)).map(|g| (*g).to_owned()).collect(),
                    accountabilities: vec!["it answers".into(); *accountabilities],
                    stands_in: None,
                };
                if before.is_some() { Command::Change(now, "why".into()) } else { Command::Create(now) }
            }
        };
        let fact = decide(before.as_ref(), command).ok()?;
        let holder = self.state(&by).and_then(|state| state.holder);
        let principal = wished.who.map(agent).or(holder)?;
        let actor = Actor { principal, seat: Some(by) };
        let look =
            |key: &str| self.0.get(key).map_or(Look::Absent, |value| Look::Holds(Arc::new(value.clone())));
        (may_state(&actor, &fact, &look) == Verdict::May).then_some(fact)
    }
}

/// Whether the seat may do it, said without the code under test for facts.
fn may(state: Option<&SeatState>, deed: &str) -> bool {
    state.is_some_and(|state| {
        let grants = &state.seat.grants;
        if deed.starts_with("record:") {
            grants.iter().any(|grant| grant == deed || grant == EVERY_FACT)
        } else {
            holds_grant(&state.seat, deed)
        }
    })
}

fn above(office: &Office, id: &SeatId) -> Option<SeatId> {
    office.state(id).and_then(|state| state.seat.line)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_sequence_of_wishes_makes_a_circle_hands_on_what_its_giver_lacks_or_loads_a_seat_with_more_than_five(
        wishes in proptest::collection::vec(wished(), 1..60)
    ) {
        let mut office = Office::default();
        let root = SeatCreated {
            seat: seat(0),
            role: "assistant".into(),
            department: None,
            line: None,
            grants: vec!["record:*".into(), "web.*".into(), "slack.post".into()],
            accountabilities: Vec::new(),
            stands_in: None,
        };
        office.put(&root.into());
        office.put(&SeatHeld { seat: seat(0), principal: agent(0) }.into());
        for wished in &wishes {
            let (about, by) = (seat(wished.about), seat(wished.by));
            let Some(fact) = office.takes(wished) else { continue };
            let (had, giver) = (office.state(&about), office.state(&by));
            office.put(&fact);
            let has = office.state(&about);
            for deed in DEEDS {
                prop_assert!(
                    !may(has.as_ref(), deed) || may(had.as_ref(), deed) || may(giver.as_ref(), deed),
                    "{by} gave {about} `{deed}`: {fact:?}"
                );
            }
            for deed in DEEDS {
                prop_assert!(
                    !matches!(fact, Fact::SeatHeld(_)) || !may(has.as_ref(), deed) || may(giver.as_ref(), deed),
                    "{by} let somebody hold {about}, which may `{deed}`"
                );
            }
            prop_assert!(has.is_none_or(|state| state.seat.accountabilities.len() <= ACCOUNTABILITIES_MAX));
            for start in (0..SEATS).map(seat) {
                let mut at = above(&office, &start);
                for _ in 0..LINE_SEATS_MAX {
                    prop_assert_ne!(at.as_ref(), Some(&start), "it reports to itself");
                    at = at.and_then(|at| above(&office, &at));
                }
            }
        }
    }
}
