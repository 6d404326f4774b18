//! `chancery turn`: which turns there were, what one did, and what the gate would say to its calls today.
//!
//! All of it is read from the record; nothing is run and nothing is sent.

mod list;
mod tree;

use crate::config::Config;
use crate::look;
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use event::{Event, Fact, GlobalPosition, Origin, Position, StreamName, TurnId};
use fold::turn::TurnState;
use record::Record;
use std::process::ExitCode;

/// Events read at a time.
const PAGE_EVENTS: usize = 500;
/// Events of one stream that are shown: far more than a turn or a call has.
const STREAM_EVENTS_MAX: usize = 10_000;

/// Look into turns.
#[derive(Debug, Subcommand)]
pub enum TurnCommand {
    /// List turns, newest first: when, whose, about what, how long, what it cost, how it ended.
    List(ListArgs),
    /// Print what a turn did: each step with its time, tokens and money, what the gate said, what was read and sent.
    Show {
        /// The turn, `turn_…`; the newest one when absent.
        id: Option<String>,
    },
    /// Say what the gate's policies would decide today on each call that a turn made. Nothing is called or sent.
    ///
    /// Exits 3 when a call that was let through then would be denied now, or the other way round.
    Replay {
        /// The turn, `turn_…`; the newest one when absent.
        id: Option<String>,
    },
}

/// Which turns.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// At most so many.
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    pub last: usize,
    /// Only those of this seat.
    #[arg(long, value_name = "SEAT")]
    pub seat: Option<String>,
    /// Only those that have not ended.
    #[arg(long)]
    pub open: bool,
}

/// Runs one of them.
///
/// # Errors
/// When there is no such turn, or the record cannot be read.
pub async fn run(config: &Config, command: &TurnCommand) -> Result<ExitCode> {
    match command {
        TurnCommand::List(args) => {
            let record = look::open(config).await?;
            look::print(&list::text(&record, args).await?)
        }
        TurnCommand::Show { id } => {
            let record = look::open(config).await?;
            let told = Told::read(&record, id.as_deref()).await?;
            look::print(&tree::text(&told))
        }
        TurnCommand::Replay { id } => {
            let record = look::open(config).await?;
            let told = Told::read(&record, id.as_deref()).await?;
            let (text, code) = crate::policy::replay(config, &record, &told).await?;
            look::print(&text)?;
            Ok(code)
        }
    }
}

/// A turn as the record tells it.
pub(crate) struct Told {
    pub turn: TurnId,
    pub events: Vec<Event>,
    pub state: TurnState,
    /// What woke it.
    pub woken: Option<Event>,
    /// What the gate wrote down about each step.
    pub calls: Vec<(u32, Vec<Event>)>,
}

impl Told {
    /// Reads the turn `id`, or the newest.
    ///
    /// # Errors
    /// When there is no such turn, or the record cannot be read.
    pub(crate) async fn read(record: &Record, id: Option<&str>) -> Result<Self> {
        let turn = match id {
            Some(text) => TurnId::parse(text)?,
            None => newest(record).await?,
        };
        let events = record.read_stream(&stream_of(&turn), Position(1), STREAM_EVENTS_MAX).await?;
        if events.is_empty() {
            bail!("the record has no turn `{turn}`; `chancery turn list` names those there are");
        }
        let state = TurnState::fold(&events);
        let woken = match &state.opened {
            Some(opened) => record.event(&opened.woken_by).await?,
            None => None,
        };
        let calls = calls(record, &turn, &state).await?;
        Ok(Self { turn, events, state, woken, calls })
    }
}

/// The stream on which a turn is told.
fn stream_of(turn: &TurnId) -> StreamName {
    StreamName::new("turn", turn)
}

/// What the gate wrote down about the calls of a turn, step by step.
async fn calls(record: &Record, turn: &TurnId, state: &TurnState) -> Result<Vec<(u32, Vec<Event>)>> {
    let mut calls = Vec::with_capacity(state.steps.len());
    for step in state.steps.keys() {
        let deed = Origin::Step { turn: turn.clone(), step: *step, attempt: 1 }.deed();
        let stream = StreamName::new("call", deed);
        calls.push((*step, record.read_stream(&stream, Position(1), STREAM_EVENTS_MAX).await?));
    }
    Ok(calls)
}

async fn newest(record: &Record) -> Result<TurnId> {
    let (head, _) = record.head().await?;
    let mut end = head.0;
    // From the end backwards, a page at a time.
    while end > 0 {
        let after = end.saturating_sub(PAGE_EVENTS as u64);
        let events = record.read_all(GlobalPosition(after), PAGE_EVENTS).await?;
        let newest = events.iter().rev().find_map(|event| match &event.fact {
            Fact::TurnOpened(opened) => Some(opened.turn.clone()),
            _ => None,
        });
        if let Some(turn) = newest {
            return Ok(turn);
        }
        end = after;
    }
    bail!("the record has no turn yet")
}
