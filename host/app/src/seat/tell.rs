//! Seats as people read them, and the commands that would make them so.

use crate::seed::first::stands;
use crate::show::short;
use crate::table::table;
use anyhow::{Result, bail};
use event::{PrincipalId, SeatCreated, SeatId, Timestamp};
use fold::authority::LINE_SEATS_MAX;
use fold::request::{RequestRow, Requests};
use fold::seat::{SEATS_MAX, SeatState, Seats};
use fold::signal::SignalRow;
use fold::{Projection, decode};
use record::{Clock, Record, SystemClock};
use std::fmt::Write as _;

/// Open requests that are looked through for those of one seat: an office with more has other worries than this list.
const REQUESTS_MAX: usize = 10_000;
/// Lines that are shown of each kind of thing that waits for a seat: what fits on a screen.
const SHOWN_MAX: usize = 20;

/// Every seat, a line each.
///
/// # Errors
/// When the record cannot be read.
pub async fn list(record: &Record) -> Result<String> {
    let waiting = attention::waiting(record).await?;
    let now = SystemClock.now();
    let mut rows = Vec::new();
    for state in seats(record).await? {
        let seat = &state.seat;
        let holder = match &state.holder {
            Some(holder) => holder.to_string(),
            None => format!("vacant: {}", works_for(attention::works(record, &seat.seat).await?.as_ref())),
        };
        let waits = waiting.iter().filter(|row| row.seat == seat.seat);
        let waits: Vec<f64> = waits.map(|row| attention::pressure(row, now, false, None)).collect();
        let heaviest = waits.iter().copied().fold(0.0, f64::max);
        let waits = match waits.len() {
            0 => "nothing".to_owned(),
            1 => format!("1 topic, weight {heaviest:.1}"),
            count => format!("{count} topics, heaviest {heaviest:.1}"),
        };
        let line = seat.line.as_ref().map_or_else(String::new, ToString::to_string);
        rows.push(vec![seat.seat.to_string(), seat.role.clone(), holder, line, waits]);
    }
    if rows.is_empty() {
        return Ok(
            "the record has no seat yet: `chancery serve` makes those of the configuration\n".to_owned()
        );
    }
    Ok(table(&["SEAT", "ROLE", "HOLDER", "REPORTS TO", "WAITING"], &rows))
}

async fn seats(record: &Record) -> Result<Vec<SeatState>> {
    let rows = record.ranked(Seats.name(), i64::MIN, SEATS_MAX).await?;
    Ok(rows.iter().filter_map(|(_, row)| decode(Some(row))).collect())
}

/// Seats whose work nobody does, each with the number of topics that wait there.
///
/// # Errors
/// When the record cannot be read.
pub async fn waits_for_nobody(record: &Record) -> Result<Vec<(SeatId, usize)>> {
    let waiting = attention::waiting(record).await?;
    let mut found = Vec::new();
    for SeatState { seat, holder } in seats(record).await? {
        if holder.is_none() && attention::works(record, &seat.seat).await?.is_none() {
            let waits = waiting.iter().filter(|row| row.seat == seat.seat).count();
            found.push((seat.seat, waits));
        }
    }
    Ok(found)
}

/// Who does the work of a vacant seat, in words.
pub(super) fn works_for(works: Option<&SeatState>) -> String {
    match works {
        None => "nobody works for it; what reaches it waits for a holder".to_owned(),
        Some(state) if state.takes_turns() => format!("{} works for it", state.seat.seat),
        Some(state) => {
            let holder = state.holder.as_ref().map_or_else(String::new, ToString::to_string);
            format!("{} works for it, and its work waits for {holder}", state.seat.seat)
        }
    }
}

/// One seat, with what waits for it.
///
/// # Errors
/// When there is none of that name, or the record cannot be read.
pub(super) async fn show(record: &Record, id: &SeatId) -> Result<String> {
    let Some(state) = stands(record, id).await? else {
        bail!("there is no seat `{id}`: `chancery seat list` shows those there are");
    };
    let seat = &state.seat;
    let mut text = format!("{id}  {}\n", short(&seat.role));
    let mut line = |name: &str, said: &str| {
        let _ = writeln!(text, "  {name:<12} {said}");
    };
    line("holder", &holder(record, &state).await?);
    if let Some(department) = &seat.department {
        line("department", &short(department));
    }
    line("reports to", &line_of(record, seat).await?);
    if let Some(stands_in) = &seat.stands_in {
        line("stand-in", stands_in.as_str());
    }
    line("grants", &or_none(seat.grants.iter().map(|grant| short(grant)).collect::<Vec<_>>().join(", ")));
    for one in &seat.accountabilities {
        line("answers for", &short(one));
    }
    let waiting: Vec<SignalRow> =
        attention::waiting(record).await?.into_iter().filter(|row| row.seat == *id).collect();
    let now = SystemClock.now();
    let told = waiting.iter().map(|row| {
        let weight = attention::pressure(row, now, false, None);
        format!("{}: {} since {}, weight {weight:.1}", row.topic, row.count, row.first_at)
    });
    shown(&mut text, "waiting", told);
    shown(&mut text, "request", requests(record, id).await?.iter().map(|row| request(row, now)));
    let turns = attention::open_turns(record).await?;
    let turns = turns.iter().filter(|turn| turn.seat == *id);
    shown(&mut text, "open turn", turns.map(|turn| format!("{} about {}", turn.turn, turn.topic)));
    Ok(text)
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}

