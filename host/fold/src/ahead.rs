//! Yeses given ahead: a repeated yes made a narrow grant, for one seat, one tool and one resource.

use crate::projection::{Projection, Row};
use event::{ApprovalGivenAhead, Digest, Event, EventId, Fact, PrincipalId, SeatId, Timestamp};
use serde::{Deserialize, Serialize};

/// One yes given ahead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AheadRow {
    /// The `approval.given-ahead`.
    pub given_as: EventId,
    /// The seat that may.
    pub seat: SeatId,
    /// The tool.
    pub tool: String,
    /// Digest of the arguments, when only exactly these may run.
    pub content: Option<Digest>,
    /// Until when.
    pub until: Option<Timestamp>,
    /// Who said yes.
    pub by: PrincipalId,
}

impl AheadRow {
    /// Whether it is a yes to a call with arguments of this digest at `now`.
    #[must_use]
    pub fn covers(&self, content: &Digest, now: Timestamp) -> bool {
        self.content.as_ref().is_none_or(|only| only == content) && self.until.is_none_or(|until| now < until)
    }
}

/// The rows under seat, tool and resource, ranked by when they were given. Holds [`AheadRow`]s.
pub struct Ahead;

/// Key of the yes to calls of `tool` on `resource` by `seat`.
#[must_use]
pub fn key(seat: &SeatId, tool: &str, resource: &Digest) -> String {
    format!("{seat}|{tool}|{resource}")
}

impl Projection for Ahead {
    fn name(&self) -> &'static str {
        "ahead"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::ApprovalGivenAhead(body) => vec![key(&body.seat, &body.tool, &body.resource_digest)],
            Fact::ApprovalWithdrawn(body) => vec![key(&body.seat, &body.tool, &body.resource_digest)],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, _row: Option<Row>, event: &Event) -> Option<Row> {
        let Fact::ApprovalGivenAhead(body) = &event.fact else { return None };
        let ApprovalGivenAhead { seat, tool, content, until, by, .. } = body.clone();
        let row = AheadRow { given_as: event.id.clone(), seat, tool, content, until, by };
        Some(Row::of(&row, Some(event.at.0)))
    }
}
