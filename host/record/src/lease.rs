//! Leases: the time-limited right to do a thing, with a token that makes an outdated holder harmless.
//!
//! The token grows with every new holder, and an append that names an old one is refused, so a holder that slept
//! through the end of its lease writes nothing. The rules here are pure; the writer applies them in the
//! transaction of the appends they guard.

use crate::Error;
use event::Timestamp;

/// The longest lease, in milliseconds: how long a dead holder may keep others waiting.
pub const LEASE_TTL_MS_MAX: i64 = 600_000;

/// A lease as its holder got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// What is leased.
    pub name: String,
    /// Who holds it.
    pub holder: String,
    /// Which holding this is, from 1.
    pub token: u64,
    /// From when anybody may take it.
    pub until: Timestamp,
}

impl Lease {
    /// What an append under this lease carries.
    #[must_use]
    pub fn fence(&self) -> Fence {
        Fence { name: self.name.clone(), token: self.token }
    }

    fn lost(&self) -> Error {
        Error::LeaseLost { name: self.name.clone(), token: self.token }
    }
}

/// An append's claim to be made by the present holder of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The lease.
    pub name: String,
    /// The holder's token.
    pub token: u64,
}

/// The moment that leases are judged by: the record's, which is never before any event and so is the same for
/// hosts whose clocks differ a little. While the clock is far behind it, somebody has set the clock back: the
/// record's time stands still until the clock has caught up, no lease would end, and the clock counts.
pub(crate) fn moment(record: Timestamp, clock: Timestamp) -> Timestamp {
    if record.since_ms(clock) > LEASE_TTL_MS_MAX { clock } else { record }
}

fn end(now: Timestamp, ttl_ms: i64) -> Timestamp {
    now.plus_ms(ttl_ms.clamp(0, LEASE_TTL_MS_MAX))
}

/// Whether a lease keeps others out at `now`. One that would last longer than any lease is given was taken by a
/// clock that has since been set back: waiting for its end could mean waiting for hours. Whoever still holds it
/// is fenced like any holder that was overtaken.
fn lasts(lease: &Lease, now: Timestamp) -> bool {
    lease.until > now && lease.until <= now.plus_ms(LEASE_TTL_MS_MAX)
}

/// The lease for `holder`, or nothing while another holding lasts. A live lease is not given twice, not even to a
/// holder of the same name: two tasks of one host must not both believe that they hold it.
pub(crate) fn take(
    standing: Option<&Lease>,
    name: &str,
    holder: &str,
    now: Timestamp,
    ttl_ms: i64,
) -> Option<Lease> {
    if standing.is_some_and(|lease| lasts(lease, now)) {
        return None;
    }
    let token = standing.map_or(0, |lease| lease.token).saturating_add(1);
    Some(Lease { name: name.to_owned(), holder: holder.to_owned(), token, until: end(now, ttl_ms) })
}

/// `lease`, longer. A lease whose end has passed can be renewed while nobody took it: nothing was missed.
pub(crate) fn renew(
    standing: Option<&Lease>,
    lease: &Lease,
    now: Timestamp,
    ttl_ms: i64,
) -> Result<Lease, Error> {
    holds(standing, lease)?;
    Ok(Lease { until: end(now, ttl_ms), ..lease.clone() })
}

/// What stands after `lease` is given back: free, under a token that nobody holds.
pub(crate) fn release(standing: Option<&Lease>, lease: &Lease, now: Timestamp) -> Result<Lease, Error> {
    holds(standing, lease)?;
    let token = lease.token.saturating_add(1);
    Ok(Lease { name: lease.name.clone(), holder: String::new(), token, until: now })
}

fn holds(standing: Option<&Lease>, lease: &Lease) -> Result<(), Error> {
    match standing {
        Some(standing) if standing.token == lease.token => Ok(()),
        _ => Err(lease.lost()),
    }
}

#[cfg(test)]
mod tests {
    use super::{LEASE_TTL_MS_MAX, moment, release, renew, take};
    use event::Timestamp;

    #[test]
    fn a_live_lease_is_given_to_nobody_else_and_a_lapsed_one_under_a_higher_token() {
        let first = take(None, "turn", "a", Timestamp(0), 100).unwrap();
        assert_eq!((first.token, first.until), (1, Timestamp(100)));
        assert_eq!(take(Some(&first), "turn", "a", Timestamp(99), 100), None);
        let second = take(Some(&first), "turn", "b", Timestamp(100), 100).unwrap();
        assert!(second.token > first.token);
        assert!(renew(Some(&second), &first, Timestamp(101), 100).is_err());
    }

    #[test]
    fn a_lease_from_a_clock_that_was_ahead_keeps_nobody_waiting_for_longer_than_any_lease_lasts() {
        let hour_ms = 3_600_000;
        let ahead = take(None, "turn", "a", Timestamp(hour_ms), 4_000).unwrap();
        let after = take(Some(&ahead), "turn", "b", Timestamp(0), 4_000).unwrap();
        assert_eq!((after.token, after.until), (ahead.token + 1, Timestamp(4_000)));
        assert!(renew(Some(&after), &ahead, Timestamp(1), 4_000).is_err());
        let longest = take(None, "turn", "a", Timestamp(0), LEASE_TTL_MS_MAX).unwrap();
        assert_eq!(take(Some(&longest), "turn", "b", Timestamp(0), 4_000), None);
    }

    #[test]
    fn the_records_time_counts_unless_the_clock_was_set_far_back() {
        assert_eq!(moment(Timestamp(5_000), Timestamp(5_000)), Timestamp(5_000));
        assert_eq!(moment(Timestamp(LEASE_TTL_MS_MAX), Timestamp(0)), Timestamp(LEASE_TTL_MS_MAX));
        assert_eq!(moment(Timestamp(LEASE_TTL_MS_MAX + 1), Timestamp(0)), Timestamp(0));
    }

    #[test]
    fn a_released_lease_is_free_at_once_and_its_old_token_counts_no_more() {
        let held = take(None, "turn", "a", Timestamp(0), 100).unwrap();
        let free = release(Some(&held), &held, Timestamp(10)).unwrap();
        assert!(renew(Some(&free), &held, Timestamp(10), 100).is_err());
        let next = take(Some(&free), "turn", "b", Timestamp(10), 100).unwrap();
        assert!(next.token > held.token);
    }

    #[test]
    fn a_lapsed_lease_that_nobody_took_can_be_renewed() {
        let held = take(None, "turn", "a", Timestamp(0), 100).unwrap();
        let longer = renew(Some(&held), &held, Timestamp(500), 100).unwrap();
        assert_eq!((longer.token, longer.until), (held.token, Timestamp(600)));
    }
}
