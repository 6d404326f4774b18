//! The card that asks somebody to connect an account, since a call that they asked for lacks one.
//!
//! Always holds: it is seen by the person who asked and by nobody else, and shown once an hour and account, however many
//! calls lack it. For what nobody asked for, such as an investigation, and in a drill, the gate wants nobody's account.

use super::Desk;
use super::duty::{Duty, done};
use crate::account;
use crate::live::opening;
use anyhow::Result;
use converse::card;
use event::{AccountWanted, Event, EventId, Fact, Label, MessageReceived, PlaceKind};
use fold::account::{Wanted, WantedRow, key};
use fold::{Projection, decode};

/// What the card is to the gate: the kind of the duty.
const CONNECT: &str = "connect";

/// Shows the card for a call that lacked an account.
pub(super) async fn wanted(desk: &Desk<'_>, event: &Event, body: &AccountWanted) -> Result<()> {
    let record = &desk.office.record;
    let key = key(&body.credential, &body.owner);
    let row: Option<WantedRow> = decode(record.row(Wanted.name(), &key).await?.as_ref());
    // Another call asked before, or the account is there by now.
    if row.is_none_or(|row| row.asked_as != event.id) {
        return Ok(());
    }
    let Some(turn) = body.origin.turn() else { return Ok(()) };
    let Some((_, opened)) = opening(desk.office, turn).await? else { return Ok(()) };
    let Some(message) = asked_by(desk, &opened.woken_by, body).await? else { return Ok(()) };
    let offer = account::offer(desk.office, &body.service, &body.owner)?;
    let text = format!(
        "What you asked for goes with your own account at {}, and you have connected none. {} Then ask me again. \
         `/chancery connect {}` shows this anew.",
        body.service, offer.text, body.service
    );
    let place = &message.place;
    let thread = place.thread_ts.as_deref().unwrap_or(&place.ts);
    let input = card::whisper(&place.channel, Some(thread), &message.author.external, &text);
    let input = match &offer.link {
        Some((label, url)) => card::with_link(input, label, url),
        None => input,
    };
    let duty = Duty {
        event: &event.id,
        kind: CONNECT,
        tool: card::TOOL_WHISPER,
        input: card::in_workspace(input, &place.team),
        topic: Some(opened.topic),
        label: Label::host(),
        // The link is that person's alone, on the record too.
        of: [body.owner.clone()].into(),
    };
    done(desk, duty).await
}

/// The message in Slack by which the person asked whose account it is: somebody else is shown nothing.
async fn asked_by(
    desk: &Desk<'_>,
    woken_by: &EventId,
    body: &AccountWanted,
) -> Result<Option<MessageReceived>> {
    Ok(match desk.office.record.event(woken_by).await?.map(|event| event.fact) {
        Some(Fact::MessageReceived(message))
            if message.place.kind != PlaceKind::Terminal
                && !message.author.bot
                && message.author.principal.as_ref() == Some(&body.owner) =>
        {
            Some(message)
        }
        _ => None,
    })
}
