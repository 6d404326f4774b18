//! The slash command: the mode of a channel, told to whoever asks and set for whoever holds a seat that may.
//!
//! Deliberately absent: who may set one, which the record says, as of any fact.

use super::{Desk, mode, weigh};
use crate::account;
use anyhow::Result;
use converse::card;
use converse::command::{Command, Wish, command};
use event::{DeliveryClassified, Event, Fact, ModeSet};
use gate::{Call, Passed, Payload};
use serde_json::json;

/// What the duty of answering one is called.
const ANSWER: &str = "slash";
/// What is said to whoever wants something else.
const USAGE: &str = "`/chancery mode` tells how readily I speak here; `/chancery mode quiet`, `reserved`, `proactive` or \
    `eager` sets it, for the owner of this office; my Home tab shows the settings too. `/chancery connect SERVICE` connects your account there, `/chancery disconnect \
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
            match mode::set(desk, &command.by, &delivery.id, set).await? {
                Ok(()) => format!("I am `{mode}` in this channel from now on."),
                Err(why) => why,
            }
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
    let mode = mode::of(desk, &command.channel).await?;
    let weighs = if desk.office.manner.weighs {
        ""
    } else {
        " Nothing is weighed here: no small model is configured."
    };
    Ok(format!("I am `{mode}` in this channel.{weighs}"))
}
