//! Compiling a component within bounds.
//!
//! What a compiler of machine code takes grows faster than what it is given: a component of a megabyte can be made that
//! keeps it busy for hours or fills a machine's memory. A thread can be neither stopped nor held to a size, so a component
//! is compiled by a process of its own: this program again, which limits its own memory and processor time before it reads
//! a byte, knows nothing of the office (none of its environment, no files, no configuration), and is killed when the clock has run
//! out. What it writes is machine code, which the host trusts as it would trust what it had compiled itself.
//!
//! Always holds: whatever becomes of that process, the host lives and says why the plugin does not load.

use crate::artifact::COMPONENT_BYTES_MAX;
use crate::engine::config;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// The word on the command line that makes a program that has this crate compile one component.
pub const COMPILE: &str = "compile-component";
/// All of its environment: a program whose allocator is mimalloc takes memory as it is used and not a gibibyte ahead, so that
/// what is bounded is what compiling takes.
pub const COMPILE_ENVIRONMENT: (&str, &str) = ("MIMALLOC_ARENA_EAGER_COMMIT", "0");
/// Longest machine code: ten times what the largest component makes.
const CODE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How much of what the process says is repeated.
const SAID_BYTES_MAX: usize = 2_000;
/// How many seconds of processor it may take for a second on the clock: as many cores as are of use to it.
const CORES_MAX: u64 = 4;
/// What it exits with when the component does not compile, which is no fault of the bounds.
const EXIT_UNFIT: i32 = 3;
/// What it exits with when its bounds leave no room to begin with.
const EXIT_NO_ROOM: i32 = 4;

/// What compiling one component may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Time on the clock, in milliseconds.
    pub wall_ms: u64,
    /// Memory that can be written, in bytes.
    pub memory_bytes: u64,
}

/// Bounds to start from: the largest interpreters that are components (18 MiB) take half a minute of one core where the
/// compiler itself was built without optimisation, and half a gibibyte.
pub const STARTING_BOUNDS: Bounds = Bounds { wall_ms: 180_000, memory_bytes: 2 * 1024 * 1024 * 1024 };

/// Who compiles.
#[derive(Clone, Debug, Default)]
pub enum Compiler {
    /// This process, without bounds: for a program that has no command line of ours, such as a test.
    #[default]
    Here,
    /// A process of its own.
    Apart {
        /// The program: one that takes [`COMPILE`] as its first argument, and calls [`compile_to_output`].
        program: PathBuf,
        /// What it may take.
        bounds: Bounds,
    },
}

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// It is no component that this engine takes.
    #[error("{0:#}")]
    Unfit(wasmtime::Error),
    /// It takes more than it may.
    #[error("compiling it takes more than {wall_s} s or {memory_mib} MiB")]
    TooMuch {
        /// The bound on time, in seconds.
        wall_s: u64,
        /// The bound on memory, in mebibytes.
        memory_mib: u64,
    },
    /// The process that compiles does not run, or ended without a word.
    #[error("the process that compiles it: {0}")]
    Process(io::Error),
}

/// The code of the component `bytes`, made by a process of its own.
pub(crate) async fn apart(
    program: &PathBuf,
    bounds: Bounds,
    bytes: Arc<[u8]>,
) -> Result<Vec<u8>, CompileError> {
    let too_much = || CompileError::TooMuch {
        wall_s: bounds.wall_ms.div_ceil(1_000),
        memory_mib: bounds.memory_bytes / (1024 * 1024),
    };
    let mut child = Command::new(program)
        .arg(COMPILE)
        .args(["--memory-bytes", &bounds.memory_bytes.to_string()])
        .args(["--cpu-s", &bounds.wall_ms.div_ceil(1_000).saturating_mul(CORES_MAX).to_string()])
        .env_clear()
        .env(COMPILE_ENVIRONMENT.0, COMPILE_ENVIRONMENT.1)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(CompileError::Process)?;
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut input) = input {
            // One that ends before it has read all says why by how it ends.
            let _ = input.write_all(&bytes).await;
            let _ = input.shutdown().await;
        }
    };
    let work = async {
        let ((), code, said) =
            tokio::join!(feed, all(output, CODE_BYTES_MAX), all(errors, SAID_BYTES_MAX as u64));
        io::Result::Ok((child.wait().await?, code?, said?))
    };
    let ended = timeout(Duration::from_millis(bounds.wall_ms), work).await;
    let (status, code, said) = ended.map_err(|_| too_much())?.map_err(CompileError::Process)?;
    match of(status) {
        Ended::Well => Ok(code),
        Ended::Unfit => Err(CompileError::Unfit(wasmtime::Error::msg(text(&said)))),
        Ended::OutOfBounds => Err(too_much()),
        Ended::Broken => {
            let why = format!("it ended with {status}: {}", text(&said));
            Err(CompileError::Process(io::Error::other(why)))
        }
    }
}

async fn all(from: Option<impl tokio::io::AsyncRead + Unpin>, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    if let Some(from) = from {
        from.take(bytes_max).read_to_end(&mut read).await?;
    }
    Ok(read)
}

fn text(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

enum Ended {
    Well,
    Unfit,
    OutOfBounds,
    Broken,
}

/// What the end of the process says: out of memory it aborts, or its system's memory is out and it is killed; out of
/// processor time it gets a signal for that.
fn of(status: ExitStatus) -> Ended {
    use rustix::process::Signal;
    let by = |signal: Signal| status.signal() == Some(signal.as_raw());
    match status.code() {
        Some(0) => Ended::Well,
        Some(EXIT_UNFIT) => Ended::Unfit,
        Some(EXIT_NO_ROOM) => Ended::OutOfBounds,
        None if by(Signal::ABORT) || by(Signal::KILL) || by(Signal::XCPU) => Ended::OutOfBounds,
        _ => Ended::Broken,
    }
}

/// What the process does that compiles: limits itself, reads a component from its input, and writes its code to its
/// output. Gives what to exit with.
#[must_use]
pub fn compile_to_output(memory_bytes: u64, cpu_s: u64) -> i32 {
    match compiled(memory_bytes, cpu_s) {
        Ok(()) => 0,
        Err(CompileError::Unfit(error)) => {
            let _ = writeln!(io::stderr(), "{error:#}");
            EXIT_UNFIT
        }
        Err(CompileError::TooMuch { .. }) => EXIT_NO_ROOM,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
    }
}

fn compiled(memory_bytes: u64, cpu_s: u64) -> Result<(), CompileError> {
    let io = CompileError::Process;
    let exactly = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    for (resource, most) in
        [(Resource::Data, memory_bytes), (Resource::Cpu, cpu_s), (Resource::Core, 0), (Resource::Fsize, 0)]
    {
        setrlimit(resource, exactly(most)).map_err(|error| io(error.into()))?;
    }
    // Before anything is read: once the memory is used up, a thread that does not start would look like a fault of the host.
    if rayon::ThreadPoolBuilder::new().build_global().is_err() {
        return Err(CompileError::TooMuch { wall_s: cpu_s, memory_mib: memory_bytes / (1024 * 1024) });
    }
    let mut bytes = Vec::new();
    io::stdin().take(COMPONENT_BYTES_MAX as u64).read_to_end(&mut bytes).map_err(io)?;
    let engine = wasmtime::Engine::new(&config()).map_err(CompileError::Unfit)?;
    let code = engine.precompile_component(&bytes).map_err(CompileError::Unfit)?;
    io::stdout().write_all(&code).and_then(|()| io::stdout().flush()).map_err(io)
}
