//! The one engine of the process: compiler, epoch, pool, and places for guests.
//!
//! Code is compiled by Cranelift in a process of its own (see `compile`), kept on disk by what it was compiled from, and
//! run with an epoch that one thread moves. Memory comes from a pool that zeroes what it gives again; only
//! when the pool's addresses cannot be reserved is memory asked of the system call by call.
//!
//! Deliberately absent: a second compiler, fuel, threads and shared memory, garbage-collected types, 64-bit
//! and multiple memories, relaxed SIMD. A guest that needs one of them does not load.

use crate::code::{CodeError, Kept, trusted};
use crate::compile::{self, CompileError, Compiler};
use crate::limits::{Limits, Pool, TICK_MS};
use crate::link::Linkers;
use crate::manifest::World;
use event::Digest;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use wasmtime::component::Component;
use wasmtime::{Config, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, Strategy};

/// Stack of a guest: deep enough for recursive parsers, and bounded, so that recursion traps.
const GUEST_STACK_BYTES: usize = 512 * 1024;
/// Stack of the fibre a guest runs on: the guest's own and that of host functions under it.
const FIBRE_STACK_BYTES: usize = 2 * 1024 * 1024;
/// Addresses set aside for one linear memory: all that 32 bits can name, so that no access needs a check.
const MEMORY_ADDRESSES: u64 = 4 * 1024 * 1024 * 1024;
/// Bookkeeping of one component and of one module in it: the largest interpreters need a tenth of it.
const BOOKKEEPING_BYTES: usize = 1024 * 1024;

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// This machine cannot run WebAssembly as configured.
    #[error("the WebAssembly engine does not start on this machine")]
    Start(#[source] wasmtime::Error),
    /// The thread that moves the epoch could not be started; without it no guest can be stopped.
    #[error("the thread that limits running time does not start")]
    Ticker(#[source] std::io::Error),
    /// The folder for compiled code cannot be used.
    #[error(transparent)]
    Code(#[from] CodeError),
}

/// What an engine is made of.
#[derive(Clone, Debug)]
pub struct EngineParts {
    /// Limits, and how many guests run at once.
    pub pool: Pool,
    /// Where compiled code is kept; without it everything is compiled at each start.
    pub code_folder: Option<PathBuf>,
    /// Who compiles.
    pub compiler: Compiler,
}

/// The engine. One for the process: code and pool belong to it.
pub struct Engine {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) linkers: Linkers,
    pub(crate) pool: Pool,
    places: Arc<Semaphore>,
    guard_places: Arc<Semaphore>,
    kept: Option<Arc<Kept>>,
    compiler: Compiler,
}

impl Engine {
    /// Starts the engine and its ticker, which ends with the engine.
    ///
    /// # Errors
    /// [`EngineError`]: the machine, the ticker, or the folder for compiled code.
    pub fn new(parts: EngineParts) -> Result<Arc<Self>, EngineError> {
        let wasmtime = pooled_or_not(&parts.pool)?;
        let linkers = Linkers::new(&wasmtime).map_err(EngineError::Start)?;
        let kept = parts.code_folder.map(|folder| Kept::open(folder, &wasmtime)).transpose()?.map(Arc::new);
        tick(&wasmtime)?;
        let places = Arc::new(Semaphore::new(parts.pool.calls as usize));
        let guard_places = Arc::new(Semaphore::new(parts.pool.checks as usize));
        let compiler = parts.compiler;
        Ok(Arc::new(Self { wasmtime, linkers, pool: parts.pool, places, guard_places, kept, compiler }))
    }

    /// The limits of calls in `world`.
    pub(crate) fn limits(&self, world: World) -> &Limits {
        match world {
            World::Tool | World::Plain => &self.pool.tools,
            World::Model => &self.pool.models,
            World::Guard => &self.pool.guards,
        }
    }

    /// The places in which guests of `world` run.
    pub(crate) fn places(&self, world: World) -> &Arc<Semaphore> {
        match world {
            World::Tool | World::Plain | World::Model => &self.places,
            World::Guard => &self.guard_places,
        }
    }

    /// Places that nobody runs in, guards' aside.
    #[cfg(test)]
    pub(crate) fn free_places(&self) -> usize {
        self.places.available_permits()
    }

    /// Memories of guests that run now; nothing when none is set aside.
    #[cfg(test)]
    pub(crate) fn memories_in_use(&self) -> Option<usize> {
        self.wasmtime.pooling_allocator_metrics().map(|metrics| metrics.memories())
    }

    /// Whether memory for guests is set aside.
    #[cfg(test)]
    pub(crate) fn is_pooled(&self) -> bool {
        self.wasmtime.pooling_allocator_metrics().is_some()
    }

    /// The compiled component: from disk when its code is kept there, compiled and kept otherwise.
    pub(crate) async fn compile(&self, bytes: Arc<[u8]>, digest: &Digest) -> Result<Component, CompileError> {
        let (wasmtime, kept, named) = (self.wasmtime.clone(), self.kept.clone(), digest.clone());
        let known = at_leisure(move || Ok(kept.and_then(|kept| kept.load(&wasmtime, &named)))).await?;
        if let Some(component) = known {
            return Ok(component);
        }
        let code = match &self.compiler {
            Compiler::Apart { program, bounds } => compile::apart(program, *bounds, bytes).await?,
            Compiler::Here => {
                let wasmtime = self.wasmtime.clone();
                at_leisure(move || wasmtime.precompile_component(&bytes).map_err(CompileError::Unfit)).await?
            }
        };
        let (wasmtime, kept, digest) = (self.wasmtime.clone(), self.kept.clone(), digest.clone());
        at_leisure(move || {
            let component = trusted(&wasmtime, &code).map_err(CompileError::Unfit)?;
            if let Some(kept) = &kept {
                kept.keep(&digest, &code);
            }
            Ok(component)
        })
        .await
    }
}

/// Runs `work` on a thread that may block.
async fn at_leisure<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CompileError> + Send + 'static,
) -> Result<T, CompileError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|broken| CompileError::Process(std::io::Error::other(broken)))?
}

