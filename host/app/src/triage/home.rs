//! The Home tab: what the office is to whoever opens it, the settings of a channel and of that person, and, for the
//! owner, what waits and what the purse holds.
//!
//! It is published anew whenever somebody opens it or chooses something on it, for that person alone. Nobody but the
//! owner is shown money or what waits for a yes; an answer is still given on a card or by command. What somebody sets is
//! stated in their own name, and the record says whether they may: a no is shown to them and to nobody else.

mod show;

use super::{Desk, mode, weigh};
use crate::account;
use anyhow::Result;
use converse::home::{self, Choice, Chosen};
use converse::{Arrival, card};
use event::{
    Actor, ConnectionIdentified, DeliveryClassified, DeliveryReceived, DisclosureSet, Event, EventId,
    Expected, Fact, Label, ModeSet, PrincipalId, Proposed, StreamName,
};
use fold::setting::{self, Settings};
use fold::{Projection, decode};
use gate::{Call, Passed, Payload};
use record::Error;
use serde_json::json;
use show::Shown;
use std::collections::BTreeSet;

/// What the duty is called.
const HOME: &str = "home";

/// Whose Home it is.
struct Of<'a> {
    person: PrincipalId,
    user: &'a str,
    own: &'a ConnectionIdentified,
}

/// Publishes the Home of the person who opened it.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn opened(desk: &Desk, classified: &Event, body: &DeliveryClassified) -> Result<()> {
    let Some((received, own)) = came(desk, body).await? else { return Ok(()) };
    let Some((person, user)) = home::opened(&Arrival::of(&received), &own) else { return Ok(()) };
    publish(desk, classified, &Of { person, user, own: &own }, &Shown::default()).await
}

/// Sets what somebody chose on their Home, and publishes it anew: with what stands now, or why it does not.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn chosen(desk: &Desk, classified: &Event, body: &DeliveryClassified) -> Result<()> {
    let Some((received, own)) = came(desk, body).await? else { return Ok(()) };
    let Ok(choice) = home::chosen(&received, Some(&own)) else { return Ok(()) };
    let shown = set(desk, &body.delivery, &choice, &own).await?;
    let Choice { by, user, .. } = choice;
    publish(desk, classified, &Of { person: by, user: &user, own: &own }, &shown).await
}

async fn came(
    desk: &Desk,
    body: &DeliveryClassified,
) -> Result<Option<(DeliveryReceived, ConnectionIdentified)>> {
    let Some(delivery) = desk.office.record.event(&body.delivery).await? else { return Ok(None) };
    let Fact::DeliveryReceived(received) = delivery.fact else { return Ok(None) };
    Ok(desk.own(&received).await?.map(|own| (received, own)))
}

async fn publish(desk: &Desk, classified: &Event, of: &Of<'_>, shown: &Shown) -> Result<()> {
    let parts = show::parts(desk, &of.person, &of.own.team, shown).await?;
    let Some(attempt) = weigh::next_attempt(desk, &classified.id, HOME).await? else { return Ok(()) };
    let input = card::in_workspace(json!({ "user": of.user, "parts": parts }), &of.own.team);
    let call = weigh::call(desk, (&classified.id, HOME, attempt), "slack.home", Payload::Tool(input))?;
    // Which accounts somebody has, and a link to connect one, are that person's alone, on the record too.
    let call = Call { of: [of.person.clone()].into(), ..call };
    match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } => {}
        other => tracing::warn!(outcome = ?other, "a Home tab was not published"),
    }
    Ok(())
}

/// Does what was chosen: what the Home says about it.
async fn set(desk: &Desk, delivery: &EventId, choice: &Choice, own: &ConnectionIdentified) -> Result<Shown> {
    let (office, by) = (&desk.office, &choice.by);
    Ok(match choice.chosen.clone() {
        Chosen::Channel(channel) => Shown { channel: Some(channel), ..Shown::default() },
        Chosen::Mode(channel, mode) => {
            let named = format!("{}:{channel}", own.team);
            let reason = format!("set on the Home tab by {by}");
            let set = mode::set(desk, by, delivery, ModeSet { channel: named, mode, reason }).await?;
            let said = match set {
                Ok(()) => format!("I am **{mode}** in that channel from now on."),
                Err(why) => format!("**Not set.** {why}"),
            };
            Shown { channel: Some(channel), said: Some(said), ..Shown::default() }
        }
        Chosen::Disclose(channels) => {
            let count = disclose(desk, delivery, by, channels).await?;
            let said = match count {
                0 => "What I read with your accounts I tell nobody but you.".to_owned(),
                1 => "What I read with your accounts I may tell in one place, besides to you.".to_owned(),
                count => {
                    format!("What I read with your accounts I may tell in {count} places, besides to you.")
                }
            };
            Shown { said: Some(said), ..Shown::default() }
        }
        Chosen::Connect(service) => {
            let offer = account::offer(office, &service, by)?;
            Shown {
                said: Some(offer.text),
                link: offer.link.map(|(_, url)| (service, url)),
                ..Shown::default()
            }
        }
        Chosen::Disconnect(service) => {
            let said = account::disconnect(&office.config, &office.record, &service, by).await?;
            Shown { said: Some(said), ..Shown::default() }
        }
    })
}

/// Says in the person's name where may be told what was read with their accounts: these channels, and what they named
/// before that is no channel of Slack's. How many places that is.
async fn disclose(
    desk: &Desk,
    delivery: &EventId,
    owner: &PrincipalId,
    channels: BTreeSet<String>,
) -> Result<usize> {
    let record = &desk.office.record;
    let row = record.row(Settings.name(), &setting::disclosure(owner)).await?;
    let before = decode::<DisclosureSet>(row.as_ref()).map(|set| set.destinations).unwrap_or_default();
    let others = before.into_iter().filter(|destination| !show::is_channel(destination));
    let destinations: BTreeSet<String> = channels.into_iter().chain(others).collect();
    let count = destinations.len();
    let event = Proposed {
        id: EventId::derived(&["disclosure.set", delivery.as_str()]),
        // As with a person's account that is connected here, the host states what that person chose for themselves.
        actor: Actor { principal: PrincipalId::host(), seat: None },
        cause: Some(delivery.clone()),
        label: Label::host(),
        fact: DisclosureSet { owner: owner.clone(), destinations }.into(),
    };
    match record.append(StreamName::new("account", owner), Expected::Any, vec![event]).await {
        Ok(_) | Err(Error::IdTaken { .. }) => Ok(count),
        Err(error) => Err(error.into()),
    }
}
