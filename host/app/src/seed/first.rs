//! The first office: who stands above it, at every start; its seats, once.
//!
//! The seats of the configuration go on the record only where there is no seat yet. Later the record is what counts:
//! where the file differs, a start says so and names the command that would change the record, and changes nothing.
//! The one exception is the owner: whom the configuration names holds `seat_owner` at every start, because accounts
//! and owners are the operator's.

use super::{append_of, fresh_event_id, host};
use crate::config::{Config, SeatConfig};
use crate::owner;
use anyhow::{Context, Error, Result, bail};
use event::{Fact, PrincipalId, SeatCreated, SeatHeld, SeatId, StreamName};
use fold::seat::{Command, SeatState, Seats, decide, line_order, works};
use fold::setting::{self, Settings};
use fold::{Projection, decode};
use record::{Append, Decided, Record, RowKey, Rows};
use std::convert::Infallible;

/// Reason of the facts that put the owner back into place.
const OWNERS_REASON: &str = "the configuration says who the owner is";

/// The stream on which a seat is told.
#[must_use]
pub fn stream(seat: &SeatId) -> StreamName {
    StreamName::new("seat", seat)
}

/// The seats of the configuration, each after the one it reports to.
///
/// # Errors
/// The first seat that could not be one, or the circle in which some report to one another.
pub fn seats(config: &Config) -> Result<Vec<SeatState>> {
    let states = config.seats.iter().map(seat).collect::<Result<Vec<SeatState>>>()?;
    let owner = owner::seat()?.seat;
    if states.iter().any(|state| state.seat.seat == owner) {
        bail!("`{owner}` is the owner's seat and no [[seat]]: `[office] owner` says who holds it");
    }
    for state in &states {
        decide(None, Command::Create(state.seat.clone())).with_context(|| named(&state.seat.seat))?;
    }
    let created = states.iter().map(|state| state.seat.clone()).collect();
    let order = line_order(created, |seat| *seat == owner).context("the seats of the configuration")?;
    let holder = |seat: &SeatId| states.iter().find(|one| one.seat.seat == *seat)?.holder.clone();
    Ok(order.into_iter().map(|seat| SeatState { holder: holder(&seat.seat), seat }).collect())
}

fn named(seat: &impl std::fmt::Display) -> String {
    format!("[[seat]] `{seat}`")
}

fn seat(config: &SeatConfig) -> Result<SeatState> {
    let id = |text: &String| SeatId::parse(text).with_context(|| named(&config.name));
    let holder = config.holder.as_ref().map(|holder| PrincipalId::parse(holder));
    let seat = SeatCreated {
        seat: id(&config.name)?,
        role: config.role.clone(),
        department: config.department.clone(),
        line: config.line.as_ref().map(id).transpose()?,
        grants: config.grants.clone(),
        accountabilities: config.accountabilities.clone(),
        stands_in: config.stands_in.as_ref().map(id).transpose()?,
    };
    Ok(SeatState { seat, holder: holder.transpose().with_context(|| named(&config.name))? })
}

/// Whether these seats could be an office: somebody answers people in it.
fn answers_people(seats: &[SeatState], front_desk: &SeatId) -> Result<()> {
    if !seats.iter().any(|state| state.seat.seat == *front_desk) {
        bail!("`office.front_desk` is `{front_desk}`, and no [[seat]] has that name");
    }
    let look =
        |seat: &SeatId| Ok::<_, Infallible>(seats.iter().find(|state| state.seat.seat == *seat).cloned());
    match works(front_desk, look) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => bail!(
            "nobody holds `{front_desk}`, the seat that answers people, and nobody works for it: give it a `holder`, \
             such as \"agent_chancery\""
        ),
        Err(never) => match never {},
    }
}

/// What putting the office on the record came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// How many facts were appended.
    pub facts: usize,
    /// Where the file differs from the record, which stands: a line each, with the command that would change it.
    pub differences: Vec<String>,
}

/// Puts the owner into its seat and, on a record that has no seat yet, the seats of the configuration, in one commit.
///
/// # Errors
/// What is wrong with the seats, or that the record cannot be used.
pub async fn put_on_record(config: &Config, record: &Record) -> Result<Opened> {
    let (seats, holder) = (seats(config)?, config.owner()?);
    let front_desk = SeatId::parse(&config.office.front_desk).context("`office.front_desk`")?;
    let owner = SeatState { seat: owner::seat()?, holder: Some(holder) };
    let named: Vec<SeatId> = seats.iter().chain([&owner]).map(|state| state.seat.seat.clone()).collect();
    let reads = named.iter().flat_map(rows_of).collect();
    let decided = record
        .decide(reads, move |rows, _| {
            let is_first = named.iter().all(|seat| standing(rows, seat).is_none());
            let mut facts = owners(standing(rows, &owner.seat.seat).as_ref(), &owner);
            let mut differences = Vec::new();
            if is_first {
                if !seats.is_empty() {
                    answers_people(&seats, &front_desk)?;
                }
                facts.extend(seats.iter().flat_map(made));
            } else {
                let standing = |state: &SeatState| standing(rows, &state.seat.seat);
                differences =
                    seats.iter().flat_map(|file| differing(file, standing(file).as_ref())).collect();
            }
            let opened = Opened { facts: facts.len(), differences };
            let appends = facts.into_iter().map(appended).collect::<Result<Vec<Append>>>()?;
            Ok::<_, Error>((appends, opened))
        })
        .await
        .context("the seats could not be put on the record")?;
    match decided {
        Decided::Appended { value, .. } => Ok(value),
        Decided::Rejected(why) => Err(why),
    }
}

