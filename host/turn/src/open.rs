//! Opening a turn for a wake.
//!
//! A wake names its turn ([`Wake::turn`]), so two hosts that race for one wake open one turn, and the same wake
//! never opens a second.

use crate::error::Error;
use attention::Wake;
use event::{
    Actor, EventId, Expected, Label, PrincipalId, Proposed, ReplyTo, StreamName, TurnId, TurnOpened,
};
use fold::Projection;
use fold::turn::{TurnRow, Turns};
use record::Record;

/// What a turn opens with.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// Which seat, about what, and who asked.
    pub wake: Wake,
    /// Where the answer goes; a turn without an address publishes nothing.
    pub reply_to: Option<ReplyTo>,
    /// The model it thinks with, such as `scripted/story`.
    pub model: String,
    /// The most steps it may take: [`crate::STEPS_MAX_DEFAULT`] unless the office says otherwise.
    pub steps_max: u32,
    /// How long it may work, in milliseconds: [`crate::WORK_MS_MAX_DEFAULT`] unless the office says otherwise; nothing
    /// where it is not limited.
    pub ms_max: Option<u64>,
    /// Whether its effects are captured and nothing of it is sent.
    pub drill: bool,
}

/// The stream on which a turn is told.
#[must_use]
pub fn turn_stream(turn: &TurnId) -> StreamName {
    StreamName::new("turn", turn)
}

/// Opens the turn, or finds it opened already: the row says which, and whether it has ended.
///
/// # Errors
/// What the record answers when it cannot take the event or give the row.
pub async fn open(record: &Record, opening: Opening) -> Result<TurnRow, Error> {
    let turn = opening.wake.turn();
    match record.append(turn_stream(&turn), Expected::NoStream, vec![opened(&turn, opening)]).await {
        // Another opened it first, perhaps with another model or address: theirs stands.
        Ok(_) | Err(record::Error::Conflict { .. } | record::Error::IdTaken { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let row = record.row(Turns.name(), turn.as_str()).await?;
    fold::decode(row.as_ref()).ok_or(Error::NoTurn(turn))
}

fn opened(turn: &TurnId, opening: Opening) -> Proposed {
    let Opening { wake, reply_to, model, steps_max, ms_max, drill } = opening;
    Proposed {
        id: EventId::derived(&[turn.as_str(), "turn.opened"]),
        actor: Actor { principal: PrincipalId::host(), seat: None },
        cause: Some(wake.asked_by.clone()),
        // It says where and who, and nothing of what was said.
        label: Label::host(),
        fact: TurnOpened {
            turn: turn.clone(),
            seat: wake.seat,
            topic: wake.topic,
            woken_by: wake.asked_by,
            reply_to,
            model,
            steps_max,
            ms_max,
            asked: wake.asked,
            drill,
        }
        .into(),
    }
}