/// An engine with a pool, or one without when a small machine, or a limit on it, denies so many addresses.
fn pooled_or_not(pool: &Pool) -> Result<wasmtime::Engine, EngineError> {
    let mut pooled = config();
    pooled.allocation_strategy(InstanceAllocationStrategy::Pooling(pooling(pool)));
    match wasmtime::Engine::new(&pooled) {
        Ok(engine) => Ok(engine),
        Err(error) => {
            tracing::warn!(
                "memory for guests could not be set aside, so each call asks the system for it, which is slower: {error:#}"
            );
            wasmtime::Engine::new(&config()).map_err(EngineError::Start)
        }
    }
}

/// What bears on code: the same for whoever compiles and whoever runs.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        // The same input gives the same bits on every machine.
        .cranelift_nan_canonicalization(true)
        .parallel_compilation(true)
        .epoch_interruption(true)
        .consume_fuel(false)
        .max_wasm_stack(GUEST_STACK_BYTES)
        .async_stack_size(FIBRE_STACK_BYTES)
        .async_stack_zeroing(true)
        .memory_init_cow(true)
        .memory_reservation(MEMORY_ADDRESSES)
        .shared_memory(false)
        .wasm_component_model(true)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false);
    config
}

/// As many slots as all guests at once can fill, and nothing kept in memory between calls that the next call
/// would have to be kept from.
fn pooling(pool: &Pool) -> PoolingAllocationConfig {
    let times = |each: usize| pool.all().saturating_mul(u32::try_from(each).unwrap_or(u32::MAX));
    let most = |of: fn(&Limits) -> usize| pool.largest(of);
    let per = |of: fn(&Limits) -> usize| u32::try_from(pool.largest(of)).unwrap_or(u32::MAX);
    let mut slots = PoolingAllocationConfig::new();
    slots
        .total_component_instances(pool.all())
        .total_core_instances(times(most(|limits| limits.instances)))
        .total_memories(times(most(|limits| limits.memories)))
        .total_tables(times(most(|limits| limits.tables)))
        .total_stacks(pool.all())
        .max_core_instances_per_component(per(|limits| limits.instances))
        .max_memories_per_component(per(|limits| limits.memories))
        .max_tables_per_component(per(|limits| limits.tables))
        .max_memories_per_module(1)
        .max_tables_per_module(per(|limits| limits.tables))
        .max_memory_size(most(|limits| limits.memory_bytes))
        .table_elements(most(|limits| limits.table_elements))
        .max_component_instance_size(BOOKKEEPING_BYTES)
        .max_core_instance_size(BOOKKEEPING_BYTES)
        .linear_memory_keep_resident(0)
        .table_keep_resident(0)
        .async_stack_keep_resident(0)
        .decommit_batch_size(1);
    slots
}

/// Moves the epoch for as long as the engine lives.
fn tick(engine: &wasmtime::Engine) -> Result<(), EngineError> {
    let engine = engine.weak();
    let body = move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(Duration::from_millis(TICK_MS));
        }
    };
    std::thread::Builder::new().name("epoch".to_owned()).spawn(body).map_err(EngineError::Ticker)?;
    Ok(())
}
