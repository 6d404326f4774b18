//! `chancery refusal`: the standing noes, raised and lifted in the owner's name.
//!
//! What a refusal stops is the gate's; here is how a subject is written, and when a refusal lifts by itself.

use crate::config::Config;
use crate::owner::{Acting, print_stated};
use crate::seat::ActArgs;
use crate::seed::{first, fresh_event_id};
use crate::table::table;
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use event::{RefusalRaised, RefusalSubject, SeatId, StreamName, Timestamp, Topic};
use fold::purse::Budgets;
use fold::refusal::{Command, RefusalRow, Refusals, decide, key, refusal_id};
use fold::{Projection, decode, setting};
use record::{Clock, Record, RowKey, SystemClock};
use std::fmt;
use std::process::ExitCode;
use std::str::FromStr;

/// Refusals that are listed: with more standing at once, an office stands still anyway.
const LISTED_MAX: usize = 10_000;
/// Longest name of a tool, plugin or budget, in bytes: that of the longest id.
const NAME_BYTES_MAX: usize = event::id::ID_BYTES_MAX;
/// How a subject is written, for whoever wrote it otherwise.
const FORMS: &str = "`office`, `seat:seat_x`, `tool:web.fetch`, `plugin:web`, `budget:organisation-day`, \
    `workspace:T0123ABCD`, `topic:…`, `seat-topic:seat_x|topic`";
const MS_PER_DAY: i64 = 86_400_000;

/// Look at the standing refusals, raise and lift them.
#[derive(Debug, Subcommand)]
pub enum RefusalCommand {
    /// List what stands refused now, oldest first.
    List,
    /// Refuse a subject from now on: every call it concerns is met with the reason, until it is lifted.
    Raise(RaiseArgs),
    /// Lift what stands against a subject.
    Lift {
        /// `office`, `seat:seat_x`, `tool:web.fetch`, `plugin:web`, `budget:organisation-day`, `workspace:T…`,
        /// `topic:…` or `seat-topic:seat_x|topic`.
        subject: Subject,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
}

/// A refusal to raise.
#[derive(Debug, Args)]
pub struct RaiseArgs {
    /// `office`, `seat:seat_x`, `tool:web.fetch`, `plugin:web`, `budget:organisation-day`, `workspace:T…`,
    /// `topic:…` or `seat-topic:seat_x|topic`.
    pub subject: Subject,
    /// Why, for whoever meets it.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// When it lifts by itself, such as `2026-12-01T09:00:00Z`; without a moment, only `lift` lifts it.
    #[arg(long, value_name = "RFC 3339", value_parser = moment, conflicts_with = "lasts_ms")]
    pub until: Option<Timestamp>,
    /// How long it stands: `90s`, `30m`, `2h`, `7d`.
    #[arg(long = "for", value_name = "TIME", value_parser = span_ms)]
    pub lasts_ms: Option<i64>,
    /// Refuse what the record does not know, too: for what is yet to come.
    #[arg(long)]
    pub ahead: bool,
    /// In which seat.
    #[command(flatten)]
    pub act: ActArgs,
}

/// A subject as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject(pub RefusalSubject);

/// Text that names no subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSubject {
    text: String,
    why: Option<String>,
}

impl std::error::Error for NoSubject {}

impl fmt::Display for NoSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = self.why.as_ref().map_or_else(String::new, |why| format!("{why}; "));
        write!(f, "`{}` is no subject: {why}write one of {FORMS}", self.text.escape_debug())
    }
}

impl FromStr for Subject {
    type Err = NoSubject;

