//! What a turn finds when it begins or is taken up again: its seat, the seat's holder, and what was said.

use crate::error::Error;
use crate::talk::Talk;
use event::{Actor, Event, GlobalPosition, SeatCreated, SeatHeld, TurnOpened};
use fold::message::{TopicRow, Topics};
use fold::setting::{self, Settings};
use fold::turn::TurnState;
use fold::{Projection, decode};
use record::Record;
use serde_json::Value;
use std::collections::BTreeSet;

/// Where the input of the first step says which messages the turn looks at.
pub(crate) const MESSAGES: &str = "messages";

/// What a turn finds.
pub(crate) struct Scene {
    pub seat: SeatCreated,
    /// Who states the turn's facts: the holder, for the seat.
    pub actor: Actor,
    /// Which messages it looks at, oldest first.
    pub positions: Vec<GlobalPosition>,
    pub talk: Talk,
}

impl Scene {
    /// Reads it.
    ///
    /// # Errors
    /// [`Error::Vacant`] when nobody holds the seat; otherwise what the record answers.
    pub async fn load(
        record: &Record,
        opened: &TurnOpened,
        state: &TurnState,
        readable: fn(&str) -> String,
    ) -> Result<Self, Error> {
        let vacant = || Error::Vacant(opened.seat.clone());
        let seat = record.row(Settings.name(), &setting::seat(&opened.seat)).await?;
        let seat: SeatCreated = decode(seat.as_ref()).ok_or_else(vacant)?;
        let held = record.row(Settings.name(), &setting::holder(&opened.seat)).await?;
        let held: SeatHeld = decode(held.as_ref()).ok_or_else(vacant)?;
        let positions = match fixed(state) {
            Some(positions) => positions,
            None => current(record, opened).await?,
        };
        let mut said: Vec<Event> = record.events_at(&positions).await?;
        said.sort_by_key(|event| event.global_position);
        let talk = Talk::of(&said, |event| event.id == opened.woken_by, readable);
        let actor = Actor { principal: held.principal, seat: Some(opened.seat.clone()) };
        Ok(Self { seat, actor, positions, talk })
    }
}

/// The messages the turn looks at, once its first step has begun.
fn fixed(state: &TurnState) -> Option<Vec<GlobalPosition>> {
    let messages = state.steps.get(&1)?.started.input.get(MESSAGES)?.as_array()?;
    Some(messages.iter().filter_map(Value::as_u64).map(GlobalPosition).collect())
}

/// What stands about the topic now, the message that woke the turn in any case.
async fn current(record: &Record, opened: &TurnOpened) -> Result<Vec<GlobalPosition>, Error> {
    let topic = record.row(Topics.name(), opened.topic.as_str()).await?;
    let topic: Option<TopicRow> = decode(topic.as_ref());
    let mut positions: BTreeSet<GlobalPosition> =
        topic.into_iter().flat_map(|topic| topic.messages).collect();
    positions.extend(record.event(&opened.woken_by).await?.map(|event| event.global_position));
    Ok(positions.into_iter().collect())
}
