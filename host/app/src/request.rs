//! `chancery request`: what seats ask of one another and nobody has answered yet, and answering it in the name of whoever
//! runs the command.
//!
//! What a request may become is `fold::request`'s to say. One about an effect is answered by `chancery effect settle`,
//! which says what became of the effect and answers with it.

use crate::config::Config;
use crate::owner::{Acting, print_stated};
use crate::seat::ActArgs;
use crate::show::short;
use crate::table::table;
use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use event::{Personal, RequestId, StreamName};
use fold::request::{Command, RequestRow, Requests, decide};
use fold::{Projection, decode};
use record::{Record, RowKey};
use std::process::ExitCode;

/// Open requests that are listed: each is somebody's to answer, and nobody reads more.
const LISTED_MAX: usize = 10_000;
/// How the topic of a request about an effect begins.
const ABOUT_EFFECT: &str = "effect:";

/// Look at open requests, and answer one.
#[derive(Debug, Subcommand)]
pub enum RequestCommand {
    /// List the requests that nobody has answered yet, those first that lapse first.
    List,
    /// Answer one that your seat owes an answer to, or the vacant seat it works for.
    Answer {
        /// The request, as `list` shows it.
        #[arg(value_parser = RequestId::parse)]
        request: RequestId,
        /// The answer, for the seat that asked.
        #[arg(long, value_name = "TEXT")]
        text: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
}

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: RequestCommand) -> Result<ExitCode> {
    match command {
        RequestCommand::List => print!("{}", list(&config.record.open_read_only().await?).await?),
        RequestCommand::Answer { request, text, act } => answer(config, request, text, act).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The open requests, a line each.
///
/// # Errors
/// When the record cannot be read.
async fn list(record: &Record) -> Result<String> {
    let rows = record.ranked(Requests.name(), i64::MIN, LISTED_MAX).await?;
    let open = rows.iter().filter_map(|(_, row)| decode::<RequestRow>(Some(row)));
    let mut lines = Vec::new();
    for row in open {
        let asked = row.asked;
        // Rows keep words sealed; the event gives them to whoever holds the keys.
        let stream = StreamName::new("request", &asked.request);
        let events = record.read_stream(&stream, event::Position(1), 1).await?;
        let wanted = match events.first().map(|event| &event.fact) {
            Some(event::Fact::RequestAsked(body)) => short(body.wanted.text()),
            _ => String::new(),
        };
        lines.push(vec![
            asked.request.to_string(),
            asked.due_at.to_string(),
            asked.holder.to_string(),
            asked.asker.to_string(),
            wanted,
        ]);
    }
    if lines.is_empty() {
        return Ok("nobody waits for an answer\n".to_owned());
    }
    Ok(table(&["REQUEST", "LAPSES", "OWED BY", "ASKED BY", "WANTED"], &lines))
}

async fn answer(config: &Config, request: RequestId, text: String, act: ActArgs) -> Result<()> {
    let acting = Acting::open(config, act.as_seat).await?;
    let row = acting.record.row(Requests.name(), request.as_str()).await?;
    let row: RequestRow = decode(row.as_ref()).with_context(|| {
        format!("there is no request `{request}`: `chancery request list` shows those there are")
    })?;
    ensure!(
        !row.asked.topic.as_str().starts_with(ABOUT_EFFECT),
        "`{request}` asks what became of an effect: `chancery effect settle` answers it"
    );
    let works = attention::works(&acting.record, &row.asked.holder).await?.map(|works| works.seat.seat);
    let by = acting.actor.seat.clone().context("an answer is given in a seat")?;
    let answer = Personal::of(text, [acting.actor.principal.clone()]);
    let events = acting.state(vec![RowKey::new(Requests.name(), request.as_str())], move |rows, now| {
        let stands: Option<RequestRow> = rows.state(Requests.name(), request.as_str());
        let fact = decide(stands.as_ref(), Command::AnswerInstead { by, works, answer }, now)?;
        Ok(vec![(StreamName::new("request", &request), fact)])
    });
    print_stated(&events.await?);
    Ok(())
}
