//! `chancery purse`: the budgets as they stand, what became of a hold, and what only a person may do: look at an
//! overrun, set a limit.
//!
//! What fits and what a call costs is decided in `fold`, and who may say so where the record takes the fact.

mod budgets;
mod explain;
mod prices;
mod review;
mod show;

pub use budgets::{left_out, put};
pub use explain::explain;
pub use prices::read as prices;
pub use show::{brief, cost_of_turn, show};

use crate::config::Config;
use crate::seat::ActArgs;
use anyhow::Result;
use clap::{Args, Subcommand};
use event::HoldId;
use record::{Clock, SystemClock};
use std::process::ExitCode;

/// Look at the purse, and do what only a person may.
#[derive(Debug, Subcommand)]
pub enum PurseCommand {
    /// Show every budget as it stands now, and every hold that is open.
    Show,
    /// Say what was held for one call and why, and what became of it.
    Explain {
        /// The hold, `hold_…`.
        #[arg(value_parser = HoldId::parse)]
        hold: HoldId,
    },
    /// Say that somebody has looked at a call which cost more than was held: its budgets are open again.
    Review {
        /// The hold, `hold_…`.
        #[arg(value_parser = HoldId::parse)]
        hold: HoldId,
        /// What came of looking.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// Set the limit of a budget, or give somebody a first one.
    Budget(BudgetArgs),
}

/// A limit to set.
#[derive(Debug, Args)]
pub struct BudgetArgs {
    /// A budget that there is, such as `organisation-day`; or, with --period, whom a first one is for:
    /// `organisation`, `seat:…`, `channel:slack:T…:C…`, `person:person_…` or `goal:…`.
    pub budget: String,
    /// The limit in dollars, such as 5.00; 0 means zero.
    #[arg(long, value_name = "DOLLARS")]
    pub limit: String,
    /// `day`, `month` or, for a goal, `lifetime`.
    #[arg(long, value_name = "PERIOD", value_parser = period)]
    pub period: Option<event::Period>,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// In which seat.
    #[command(flatten)]
    pub act: ActArgs,
}

fn period(text: &str) -> Result<event::Period> {
    match text {
        "day" => Ok(event::Period::Day),
        "month" => Ok(event::Period::Month),
        "lifetime" => Ok(event::Period::Lifetime),
        other => anyhow::bail!("`{}` is no period: write day, month or lifetime", other.escape_debug()),
    }
}

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: PurseCommand) -> Result<ExitCode> {
    match command {
        PurseCommand::Show => {
            print!("{}", show(&config.record.open_read_only().await?, SystemClock.now()).await?);
        }
        PurseCommand::Explain { hold } => {
            print!("{}", explain(&config.record.open_read_only().await?, &hold).await?);
        }
        PurseCommand::Review { hold, reason, act } => review::review(config, hold, reason, act).await?,
        PurseCommand::Budget(args) => budgets::set(config, args).await?,
    }
    Ok(ExitCode::SUCCESS)
}
