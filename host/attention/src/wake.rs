//! Whom the signal wakes now.
//!
//! One wake for each seat and topic: the first of a burst wakes at once, and what follows within
//! [`BURST_WINDOW_MS`] of that turn's opening waits until the window ends. While a turn of the same seat and
//! topic stands open there is no other. Opening the turn is looking: it empties the row.
//!
//! What is addressed to a vacant seat wakes the seat that works for it; when that one does not take turns (a person
//! holds it), or there is none, it wakes nobody, and the row stays until somebody who does holds the seat.
//!
//! Deliberately absent: a timer. The caller asks again when the record has news and, while something waits for
//! its window, at [`BURST_WINDOW_MS`] after the opening.

use crate::pressure::{WAKE_LINE, pressure};
use event::{EventId, SeatId, Timestamp, Topic, TurnId};
use fold::authority::LINE_SEATS_MAX;
use fold::seat::{SeatState, Seats};
use fold::signal::{SignalRow, Signals};
use fold::turn::{TurnRow, Turns};
use fold::{Projection, Row, decode};
use record::Record;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// How long after a turn opened the rest of a burst waits, so that five messages in a row are one wake.
pub const BURST_WINDOW_MS: i64 = 5_000;

/// The most rows of signal that are weighed at once. Rows are few, one for each topic that waits for a seat;
/// beyond this the rest is weighed when these have been looked at.
pub const SIGNALS_MAX: usize = 10_000;

/// The most open turns that are listed at once: far more than one host runs.
pub const OPEN_TURNS_MAX: usize = 10_000;

/// A seat that should look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The seat: the one that was addressed or, while it is vacant, the one that works for it.
    pub seat: SeatId,
    /// What at.
    pub topic: Topic,
    /// The newest event that asks: it names the turn that would answer it.
    pub asked_by: EventId,
    /// The seat that was addressed, when it is vacant and `seat` works for it.
    pub asked: Option<SeatId>,
}

impl Wake {
    /// The turn that answers this ask. The name is derived from seat and ask, so whoever acts on a wake, and
    /// however often, means one turn.
    #[must_use]
    pub fn turn(&self) -> TurnId {
        turn_of(&self.seat, &self.asked_by)
    }
}

fn turn_of(seat: &SeatId, asked_by: &EventId) -> TurnId {
    TurnId::derived(&[seat.as_str(), asked_by.as_str()])
}

/// Who should look now, heaviest first, as the record's signal says.
///
/// `turns` are the turns that stand open, and those that opened within the last [`BURST_WINDOW_MS`] even if
/// they have ended.
///
/// # Errors
/// Whatever the record answers when its rows cannot be read.
pub async fn wake(record: &Record, now: Timestamp, turns: &[TurnRow]) -> Result<Vec<Wake>, record::Error> {
    let rows: Vec<SignalRow> = states(&record.ranked(Signals.name(), 1, SIGNALS_MAX).await?);
    let mut seats = Line::new(record);
    let (mut wakes, mut woken) = (Vec::new(), BTreeSet::new());
    for row in heavy(&rows, now) {
        let Some(seat) = seats.works(&row.seat).await?.filter(SeatState::takes_turns) else { continue };
        let (seat, topic, asked_by) = (seat.seat.seat, row.topic.clone(), row.asked_by.clone());
        let asked = (seat != row.seat).then(|| row.seat.clone());
        let wake = Wake { seat, topic, asked_by, asked };
        // Of two seats that one works for, each may have a row on the topic: they are looked at one after the other.
        let is_first = !woken.contains(&(wake.seat.clone(), wake.topic.clone()));
        if is_first && !waits(&wake, now, turns) && !seats.had_turn(row).await? {
            woken.insert((wake.seat.clone(), wake.topic.clone()));
            wakes.push(wake);
        }
    }
    Ok(wakes)
}

/// What waits for its seat: the rows whose ask had no turn yet, lightest kind first.
///
/// # Errors
/// Whatever the record answers when its rows cannot be read.
pub async fn waiting(record: &Record) -> Result<Vec<SignalRow>, record::Error> {
    let mut seats = Line::new(record);
    let mut waiting = Vec::new();
    for row in states::<SignalRow>(&record.ranked(Signals.name(), 1, SIGNALS_MAX).await?) {
        if !seats.had_turn(&row).await? {
            waiting.push(row);
        }
    }
    Ok(waiting)
}

