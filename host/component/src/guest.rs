//! Running one guest once: a place, a fresh store, its limits, and what is said when one of them is reached.
//!
//! Three clocks end a guest. Running time is looked at on every tick of the epoch, where the guest also lets
//! others run; the wall clock is around everything, waiting for a place included, since epochs do not interrupt
//! a host function; and whoever drops the future ends it at once. A panic under a guest stays within its call.

use crate::engine::Engine;
use crate::limits::Limits;
use crate::log::plain;
use crate::manifest::World;
use crate::meter::{Meter, Over};
use crate::state::{Lent, State};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gate::{Failure, FailureKind};
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};
use wasmtime::component::ResourceTableError;
use wasmtime::{PoolConcurrencyLimitError, Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

/// Longest account of a trap.
const TRAP_BYTES_MAX: usize = 300;

/// Why a guest did not come to its end.
#[derive(Debug)]
pub(crate) enum Ended {
    /// No place became free before the call's time was up.
    NoPlace,
    /// The wall clock.
    WallClock,
    /// Running time.
    RunningTime,
    /// A trap, an exit, or a refusal by a host function.
    Trapped {
        /// What was refused before, if anything: the likely cause.
        over: Option<Over>,
        /// What wasmtime says.
        error: wasmtime::Error,
    },
    /// A host function panicked under it.
    Panicked(String),
}

/// Runs `call` in a fresh store under the limits of `world`, until `deadline` at the latest.
pub(crate) async fn run<T, F>(
    engine: &Engine,
    world: World,
    lent: Lent,
    deadline: Instant,
    call: F,
) -> Result<T, Ended>
where
    T: Send,
    F: for<'s> FnOnce(&'s mut Store<State>) -> BoxFuture<'s, wasmtime::Result<T>> + Send,
{
    let limits = engine.limits(world);
    let place = timeout_at(deadline, engine.places(world).clone().acquire_owned()).await;
    let _place = place.ok().and_then(Result::ok).ok_or(Ended::NoPlace)?;
    let meter = Meter::new(limits);
    let mut store = store(engine, limits, lent, &meter);
    let ran = AssertUnwindSafe(meter.measure(call(&mut store))).catch_unwind();
    let ran = timeout_at(deadline, ran).await;
    let ended = match ran {
        Err(_) => Ended::WallClock,
        Ok(Err(panic)) => Ended::Panicked(panic_text(panic.as_ref())),
        Ok(Ok(Ok(value))) => return Ok(value),
        Ok(Ok(Err(_))) if meter.over() => Ended::RunningTime,
        Ok(Ok(Err(error))) if error.is::<PoolConcurrencyLimitError>() => Ended::NoPlace,
        Ok(Ok(Err(error))) => Ended::Trapped { over: store.data().taken.refused(), error },
    };
    Err(ended)
}

fn store(engine: &Engine, limits: &Limits, lent: Lent, meter: &Arc<Meter>) -> Store<State> {
    let mut store = Store::new(&engine.wasmtime, State::new(lent, limits));
    store.limiter(|state| &mut state.taken);
    store.set_hostcall_fuel(limits.hostcall_bytes);
    store.set_max_component_handles(limits.handles);
    let meter = meter.clone();
    store.epoch_deadline_callback(move |_| {
        if meter.spent() {
            return Ok(UpdateDeadline::Interrupt);
        }
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
    store.set_epoch_deadline(1);
    store
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    plain(text.unwrap_or("no reason given"), TRAP_BYTES_MAX)
}

impl Ended {
    /// The failure of the call, naming the limit that was reached.
    pub(crate) fn failure(&self, name: &str, limits: &Limits) -> Failure {
        let kind = if matches!(self, Self::NoPlace) { FailureKind::Unavailable } else { FailureKind::Guest };
        Failure { kind, message: format!("`{name}` {}", self.reason(limits)), retry_after_ms: None }
    }

    fn reason(&self, limits: &Limits) -> String {
        match self {
            Self::NoPlace => "found no free place to run in: too many calls at once".to_owned(),
            Self::WallClock => format!("was ended after {} ms, the most a call may take", limits.wall_ms),
            Self::RunningTime => {
                format!("was ended after running for {} ms, the most a call may compute", limits.cpu_ms)
            }
            Self::Panicked(text) => format!("was ended by a fault of the host, not its own: {text}"),
            Self::Trapped { over: Some(Over::Memory), .. } => {
                format!("asked for more than {} MiB of memory and ended", limits.memory_bytes / 1024 / 1024)
            }
            Self::Trapped { over: Some(Over::Table), .. } => {
                format!("asked for more than {} table elements and ended", limits.table_elements)
            }
            Self::Trapped { error, .. } => trap(error, limits),
        }
    }
}

fn trap(error: &wasmtime::Error, limits: &Limits) -> String {
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return format!("called `exit` with {} instead of answering", exit.0);
    }
    if matches!(error.downcast_ref::<ResourceTableError>(), Some(ResourceTableError::Full)) {
        return format!("opened more than {} host objects and ended", limits.resources);
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => "called itself too deeply and ended".to_owned(),
        Some(trap) => format!("trapped: {trap}"),
        None => format!("ended: {}", plain(&error.root_cause().to_string(), TRAP_BYTES_MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::Ended;
    use crate::Limits;
    use crate::meter::Over;
    use gate::FailureKind;
    use wasmtime::Trap;
    use wasmtime_wasi::I32Exit;

    fn trapped(error: wasmtime::Error) -> Ended {
        Ended::Trapped { over: None, error }
    }

    #[test]
    fn every_limit_is_named_with_its_figure() {
        let limits = Limits::for_tools();
        let over = Ended::Trapped { over: Some(Over::Memory), error: Trap::UnreachableCodeReached.into() };
        for (ended, words) in [
            (Ended::WallClock, "after 30000 ms"),
            (Ended::RunningTime, "running for 2000 ms"),
            (over, "more than 64 MiB of memory"),
            (trapped(Trap::StackOverflow.into()), "called itself too deeply"),
            (trapped(Trap::UnreachableCodeReached.into()), "trapped: "),
            (trapped(I32Exit(3).into()), "`exit` with 3"),
            (Ended::Panicked("oh".to_owned()), "a fault of the host, not its own: oh"),
        ] {
            let failure = ended.failure("web.fetch", &limits);
            assert_eq!(failure.kind, FailureKind::Guest);
            assert!(
                failure.message.starts_with("`web.fetch` ") && failure.message.contains(words),
                "{}",
                failure.message
            );
        }
        assert_eq!(Ended::NoPlace.failure("web.fetch", &limits).kind, FailureKind::Unavailable);
    }
}
