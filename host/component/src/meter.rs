//! Two meters on one call: how long it ran, and how much it took.
//!
//! Running time is the processor's time while the call is polled: neither the time in which it waits for a host
//! function counts, nor that in which a busy machine runs others in its place. The wall clock counts those. The epoch callback asks [`Meter::spent`] at every tick. Memory and tables are counted over the
//! whole store, since wasmtime's own limits are per memory and per table.

use crate::Limits;
use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use wasmtime::ResourceLimiter;

/// Running time of one call. Shared between the call's future and its epoch callback, which run on one thread
/// at a time.
pub(crate) struct Meter {
    limit: Duration,
    /// Nanoseconds of the polls that are over.
    past_ns: AtomicU64,
    /// What its thread had run for when the poll that is on began, in nanoseconds.
    began_ns: AtomicU64,
    over: AtomicBool,
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            limit: Duration::from_millis(limits.cpu_ms),
            past_ns: AtomicU64::new(0),
            began_ns: AtomicU64::new(0),
            over: AtomicBool::new(false),
        })
    }

    /// Whether the call has run for as long as it may. Ask while the call is polled.
    pub(crate) fn spent(&self) -> bool {
        let now = thread_ns().saturating_sub(self.began_ns.load(Ordering::Relaxed));
        let ran = self.past_ns.load(Ordering::Relaxed).saturating_add(now);
        let spent = Duration::from_nanos(ran) >= self.limit;
        if spent {
            self.over.store(true, Ordering::Relaxed);
        }
        spent
    }

    /// Whether [`Meter::spent`] ever said yes.
    pub(crate) fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// `call`, with its polls on this meter.
    pub(crate) fn measure<F: Future + Send>(
        self: &Arc<Self>,
        call: F,
    ) -> impl Future<Output = F::Output> + Send {
        Measured { meter: self.clone(), call: Box::pin(call) }
    }
}

/// How long this thread has run, in nanoseconds.
fn thread_ns() -> u64 {
    let ran = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(ran.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(ran.tv_nsec).unwrap_or(0))
}

struct Measured<F> {
    meter: Arc<Meter>,
    call: Pin<Box<F>>,
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let began = thread_ns();
        self.meter.began_ns.store(began, Ordering::Relaxed);
        let polled = self.call.as_mut().poll(cx);
        self.meter.past_ns.fetch_add(thread_ns().saturating_sub(began), Ordering::Relaxed);
        polled
    }
}

/// Memory and tables of one store.
pub(crate) struct Taken {
    limits: Limits,
    memory_bytes: usize,
    table_elements: usize,
    refused: Option<Over>,
}

/// What was asked for beyond its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Memory,
    Table,
}

impl Taken {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, memory_bytes: 0, table_elements: 0, refused: None }
    }

    /// What was refused last, if anything was: the likely reason when the guest then traps.
    pub(crate) fn refused(&self) -> Option<Over> {
        self.refused
    }
}

impl ResourceLimiter for Taken {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let wanted = self.memory_bytes.saturating_add(desired.saturating_sub(current));
        let fits = wanted <= self.limits.memory_bytes;
        if fits {
            self.memory_bytes = wanted
        } else {
            self.refused = Some(Over::Memory)
        }
        Ok(fits)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let wanted = self.table_elements.saturating_add(desired.saturating_sub(current));
        let fits = wanted <= self.limits.table_elements;
        if fits {
            self.table_elements = wanted
        } else {
            self.refused = Some(Over::Table)
        }
        Ok(fits)
    }

    fn instances(&self) -> usize {
        self.limits.instances
    }

    fn tables(&self) -> usize {
        self.limits.tables
    }

    fn memories(&self) -> usize {
        self.limits.memories
    }
}

#[cfg(test)]
mod tests {
    use super::{Meter, Over, Taken, thread_ns};
    use crate::Limits;
    use std::time::Duration;
    use wasmtime::ResourceLimiter;

    fn hold_the_thread(ms: u64) {
        let until = thread_ns() + ms * 1_000_000;
        while thread_ns() < until {
            std::hint::spin_loop();
        }
    }

    #[tokio::test]
    async fn waiting_costs_no_running_time() {
        let meter = Meter::new(&Limits { cpu_ms: 20, ..Limits::for_tools() });
        meter.measure(tokio::time::sleep(Duration::from_millis(60))).await;
        let inner = meter.clone();
        let spent = meter.measure(async move { inner.spent() }).await;
        assert!(!spent && !meter.over());
    }

    #[tokio::test]
    async fn a_thread_that_does_not_run_costs_no_running_time() {
        let meter = Meter::new(&Limits { cpu_ms: 20, ..Limits::for_tools() });
        let inner = meter.clone();
        let spent = meter.measure(async move {
            // As when a busy machine runs another thread in its place.
            std::thread::sleep(Duration::from_millis(60));
            inner.spent()
        });
        assert!(!spent.await);
    }

    #[tokio::test]
    async fn running_time_adds_up_over_polls() {
        let meter = Meter::new(&Limits { cpu_ms: 20, ..Limits::for_tools() });
        let inner = meter.clone();
        let found = meter
            .measure(async move {
                let mut found = Vec::new();
                for _ in 0..3 {
                    hold_the_thread(8);
                    found.push(inner.spent());
                    tokio::task::yield_now().await;
                }
                found
            })
            .await;
        assert_eq!(found.last(), Some(&true), "24 ms of 20 in three polls: {found:?}");
        assert!(meter.over());
    }

    #[test]
    fn memories_are_counted_together() {
        let mut taken = Taken::new(Limits { memory_bytes: 100, ..Limits::for_tools() });
        assert!(taken.memory_growing(0, 60, None).unwrap());
        assert!(!taken.memory_growing(0, 60, None).unwrap(), "a second memory does not start anew");
        assert!(taken.memory_growing(60, 100, None).unwrap());
        assert_eq!(taken.refused(), Some(Over::Memory));
    }
}
