//! The next-moment queue: every moment at which something must happen, in one projection, soonest first.
//!
//! There is no timer for a subject anywhere: whoever runs the office looks at the head of this queue. What waits
//! stands in the record, so a restart forgets nothing.

use crate::effect::recall::{FIRST_MS, OUTCOME_MS_MAX};
use crate::projection::{Projection, Row};
use event::{ApprovalId, EffectId, Event, EventId, Fact, RequestId, SeatId, Timestamp, Topic};
use serde::{Deserialize, Serialize};

/// What happens at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// A request lapses.
    Request(RequestId),
    /// An approval expires.
    Approval(ApprovalId),
    /// An effect that was intended and has no outcome counts as unknown.
    Outcome(EffectId),
    /// An unknown effect is read back.
    Recall(EffectId),
    /// The token of a workspace is exchanged for the next.
    Renewal {
        /// The service.
        source: String,
        /// The workspace.
        team: String,
    },
    /// A seat looks again.
    Look {
        /// The seat.
        seat: SeatId,
        /// What at.
        topic: Topic,
        /// The `moment.set`.
        set_by: EventId,
    },
}

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MomentRow {
    /// When.
    pub at: Timestamp,
    /// What happens then.
    pub due: Due,
}

/// The rows under what they are about, ranked by their moment. Holds [`MomentRow`]s; one that has come is gone.
pub struct Moments;

/// Key of a request's moment.
#[must_use]
pub fn request_key(request: &RequestId) -> String {
    format!("request/{request}")
}

/// Key of an approval's moment.
#[must_use]
pub fn approval_key(approval: &ApprovalId) -> String {
    format!("approval/{approval}")
}

/// Key of an effect's moment.
#[must_use]
pub fn effect_key(effect: &EffectId) -> String {
    format!("effect/{effect}")
}

/// Key of the moment at which the token of a workspace is exchanged.
#[must_use]
pub fn renewal_key(source: &str, team: &str) -> String {
    format!("renewal/{source}/{team}")
}

/// How long before its end a token is exchanged, in milliseconds: two hours, so that many tries fit in between.
pub const RENEWAL_LEAD_MS: i64 = 7_200_000;

/// The moment at which a token that ends at `expires_at` is exchanged.
fn renewal(source: &str, team: &str, expires_at: Timestamp) -> MomentRow {
    let due = Due::Renewal { source: source.to_owned(), team: team.to_owned() };
    MomentRow { at: expires_at.plus_ms(-RENEWAL_LEAD_MS), due }
}

/// Key of the moment at which a seat looks at a topic again.
#[must_use]
pub fn look_key(seat: &SeatId, topic: &Topic) -> String {
    format!("look/{seat}|{topic}")
}

impl Projection for Moments {
    fn name(&self) -> &'static str {
        "moment"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::RequestAsked(body) => vec![request_key(&body.request)],
            Fact::RequestAnswered(body) => vec![request_key(&body.request)],
            Fact::RequestLapsed(body) => vec![request_key(&body.request)],
            Fact::ApprovalAsked(body) => vec![approval_key(&body.approval)],
            Fact::ApprovalGiven(body) => vec![approval_key(&body.approval)],
            Fact::ApprovalDenied(body) => vec![approval_key(&body.approval)],
            Fact::ApprovalExpired(body) => vec![approval_key(&body.approval)],
            Fact::EffectIntended(body) => vec![effect_key(&body.effect)],
            Fact::EffectSent(body) => vec![effect_key(&body.effect)],
            Fact::EffectFailed(body) => vec![effect_key(&body.effect)],
            Fact::EffectLeftUnknown(body) => vec![effect_key(&body.effect)],
            Fact::EffectRecalled(body) => vec![effect_key(&body.effect)],
            Fact::ConnectionInstalled(body) => vec![renewal_key(&body.source, &body.team)],
            Fact::ConnectionRenewed(body) => vec![renewal_key(&body.source, &body.team)],
            Fact::ConnectionEnded(body) => vec![renewal_key(&body.source, &body.team)],
            Fact::MomentSet(body) => vec![look_key(&body.seat, &body.topic)],
            Fact::MomentPassed(body) => vec![look_key(&body.seat, &body.topic)],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, _row: Option<Row>, event: &Event) -> Option<Row> {
        let row = match &event.fact {
            Fact::RequestAsked(body) => {
                MomentRow { at: body.due_at, due: Due::Request(body.request.clone()) }
            }
            Fact::ApprovalAsked(body) => {
                MomentRow { at: body.expires_at, due: Due::Approval(body.approval.clone()) }
            }
            Fact::EffectIntended(body) => {
                MomentRow { at: event.at.plus_ms(OUTCOME_MS_MAX), due: Due::Outcome(body.effect.clone()) }
            }
            Fact::EffectLeftUnknown(body) => {
                MomentRow { at: event.at.plus_ms(FIRST_MS), due: Due::Recall(body.effect.clone()) }
            }
            Fact::EffectRecalled(body) => {
                MomentRow { at: body.again_at?, due: Due::Recall(body.effect.clone()) }
            }
            Fact::ConnectionInstalled(body) => renewal(&body.source, &body.team, body.expires_at?),
            Fact::ConnectionRenewed(body) => renewal(&body.source, &body.team, body.expires_at?),
            Fact::MomentSet(body) => {
                let (seat, topic) = (body.seat.clone(), body.topic.clone());
                MomentRow { at: body.at, due: Due::Look { seat, topic, set_by: event.id.clone() } }
            }
            _ => return None,
        };
        let rank = Some(row.at.0);
        Some(Row::of(&row, rank))
    }
}