    fn from_str(text: &str) -> Result<Self, NoSubject> {
        let no = |why: Option<String>| NoSubject { text: text.to_owned(), why };
        let read = |why: event::IdError| no(Some(why.to_string()));
        let name = |name: &str| -> Result<String, NoSubject> {
            let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/' | b':');
            let fits = (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(plain);
            if fits { Ok(name.to_owned()) } else { Err(no(None)) }
        };
        let subject = match text.split_once(':') {
            None if text == "office" => RefusalSubject::Office,
            Some(("seat", seat)) => RefusalSubject::Seat(SeatId::parse(seat).map_err(read)?),
            Some(("tool", tool)) => RefusalSubject::Tool(name(tool)?),
            Some(("plugin", plugin)) => RefusalSubject::Plugin(name(plugin)?),
            Some(("budget", budget)) => RefusalSubject::Budget(name(budget)?),
            Some(("workspace", team)) => RefusalSubject::Workspace(name(team)?),
            Some(("topic", topic)) => RefusalSubject::Topic(Topic::parse(topic).map_err(read)?),
            Some(("seat-topic", both)) => {
                let (seat, topic) = both.split_once('|').ok_or_else(|| no(None))?;
                let seat = SeatId::parse(seat).map_err(read)?;
                RefusalSubject::SeatTopic { seat, topic: Topic::parse(topic).map_err(read)? }
            }
            _ => return Err(no(None)),
        };
        Ok(Self(subject))
    }
}

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: RefusalCommand) -> Result<ExitCode> {
    match command {
        RefusalCommand::List => {
            print!("{}", list(&config.record.open_read_only().await?, SystemClock.now()).await?);
        }
        RefusalCommand::Raise(args) => raise(config, args).await?,
        RefusalCommand::Lift { subject, reason, act } => lift(config, subject.0, reason, act).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What stands refused at `now`, a line each.
///
/// # Errors
/// When the record cannot be read.
pub async fn list(record: &Record, now: Timestamp) -> Result<String> {
    let rows = record.ranked(Refusals.name(), i64::MIN, LISTED_MAX).await?;
    let standing = rows.iter().filter_map(|(_, row)| decode::<RefusalRow>(Some(row)));
    let rows: Vec<Vec<String>> = standing
        .filter(|row| row.stands(now))
        .map(|row| {
            let until = row.raised.lifts_at.map_or_else(|| "lifted".to_owned(), |at| at.to_string());
            vec![row.raised.subject.to_string(), row.since.to_string(), until, row.raised.reason]
        })
        .collect();
    if rows.is_empty() {
        return Ok("nothing stands refused\n".to_owned());
    }
    Ok(table(&["SUBJECT", "SINCE", "UNTIL", "REASON"], &rows))
}

async fn raise(config: &Config, args: RaiseArgs) -> Result<()> {
    let subject = args.subject.0;
    let acting = Acting::open(config, args.act.as_seat).await?;
    if let Some(why) = unknown(config, &acting.record, &subject).await? {
        // A slip of the pen would stop nothing, and look as if it did.
        ensure!(args.ahead, "{why}; `--ahead` refuses `{subject}` all the same, for what is yet to come");
        eprintln!("note: {why}");
    }
    let refusal = refusal_id(&subject, fresh_event_id()?.as_str());
    let (reason, until, lasts_ms) = (args.reason, args.until, args.lasts_ms);
    let events = acting.state(reads(&subject), move |rows, now| {
        let lifts_at = until.or_else(|| lasts_ms.map(|ms| now.plus_ms(ms)));
        let stands: Option<RefusalRow> = rows.state(Refusals.name(), &key(&subject));
        let raised = RefusalRaised { refusal, subject: subject.clone(), reason, lifts_at };
        let fact = decide(stands.as_ref(), Command::Raise(raised), now)?;
        Ok(vec![(stream(&subject), fact)])
    });
    print_stated(&events.await?);
    Ok(())
}

async fn lift(config: &Config, subject: RefusalSubject, reason: String, act: ActArgs) -> Result<()> {
    let acting = Acting::open(config, act.as_seat).await?;
    let events = acting.state(reads(&subject), move |rows, now| {
        let stands: Option<RefusalRow> = rows.state(Refusals.name(), &key(&subject));
        let fact =
            decide(stands.as_ref(), Command::Lift { reason }, now).with_context(|| format!("`{subject}`"))?;
        Ok(vec![(stream(&subject), fact)])
    });
    print_stated(&events.await?);
    Ok(())
}

fn reads(subject: &RefusalSubject) -> Vec<RowKey> {
    vec![RowKey::new(Refusals.name(), key(subject))]
}

fn stream(subject: &RefusalSubject) -> StreamName {
    StreamName::new("refusal", subject)
}

/// What the record does not know of a subject. The refusal may still be meant: for what is yet to come.
async fn unknown(config: &Config, record: &Record, subject: &RefusalSubject) -> Result<Option<String>> {
    let (row, name) = match subject {
        RefusalSubject::Seat(seat) | RefusalSubject::SeatTopic { seat, .. } => {
            let known = first::stands(record, seat).await?.is_some();
            let note = format!("the record has no seat `{seat}`: `chancery seat list` shows those there are");
            return Ok((!known).then_some(note));
        }
        RefusalSubject::Plugin(name) => (setting::plugin(name), format!("plugin `{name}`")),
        RefusalSubject::Budget(name) => {
            let known = record.row(Budgets.name(), name).await?.is_some();
            return Ok((!known).then(|| format!("the record has no budget `{name}`")));
        }
        RefusalSubject::Workspace(team) => (
            setting::connection_in(converse::SOURCE_SLACK, team),
            format!("workspace `{team}` that the office is in"),
        ),
        RefusalSubject::Tool(tool) => return unknown_tool(config, record, tool).await,
        RefusalSubject::Office | RefusalSubject::Topic(_) => return Ok(None),
    };
    let known = record.row("setting", &row).await?.is_some();
    Ok((!known).then(|| format!("the record has no {name}")))
}

/// What is not known of a tool or model. Before the first start the record knows no plugin, and the configuration says
/// which there will be.
async fn unknown_tool(config: &Config, record: &Record, tool: &str) -> Result<Option<String>> {
    let family = tool.split(['.', '/']).next().unwrap_or_default();
    let installed = record.row("setting", &setting::plugin(family)).await?;
    let known = match decode::<event::PluginInstalled>(installed.as_ref()) {
        Some(installed) => installed.tools.iter().any(|offered| offered == tool),
        None => config.plugins.iter().any(|plugin| plugin.name == family),
    };
    let why = format!("no plugin here offers `{tool}`: `chancery plugin list` shows what each offers");
    Ok((!known).then_some(why))
}

/// A moment as RFC 3339 writes it.
///
/// # Errors
/// When it is none, or has no offset from UTC.
pub fn moment(text: &str) -> Result<Timestamp> {
    let wanted =
        || anyhow!("`{text}` is not a moment such as 2026-12-01T09:00:00Z or 2026-12-01T10:00:00+01:00");
    let read: toml::value::Datetime = text.parse().map_err(|_| wanted())?;
    let (Some(date), Some(time), Some(offset)) = (read.date, read.time, read.offset) else {
        return Err(wanted());
    };
    let offset_minutes = match offset {
        toml::value::Offset::Z => 0,
        toml::value::Offset::Custom { minutes } => i64::from(minutes),
    };
    let days = days_from_civil(i64::from(date.year), i64::from(date.month), i64::from(date.day));
    let midnight = Timestamp(days * MS_PER_DAY);
    if midnight.civil_utc() != (i64::from(date.year), u32::from(date.month), u32::from(date.day)) {
        return Err(wanted());
    }
    let seconds =
        i64::from(time.second.unwrap_or(0)) + 60 * i64::from(time.minute) + 3_600 * i64::from(time.hour);
    let ms = i64::from(time.nanosecond.unwrap_or(0)) / 1_000_000 + 1_000 * seconds;
    Ok(midnight.plus_ms(ms - 60_000 * offset_minutes))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar: the way back from [`Timestamp::civil_utc`].
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// A span of time, in milliseconds: a whole number and `s`, `m`, `h` or `d`.
///
/// # Errors
/// When it is none.
pub fn span_ms(text: &str) -> Result<i64> {
    let wanted = || anyhow!("`{text}` is no span of time: write a whole number and s, m, h or d, such as 2h");
    let unit = text.chars().next_back().ok_or_else(wanted)?;
    let unit_ms = match unit {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => MS_PER_DAY,
        _ => bail!(wanted()),
    };
    let number = text.strip_suffix(unit).unwrap_or_default();
    let count: i64 = number.parse().ok().filter(|count| *count > 0).ok_or_else(wanted)?;
    count.checked_mul(unit_ms).ok_or_else(wanted)
}

#[cfg(test)]
mod tests;
