//! The seat that makes a call: who else is in the office, and what it did here before, and why.

use super::{Given, Here, no, rows_label, unread};
use crate::reach::{Failure, FailureKind};
use event::{Event, Fact, GlobalPosition, Position, StreamName, Timestamp, TurnEnded, TurnEnding, TurnId};
use fold::said::{DayRow, Said, days_back};
use fold::seat::{SeatState, Seats, works};
use fold::turn::{TurnRow, Turns};
use fold::{Projection, decode};
use record::RowKey;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most turns that are told at once.
pub const TURNS_MAX: u32 = 20;
/// The most seats that are told: an office that a model can survey.
const SEATS_MAX: usize = 200;
/// How far back turns are looked for, in days.
const DAYS_MAX: usize = 256;
/// The most ends of turns that are looked at: of other seats, too.
const LOOKED_AT_MAX: usize = 200;

/// The seat that makes a call.
pub struct Seat {
    pub(super) given: Arc<Given>,
}

/// One seat of the office.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The seat.
    pub seat: String,
    /// Whether it makes this call.
    pub own: bool,
    /// Its role.
    pub role: String,
    /// Its department.
    pub department: Option<String>,
    /// The seat it reports to.
    pub reports_to: Option<String>,
    /// Who holds it; nobody while it is vacant.
    pub holder: Option<String>,
    /// Whether it takes turns by itself: one that a person holds does not.
    pub takes_turns: bool,
    /// The seat that does its work now, where that is another.
    pub works_for_it: Option<String>,
    /// What it answers for.
    pub answers_for: Vec<String>,
}

/// One turn of the seat that makes the call, in the conversation it is made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its name.
    pub turn: TurnId,
    /// When it began.
    pub opened_at: Timestamp,
    /// What woke it: the kind of the event, such as `message.received`.
    pub woken_by: String,
    /// How it ended.
    pub ending: TurnEnding,
    /// What it came to; nothing where that was erased, or not everyone who reads here may read it.
    pub summary: Option<String>,
}

impl Seat {
    /// Every seat, its own first.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub async fn all(&self) -> Result<Vec<Holding>, Failure> {
        let rows = self.given.record.ranked(Seats.name(), 0, SEATS_MAX).await;
        let rows = rows.map_err(|error| unread(&error))?;
        let states: BTreeMap<String, SeatState> =
            rows.iter().filter_map(|(id, row)| Some((id.clone(), decode(Some(row))?))).collect();
        self.given.read(&rows_label());
        let mut all: Vec<Holding> = states.values().map(|state| self.holding(state, &states)).collect();
        all.sort_by_key(|one| !one.own);
        Ok(all)
    }

    fn holding(&self, state: &SeatState, all: &BTreeMap<String, SeatState>) -> Holding {
        let look = |id: &event::SeatId| Ok::<_, std::convert::Infallible>(all.get(id.as_str()).cloned());
        let Ok(works) = works(&state.seat.seat, look);
        let text = |id: &event::SeatId| id.as_str().to_owned();
        Holding {
            seat: text(&state.seat.seat),
            own: state.seat.seat == self.given.call.seat,
            role: state.seat.role.clone(),
            department: state.seat.department.clone(),
            reports_to: state.seat.line.as_ref().map(text),
            holder: state.holder.as_ref().map(ToString::to_string),
            takes_turns: state.takes_turns(),
            works_for_it: works.filter(|works| *works != state.seat.seat).as_ref().map(text),
            answers_for: state.seat.accountabilities.clone(),
        }
    }

    /// Its own turns in the conversation that the call is made in, newest first.
    ///
    /// # Errors
    /// When the call is made in no conversation, or the record cannot be read.
    pub async fn turns(&self, limit: u32) -> Result<Vec<Turn>, Failure> {
        let limit = usize::try_from(limit.clamp(1, TURNS_MAX)).unwrap_or(1);
        let here = self.given.topic().and_then(Here::of);
        let here = here.ok_or_else(|| no(FailureKind::NotFound, "this call is made in no conversation"))?;
        let mut positions = self.ended(&here).await?;
        positions.truncate(LOOKED_AT_MAX);
        let mut ends = self.given.record.events_at(&positions).await.map_err(|error| unread(&error))?;
        ends.sort_by_key(|event| std::cmp::Reverse(event.global_position));
        let mut turns = Vec::new();
        for event in ends {
            let Fact::TurnEnded(ended) = &event.fact else { continue };
            if turns.len() < limit
                && let Some(turn) = self.turn(&event, ended, &here).await?
            {
                turns.push(turn);
            }
        }
        Ok(turns)
    }

    /// The turn that ended so, where it was this seat's.
    async fn turn(&self, event: &Event, ended: &TurnEnded, here: &Here) -> Result<Option<Turn>, Failure> {
        let record = &self.given.record;
        let row = record.row(Turns.name(), ended.turn.as_str()).await.map_err(|error| unread(&error))?;
        let row: Option<TurnRow> = decode(row.as_ref());
        let Some(row) = row.filter(|row| row.seat == self.given.call.seat) else { return Ok(None) };
        let stream = StreamName::new("turn", &ended.turn);
        let first = record.read_stream(&stream, Position(1), 1).await.map_err(|error| unread(&error))?;
        let woken = match first.first().map(|event| &event.fact) {
            Some(Fact::TurnOpened(opened)) => {
                record.event(&opened.woken_by).await.map_err(|error| unread(&error))?
            }
            _ => None,
        };
        let shown = ended.ending == TurnEnding::Answered || here.may_read(&event.label);
        let summary = ended.summary.value().filter(|_| shown).cloned();
        match shown {
            true => self.given.read_event(event),
            false => self.given.read(&rows_label()),
        }
        Ok(Some(Turn {
            turn: ended.turn.clone(),
            opened_at: row.opened_at,
            woken_by: woken.map(|event| event.fact.kind().to_owned()).unwrap_or_default(),
            ending: ended.ending,
            summary,
        }))
    }

    /// Where the ends of turns in the conversation stand, newest first.
    async fn ended(&self, here: &Here) -> Result<Vec<GlobalPosition>, Failure> {
        let days = days_back(&here.conversation, self.given.at, DAYS_MAX);
        let keys: Vec<RowKey> = days.map(|day| RowKey::new(Said.name(), day)).collect();
        let rows = self.given.record.rows(keys.clone()).await.map_err(|error| unread(&error))?;
        let days = keys.iter().filter_map(|key| rows.state::<DayRow>(key.projection, &key.key));
        let mut positions: Vec<GlobalPosition> = days.flat_map(|day| day.ended).collect();
        positions.sort_unstable_by(|a, b| b.cmp(a));
        Ok(positions)
    }
}
