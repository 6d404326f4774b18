//! `chancery converse`: why the office spoke or did not, what it would do in another mode, and the modes of channels.
//!
//! Everything is told from the record. `replay` asks no model: the figures it gave stand in the record, and only the
//! rule that follows them is asked again.

mod explain;
mod replay;

use crate::config::Config;
use crate::owner::{Acting, print_stated};
use crate::seat::ActArgs;
use crate::table::table;
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use event::{EventId, Fact, GlobalPosition, Mode, ModeSet, StreamName};
use fold::message::MessageRow;
use fold::{decode, setting};
use record::Record;
use std::process::ExitCode;

pub use explain::explained;
pub use replay::{Replayed, replayed};

/// Events read at a time.
const PAGE_EVENTS: usize = 500;

/// Why the office spoke or did not.
#[derive(Debug, Subcommand)]
pub enum ConverseCommand {
    /// Print what decided about one message: the figures, the formula, the thresholds, the allowance, the choice.
    Explain {
        /// The message: its event (`evt_…`), or where it stands: `C0123:1712345678.000100`, `T01:C0123:1712…`.
        message: String,
    },
    /// Decide again about every message that was weighed, in another mode, and print what would change.
    ///
    /// The allowance is counted anew from what would have been said. No model is asked and nothing is sent.
    Replay {
        /// The mode: quiet, reserved, proactive or eager.
        #[arg(long, value_parser = mode)]
        mode: Mode,
        /// Only this channel, `C0123` or `T01:C0123`.
        #[arg(long, value_name = "CHANNEL")]
        channel: Option<String>,
        /// Only what was decided after this global position.
        #[arg(long, default_value_t = 0, value_name = "POSITION")]
        after: u64,
    },
    /// Set the mode of a channel, in the owner's name. It counts from the next message on.
    Mode {
        /// The channel, with its workspace: `T01:C0123`.
        channel: String,
        /// The mode: quiet, reserved, proactive or eager.
        #[arg(value_parser = mode)]
        mode: Mode,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// List the modes of channels that somebody set, and what the configuration says.
    Modes,
}

fn mode(word: &str) -> Result<Mode, String> {
    Mode::of_word(word).ok_or_else(|| "write quiet, reserved, proactive or eager".to_owned())
}

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: ConverseCommand) -> Result<ExitCode> {
    match command {
        ConverseCommand::Explain { message } => {
            let record = config.record.open_read_only().await?;
            print!("{}", explained(&record, &message).await?);
        }
        ConverseCommand::Replay { mode, channel, after } => {
            let record = config.record.open_read_only().await?;
            let hops_max = config.manner()?.hops_max;
            print!("{}", replayed(&record, mode, channel.as_deref(), GlobalPosition(after), hops_max).await?);
        }
        ConverseCommand::Mode { channel, mode, reason, act } => {
            set(config, channel, mode, reason, act).await?
        }
        ConverseCommand::Modes => print!("{}", modes(config).await?),
    }
    Ok(ExitCode::SUCCESS)
}

async fn set(config: &Config, channel: String, mode: Mode, reason: String, act: ActArgs) -> Result<()> {
    let named =
        channel.split_once(':').is_some_and(|(team, id)| converse::is_plain(team) && converse::is_plain(id));
    if !named {
        bail!("`{}` is no channel: write workspace and channel, such as T01:C0123", channel.escape_debug());
    }
    let acting = Acting::open(config, act.as_seat).await?;
    let events = acting.state(Vec::new(), move |_, _| {
        let stream = StreamName::new("mode", &channel);
        Ok(vec![(stream, Fact::from(ModeSet { channel, mode, reason }))])
    });
    print_stated(&events.await?);
    Ok(())
}

async fn modes(config: &Config) -> Result<String> {
    let record = config.record.open_read_only().await?;
    let mut set: std::collections::BTreeMap<String, (Mode, String)> = std::collections::BTreeMap::new();
    let mut after = GlobalPosition(0);
    loop {
        let events = record.read_all(after, PAGE_EVENTS).await?;
        let Some(last) = events.last() else { break };
        after = last.global_position;
        for event in &events {
            if let Fact::ModeSet(body) = &event.fact {
                set.insert(body.channel.clone(), (body.mode, body.reason.clone()));
            }
        }
    }
    let mut rows: Vec<Vec<String>> =
        set.into_iter().map(|(channel, (mode, reason))| vec![channel, mode.to_string(), reason]).collect();
    let configured = config.converse.channels.iter();
    rows.extend(configured.map(|(channel, mode)| {
        vec![channel.clone(), mode.to_string(), "the configuration says so".to_owned()]
    }));
    rows.push(vec!["(every other)".to_owned(), config.converse.mode.to_string(), String::new()]);
    Ok(table(&["CHANNEL", "MODE", "WHY"], &rows))
}

/// The message that `text` names.
async fn message_of(record: &Record, text: &str) -> Result<EventId> {
    if let Ok(id) = EventId::parse(text) {
        return Ok(id);
    }
    let key = match text.split(':').collect::<Vec<_>>().as_slice() {
        [_, _, _] => text.to_owned(),
        [channel, ts] => {
            let own = record.row("setting", &setting::connection(converse::SOURCE_SLACK)).await?;
            let own: event::ConnectionIdentified =
                decode(own.as_ref()).context("the office is not known on Slack: write `T01:C0123:1712…`")?;
            format!("{}:{channel}:{ts}", own.team)
        }
        _ => bail!("`{}` names no message: write `evt_…` or `C0123:1712345678.000100`", text.escape_debug()),
    };
    let row: Option<MessageRow> = decode(record.row("message", &key).await?.as_ref());
    row.map(|row| row.event).with_context(|| format!("the record has no message `{}`", key.escape_debug()))
}
