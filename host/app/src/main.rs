//! `chancery`: parse, trace, run; one line on standard error says what went wrong.

use app::cli::{Cli, Command};
use app::run::run;
use clap::Parser;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// One step of a turn makes and forgets thousands of small values.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Names what is logged: `CHANCERY_LOG=debug`, or `CHANCERY_LOG=turn=debug,info`.
const LOG_VARIABLE: &str = "CHANCERY_LOG";

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Command::Compile { memory_bytes, cpu_s } = cli.command {
        return ExitCode::from(u8::try_from(component::compile_to_output(memory_bytes, cpu_s)).unwrap_or(1));
    }
    app::plugin::load::compile_by(this_program());
    let quiet = if matches!(cli.command, Command::Serve { .. }) { "info" } else { "warn" };
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(quiet));
    // Bodies and headers of guests' requests are nobody's reading, whatever level was asked for.
    let quiet = format!("{}=info", component::REPEATS_GUESTS).parse();
    let filter = quiet.into_iter().fold(filter, EnvFilter::add_directive);
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::from(error).context("the runtime does not start")),
    };
    let code = match runtime.block_on(run(cli)) {
        Ok(code) => code,
        Err(error) => failed(&error),
    };
    // Reading standard input cannot be interrupted: a chat that has ended does not wait for one more line.
    runtime.shutdown_background();
    code
}

/// This program, also when its file was replaced meanwhile: what compiles and what runs must be one version.
fn this_program() -> PathBuf {
    let running = Path::new("/proc/self/exe");
    match running.exists() {
        true => running.to_path_buf(),
        false => std::env::current_exe().unwrap_or_else(|_| PathBuf::from("chancery")),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    // A source that its own context repeats word for word is said once.
    let mut said: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !said.iter().any(|before| before.contains(&cause)) {
            said.push(cause);
        }
    }
    eprintln!("chancery: {}", said.join(": ").replace('\n', " "));
    ExitCode::FAILURE
}
