//! The command line: what an operator types, and what each word of it means.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// The office that an organisation of agents works in.
///
/// People talk to it in Slack or in a terminal. Whatever it does outside is done by a sandboxed WebAssembly
/// component, after one gate has asked policy and purse; whatever happened stands in one append-only record.
#[derive(Debug, Parser)]
#[command(name = "chancery", version, about, long_about, arg_required_else_help = true)]
#[command(after_long_help = "Start here:\n  \
    cargo xtask demo                 the whole office on a Slack emulator\n  \
    chancery doctor                  what is missing before `serve` can start\n  \
    chancery chat                    talk to the office in this terminal\n  \
    chancery record show --last 20   what happened\n\n\
    Every setting that is not in a list can be overridden: CHANCERY_LISTEN__ADDRESS=0.0.0.0:4900")]
pub struct Cli {
    /// The configuration file.
    #[arg(
        long,
        short,
        global = true,
        env = "CHANCERY_CONFIG",
        default_value = "chancery.toml",
        value_name = "FILE"
    )]
    pub config: PathBuf,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the office: take Slack's events, wake seats, run turns, until stopped.
    ///
    /// Prints `listening on http://…` when it is ready. Stops cleanly at Ctrl-C or SIGTERM; a turn that was
    /// running goes on at the next start.
    Serve {
        /// A drill: seats are woken, turns run and reads are made as ever, and every effect is captured on the
        /// record, whole, and never sent. Let no other host work on the same record meanwhile.
        #[arg(long)]
        drill: bool,
    },
    /// Talk to the same office in this terminal, without Slack.
    ///
    /// Type a line to address the office; `/help` says what else, such as `/approve`; `/quit` or end of input leaves once it has answered.
    Chat {
        /// Name of the session: what is said under one name is one conversation.
        #[arg(long, default_value = "main", value_name = "NAME")]
        session: String,
        /// A drill: what is asked here is answered with every effect captured, and nothing is sent anywhere. It is a
        /// conversation of its own, which knows nothing of what was said in the session.
        #[arg(long)]
        drill: bool,
    },
    /// Look into the record: everything that happened, in order.
    #[command(subcommand)]
    Record(RecordCommand),
    /// List turns, look into one, and ask what the gate would say to its calls today.
    #[command(subcommand)]
    Turn(crate::turn::TurnCommand),
    /// Look at the seats and change them, as the owner. Runs beside a server.
    #[command(subcommand)]
    Seat(crate::seat::SeatCommand),
    /// Look at the standing refusals, raise and lift them, as the owner. Runs beside a server.
    #[command(subcommand)]
    Refusal(crate::refusal::RefusalCommand),
    /// Look at what seats ask of one another, and answer, as the owner. Runs beside a server.
    #[command(subcommand)]
    Request(crate::request::RequestCommand),
    /// Look at the persons whose words are kept, and erase what one of them said. Runs beside a server.
    #[command(subcommand)]
    Subject(crate::subject::SubjectCommand),
    /// Look at the purse: budgets, holds, what a call cost; review an overrun, set a limit.
    #[command(subcommand)]
    Purse(crate::purse::PurseCommand),
    /// Look at effects: those nobody knows the outcome of, those of a turn; say what became of one.
    #[command(subcommand)]
    Effect(crate::effect::EffectCommand),
    /// Connect accounts at other services, list them, take them back, say what may be told of what they show.
    #[command(subcommand)]
    Account(crate::account::AccountCommand),
    /// Look at the calls that wait for a person's yes.
    #[command(subcommand)]
    Approval(crate::approval::ApprovalCommand),
    /// Say yes, as the owner, to a call that waits. It runs once, with exactly the arguments shown.
    Approve(crate::approval::ApproveArgs),
    /// Say no, as the owner, to a call that waits.
    Deny(crate::approval::DenyArgs),
    /// Make plugins, look at them, install and grant them, take back what they were granted. Runs beside a server.
    #[command(subcommand)]
    Plugin(crate::plugin::PluginCommand),
    /// Look at the policies, change them, and ask why a call was decided as it was.
    #[command(subcommand)]
    Policy(crate::policy::PolicyCommand),
    /// Ask why the office spoke or did not, what it would do in another mode, and set the mode of a channel.
    #[command(subcommand)]
    Converse(crate::speak::ConverseCommand),
    /// The Slack app of this office: its manifest, and what is missing at Slack.
    #[command(subcommand)]
    Slack(crate::slack::SlackCommand),
    /// Say what is missing or risky before `serve` is started; exits 1 when it would not start.
    Doctor,
    /// Compile the component on standard input to standard output, within bounds. The host calls this itself.
    #[command(name = component::COMPILE, hide = true)]
    Compile {
        /// Memory that it may write, in bytes.
        #[arg(long)]
        memory_bytes: u64,
        /// Processor time, in seconds.
        #[arg(long)]
        cpu_s: u64,
    },
}

/// Look into the record.
#[derive(Debug, Subcommand)]
pub enum RecordCommand {
    /// Print events, one a line.
    Show(ShowArgs),
    /// Walk the whole record and name the first event that was changed, lost or put in.
    ///
    /// Without a head kept elsewhere it can say that the record is consistent, not that its end was not cut
    /// off: note the head it prints, and give it to the next run, or compare with a clone of the journal.
    Verify {
        /// A head that was noted before: `POSITION:CHAIN`.
        #[arg(long, value_name = "HEAD", conflicts_with = "journal")]
        head: Option<String>,
        /// The folder of a journal, best a fresh clone of its remote: each event is compared with its line.
        #[arg(long, value_name = "DIR")]
        journal: Option<PathBuf>,
    },
    /// Write the journal: every event as one line of canonical JSON, in files that anything can read.
    ///
    /// Goes on where an earlier run or `serve` stopped. Refuses a folder that holds the journal of another
    /// history. Runs beside a server, unless that server keeps its journal in the same folder.
    Export {
        /// The journal's folder; it is made when it is not there.
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
    },
    /// Make a record from a journal: the same events with their places, times and chain, and their rows.
    ///
    /// Every line is checked. It is all or nothing: after an error the new record is empty.
    Restore {
        /// The journal's folder.
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
        /// A new SQLite file. Without it the record that the configuration names, on SQLite or PostgreSQL; one that
        /// holds events already is refused.
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// Throw all rows away and fold them again from the events.
    ///
    /// It is one transaction: whoever reads sees the old rows or the new ones, and whoever appends waits.
    Rebuild,
}

/// Which events to print, and how.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Only events after this global position.
    #[arg(long, default_value_t = 0, value_name = "POSITION")]
    pub after: u64,
    /// Only the last so many events.
    #[arg(long, value_name = "COUNT", conflicts_with = "after")]
    pub last: Option<u64>,
    /// Only events of this stream, such as `turn-turn_…`.
    #[arg(long, value_name = "STREAM")]
    pub stream: Option<String>,
    /// Whole events, one canonical JSON object a line.
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
