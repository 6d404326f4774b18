//! The slash command: the mode of a channel, told to whoever asks and set for whoever holds the owner's seat.
//!
//! Deliberately absent: who may set one, which the record says, as of any fact.

use super::{Desk, weigh};
use crate::account;
use crate::owner;
use anyhow::Result;
use converse::card;
use converse::command::{Command, Wish, command};
use event::{
    Actor, DeliveryClassified, Event, EventId, Expected, Fact, Label, ModeSet, Proposed, SeatId, StreamName,
};
use fold::{decode, setting};
use gate::{Call, Passed, Payload};
use record::Error;
use serde_json::json;

/// What the duty of answering one is called.
const ANSWER: &str = "slash";
/// What is said to whoever wants something else.
const USAGE: &str = "`/chancery mode` tells how readily I speak here; `/chancery mode quiet`, `reserved`, `proactive` or \
    `eager` sets it, for the owner of this office. `/chancery connect SERVICE` connects your account there, `/chancery disconnect \
    SERVICE` takes it back. To ask me something, mention me.";

/// Does what the command says and tells the person who used it, once.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn used(desk: &Desk, classified: &Event, body: &DeliveryClassified) -> Result<()> {
    let record = &desk.office.record;
    let Some(delivery) = record.event(&body.delivery).await? else { return Ok(()) };
    let Fact::DeliveryReceived(received) = &delivery.fact else { return Ok(()) };
    let Some(own) = desk.own(received).await? else { return Ok(()) };
    let Some(command) = command(received, &own) else { return Ok(()) };
    let mut link = None;
    let said = match command.wish.clone() {
        Wish::Tell => told(desk, &command).await?,
        Wish::Set(mode) => {
            let by = format!("set with a slash command by {}", command.by);
            let set = ModeSet { channel: command.channel.clone(), mode, reason: by };
            set_as(desk, &command, &delivery.id, set).await?
        }
        Wish::Connect(service) => {
            let offer = account::offer(&desk.office, &service, &command.by)?;
            link = offer.link;
            offer.text
        }
        Wish::Disconnect(service) => {
            account::disconnect(&desk.office.config, &desk.office.record, &service, &command.by).await?
        }
        Wish::Unknown => USAGE.to_owned(),
    };
    let Some(attempt) = weigh::next_attempt(desk, &classified.id, ANSWER).await? else { return Ok(()) };
    let input =
        json!({ "team": own.team, "channel": command.channel_id, "user": command.user, "text": said });
    let input = match &link {
        Some((label, url)) => card::with_link(input, label, url),
        None => input,
    };
    let call = weigh::call(desk, (&classified.id, ANSWER, attempt), "slack.whisper", Payload::Tool(input))?;
    // A link to connect an account is that person's alone, on the record too.
    let call = Call { of: [command.by.clone()].into(), ..call };
    match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } => {}
        other => tracing::warn!(outcome = ?other, "a slash command was not answered"),
    }
    Ok(())
}

async fn told(desk: &Desk, command: &Command) -> Result<String> {
    let set = desk.office.record.row("setting", &setting::mode(&command.channel)).await?;
    let set: Option<ModeSet> = decode(set.as_ref());
    let mode = desk.office.manner.mode_of(&command.channel, set.map(|set| set.mode));
    let weighs = if desk.office.manner.weighs {
        ""
    } else {
        " Nothing is weighed here: no small model is configured."
    };
    Ok(format!("I am `{mode}` in this channel.{weighs}"))
}

/// Sets it in the person's own name, in the owner's seat: the record refuses whoever does not hold that.
async fn set_as(desk: &Desk, command: &Command, delivery: &EventId, set: ModeSet) -> Result<String> {
    let mode = set.mode;
    let seat = SeatId::parse(owner::SEAT)?;
    let event = Proposed {
        id: EventId::derived(&["mode.set", delivery.as_str()]),
        actor: Actor { principal: command.by.clone(), seat: Some(seat) },
        cause: Some(delivery.clone()),
        label: Label::host(),
        fact: set.into(),
    };
    let stream = StreamName::new("mode", &command.channel);
    match desk.office.record.append(stream, Expected::Any, vec![event]).await {
        Ok(_) | Err(Error::IdTaken { .. }) => Ok(format!("I am `{mode}` in this channel from now on.")),
        Err(Error::NoAuthority { .. }) => {
            Ok("Only the owner of this office sets how readily I speak; nothing has changed.".to_owned())
        }
        Err(error) => Err(error.into()),
    }
}
