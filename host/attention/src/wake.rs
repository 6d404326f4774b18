//! Whom the signal wakes now.
//!
//! One wake for each seat and topic: the first of a burst wakes at once, and what follows within
//! [`BURST_WINDOW_MS`] of that turn's opening waits until the window ends. While a turn of the same seat and
//! topic stands open there is no other. Opening the turn is looking: it empties the row.
//!
//! Deliberately absent: a timer. The caller asks again when the record has news and, while something waits for
//! its window, at [`BURST_WINDOW_MS`] after the opening.

use crate::pressure::{WAKE_LINE, pressure};
use event::{EventId, SeatId, Timestamp, Topic, TurnId};
use fold::signal::{SignalRow, Signals};
use fold::turn::{TurnRow, Turns};
use fold::{Projection, Row, decode};
use record::Record;
use std::cmp::Ordering;

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
    /// The seat.
    pub seat: SeatId,
    /// What at.
    pub topic: Topic,
    /// The newest event that asks: it names the turn that would answer it.
    pub asked_by: EventId,
}

impl Wake {
    /// The turn that answers this ask. The name is derived from seat and ask, so whoever acts on a wake, and
    /// however often, means one turn.
    #[must_use]
    pub fn turn(&self) -> TurnId {
        TurnId::derived(&[self.seat.as_str(), self.asked_by.as_str()])
    }
}

/// Who should look now, heaviest first, as the record's signal says.
///
/// `turns` are the turns that stand open, and those that opened within the last [`BURST_WINDOW_MS`] even if
/// they have ended.
///
/// # Errors
/// Whatever the record answers when its rows cannot be read.
pub async fn wake(record: &Record, now: Timestamp, turns: &[TurnRow]) -> Result<Vec<Wake>, record::Error> {
    let rows = record.ranked(Signals.name(), 1, SIGNALS_MAX).await?;
    let mut wakes = Vec::new();
    for wake in due(&states(&rows), now, turns) {
        // An ask has one turn: a second word about the same message is not a second ask.
        if record.row(Turns.name(), wake.turn().as_str()).await?.is_none() {
            wakes.push(wake);
        }
    }
    Ok(wakes)
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

/// Which of `rows` wake their seat at `now`: the pure half of [`wake`].
#[must_use]
pub fn due(rows: &[SignalRow], now: Timestamp, turns: &[TurnRow]) -> Vec<Wake> {
    let mut heavy: Vec<(f64, &SignalRow)> = rows
        .iter()
        .map(|row| (pressure(row, now, false, None), row))
        .filter(|(weight, row)| *weight >= WAKE_LINE && !waits(row, now, turns))
        .collect();
    heavy.sort_by(heaviest_first);
    heavy.into_iter().map(|(_, row)| wake_of(row)).collect()
}

/// Whether the burst window of `turn` is still open. A turn that opens in the future was opened before the clock
/// was set back: waiting for its window could mean waiting for hours.
#[must_use]
pub fn is_in_window(turn: &TurnRow, now: Timestamp) -> bool {
    (0..BURST_WINDOW_MS).contains(&now.since_ms(turn.opened_at))
}

fn waits(row: &SignalRow, now: Timestamp, turns: &[TurnRow]) -> bool {
    let same = |turn: &&TurnRow| turn.seat == row.seat && turn.topic == row.topic;
    turns.iter().filter(same).any(|turn| turn.ending.is_none() || is_in_window(turn, now))
}

/// Heaviest first; of two alike, the one that has waited longer.
fn heaviest_first(a: &(f64, &SignalRow), b: &(f64, &SignalRow)) -> Ordering {
    let by_age = || (a.1.first_at, &a.1.asked_by).cmp(&(b.1.first_at, &b.1.asked_by));
    b.0.total_cmp(&a.0).then_with(by_age)
}

fn wake_of(row: &SignalRow) -> Wake {
    Wake { seat: row.seat.clone(), topic: row.topic.clone(), asked_by: row.asked_by.clone() }
}
