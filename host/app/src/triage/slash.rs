//! The slash command: the mode of a channel, told to whoever asks and set for whoever holds a seat that may.
//!
//! Deliberately absent: who may set one, which the record says, as of any fact.

use super::{Desk, mode, weigh};
use crate::account::Linked;
use anyhow::Result;
use converse::command::{Command, Wish, command};
use event::{DeliveryClassified, Event, Fact, ModeSet, PrincipalId};
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
        Wish::Connect(service) => connecting(desk, &service, &command.by)?,
        Wish::Disconnect(service) => {
            crate::account::disconnect(&desk.office.config, &desk.office.record, &service, &command.by)
                .await?
        }
        Wish::Unknown => USAGE.to_owned(),
    };
    let Some(attempt) = weigh::next_attempt(desk, &classified.id, ANSWER).await? else { return Ok(()) };
    let input =
        json!({ "team": own.team, "channel": command.channel_id, "user": command.user, "text": said });
    let call = weigh::call(desk, (&classified.id, ANSWER, attempt), "slack.whisper", Payload::Tool(input))?;
    // A link to connect an account is that person's alone, on the record too.
    let call = Call { of: [command.by.clone()].into(), ..call };
    match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } => {}
        other => tracing::warn!(outcome = ?other, "a slash command was not answered"),
    }
    Ok(())
}

/// What is said beside a link that connects an account.
pub(super) const YOURS: &str = "The link is yours alone: whoever opens it connects an account to you. What I read with it \
    I tell nobody but you.";

/// The private card's words for whoever wants to connect an account.
fn connecting(desk: &Desk, service: &str, by: &PrincipalId) -> Result<String> {
    Ok(match link(desk, service, by)? {
        Ok(link) => format!("[Connect your account at {service}]({link}) within ten minutes. {YOURS}"),
        Err(why) => why,
    })
}

/// The link by which `by` connects an account at `service`; what is said to them when there is none.
///
/// # Errors
/// When the way out cannot be made.
pub(super) fn link(desk: &Desk, service: &str, by: &PrincipalId) -> Result<Result<String, String>> {
    let office = &desk.office;
    let Some(linked) = Linked::of(&office.config, &office.record, office.clock.clone())? else {
        let why =
            "Accounts are connected at this office's terminal: it says no address where browsers reach it.";
        return Ok(Err(why.to_owned()));
    };
    Ok(linked.link(service, by).map_err(|error| format!("That cannot be connected: {error}.")))
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
