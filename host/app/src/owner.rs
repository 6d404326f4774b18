//! The owner: the person above the software, in whose name an operator's commands are stated.
//!
//! Whoever can run `chancery` on the machine with its configuration acts as that person, in `seat_owner` or, with
//! `--as`, in another seat that the person holds. The record checks each fact like anybody's: nothing here decides
//! who may do what, and every no is told in the words of the rule that said it, with what to do next.

use crate::config::Config;
use crate::seed::{append_of, first, fresh_event_id};
use crate::show;
use anyhow::{Error, Result, anyhow};
use event::{Actor, Event, Fact, PrincipalId, SeatCreated, SeatId, StreamName, Timestamp};
use fold::authority::{EVERY_FACT, NoAuthority, may_state_kind};
use fold::seat::{EVERY_TOOL, SeatState, Seats};
use fold::{Projection, decode};
use record::{Append, Decided, Record, RowKey, Rows, SystemClock};
use std::sync::Arc;

/// The owner's seat.
pub const SEAT: &str = fold::seat::OWNER;
/// The role of that seat.
pub const ROLE: &str = "owner";

/// The owner's seat: it may call every tool and state every fact that is the office's, and reports to nobody.
///
/// # Errors
/// None in practice.
pub fn seat() -> Result<SeatCreated> {
    Ok(SeatCreated {
        seat: SeatId::parse(SEAT)?,
        role: ROLE.to_owned(),
        department: None,
        line: None,
        grants: vec![EVERY_TOOL.to_owned(), EVERY_FACT.to_owned()],
        accountabilities: Vec::new(),
        stands_in: None,
    })
}

/// Seats looked through for one that a person holds: far above any office, and a bound on the work.
const SEATS_MAX: usize = 10_000;

/// The seat in which `person` may state facts of `kind`: the owner's where they hold it, else the first that has the
/// grant. The record asks again when one is stated.
///
/// # Errors
/// When the record cannot be read.
pub async fn seat_to_state(record: &Record, person: &PrincipalId, kind: &str) -> Result<Option<SeatId>> {
    let rows = record.ranked(Seats.name(), i64::MIN, SEATS_MAX).await?;
    let states = rows.iter().filter_map(|(_, row)| decode::<SeatState>(Some(row)));
    let may =
        states.filter(|state| state.holder.as_ref() == Some(person) && may_state_kind(&state.seat, kind));
    let mut seats: Vec<SeatId> = may.map(|state| state.seat.seat).collect();
    seats.sort_by_key(|seat| seat.as_str() != SEAT);
    Ok(seats.into_iter().next())
}

/// The record, opened by an operator who wants something stated.
pub struct Acting {
    /// The record. It may have a server beside it.
    pub record: Record,
    /// In whose name, and for which seat.
    pub actor: Actor,
}

impl Acting {
    /// Opens the record of `config`, with its first office, to act in the seat `as_seat`; in the owner's when it is
    /// nothing.
    ///
    /// # Errors
    /// When the record does not open, or the seats of the configuration could be no office.
    pub async fn open(config: &Config, as_seat: Option<SeatId>) -> Result<Self> {
        let principal = config.owner()?;
        let seat = as_seat.map_or_else(|| seat().map(|owner| owner.seat), Ok)?;
        let record = config.record.open(Arc::new(SystemClock)).await?;
        first::put_on_record(config, &record).await?;
        Ok(Self { record, actor: Actor { principal, seat: Some(seat) } })
    }

    /// Appends what `decide` makes of the rows named by `reads`, in one commit.
    ///
    /// # Errors
    /// Why it is not to be, in the words of whatever said so, and what to do next.
    pub async fn state(
        &self,
        reads: Vec<RowKey>,
        decide: impl FnOnce(&Rows, Timestamp) -> Result<Vec<(StreamName, Fact)>> + Send + 'static,
    ) -> Result<Vec<Event>> {
        self.state_as(self.actor.clone(), reads, decide).await
    }

