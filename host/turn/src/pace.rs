//! How long a turn may go on: its steps, its tries, its waits.
//!
//! The host is the one that retries: a plugin tries once. All limits of the loop stand here.

use gate::FailureKind;

/// Steps of a turn, unless its opening says otherwise. A step is one call of a model or a tool; the send of
/// the answer is not counted, so that thinking never spends the way out.
pub const STEPS_MAX_DEFAULT: u32 = 60;

/// The most steps an opening may ask for: beyond this a turn should be several.
pub const STEPS_MAX_CEILING: u32 = 500;

/// From how many steps left, the one at hand included, the model is told.
pub(crate) const STEPS_TOLD: u32 = 3;

/// The fewest steps left with which tools are on offer: this one, the tool's, and one to finish with.
pub(crate) const STEPS_FOR_A_TOOL: u32 = 3;

/// How often one call is tried in a row before its failure counts.
pub const TRIES_MAX: usize = 3;

/// How often a model may say nothing at all in a row before its failure counts: one retry.
pub(crate) const EMPTY_TRIES_MAX: usize = 2;

/// How often in a row a model may end without `finish`: it is told once, then only `finish` is on offer.
pub(crate) const UNFINISHED_MAX: usize = 2;

/// How often a model is told that its answer was denied and may word another: a third no is no mistake of wording.
pub(crate) const SENDS_DENIED_MAX: usize = 2;

/// How often a step may be begun without ever ending before the turn is given up: a call that takes the host
/// down with it must not do so for ever.
pub const ATTEMPTS_MAX: u32 = 10;

/// How long a turn works, in milliseconds, unless its opening says otherwise: longer than people wait for an answer
/// in a thread. Waiting for a person's yes is no work.
pub const WORK_MS_MAX_DEFAULT: u64 = 900_000;

/// What a turn gets beyond its time to finish with what it has, in milliseconds: one answer of a slow model.
pub(crate) const FINISH_MS_MAX: u64 = 120_000;

/// After how long without a word to the people the model is told so, in milliseconds (seed).
pub(crate) const SILENCE_MS_MAX: u64 = 10_000;

/// Tools that change nothing run at once, at most so many: enough for a look at several pages, few enough for one
/// office's way out.
pub const TOOLS_AT_ONCE_MAX: usize = 8;

/// The wait before the second try; it doubles for each try after.
const FIRST_WAIT_MS: u64 = 1_000;

/// The longest wait inside a turn, well within its lease. Who asks for more is not waited for.
const WAIT_MS_MAX: u64 = 30_000;

/// How a turn waits. The only time a turn knows.
#[async_trait::async_trait]
pub trait Pace: Send + Sync {
    /// Returns after `ms` milliseconds.
    async fn wait(&self, ms: u64);
}

/// Waits as long as it says.
#[derive(Clone, Copy, Debug)]
pub struct RealPace;

#[async_trait::async_trait]
impl Pace for RealPace {
    async fn wait(&self, ms: u64) {
        tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
    }
}

/// Whether the same call may work when it is made again.
pub(crate) fn is_passing(kind: &FailureKind) -> bool {
    matches!(kind, FailureKind::RateLimited | FailureKind::Unavailable)
}

/// How long to wait after `failures` failures in a row, when the other side asks for `asked_ms`; nothing when
/// it is not worth waiting for.
pub(crate) fn wait_ms(failures: usize, asked_ms: Option<u64>) -> Option<u64> {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(10);
    let own_ms = FIRST_WAIT_MS.saturating_mul(1 << doublings).min(WAIT_MS_MAX);
    let ms = asked_ms.unwrap_or(0).max(own_ms);
    (failures < TRIES_MAX && ms <= WAIT_MS_MAX).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::{TRIES_MAX, WAIT_MS_MAX, wait_ms};

    #[test]
    fn waits_double_and_honour_what_the_other_side_asks() {
        assert_eq!(wait_ms(1, None), Some(1_000));
        assert_eq!(wait_ms(2, None), Some(2_000));
        assert_eq!(wait_ms(1, Some(7_000)), Some(7_000));
        assert_eq!(wait_ms(1, Some(10)), Some(1_000));
    }

    #[test]
    fn nobody_waits_for_ever() {
        assert_eq!(wait_ms(TRIES_MAX, None), None);
        assert_eq!(wait_ms(1, Some(WAIT_MS_MAX + 1)), None);
    }
}
