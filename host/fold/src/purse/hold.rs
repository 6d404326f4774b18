//! Holds: where each stands, and when one that nobody ended is ended for it.

use crate::projection::{Projection, Row, taken};
use event::{Account, Event, Fact, HoldId, NanoUsd, Origin, Timestamp};
use serde::{Deserialize, Serialize};

/// How long a hold may stay open: five times the longest a call may take, so that whoever took it is surely gone.
pub const HOLD_OPEN_MS_MAX: i64 = 15 * 60 * 1_000;

/// Where a hold stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldState {
    /// Set aside; no paid call began.
    Taken,
    /// The paid call may have left.
    Started,
    /// Charged.
    Settled,
    /// Given back.
    Released,
    /// The figure is not known.
    Unknown,
}

impl HoldState {
    /// Whether nothing has been said yet of what became of it.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Taken | Self::Started)
    }

    /// The word people read.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Started => "started",
            Self::Settled => "settled",
            Self::Released => "released",
            Self::Unknown => "unknown",
        }
    }
}

/// One hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldRow {
    /// Where it stands.
    pub state: HoldState,
    /// The call.
    pub origin: Origin,
    /// The price key.
    pub price_key: String,
    /// How much was held.
    pub held: NanoUsd,
    /// On which accounts.
    pub accounts: Vec<Account>,
    /// When it was taken.
    pub taken_at: Timestamp,
    /// What was charged, once settled.
    pub charged: Option<NanoUsd>,
}

/// Whether a hold has been open so long that it is ended for whoever took it.
#[must_use]
pub fn is_overdue(hold: &HoldRow, now: Timestamp) -> bool {
    hold.state.is_open() && now.since_ms(hold.taken_at) >= HOLD_OPEN_MS_MAX
}

/// The rows under a hold's id, ranked by when it was taken while it is open. Holds [`HoldRow`]s.
pub struct Holds;

fn hold_of(fact: &Fact) -> Option<&HoldId> {
    match fact {
        Fact::HoldTaken(body) => Some(&body.hold),
        Fact::HoldStarted(body) => Some(&body.hold),
        Fact::HoldSettled(body) => Some(&body.hold),
        Fact::HoldReleased(body) => Some(&body.hold),
        Fact::HoldLeftUnknown(body) => Some(&body.hold),
        _ => None,
    }
}

impl Projection for Holds {
    fn name(&self) -> &'static str {
        "hold"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        hold_of(&event.fact).map(|id| id.as_str().to_owned()).into_iter().collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let after = match &event.fact {
            Fact::HoldTaken(body) => HoldRow {
                state: HoldState::Taken,
                origin: body.origin.clone(),
                price_key: body.price_key.clone(),
                held: body.amount,
                accounts: body.accounts.clone(),
                taken_at: event.at,
                charged: None,
            },
            Fact::HoldStarted(_) => HoldRow { state: HoldState::Started, ..taken::<HoldRow>(row)? },
            Fact::HoldSettled(body) => {
                HoldRow { state: HoldState::Settled, charged: Some(body.charged), ..taken::<HoldRow>(row)? }
            }
            Fact::HoldReleased(_) => HoldRow { state: HoldState::Released, ..taken::<HoldRow>(row)? },
            Fact::HoldLeftUnknown(_) => HoldRow { state: HoldState::Unknown, ..taken::<HoldRow>(row)? },
            _ => return row,
        };
        let rank = after.state.is_open().then_some(after.taken_at.0);
        Some(Row::of(&after, rank))
    }
}
