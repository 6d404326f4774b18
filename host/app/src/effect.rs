//! `chancery effect`: what was sent, what is not known, and the word of a person who has looked.
//!
//! Nothing is decided here: whose word counts is asked of the policies by the gate, and nothing is sent again.

use crate::config::Config;
use crate::look::open;
use crate::show::{printable_json, short, summary};
use crate::table::table;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use event::{EffectId, EffectStated, Event, Fact, Position, ReadBack, TurnId};
use fold::effect::{EffectRow, EffectState, Effects, TurnEffects, stream};
use fold::turn::Turns;
use fold::{Projection, decode};
use record::Record;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Effects of one list: more would be no list to read.
const LISTED_MAX: usize = 1_000;
/// Events of one call that are looked through.
const STORY_EVENTS_MAX: usize = 1_000;

/// Look at effects, and say what became of one.
#[derive(Debug, Subcommand)]
pub enum EffectCommand {
    /// List the effects whose outcome is not known yet; with --turn all of one turn.
    List {
        /// Every effect of this turn, in the order in which they were meant.
        #[arg(long, value_name = "TURN", value_parser = TurnId::parse)]
        turn: Option<TurnId>,
    },
    /// Show one effect whole: what was to be sent, and everything that is known about it.
    Show {
        /// The effect, `effect_…`.
        #[arg(value_parser = EffectId::parse)]
        effect: EffectId,
    },
    /// Say, as the owner, whether an unknown effect happened. Look first: your word is the last.
    Settle(SettleArgs),
}

/// What somebody saw.
#[derive(Debug, Args)]
pub struct SettleArgs {
    /// The effect, `effect_…`.
    #[arg(value_parser = EffectId::parse)]
    pub effect: EffectId,
    /// It is there.
    #[arg(long, required_unless_present = "did_not_happen")]
    pub happened: bool,
    /// It is not there, and will not come any more.
    #[arg(long, conflicts_with = "happened")]
    pub did_not_happen: bool,
    /// What you saw, and where you looked.
    #[arg(long, value_name = "TEXT")]
    pub saw: String,
}

