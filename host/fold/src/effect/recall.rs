//! How an unknown effect becomes known: when it is read back, what is believed, and when a person is asked.
//!
//! Always holds: *found* is believed at once and *absent* only after [`ABSENT_GRACE_MS`], since what was accepted
//! slowly may still arrive; nothing is read back for ever; and nothing is ever sent again from here.

use event::{ReadBack, Timestamp};
use serde_json::Value;

/// How long after an effect became unknown it is read back for the first time: a moment for the other side to show
/// what it took.
pub const FIRST_MS: i64 = 5_000;

/// How many times longer each wait is than the one before: 20 s, 80 s, five minutes and so on.
const WAIT_FACTOR: i64 = 4;

/// How often an effect is read back before a person is asked: with these waits, for nearly two hours, which is
/// longer than most outages and shorter than a working day.
pub const RECALLS_MAX: u32 = 6;

/// How long after an effect became unknown *absent* counts for nothing. Whoever sent it was cut off after half a
/// minute at the latest; a proxy on the way keeps a request it holds for up to five minutes, and a queue behind the
/// other side's front is given as long again.
pub const ABSENT_GRACE_MS: i64 = 10 * 60 * 1_000;

/// How long an effect stands as intended before it counts as unknown although nobody tried it again: longer than a
/// lease and the longest call under it, so whoever intended it is gone.
pub const OUTCOME_MS_MAX: i64 = 15 * 60 * 1_000;

/// What follows from reading back.
#[derive(Clone, Debug, PartialEq)]
pub enum Follows {
    /// It happened.
    Sent(Value),
    /// It did not happen, and will not any more.
    Failed,
    /// It is read back again at this moment.
    Again(Timestamp),
    /// Nobody can tell but a person.
    Person,
}

/// What follows when the `tries`th reading back, from 1, of an effect that became unknown at `since` says `said`.
/// `helps` is whether reading it back again might tell more.
#[must_use]
pub fn follows(said: &ReadBack, since: Timestamp, tries: u32, helps: bool, now: Timestamp) -> Follows {
    let grace_ends = since.plus_ms(ABSENT_GRACE_MS);
    match said {
        ReadBack::Found { reference } => Follows::Sent(reference.clone()),
        ReadBack::Absent if now >= grace_ends => Follows::Failed,
        _ if !helps || tries >= RECALLS_MAX => Follows::Person,
        ReadBack::Absent => Follows::Again(now.plus_ms(wait_ms(tries)).min(grace_ends)),
        ReadBack::CannotSay => Follows::Again(now.plus_ms(wait_ms(tries))),
    }
}

/// How long after the `tries`th reading back comes the next.
fn wait_ms(tries: u32) -> i64 {
    FIRST_MS.saturating_mul(WAIT_FACTOR.saturating_pow(tries.min(RECALLS_MAX)))
}

#[cfg(test)]
mod tests {
    use super::{ABSENT_GRACE_MS, FIRST_MS, Follows, RECALLS_MAX, follows};
    use event::{ReadBack, Timestamp};
    use serde_json::json;

    const SINCE: Timestamp = Timestamp(1_000);

    #[test]
    fn what_is_found_is_believed_at_once() {
        let found = ReadBack::Found { reference: json!({"ts": "1.0"}) };
        assert_eq!(follows(&found, SINCE, 1, true, SINCE), Follows::Sent(json!({"ts": "1.0"})));
    }

    #[test]
    fn absent_is_believed_only_when_nothing_can_still_arrive() {
        let just_before = Timestamp(SINCE.0 + ABSENT_GRACE_MS - 1);
        let grace_ends = Timestamp(SINCE.0 + ABSENT_GRACE_MS);
        let at = |now| follows(&ReadBack::Absent, SINCE, 2, true, now);
        assert_eq!(at(SINCE), Follows::Again(Timestamp(SINCE.0 + 80_000)));
        assert_eq!(at(just_before), Follows::Again(grace_ends), "and looked at again as soon as it may be");
        assert_eq!(at(grace_ends), Follows::Failed);
    }

    /// Whatever a reading back says, the schedule ends: known, or with a person.
    #[test]
    fn nothing_is_read_back_for_ever() {
        for said in [ReadBack::Absent, ReadBack::CannotSay] {
            let mut now = SINCE.plus_ms(FIRST_MS);
            let mut tries = 1;
            let end = loop {
                match follows(&said, SINCE, tries, true, now) {
                    Follows::Again(at) => {
                        assert!(at > now && tries < RECALLS_MAX);
                        (now, tries) = (at, tries + 1);
                    }
                    end => break end,
                }
            };
            let by = if said == ReadBack::Absent { Follows::Failed } else { Follows::Person };
            assert_eq!(end, by, "{said:?} after {tries} tries");
            assert!(now.since_ms(SINCE) < 2 * 60 * 60 * 1_000, "{now}");
        }
    }

    #[test]
    fn what_cannot_be_read_back_goes_to_a_person_at_once() {
        assert_eq!(follows(&ReadBack::CannotSay, SINCE, 1, false, SINCE), Follows::Person);
    }
}
