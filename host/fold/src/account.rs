//! Accounts that people were asked to connect: one row for each service and person, so that nobody is asked at every call.

use crate::projection::{Projection, Row, decode};
use event::{Event, EventId, Fact, PrincipalId, Timestamp};
use serde::{Deserialize, Serialize};

/// How long nobody is asked again for the same account, in milliseconds: the link that they were shown is long over by
/// then.
pub const ASKED_AGAIN_MS: i64 = 60 * 60 * 1_000;

/// The call that a person is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedRow {
    /// Its `account.wanted`: whoever asks the person does so for this event and for none that came after it.
    pub asked_as: EventId,
    /// When it was.
    pub at: Timestamp,
}

/// The rows under [`key`], from the first call that lacks an account until it is connected. Holds [`WantedRow`]s.
pub struct Wanted;

/// Key of what `owner` is asked to connect for `credential`.
#[must_use]
pub fn key(credential: &str, owner: &PrincipalId) -> String {
    format!("{credential}/{owner}")
}

impl Projection for Wanted {
    fn name(&self) -> &'static str {
        "account-wanted"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            // Whoever tries a tool by hand reads what is missing there and then.
            Fact::AccountWanted(body) if body.origin.turn().is_some() => {
                vec![key(&body.credential, &body.owner)]
            }
            Fact::AccountConnected(body) => vec![key(&body.credential, &body.owner)],
            Fact::AccountDisconnected(body) => vec![key(&body.credential, &body.owner)],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        if !matches!(event.fact, Fact::AccountWanted(_)) {
            return None;
        }
        let before: Option<WantedRow> = decode(row.as_ref());
        if before.is_some_and(|before| event.at.since_ms(before.at) < ASKED_AGAIN_MS) {
            return row;
        }
        Some(Row::of(&WantedRow { asked_as: event.id.clone(), at: event.at }, None))
    }
}

#[cfg(test)]
mod tests {
    use super::{ASKED_AGAIN_MS, Wanted, WantedRow};
    use crate::projection::{Projection, Row, decode};
    use event::{
        AccountConnected, AccountWanted, Actor, Digest, Event, EventId, Fact, GlobalPosition, Label, Origin,
        Position, PrincipalId, StreamName, Timestamp, TurnId,
    };
    use std::collections::BTreeSet;

    fn person() -> PrincipalId {
        PrincipalId::parse("person_alice").unwrap()
    }

    fn event(name: &str, at: i64, fact: impl Into<Fact>) -> Event {
        Event {
            global_position: GlobalPosition(1),
            stream: StreamName::new("call", name),
            position: Position(1),
            id: EventId::derived(&[name]),
            at: Timestamp(at),
            actor: Actor { principal: PrincipalId::host(), seat: None },
            cause: None,
            label: Label::host(),
            fact: fact.into(),
            digest: Digest::of(b"d"),
            chain: Digest::of(b"c"),
        }
    }

    fn wanted(name: &str, at: i64) -> Event {
        let origin = Origin::Step { turn: TurnId::derived(&[name]), step: 1, attempt: 1 };
        let [tool, credential, service] = ["linear.issues", "linear.token", "linear"].map(str::to_owned);
        event(name, at, AccountWanted { origin, tool, credential, service, owner: person() })
    }

    #[test]
    fn a_person_is_asked_for_the_first_call_within_an_hour_and_anew_once_they_had_connected() {
        let connected = AccountConnected {
            credential: "linear.token".to_owned(),
            owner: person(),
            by: person(),
            seats: BTreeSet::new(),
            scopes: Vec::new(),
        };
        let mut row: Option<Row> = None;
        let mut asked = Vec::new();
        for event in [
            wanted("a", 0),
            wanted("b", ASKED_AGAIN_MS - 1),
            wanted("c", ASKED_AGAIN_MS),
            event("d", ASKED_AGAIN_MS + 1, connected),
            wanted("e", ASKED_AGAIN_MS + 2),
        ] {
            assert_eq!(Wanted.keys(&event), ["linear.token/person_alice"]);
            row = Wanted.evolve("linear.token/person_alice", row, &event);
            asked.push(decode::<WantedRow>(row.as_ref()).map(|row| row.asked_as));
        }
        let mut by_hand = wanted("f", 0);
        if let Fact::AccountWanted(body) = &mut by_hand.fact {
            body.origin = Origin::Duty { event: by_hand.id.clone(), kind: "tried".to_owned(), attempt: 1 };
        }
        assert!(Wanted.keys(&by_hand).is_empty());
        let of = |name: &str| Some(EventId::derived(&[name]));
        assert_eq!(asked, [of("a"), of("a"), of("c"), None, of("e")]);
    }
}
