//! How heavy a row of signal is now.
//!
//! `pressure = w × (1 + ln n) × r × a`, and 0 when nothing waits. It grows with repetition, but slowly: the
//! twentieth repeat adds almost nothing.
//!
//! Deliberately absent: the half-life of what only passed by, and a seat's own rules. At this depth every row
//! of signal is an ask.

use event::Timestamp;
use fold::signal::SignalRow;

/// Pressure from which a seat looks.
pub const WAKE_LINE: f64 = 6.0;

/// `r` of a topic on the seat's own agenda; 1 otherwise.
pub const ON_AGENDA: f64 = 1.5;

/// How heavy `row` is at `now`.
///
/// `agenda` says whether the topic stands on the seat's own agenda. `due_at` is the moment by which the ask is
/// wanted; an ask without one does not age.
#[must_use]
pub fn pressure(row: &SignalRow, now: Timestamp, agenda: bool, due_at: Option<Timestamp>) -> f64 {
    if row.count == 0 {
        return 0.0;
    }
    let repetition = 1.0 + f64::from(row.count).ln();
    let relevance = if agenda { ON_AGENDA } else { 1.0 };
    let age = due_at.map_or(1.0, |due_at| age_of_ask(row.first_at, due_at, now));
    f64::from(row.weight) * repetition * relevance * age
}

/// `a` of an ask: 1 when it is made, rising evenly to 2 at its moment, and 2 from then on, because what should
/// have been done by now only gets more pressing. An ask made after its own moment is at 2 at once.
#[must_use]
pub fn age_of_ask(asked_at: Timestamp, due_at: Timestamp, now: Timestamp) -> f64 {
    let whole = due_at.since_ms(asked_at);
    let passed = now.since_ms(asked_at);
    if passed >= whole {
        return 2.0;
    }
    // Exact: spans of milliseconds stay far below 2^53.
    let share = passed.max(0) as f64 / whole as f64;
    1.0 + share
}

#[cfg(test)]
mod tests {
    use super::{age_of_ask, pressure};
    use event::{EventId, SeatId, Timestamp, Topic};
    use fold::signal::SignalRow;
    use proptest::prelude::*;

    fn row(weight: u32, count: u32) -> SignalRow {
        SignalRow {
            seat: SeatId::parse("seat_legal").unwrap(),
            topic: Topic::parse("slack:T1:C1:1.0").unwrap(),
            count,
            weight,
            first_at: Timestamp(1_000),
            last_at: Timestamp(1_000),
            samples: Vec::new(),
            asked_by: EventId::derived(&["ask"]),
        }
    }

    #[test]
    fn a_request_on_the_agenda_half_way_to_its_moment_weighs_eighteen() {
        // The seed's worked example: 8 × 1 × 1.5 × 1.5.
        let weight = pressure(&row(8, 1), Timestamp(2_000), true, Some(Timestamp(3_000)));
        assert!((weight - 18.0).abs() < 1e-9, "{weight}");
    }

    #[test]
    fn an_ask_ages_from_one_to_two_and_no_further() {
        let age = |now| age_of_ask(Timestamp(1_000), Timestamp(3_000), Timestamp(now));
        assert!((age(0) - 1.0).abs() < 1e-9);
        assert!((age(1_000) - 1.0).abs() < 1e-9);
        assert!((age(2_500) - 1.75).abs() < 1e-9);
        assert!((age(3_000) - 2.0).abs() < 1e-9);
        assert!((age(90_000) - 2.0).abs() < 1e-9);
        assert!((age_of_ask(Timestamp(5), Timestamp(5), Timestamp(5)) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_waiting_weighs_nothing() {
        assert!(pressure(&row(10, 0), Timestamp(9_000), true, Some(Timestamp(2_000))).abs() < 1e-9);
    }

    #[test]
    fn the_twentieth_repeat_adds_almost_nothing() {
        let at = |count| pressure(&row(10, count), Timestamp(1_000), false, None);
        let (second, twentieth) = (at(2) - at(1), at(20) - at(19));
        assert!(second > 6.0 && twentieth < 0.6, "{second} {twentieth}");
    }

    proptest! {
        #[test]
        fn more_of_anything_never_weighs_less(
            weight in 0_u32..100, count in 0_u32..10_000, more in 0_u32..100, now in 0_i64..10_000, later in 0_i64..10_000
        ) {
            let due = Some(Timestamp(4_000));
            let base = pressure(&row(weight, count), Timestamp(now), false, due);
            prop_assert!(base >= 0.0);
            prop_assert!(pressure(&row(weight + more, count), Timestamp(now), false, due) >= base);
            prop_assert!(pressure(&row(weight, count + more), Timestamp(now), false, due) >= base);
            prop_assert!(pressure(&row(weight, count), Timestamp(now), true, due) >= base);
            prop_assert!(pressure(&row(weight, count), Timestamp(now + later), false, due) >= base);
        }
    }
}
