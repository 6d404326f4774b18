//! The mode of a channel, as it is in force and as somebody wants it.
//!
//! Deliberately absent: who may set one, which the record says, as of any fact.

use super::Desk;
use crate::owner;
use anyhow::Result;
use event::{Actor, EventId, Expected, Label, Mode, ModeSet, PrincipalId, Proposed, SeatId, StreamName};
use fold::{decode, setting};
use record::Error;

/// The kind of fact that sets one.
pub(super) const KIND: &str = "mode.set";

/// The mode of `channel` (`T1:C1`).
///
/// # Errors
/// When the record cannot be read.
pub(super) async fn of(desk: &Desk, channel: &str) -> Result<Mode> {
    let set = desk.office.record.row("setting", &setting::mode(channel)).await?;
    let set: Option<ModeSet> = decode(set.as_ref());
    Ok(desk.office.manner.mode_of(channel, set.map(|set| set.mode)))
}

/// Sets it in the person's own name, in a seat of theirs that may: the record refuses whoever holds none. What is said
/// to them is why not.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn set(
    desk: &Desk,
    by: &PrincipalId,
    delivery: &EventId,
    set: ModeSet,
) -> Result<Result<(), String>> {
    let record = &desk.office.record;
    let seat =
        owner::seat_to_state(record, by, KIND).await?.map_or_else(|| SeatId::parse(owner::SEAT), Ok)?;
    let stream = StreamName::new("mode", &set.channel);
    let event = Proposed {
        id: EventId::derived(&[KIND, delivery.as_str()]),
        actor: Actor { principal: by.clone(), seat: Some(seat) },
        cause: Some(delivery.clone()),
        label: Label::host(),
        fact: set.into(),
    };
    match record.append(stream, Expected::Any, vec![event]).await {
        Ok(_) | Err(Error::IdTaken { .. }) => Ok(Ok(())),
        Err(Error::NoAuthority { .. }) => Ok(Err(
            "Only the owner of this office, or whoever holds a seat that may, sets how readily I speak: nothing has \
             changed."
                .to_owned(),
        )),
        Err(error) => Err(error.into()),
    }
}