    /// The same as somebody who states it for this actor.
    ///
    /// # Errors
    /// As [`Acting::state`].
    pub async fn state_as(
        &self,
        actor: Actor,
        reads: Vec<RowKey>,
        decide: impl FnOnce(&Rows, Timestamp) -> Result<Vec<(StreamName, Fact)>> + Send + 'static,
    ) -> Result<Vec<Event>> {
        let decided = self.record.decide(reads, move |rows, at| {
            let append = |(stream, fact)| Ok(append_of(fresh_event_id()?, actor.clone(), stream, fact));
            let appends: Result<Vec<Append>> = decide(rows, at)?.into_iter().map(append).collect();
            Ok::<_, Error>((appends?, ()))
        });
        match decided.await {
            Ok(Decided::Appended { events, .. }) => Ok(events),
            Ok(Decided::Rejected(why)) => Err(why),
            Err(record::Error::NoAuthority { source, .. }) => Err(told(&source, &self.actor.principal)),
            Err(error) => Err(error.into()),
        }
    }
}

/// A no of the record, and what to do next.
fn told(why: &NoAuthority, owner: &PrincipalId) -> Error {
    let next = match why {
        NoAuthority::NotHolder { seat, .. } => {
            format!("leave out `--as`, or let `{owner}` hold it first: chancery seat hold {seat} {owner}")
        }
        NoAuthority::NoGrant { seat, kind } => format!(
            "leave out `--as`, or grant it first: chancery seat change {seat} --add-grant record:{kind} --reason …"
        ),
        NoAuthority::Escalates { grant, .. } => {
            format!("take `{grant}` out, or act in a seat that holds it: without `--as` that is `{SEAT}`")
        }
        NoAuthority::OwnLine { .. } | NoAuthority::LongLine { .. } => {
            "name another `--line`: `chancery seat list` shows who reports to whom".to_owned()
        }
        NoAuthority::NotOnWhatStands { .. } => "look at `chancery policy diff`, and make it anew".to_owned(),
        NoAuthority::NoReason { .. } => "say why, with `--reason`".to_owned(),
        NoAuthority::BeyondOrganisation { .. } => {
            format!("leave them as they are, or act without `--as`, in `{SEAT}`")
        }
        NoAuthority::NotAsProposed { .. } => "apply it with `--corrective`".to_owned(),
        NoAuthority::GateAlone { .. }
        | NoAuthority::NoSeat { .. }
        | NoAuthority::AnotherSeat { .. }
        | NoAuthority::HostAlone { .. }
        | NoAuthority::NotThePerson { .. } => "no command may".to_owned(),
        NoAuthority::RevokedComponent { .. } => "use another version of the plugin".to_owned(),
    };
    anyhow!("{why}: {next}")
}

/// Prints what was stated, a line each.
pub fn print_stated(events: &[Event]) {
    for event in events {
        println!("{:<16} {}", event.fact.kind(), show::summary(&event.fact));
    }
}

#[cfg(test)]
mod tests {
    use super::told;
    use event::{PrincipalId, SeatId};
    use fold::authority::NoAuthority;

    #[test]
    fn a_no_says_what_to_do_next() {
        let owner = PrincipalId::parse("person_operator").unwrap();
        let seat = SeatId::parse("seat_a").unwrap();
        for (why, next) in [
            (
                NoAuthority::NotHolder { principal: owner.clone(), seat: seat.clone() },
                "chancery seat hold seat_a person_operator",
            ),
            (NoAuthority::NoGrant { seat: seat.clone(), kind: "seat.held" }, "--add-grant record:seat.held"),
            (NoAuthority::Escalates { seat: seat.clone(), grant: "mail.*".into() }, "take `mail.*` out"),
            (NoAuthority::LongLine { seat }, "name another `--line`"),
        ] {
            let said = told(&why, &owner).to_string();
            assert!(said.starts_with(&why.to_string()) && said.contains(next), "{said}");
        }
    }
}