/// The seat that does the work of `seat`: itself while somebody holds it, else as [`fold::seat::works`] says; nothing
/// when nobody does.
///
/// # Errors
/// Whatever the record answers when its rows cannot be read.
pub async fn works(record: &Record, seat: &SeatId) -> Result<Option<SeatState>, record::Error> {
    Line::new(record).works(seat).await
}

/// Seats as they were read for one look.
struct Line<'a> {
    record: &'a Record,
    known: BTreeMap<SeatId, Option<SeatState>>,
}

impl<'a> Line<'a> {
    fn new(record: &'a Record) -> Self {
        Self { record, known: BTreeMap::new() }
    }

    async fn look(&mut self, seat: &SeatId) -> Result<Option<SeatState>, record::Error> {
        if let Some(known) = self.known.get(seat) {
            return Ok(known.clone());
        }
        let state: Option<SeatState> = decode(self.record.row(Seats.name(), seat.as_str()).await?.as_ref());
        self.known.insert(seat.clone(), state.clone());
        Ok(state)
    }

    async fn works(&mut self, seat: &SeatId) -> Result<Option<SeatState>, record::Error> {
        loop {
            let known = |seat: &SeatId| self.known.get(seat).cloned().ok_or_else(|| seat.clone());
            match fold::seat::works(seat, known) {
                Ok(None) => return Ok(None),
                Ok(Some(works)) => return self.look(&works).await,
                // Ends because every round knows one seat more, and the way from a seat has an end.
                Err(unknown) => drop(self.look(&unknown).await?),
            }
        }
    }

    /// Whether the ask of this row had its turn: a second word about the same message is not a second ask. The turn
    /// may have been that of a seat that worked for this one while it was vacant.
    async fn had_turn(&mut self, row: &SignalRow) -> Result<bool, record::Error> {
        let mut at = Some(row.seat.clone());
        let mut passed = BTreeSet::new();
        while let Some(seat) = at.filter(|seat| passed.len() < LINE_SEATS_MAX && !passed.contains(seat)) {
            let turn = turn_of(&seat, &row.asked_by);
            if self.record.row(Turns.name(), turn.as_str()).await?.is_some() {
                return Ok(true);
            }
            at = self.look(&seat).await?.and_then(|state| state.next().cloned());
            passed.insert(seat);
        }
        Ok(false)
    }
}

/// The turns that stand open, in the order in which they opened: what a host that starts takes up again.
///
/// # Errors
/// Whatever the record answers when its rows cannot be read.
pub async fn open_turns(record: &Record) -> Result<Vec<TurnRow>, record::Error> {
    let rows = record.ranked(Turns.name(), i64::MIN, OPEN_TURNS_MAX).await?;
    Ok(states(&rows))
}

fn states<T: serde::de::DeserializeOwned>(rows: &[(String, Row)]) -> Vec<T> {
    rows.iter().filter_map(|(_, row)| decode(Some(row))).collect()
}

/// Those of `rows` that weigh enough at `now`, heaviest first.
fn heavy(rows: &[SignalRow], now: Timestamp) -> impl Iterator<Item = &SignalRow> {
    let mut heavy: Vec<(f64, &SignalRow)> = rows
        .iter()
        .map(|row| (pressure(row, now, false, None), row))
        .filter(|(weight, _)| *weight >= WAKE_LINE)
        .collect();
    heavy.sort_by(heaviest_first);
    heavy.into_iter().map(|(_, row)| row)
}

/// Whether the burst window of `turn` is still open. A turn that opens in the future was opened before the clock
/// was set back: waiting for its window could mean waiting for hours.
#[must_use]
pub fn is_in_window(turn: &TurnRow, now: Timestamp) -> bool {
    (0..BURST_WINDOW_MS).contains(&now.since_ms(turn.opened_at))
}

fn waits(wake: &Wake, now: Timestamp, turns: &[TurnRow]) -> bool {
    let same = |turn: &&TurnRow| turn.seat == wake.seat && turn.topic == wake.topic;
    turns.iter().filter(same).any(|turn| turn.ending.is_none() || is_in_window(turn, now))
}

/// Heaviest first; of two alike, the one that has waited longer.
fn heaviest_first(a: &(f64, &SignalRow), b: &(f64, &SignalRow)) -> Ordering {
    let by_age = || (a.1.first_at, &a.1.asked_by).cmp(&(b.1.first_at, &b.1.asked_by));
    b.0.total_cmp(&a.0).then_with(by_age)
}