fn appended(fact: Fact) -> Result<Append> {
    let stream = match &fact {
        Fact::SeatCreated(body) => stream(&body.seat),
        Fact::SeatChanged(body) => stream(&body.now.seat),
        Fact::SeatHeld(body) => stream(&body.seat),
        other => bail!("`{}` is no fact of a first office", other.kind()),
    };
    Ok(append_of(fresh_event_id()?, host(), stream, fact))
}

/// The rows that say what a seat is and who holds it.
pub(crate) fn rows_of(seat: &SeatId) -> [RowKey; 2] {
    [setting::seat(seat), setting::holder(seat)].map(|key| RowKey::new(Settings.name(), key))
}

/// A seat as those rows say it.
pub(crate) fn standing(rows: &Rows, seat: &SeatId) -> Option<SeatState> {
    let held: Option<SeatHeld> = rows.state(Settings.name(), &setting::holder(seat));
    let seat = rows.state(Settings.name(), &setting::seat(seat))?;
    Some(SeatState { seat, holder: held.map(|held| held.principal) })
}

/// A seat as the record has it now.
pub(crate) async fn stands(record: &Record, seat: &SeatId) -> Result<Option<SeatState>> {
    let row = record.row(Settings.name(), &setting::seat(seat)).await?;
    let held: Option<SeatHeld> = decode(record.row(Settings.name(), &setting::holder(seat)).await?.as_ref());
    Ok(decode(row.as_ref()).map(|seat| SeatState { seat, holder: held.map(|held| held.principal) }))
}

/// What makes a seat that is not there.
fn made(state: &SeatState) -> Vec<Fact> {
    let created = Some(Fact::from(state.seat.clone()));
    let held = |principal| SeatHeld { seat: state.seat.seat.clone(), principal };
    created.into_iter().chain(state.holder.clone().map(held).map(Fact::from)).collect()
}

/// What puts the owner into its seat, and gives the seat what an owner has.
fn owners(standing: Option<&SeatState>, owner: &SeatState) -> Vec<Fact> {
    let Some(standing) = standing else { return made(owner) };
    let whole = Command::Change(owner.seat.clone(), OWNERS_REASON.to_owned());
    let held = owner.holder.clone().map(Command::Hold);
    // The only no that can come is that it is so already.
    std::iter::once(whole).chain(held).filter_map(|command| decide(Some(standing), command).ok()).collect()
}

/// Where the file differs from what stands.
fn differing(file: &SeatState, standing: Option<&SeatState>) -> Vec<String> {
    let name = &file.seat.seat;
    let line = |what: &str, command: String| {
        format!(
            "{} of the configuration {what} on the record, which stands; to change the record: {command}",
            named(name)
        )
    };
    let Some(standing) = standing else {
        return vec![line("is not", crate::seat::as_create(file))];
    };
    let mut lines = Vec::new();
    if in_order(&file.seat) != in_order(&standing.seat) {
        lines.push(line("is another", crate::seat::as_change(&standing.seat, &file.seat)));
    }
    if file.holder != standing.holder {
        lines.push(line("has another holder", crate::seat::as_hold(name, file.holder.as_ref())));
    }
    lines
}

/// The seat with its grants in order: in which they were given says nothing.
fn in_order(seat: &SeatCreated) -> SeatCreated {
    let mut seat = seat.clone();
    seat.grants.sort();
    seat
}

/// Whether the first office was put on the record.
///
/// # Errors
/// When the record cannot be read.
pub async fn is_open(record: &Record) -> Result<bool> {
    Ok(stands(record, &owner::seat()?.seat).await?.is_some())
}

/// Where the configuration differs from a record that can be read.
///
/// # Errors
/// What is wrong with the seats, or that the record cannot be read.
pub async fn differences(config: &Config, record: &Record) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    if !is_open(record).await? {
        return Ok(differences);
    }
    for file in seats(config)? {
        differences.extend(differing(&file, stands(record, &file.seat.seat).await?.as_ref()));
    }
    Ok(differences)
}

/// That the seat that answers people is there, and who does its work: nobody when it is vacant and none works for it.
///
/// # Errors
/// When the record has no such seat.
pub async fn front_desk(config: &Config, record: &Record) -> Result<Option<SeatState>> {
    let seat = SeatId::parse(&config.office.front_desk).context("`office.front_desk`")?;
    if stands(record, &seat).await?.is_none() {
        bail!(
            "`office.front_desk` is `{seat}`, and the record has no such seat: {}, or name one that `chancery seat list` \
             shows",
            crate::seat::as_create(&SeatState { seat: assistant(seat.clone()), holder: None })
        );
    }
    if record.row(Seats.name(), seat.as_str()).await?.is_none() {
        bail!("the rows of the record are those of an earlier version: run `chancery record rebuild`");
    }
    Ok(attention::works(record, &seat).await?)
}

fn assistant(seat: SeatId) -> SeatCreated {
    let (grants, accountabilities) = (Vec::new(), Vec::new());
    let role = "assistant".to_owned();
    SeatCreated { seat, role, department: None, line: None, grants, accountabilities, stands_in: None }
}

#[cfg(test)]
mod tests;
