//! The commands that only look: at the record, a turn, the policies. They may run beside a
//! server, on the same record.

use crate::cli::ShowArgs;
use crate::config::Config;
use crate::show;
use anyhow::{Context, Result, bail};
use event::{Digest, Event, GlobalPosition, Position, StreamName};
use record::{Anchor, Record};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Events read at a time.
const PAGE_EVENTS: usize = 500;
/// Events of one stream that are shown: far more than a turn or a call has.
const STREAM_EVENTS_MAX: usize = 10_000;

/// Opens the record of a configuration for reading.
///
/// # Errors
/// When there is none, or it cannot be read.
pub(crate) async fn open(config: &Config) -> Result<Record> {
    config.record.open_read_only().await
}

/// Prints events, one a line.
///
/// # Errors
/// When the record cannot be read.
pub async fn record_show(config: &Config, args: &ShowArgs) -> Result<ExitCode> {
    let record = open(config).await?;
    let mut out = std::io::stdout().lock();
    let terminal = std::io::stdout().is_terminal();
    let mut print = |event: &Event| -> std::io::Result<()> {
        if args.json {
            let json = event::canonical(&event.to_json());
            // A program gets the canonical bytes; a terminal gets the same JSON, with nothing in it that steers.
            match std::str::from_utf8(&json) {
                Ok(json) if terminal => writeln!(out, "{}", show::printable_json(json)),
                _ => out.write_all(&json).and_then(|()| out.write_all(b"\n")),
            }
        } else {
            writeln!(out, "{}", show::line(event))
        }
    };
    let printed = async {
        if let Some(name) = &args.stream {
            let stream = StreamName::parse(name)?;
            let events = record.read_stream(&stream, Position(1), STREAM_EVENTS_MAX).await?;
            if events.is_empty() {
                bail!("the record has no stream `{name}`");
            }
            for event in events.iter().filter(|event| event.global_position.0 > args.after) {
                print(event)?;
            }
            return Ok(());
        }
        let (head, _) = record.head().await?;
        let mut after = GlobalPosition(args.last.map_or(args.after, |last| head.0.saturating_sub(last)));
        loop {
            let events = record.read_all(after, PAGE_EVENTS).await?;
            let Some(last) = events.last() else { return Ok(()) };
            after = last.global_position;
            for event in &events {
                print(event)?;
            }
        }
    }
    .await;
    pipe_may_end(printed)
}

/// A reader that has seen enough, such as `head`, is no error.
pub(crate) fn pipe_may_end(printed: Result<()>) -> Result<ExitCode> {
    match printed {
        Err(error)
            if error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) =>
        {
            Ok(ExitCode::SUCCESS)
        }
        other => other.map(|()| ExitCode::SUCCESS),
    }
}

/// Walks the record and says what it found.
///
/// # Errors
/// The first bad event, or that the record cannot be read.
pub async fn record_verify(config: &Config, head: Option<&str>) -> Result<ExitCode> {
    let anchor = head.map(anchor).transpose()?;
    let verified = open(config).await?.verify(anchor.as_ref()).await?;
    println!("{verified}");
    if let Some(chain) = &verified.chain {
        println!("head {}:{chain}", verified.events);
    }
    Ok(ExitCode::SUCCESS)
}

fn anchor(text: &str) -> Result<Anchor> {
    let read = text.split_once(':').and_then(|(position, chain)| {
        Some(Anchor { global_position: GlobalPosition(position.parse().ok()?), chain: Digest::parse(chain)? })
    });
    read.with_context(|| format!("`{text}` is not a head: it is a position, `:` and 64 hexadecimal digits, as `record verify` prints it"))
}

/// Prints `text` to whoever reads it; a reader that has seen enough is no error.
///
/// # Errors
/// When the terminal does not take it.
pub(crate) fn print(text: &str) -> Result<ExitCode> {
    pipe_may_end(std::io::stdout().write_all(text.as_bytes()).map_err(Into::into))
}
