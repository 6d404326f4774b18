//! `chancery approval …`, `approve` and `deny`: what waits for a person's yes, and the owner's answer to it.
//!
//! The gate takes the answer here as it takes one from a card: who answers is checked there, at that moment.

use crate::config::Config;
use crate::look::open;
use crate::show::short;
use crate::table::table;
use crate::wire;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use event::{ApprovalAsked, ApprovalId, Fact, Timestamp};
use fold::approval::{Answers, AnswersRow, ApprovalRow, ApprovalState, Approvals};
use fold::{Projection, decode};
use gate::{Answer, AnswerError, Gate};
use record::Record;
use std::process::ExitCode;

/// The most waiting approvals that are listed: far more than one person answers on a day.
const LISTED_MAX: usize = 1_000;
/// Days of answers that are counted.
const DAYS_MAX: usize = 10_000;

/// Look at what waits for a yes.
#[derive(Debug, Subcommand)]
pub enum ApprovalCommand {
    /// List what waits, oldest first.
    List,
    /// Show one whole: what will run, for whom, why a person is asked, and what was said.
    Show {
        /// The approval, `approval_…`.
        id: String,
    },
    /// Say yes ahead to every later call of the same seat to the same tool on the same resource, and to this one when
    /// it still waits. A narrow grant made of a repeated yes; `withdraw` ends it.
    Ahead {
        /// An approval that was asked for, `approval_…`: it says which seat, tool and resource.
        id: String,
        /// Only with exactly the same arguments.
        #[arg(long)]
        exact: bool,
        /// Until this moment, such as `2027-01-31T00:00:00Z`; for ever without.
        #[arg(long, value_name = "RFC 3339", value_parser = crate::refusal::moment)]
        until: Option<Timestamp>,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Let later calls ask again.
    Withdraw {
        /// The approval that `ahead` was given, or another of the same seat, tool and resource.
        id: String,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// How often each person said yes and no, day by day: too many questions is a fault too.
    Count,
}

/// Say yes to a call that waits, exactly as it is shown.
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The approval, `approval_…`, as `chancery approval list` names it.
    pub id: String,
}

/// Say no to a call that waits.
#[derive(Debug, Args)]
pub struct DenyArgs {
    /// The approval, `approval_…`.
    pub id: String,
    /// Why; whoever asked is told.
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub reason: String,
}

/// Runs one of the commands.
///
/// # Errors
/// When the record cannot be read, there is no such approval, or what is said is not taken.
pub async fn run(config: &Config, command: ApprovalCommand) -> Result<ExitCode> {
    match command {
        ApprovalCommand::List => list(&open(config).await?).await,
        ApprovalCommand::Show { id } => show(&open(config).await?, &parse(&id)?).await,
        ApprovalCommand::Count => count(&open(config).await?).await,
        ApprovalCommand::Ahead { id, exact, until, reason } => {
            let (id, owner, (gate, _)) = (parse(&id)?, config.owner()?, gate(config).await?);
            let given = gate.give_ahead(&id, &owner, exact, until, &reason).await?;
            println!("{}", crate::show::summary(&given.fact));
            match gate.answer(&id, &owner, Answer::Yes).await {
                Ok(event) => println!("{}", crate::show::summary(&event.fact)),
                // It was answered before, or it expired: what comes later is what this is about.
                Err(AnswerError::Approval(_)) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(ExitCode::SUCCESS)
        }
        ApprovalCommand::Withdraw { id, reason } => {
            let (id, owner, (gate, _)) = (parse(&id)?, config.owner()?, gate(config).await?);
            let event = gate.withdraw_ahead(&id, &owner, &reason).await?;
            println!("{}", crate::show::summary(&event.fact));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Answers in the owner's name.
///
/// # Errors
/// Why the answer is not taken.
pub async fn answer(config: &Config, id: &str, answer: Answer) -> Result<ExitCode> {
    let (id, owner) = (parse(id)?, config.owner()?);
    let (gate, record) = gate(config).await?;
    let row = row(&record, &id).await?;
    print!("{}", told(&row, &asked(&record, &row).await?));
    let event = gate.answer(&id, &owner, answer).await?;
    println!("  {}", crate::show::summary(&event.fact));
    Ok(ExitCode::SUCCESS)
}

/// The gate, over the record that a server may have open as well.
pub(crate) async fn gate(config: &Config) -> Result<(Gate, Record)> {
    let ports = wire::Ports::system();
    let record = config.record.open(ports.clock.clone()).await?;
    let (gate, _) = wire::gate(config, &record, wire::install(config).await?, ports).await?;
    Ok((gate, record))
}

fn parse(id: &str) -> Result<ApprovalId> {
    ApprovalId::parse(id).with_context(|| "`chancery approval list` shows what waits".to_owned())
}

async fn row(record: &Record, id: &ApprovalId) -> Result<ApprovalRow> {
    let row = record.row(Approvals.name(), id.as_str()).await?;
    decode(row.as_ref()).with_context(|| {
        format!("the record has no approval `{id}`; `chancery approval list` shows what waits")
    })
}

async fn asked(record: &Record, row: &ApprovalRow) -> Result<ApprovalAsked> {
    match record.event(&row.asked_as).await?.map(|event| event.fact) {
        Some(Fact::ApprovalAsked(asked)) => Ok(asked),
        _ => bail!("the record does not hold what `{}` asked", row.approval),
    }
}

async fn list(record: &Record) -> Result<ExitCode> {
    let rows = record.ranked(Approvals.name(), i64::MIN, LISTED_MAX).await?;
    let waiting: Vec<ApprovalRow> =
        rows.iter().filter_map(|(_, row)| decode::<ApprovalRow>(Some(row))).collect();
    if waiting.is_empty() {
        println!("nothing waits for a yes");
        return Ok(ExitCode::SUCCESS);
    }
    let cells = |row: &ApprovalRow| {
        vec![row.approval.to_string(), row.seat.to_string(), row.tool.clone(), row.expires_at.to_string()]
    };
    let cells: Vec<Vec<String>> = waiting.iter().map(cells).collect();
    print!("{}", table(&["APPROVAL", "SEAT", "TOOL", "EXPIRES"], &cells));
    println!(
        "\nchancery approval show <approval>, then chancery approve <approval> or chancery deny <approval>"
    );
    Ok(ExitCode::SUCCESS)
}

async fn show(record: &Record, id: &ApprovalId) -> Result<ExitCode> {
    let row = row(record, id).await?;
    let asked = asked(record, &row).await?;
    print!("{}", told(&row, &asked));
    Ok(ExitCode::SUCCESS)
}

/// What will run, whole: what is approved is what is read here.
fn told(row: &ApprovalRow, asked: &ApprovalAsked) -> String {
    let state = match &row.state {
        ApprovalState::Asked => format!("waits until {}", row.expires_at),
        ApprovalState::Given { by } => format!("{by} said yes; it has not run yet"),
        ApprovalState::Denied { by } => format!("{by} said no"),
        ApprovalState::Expired => "nobody answered in time".to_owned(),
        ApprovalState::Spent { by } => format!("{by} said yes, and it ran"),
    };
    let input = asked.input.value().map_or_else(
        || event::personal::ERASED.to_owned(),
        |input| serde_json::to_string_pretty(input).unwrap_or_default(),
    );
    // A pretty-printed JSON text has line ends of its own making only.
    let lines: Vec<String> =
        input.lines().map(|line| format!("    {}", crate::show::printable_json(line))).collect();
    format!(
        "{}  {state}\n  seat      {}\n  tool      {} ({})\n  touches   {}\n  why       {}\n  arguments {}\n{}\n",
        row.approval,
        asked.seat,
        short(&asked.tool),
        short(&asked.effect),
        short(asked.resource.text()),
        short(asked.reason.text()),
        asked.content,
        lines.join("\n"),
    )
}

async fn count(record: &Record) -> Result<ExitCode> {
    let rows = record.ranked(Answers.name(), i64::MIN, DAYS_MAX).await?;
    let cells = rows.iter().filter_map(|(key, row)| {
        let (by, day) = key.rsplit_once('|')?;
        let day = event::Timestamp(day.parse::<i64>().ok()?.checked_mul(86_400_000)?).to_string();
        let answers: AnswersRow = decode(Some(row))?;
        let date = day.get(..10).unwrap_or_default().to_owned();
        Some(vec![date, by.to_owned(), answers.given.to_string(), answers.denied.to_string()])
    });
    let cells: Vec<Vec<String>> = cells.collect();
    if cells.is_empty() {
        println!("nobody has answered yet");
    } else {
        print!("{}", table(&["DAY", "PERSON", "YES", "NO"], &cells));
    }
    Ok(ExitCode::SUCCESS)
}