/// Does what the command says.
///
/// # Errors
/// Why not, and what to do next.
pub async fn run(config: &Config, command: EffectCommand) -> Result<ExitCode> {
    match command {
        EffectCommand::List { turn } => print!("{}", list(&open(config).await?, turn.as_ref()).await?),
        EffectCommand::Show { effect } => print!("{}", show(&open(config).await?, &effect).await?),
        EffectCommand::Settle(args) => {
            let owner = config.owner()?;
            let (gate, _) = crate::approval::gate(config).await?;
            let stated = gate.state_effect(&args.effect, &owner, args.happened, &args.saw).await?;
            crate::owner::print_stated(&stated);
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn row(record: &Record, effect: &EffectId) -> Result<Option<EffectRow>> {
    Ok(decode(record.row(Effects.name(), effect.as_str()).await?.as_ref()))
}

async fn list(record: &Record, turn: Option<&TurnId>) -> Result<String> {
    let mut rows: Vec<(String, EffectRow)> = Vec::new();
    match turn {
        Some(turn) => {
            let listed: Option<Vec<EffectId>> =
                decode(record.row(TurnEffects.name(), turn.as_str()).await?.as_ref());
            for effect in listed.unwrap_or_default() {
                rows.extend(row(record, &effect).await?.map(|row| (effect.to_string(), row)));
            }
        }
        None => {
            let open = record.ranked(Effects.name(), i64::MIN, LISTED_MAX).await?;
            rows.extend(open.into_iter().filter_map(|(id, row)| Some((id, decode(Some(&row))?))));
        }
    }
    if rows.is_empty() {
        return Ok(match turn {
            Some(turn) => {
                let opened = record.row(Turns.name(), turn.as_str()).await?;
                ensure!(
                    opened.is_some(),
                    "the record has no turn `{turn}`: `chancery turn list` shows those there are"
                );
                format!("`{turn}` meant no effect\n")
            }
            None => "what became of every effect is known\n".to_owned(),
        });
    }
    let cells = |(id, row): &(String, EffectRow)| {
        vec![id.clone(), word(row.state).to_owned(), short(&row.tool), row.intended_at.to_string(), next(row)]
    };
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let mut text = table(&["EFFECT", "STATE", "TOOL", "MEANT", "NEXT"], &cells);
    if rows.iter().any(|(_, row)| waits_for_a_person(row)) {
        text.push_str(
            "\nsomebody has to look: chancery effect show <effect>, then chancery effect settle <effect> \
             --happened or --did-not-happen, with --saw\n",
        );
    }
    Ok(text)
}

/// The state in one word.
fn word(state: EffectState) -> &'static str {
    match state {
        EffectState::Intended => "intended",
        EffectState::Sent => "sent",
        EffectState::Failed => "failed",
        EffectState::Unknown => "unknown",
        EffectState::Captured => "captured",
    }
}

fn waits_for_a_person(row: &EffectRow) -> bool {
    row.state == EffectState::Unknown
        && row.recalling.as_ref().is_none_or(|recalling| recalling.next_at.is_none())
}

/// What happens next with it.
fn next(row: &EffectRow) -> String {
    match (row.state, &row.recalling) {
        (EffectState::Intended, _) => "under way, or its host is gone".to_owned(),
        (EffectState::Unknown, Some(recalling)) => match recalling.next_at {
            Some(at) => format!("read back at {at} (try {})", recalling.tries.saturating_add(1)),
            None => "a person has to look".to_owned(),
        },
        (EffectState::Unknown, None) => "a person has to look".to_owned(),
        (EffectState::Sent, _) => {
            let reference = row.reference.as_ref().filter(|reference| !reference.is_null());
            reference.map_or_else(String::new, |reference| short(&reference.to_string()))
        }
        (EffectState::Failed, _) => row.reason.as_deref().map_or_else(String::new, short),
        (EffectState::Captured, _) => "a drill: nothing was sent".to_owned(),
    }
}

async fn show(record: &Record, effect: &EffectId) -> Result<String> {
    let row = row(record, effect).await?.with_context(|| {
        format!("the record has no effect `{effect}`: `chancery effect list` shows what is not known")
    })?;
    let events = record.read_stream(&stream(&row.origin), Position(1), STORY_EVENTS_MAX).await?;
    let about = |event: &&Event| fold::effect::effect_of(&event.fact) == Some(effect);
    let meant = events.iter().rev().filter(about).find_map(|event| match &event.fact {
        Fact::EffectIntended(body) => Some(body.input.value().cloned()),
        Fact::EffectCaptured(body) => Some(body.input.value().cloned()),
        _ => None,
    });
    let Some(input) = meant else { bail!("the record does not hold what `{effect}` was to send") };
    let input = input.map_or_else(
        || event::personal::ERASED.to_owned(),
        |input| serde_json::to_string_pretty(&input).unwrap_or_default(),
    );
    // A pretty-printed JSON text has line ends of its own making only.
    let input: Vec<String> = input.lines().map(|line| format!("    {}", printable_json(line))).collect();
    let mut text = format!("{effect}  {}\n", word(row.state));
    let seat = row.seat.as_ref().map_or("nobody known", event::SeatId::as_str);
    let _ = writeln!(text, "  tool    {}\n  seat    {seat}\n  call    {}", short(&row.tool), row.origin);
    let next = next(&row);
    if !next.is_empty() {
        let _ = writeln!(text, "  next    {next}");
    }
    let _ = writeln!(text, "  what\n{}\n", input.join("\n"));
    for event in events.iter().filter(about) {
        let _ = writeln!(text, "  {}  {:<20} {}", event.at, event.fact.kind(), summary(&event.fact));
    }
    if waits_for_a_person(&row) {
        let _ = writeln!(
            text,
            "\n  look where it goes, then: chancery effect settle {effect} --happened (or --did-not-happen) \
             --saw \"what you saw\""
        );
    }
    Ok(text)
}

/// What reading back, or a person, says of an effect, in one line.
pub(crate) fn told(fact: &Fact) -> String {
    match fact {
        Fact::EffectRecalled(body) => {
            let said = match &body.said {
                ReadBack::Found { reference } => format!("it is there: {}", short(&reference.to_string())),
                ReadBack::Absent => "it is not there".to_owned(),
                ReadBack::CannotSay => format!("that cannot be told: {}", short(body.reason.text())),
            };
            let again = body.again_at.map_or_else(String::new, |at| format!("; again at {at}"));
            format!("{said}{again}")
        }
        Fact::EffectStated(EffectStated { happened, by, seat, saw, .. }) => {
            let said = if *happened { "it happened" } else { "it did not happen" };
            format!("{by} as {seat} says {said}: {}", short(saw.text()))
        }
        other => other.kind().to_owned(),
    }
}