fn shown(text: &mut String, name: &str, lines: impl Iterator<Item = String>) {
    let mut left = 0_usize;
    for (at, said) in lines.enumerate() {
        if at < SHOWN_MAX {
            let _ = writeln!(text, "  {name:<12} {said}");
        } else {
            left += 1;
        }
    }
    if left > 0 {
        let _ = writeln!(text, "  {name:<12} and {left} more");
    }
}

async fn holder(record: &Record, state: &SeatState) -> Result<String> {
    Ok(match &state.holder {
        Some(holder) if state.takes_turns() => holder.to_string(),
        Some(holder) => format!("{holder}, whom its work waits for"),
        None => format!("nobody: {}", works_for(attention::works(record, &state.seat.seat).await?.as_ref())),
    })
}

/// The seats above, nearest first.
async fn line_of(record: &Record, seat: &SeatCreated) -> Result<String> {
    let mut above = seat.line.clone();
    let mut line = Vec::new();
    while let Some(seat) = above.filter(|_| line.len() < LINE_SEATS_MAX) {
        let state = stands(record, &seat).await?;
        line.push(seat.to_string());
        above = state.and_then(|state| state.seat.line);
    }
    Ok(if line.is_empty() { "no seat".to_owned() } else { line.join(" > ") })
}

async fn requests(record: &Record, holder: &SeatId) -> Result<Vec<RequestRow>> {
    let rows = record.ranked(Requests.name(), i64::MIN, REQUESTS_MAX).await?;
    let rows = rows.iter().filter_map(|(_, row)| decode::<RequestRow>(Some(row)));
    Ok(rows.filter(|row| row.asked.holder == *holder).collect())
}

fn request(row: &RequestRow, now: Timestamp) -> String {
    let asked = &row.asked;
    let late = if asked.due_at <= now { " (late)" } else { "" };
    format!(
        "{} by {}{late}, for {}: {}",
        asked.request,
        asked.due_at,
        asked.asker,
        short(asked.wanted.text())
    )
}

/// `text` as a shell takes it for one word.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '/');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn option(command: &mut String, name: &str, value: &str) {
    let _ = write!(command, " --{name} {}", word(value));
}

/// The command that makes this seat.
#[must_use]
pub fn as_create(state: &SeatState) -> String {
    let seat = &state.seat;
    let mut command = format!("chancery seat create {}", seat.seat);
    option(&mut command, "role", &seat.role);
    for (name, value) in [
        ("department", seat.department.as_deref()),
        ("line", seat.line.as_ref().map(SeatId::as_str)),
        ("stands-in", seat.stands_in.as_ref().map(SeatId::as_str)),
        ("holder", state.holder.as_ref().map(PrincipalId::as_str)),
    ] {
        value.into_iter().for_each(|value| option(&mut command, name, value));
    }
    seat.grants.iter().for_each(|grant| option(&mut command, "grant", grant));
    seat.accountabilities.iter().for_each(|one| option(&mut command, "accountability", one));
    command
}

/// The command that makes `before` into `now`.
#[must_use]
pub fn as_change(before: &SeatCreated, now: &SeatCreated) -> String {
    let mut command = format!("chancery seat change {}", now.seat);
    if before.role != now.role {
        option(&mut command, "role", &now.role);
    }
    let texts = |seat: &SeatCreated| {
        let id = |one: &Option<SeatId>| one.as_ref().map(ToString::to_string);
        [
            ("department", seat.department.clone()),
            ("line", id(&seat.line)),
            ("stands-in", id(&seat.stands_in)),
        ]
    };
    for ((name, before), (_, now)) in texts(before).into_iter().zip(texts(now)) {
        match now {
            now if now == before => {}
            Some(value) => option(&mut command, name, &value),
            None => command.push_str(&format!(" --no-{name}")),
        }
    }
    for grant in before.grants.iter().filter(|grant| !now.grants.contains(grant)) {
        option(&mut command, "remove-grant", grant);
    }
    for grant in now.grants.iter().filter(|grant| !before.grants.contains(grant)) {
        option(&mut command, "add-grant", grant);
    }
    if before.accountabilities != now.accountabilities {
        now.accountabilities.iter().for_each(|one| option(&mut command, "accountability", one));
        if now.accountabilities.is_empty() {
            command.push_str(" --no-accountabilities");
        }
    }
    command + " --reason …"
}

/// The command that gives `seat` this holder.
#[must_use]
pub fn as_hold(seat: &SeatId, holder: Option<&PrincipalId>) -> String {
    match holder {
        Some(holder) => format!("chancery seat hold {seat} {holder}"),
        None => format!("chancery seat vacate {seat} --reason …"),
    }
}
