//! Who said no, in a turn, to others being told what is theirs: one row for each turn that asked somebody, so that nobody
//! is asked again and again in other words.

use crate::projection::{Projection, Row, decode};
use event::{ApprovalId, Event, Fact, Origin};
use serde::{Deserialize, Serialize};

/// What became of the last such question of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisclosureRow {
    /// The question.
    pub approval: ApprovalId,
    /// Whether the answer was no, or none came in time.
    pub refused: bool,
}

/// The rows under a turn's id. Holds [`DisclosureRow`]s.
pub struct Disclosures;

fn turn(origin: &Origin) -> Vec<String> {
    origin.turn().map(|turn| turn.as_str().to_owned()).into_iter().collect()
}

impl Projection for Disclosures {
    fn name(&self) -> &'static str {
        "disclosure"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::ApprovalAsked(body) if body.discloses.is_some() => turn(&body.origin),
            Fact::ApprovalDenied(body) => turn(&body.origin),
            Fact::ApprovalExpired(body) => turn(&body.origin),
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let before: Option<DisclosureRow> = decode(row.as_ref());
        let ended = match &event.fact {
            Fact::ApprovalAsked(body) => {
                let refused = before.is_some_and(|before| before.refused);
                return Some(Row::of(&DisclosureRow { approval: body.approval.clone(), refused }, None));
            }
            Fact::ApprovalDenied(body) => &body.approval,
            Fact::ApprovalExpired(body) => &body.approval,
            _ => return row,
        };
        match before {
            Some(before) if before.approval == *ended => {
                Some(Row::of(&DisclosureRow { refused: true, ..before }, None))
            }
            _ => row,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DisclosureRow, Disclosures};
    use crate::projection::{Projection, decode};
    use event::{
        Actor, ApprovalAsked, ApprovalExpired, ApprovalId, Digest, Event, EventId, Fact, GlobalPosition,
        Label, Origin, Position, PrincipalId, SeatId, StreamName, Timestamp, TurnId,
    };

    fn origin() -> Origin {
        Origin::Step { turn: TurnId::derived(&["t"]), step: 3, attempt: 1 }
    }

    fn event(fact: impl Into<Fact>) -> Event {
        Event {
            global_position: GlobalPosition(1),
            stream: StreamName::new("call", "a"),
            position: Position(1),
            id: EventId::derived(&["a"]),
            at: Timestamp(1),
            actor: Actor { principal: PrincipalId::gate(), seat: None },
            cause: None,
            label: Label::host(),
            fact: fact.into(),
            digest: Digest::of(b"d"),
            chain: Digest::of(b"c"),
        }
    }

    fn asked(name: &str, discloses: Option<&str>) -> Event {
        event(ApprovalAsked {
            approval: ApprovalId::derived(&[name]),
            origin: origin(),
            seat: SeatId::parse("seat_a").unwrap(),
            topic: None,
            tool: "slack.post".into(),
            resource: "C1".to_owned().into(),
            input: serde_json::json!({}).into(),
            content: Digest::of(b"x"),
            component: Digest::of(b"y"),
            effect: "external".into(),
            policies: Vec::new(),
            reason: String::new().into(),
            discloses: discloses.map(|person| PrincipalId::parse(person).unwrap()),
            expires_at: Timestamp(9),
        })
    }

    fn expired(name: &str) -> Event {
        event(ApprovalExpired { approval: ApprovalId::derived(&[name]), origin: origin() })
    }

    #[test]
    fn an_owners_no_stands_for_the_rest_of_the_turn_and_that_of_others_is_none() {
        let mut row = None;
        let mut refused = Vec::new();
        for event in [
            expired("general"),
            asked("general", None),
            asked("first", Some("person_a")),
            expired("general"),
            expired("first"),
            asked("second", Some("person_a")),
        ] {
            for key in Disclosures.keys(&event) {
                row = Disclosures.evolve(&key, row, &event);
            }
            refused.push(decode::<DisclosureRow>(row.as_ref()).map(|row| row.refused));
        }
        assert_eq!(refused, [None, None, Some(false), Some(false), Some(true), Some(true)]);
    }
}
