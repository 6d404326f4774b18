//! The time a guest sees: the call's recorded time, so that the same call sees the same clock when it is run
//! again.
//!
//! The wall clock stands still. The monotonic clock starts at zero and moves by what the guest waits, and by
//! one step whenever it is looked at, so that a loop that waits for time to pass ends. Waiting itself takes
//! real time; the wall-clock limit around the call bounds it.

use event::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::{Duration as WaitNs, Host, Instant as InstantNs};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::{HostWallClock, async_trait};

/// How far one look moves the monotonic clock.
const LOOK_NS: u64 = 1_000;

/// The wall clock of one call.
pub(crate) struct Recorded(pub(crate) Timestamp);

impl HostWallClock for Recorded {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.0).unwrap_or(0))
    }
}

/// The monotonic clock of one call, in nanoseconds. Clones show the same time.
#[derive(Clone, Default)]
pub(crate) struct Elapsed(Arc<AtomicU64>);

impl Elapsed {
    fn look(&self) -> u64 {
        self.0.fetch_add(LOOK_NS, Ordering::Relaxed)
    }

    fn reach(&self, ns: u64) {
        self.0.fetch_max(ns, Ordering::Relaxed);
    }
}

/// Names the clock's part of a store to wasmtime.
pub(crate) struct HasElapsed;

impl HasData for HasElapsed {
    type Data<'a> = ElapsedView<'a>;
}

/// The clock, and the table its pollables go to.
pub(crate) struct ElapsedView<'a> {
    pub(crate) elapsed: &'a Elapsed,
    pub(crate) table: &'a mut ResourceTable,
}

impl ElapsedView<'_> {
    fn wait_until(&mut self, ns: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let now = self.elapsed.0.load(Ordering::Relaxed);
        let wait = Wait {
            elapsed: self.elapsed.clone(),
            until_ns: ns,
            // Beyond what tokio can count to is never, and the call ends first.
            until: tokio::time::Instant::now().checked_add(Duration::from_nanos(ns.saturating_sub(now))),
        };
        let wait = self.table.push(wait)?;
        subscribe(self.table, wait)
    }
}

impl Host for ElapsedView<'_> {
    fn now(&mut self) -> wasmtime::Result<InstantNs> {
        Ok(self.elapsed.look())
    }

    fn resolution(&mut self) -> wasmtime::Result<WaitNs> {
        Ok(LOOK_NS)
    }

    fn subscribe_instant(&mut self, when: InstantNs) -> wasmtime::Result<Resource<DynPollable>> {
        self.wait_until(when)
    }

    fn subscribe_duration(&mut self, duration: WaitNs) -> wasmtime::Result<Resource<DynPollable>> {
        let now = self.elapsed.0.load(Ordering::Relaxed);
        self.wait_until(now.saturating_add(duration))
    }
}

/// One wait: over when its real time is, and then the guest's clock shows it.
struct Wait {
    elapsed: Elapsed,
    until_ns: u64,
    until: Option<tokio::time::Instant>,
}

#[async_trait]
impl Pollable for Wait {
    async fn ready(&mut self) {
        match self.until {
            // Also when the time is past: a guest that polls in a loop must let others run.
            Some(until) if until <= tokio::time::Instant::now() => tokio::task::yield_now().await,
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
        self.elapsed.reach(self.until_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::{Elapsed, Recorded, Wait};
    use event::Timestamp;
    use std::time::Duration;
    use wasmtime_wasi::HostWallClock;
    use wasmtime_wasi::p2::Pollable;

    #[test]
    fn the_wall_clock_shows_the_recorded_time_and_nothing_before_1970() {
        assert_eq!(Recorded(Timestamp(1_796_057_279_123)).now(), Duration::from_millis(1_796_057_279_123));
        assert_eq!(Recorded(Timestamp(-1)).now(), Duration::ZERO);
    }

    #[test]
    fn a_loop_that_waits_for_time_to_pass_ends() {
        let elapsed = Elapsed::default();
        let looks = (0..).take_while(|_| elapsed.look() < 1_000_000).count();
        assert_eq!(looks, 1_000, "a millisecond in looks of a microsecond");
    }

    #[tokio::test]
    async fn what_was_waited_for_shows_on_the_clock() {
        let elapsed = Elapsed::default();
        let until = Some(tokio::time::Instant::now() + Duration::from_millis(20));
        // What the guest sees moves by what it asked for, not by what the machine took.
        let mut wait = Wait { elapsed: elapsed.clone(), until_ns: 20_000_000, until };
        let began = tokio::time::Instant::now();
        wait.ready().await;
        assert!(began.elapsed() >= Duration::from_millis(20));
        assert_eq!(elapsed.look(), 20_000_000);
    }
}
