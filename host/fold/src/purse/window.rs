//! Periods: which window of a budget a moment falls into, and when that window ends.
//!
//! Days and months are those of the budget's time zone, so a day with a change of the clocks has 23 or 25 hours. The
//! time zone database is the one this program was built with, never the machine's: every host says the same.

use event::{Account, BudgetSet, Period, Timestamp};
use jiff::ToSpan;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use std::sync::LazyLock;

/// The bundled database: constant, so reading it is no I/O.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A budget at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The account that is open.
    pub account: Account,
    /// When it ends and another begins; never for a lifetime.
    pub resets_at: Option<Timestamp>,
}

/// Why a budget has no window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWindow {
    /// Its time zone is none that this host knows.
    #[error("`{0}` is not a time zone such as Europe/Oslo")]
    TimeZone(String),
    /// The moment lies outside the calendar.
    #[error("the moment {0} lies outside the calendar: set the clock of this machine")]
    Moment(Timestamp),
}

/// Whether `name` is a time zone, such as `Europe/Oslo`.
#[must_use]
pub fn is_time_zone(name: &str) -> bool {
    ZONES.get(name).is_ok()
}

/// The window of `budget` that `at` falls into.
///
/// # Errors
/// [`NoWindow`]; then nothing can be held on it.
pub fn window(budget: &BudgetSet, at: Timestamp) -> Result<Window, NoWindow> {
    let account = |window: String| Account { budget: budget.budget.clone(), period: budget.period, window };
    if budget.period == Period::Lifetime {
        return Ok(Window { account: account("lifetime".to_owned()), resets_at: None });
    }
    let zone = match &budget.time_zone {
        None => TimeZone::UTC,
        Some(name) => ZONES.get(name).map_err(|_| NoWindow::TimeZone(name.clone()))?,
    };
    let (name, next) = local(budget.period, at, zone).ok_or(NoWindow::Moment(at))?;
    Ok(Window { account: account(name), resets_at: Some(next) })
}

/// The name of the day or month, and the first moment of the next.
fn local(period: Period, at: Timestamp, zone: TimeZone) -> Option<(String, Timestamp)> {
    let date = jiff::Timestamp::from_millisecond(at.0).ok()?.to_zoned_datetime(zone.clone()).date();
    let (name, next) = match period {
        Period::Month => {
            let next = date.first_of_month().checked_add(1.month()).ok()?;
            (format!("{:04}-{:02}", date.year(), date.month()), next)
        }
        Period::Day | Period::Lifetime => (date.to_string(), date.tomorrow().ok()?),
    };
    // A day whose midnight the clocks leave out begins at its first moment.
    let next = next.to_zoned_datetime(zone).ok()?.start_of_day().ok()?;
    Some((name, Timestamp(next.timestamp().as_millisecond())))
}

#[cfg(test)]
mod tests {
    use super::{NoWindow, window};
    use event::{AppliesTo, BudgetSet, NanoUsd, Period, Timestamp};
    use proptest::prelude::*;

    const HOUR_MS: i64 = 3_600_000;

    fn budget(period: Period, zone: Option<&str>) -> BudgetSet {
        let applies_to = AppliesTo::Organisation;
        let (budget, time_zone) = (applies_to.budget(period), zone.map(str::to_owned));
        BudgetSet { budget, period, limit: NanoUsd(1), applies_to, time_zone, reason: String::new() }
    }

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    fn of(period: Period, zone: Option<&str>, moment: &str) -> (String, String) {
        let window = window(&budget(period, zone), at(moment)).unwrap();
        (window.account.window, window.resets_at.unwrap().to_string())
    }

    #[test]
    fn a_period_ends_at_midnight_or_on_the_first() {
        let day = of(Period::Day, None, "2000-02-29T00:00:00.005Z");
        assert_eq!(day, ("2000-02-29".into(), "2000-03-01T00:00:00.000Z".into()));
        let month = of(Period::Month, None, "2026-12-31T23:59:59.999Z");
        assert_eq!(month, ("2026-12".into(), "2027-01-01T00:00:00.000Z".into()));
    }

    #[test]
    fn midnight_is_the_midnight_of_the_time_zone() {
        let oslo = Some("Europe/Oslo");
        assert_eq!(
            of(Period::Day, oslo, "2026-11-29T23:30:00Z"),
            ("2026-11-30".into(), "2026-11-30T23:00:00.000Z".into())
        );
        assert_eq!(
            of(Period::Month, oslo, "2026-11-30T23:30:00Z"),
            ("2026-12".into(), "2026-12-31T23:00:00.000Z".into())
        );
    }

    #[test]
    fn a_day_with_a_change_of_the_clocks_has_23_or_25_hours() {
        for (zone, day, hours) in [
            ("Europe/Oslo", "2026-03-28T23:00:00Z", 23),
            ("Europe/Oslo", "2026-10-24T22:00:00Z", 25),
            ("Europe/Oslo", "2026-06-09T22:00:00Z", 24),
            // Clocks that leave midnight out: the day begins at one.
            ("America/Santiago", "2026-09-06T04:00:00Z", 23),
        ] {
            let begins = at(day);
            let window = |moment| window(&budget(Period::Day, Some(zone)), moment).unwrap();
            let ends = window(begins).resets_at.unwrap();
            assert_eq!(ends.since_ms(begins), hours * HOUR_MS, "{zone} {day}");
            let (first, last) = (window(begins).account, window(ends.plus_ms(-1)).account);
            assert_eq!(first, last);
            assert_ne!(window(begins.plus_ms(-1)).account, first);
            assert_ne!(window(ends).account, first);
        }
    }

    #[test]
    fn a_lifetime_never_ends() {
        let window = window(&budget(Period::Lifetime, None), Timestamp(i64::MAX)).unwrap();
        assert_eq!((window.account.window.as_str(), window.resets_at), ("lifetime", None));
    }

    #[test]
    fn an_unknown_time_zone_has_no_window_rather_than_another() {
        let nowhere = window(&budget(Period::Day, Some("Europe/Atlantis")), Timestamp(0));
        assert_eq!(nowhere, Err(NoWindow::TimeZone("Europe/Atlantis".into())));
        assert!(matches!(window(&budget(Period::Day, None), Timestamp(i64::MAX)), Err(NoWindow::Moment(_))));
    }

    proptest! {
        #[test]
        fn the_windows_of_a_budget_follow_one_another_without_a_gap(
            ms in 0_i64..4_000_000_000_000,
            zone in prop::sample::select(vec!["Europe/Oslo", "America/Sao_Paulo", "Asia/Kathmandu", "Pacific/Apia"]),
            period in prop::sample::select(vec![Period::Day, Period::Month]),
        ) {
            let budget = budget(period, Some(zone));
            let here = window(&budget, Timestamp(ms)).unwrap();
            let ends = here.resets_at.unwrap();
            prop_assert!(ends.0 > ms);
            prop_assert_eq!(&window(&budget, ends.plus_ms(-1)).unwrap().account, &here.account);
            prop_assert_ne!(&window(&budget, ends).unwrap().account, &here.account);
        }
    }
}
