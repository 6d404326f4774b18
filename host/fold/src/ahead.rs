//! Yeses given ahead: a repeated yes made a narrow grant, for one seat, one tool and one resource.

use crate::approval::REASON_BYTES_MAX;
use crate::projection::{Projection, Row};
use event::{
    ApprovalGivenAhead, ApprovalWithdrawn, Digest, Event, EventId, Fact, Personal, PrincipalId, SeatId,
    Timestamp,
};
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

/// What somebody wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Say yes ahead. A later one for the same seat, tool and resource replaces it.
    Give(ApprovalGivenAhead),
    /// Let later calls ask again.
    Withdraw(ApprovalWithdrawn),
}

/// Why it cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotGiveAhead {
    /// It would end before it begins.
    #[error("the moment {until} has passed: name one after {now}, or none")]
    MomentPassed {
        /// The moment named.
        until: Timestamp,
        /// Now.
        now: Timestamp,
    },
    /// A standing yes without a reason cannot be judged later.
    #[error("a reason is between 1 and {REASON_BYTES_MAX} bytes, not {0}")]
    Reason(usize),
    /// Nobody gives their own seat a yes.
    #[error("`{0}` asks, and cannot answer itself")]
    AsksItself(SeatId),
    /// There is nothing to withdraw.
    #[error("nothing was given ahead to that seat for that tool and resource")]
    NothingGiven,
}

/// What follows from a wish, or why nothing does. `row` is what stands for its seat, tool and resource.
///
/// # Errors
/// [`CannotGiveAhead`], for whoever wished it.
pub fn decide(row: Option<&AheadRow>, command: Command, now: Timestamp) -> Result<Fact, CannotGiveAhead> {
    match command {
        Command::Give(given) => {
            fits(&given.reason)?;
            if given.by_seat == given.seat {
                return Err(CannotGiveAhead::AsksItself(given.seat));
            }
            match given.until {
                Some(until) if until <= now => Err(CannotGiveAhead::MomentPassed { until, now }),
                _ => Ok(given.into()),
            }
        }
        Command::Withdraw(withdrawn) => {
            fits(&withdrawn.reason)?;
            row.ok_or(CannotGiveAhead::NothingGiven)?;
            Ok(withdrawn.into())
        }
    }
}

fn fits(reason: &Personal<String>) -> Result<(), CannotGiveAhead> {
    match reason.text().trim().len() {
        1..=REASON_BYTES_MAX => Ok(()),
        bytes => Err(CannotGiveAhead::Reason(bytes)),
    }
}
