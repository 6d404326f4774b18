//! The Home tab: what the office is to whoever opens it and, for the owner, what waits and what the purse holds.
//!
//! It is published anew whenever somebody opens it, for that person alone. Nobody but the owner is shown money or what
//! waits for a yes; an answer is still given on a card or by command.

use super::{Desk, weigh};
use anyhow::Result;
use converse::Arrival;
use event::{DeliveryClassified, Event, Fact, PrincipalId};
use fold::approval::{ApprovalRow, Approvals};
use fold::effect::{EffectRow, EffectState, Effects};
use fold::{Projection, decode};
use gate::{Passed, Payload};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What the duty is called.
const HOME: &str = "home";
/// The most calls that wait which are shown.
const WAITING_MAX: usize = 20;

/// Publishes the Home of the person who opened it.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn opened(desk: &Desk, classified: &Event, body: &DeliveryClassified) -> Result<()> {
    let record = &desk.office.record;
    let Some(delivery) = record.event(&body.delivery).await? else { return Ok(()) };
    let Fact::DeliveryReceived(received) = &delivery.fact else { return Ok(()) };
    let Some(own) = desk.own(received).await? else { return Ok(()) };
    let arrival = Arrival::of(received);
    let (user, tab) =
        (arrival.sender().user, received.payload.json().pointer("/event/tab").and_then(Value::as_str));
    if arrival.is_outside(&own) || !converse::is_plain(user) || tab != Some("home") {
        return Ok(());
    }
    let person = PrincipalId::parse(&format!("person_slack.{}.{user}", arrival.team())).ok();
    let is_owner = person.is_some_and(|person| desk.office.config.owner().is_ok_and(|owner| owner == person));
    let text = text(desk, is_owner).await?;
    let Some(attempt) = weigh::next_attempt(desk, &classified.id, HOME).await? else { return Ok(()) };
    let payload = Payload::Tool(json!({ "team": own.team, "user": user, "text": text }));
    let call = weigh::call(desk, (&classified.id, HOME, attempt), "slack.home", payload)?;
    match desk.office.gate.pass(call, None).await? {
        Passed::Done { .. } => {}
        other => tracing::warn!(outcome = ?other, "a Home tab was not published"),
    }
    Ok(())
}

/// What it says, as Markdown.
async fn text(desk: &Desk, is_owner: bool) -> Result<String> {
    let (office, manner) = (&desk.office, &desk.office.manner);
    let mut text = format!(
        "# {}\n\nMention me in a channel, or write to me here. What I do outside is asked of policy and purse first, and \
         stands on the record.\n\n",
        office.config.office.name
    );
    if manner.weighs {
        let mutes: Vec<String> = manner.mutes.iter().map(|emoji| format!("`:{emoji}:`")).collect();
        writeln!(
            text,
            "- Unasked I speak where it helps: I am **{}** unless a channel has a mode of its own (`/chancery mode`).\n\
             - A thread that wants to be left alone says so with {}.",
            manner.mode,
            mutes.join(", ")
        )?;
    } else {
        writeln!(text, "- I speak when I am asked, and not otherwise.")?;
    }
    if let Some(word) = manner.drills.first() {
        writeln!(
            text,
            "- `{word}: …`, or the shortcut *Try it as a drill*, shows you alone what I would do, and does nothing."
        )?;
    }
    writeln!(text, "- *Ask about this*, in the menu of a message, has me answer it in its thread.")?;
    if is_owner {
        text.push_str(&owners(desk).await?);
    }
    Ok(text)
}

async fn owners(desk: &Desk) -> Result<String> {
    let record = &desk.office.record;
    let rows = record.ranked(Approvals.name(), i64::MIN, WAITING_MAX).await?;
    let waiting: Vec<ApprovalRow> = rows.iter().filter_map(|(_, row)| decode(Some(row))).collect();
    let mut text = "\n## Waits for your yes\n\n".to_owned();
    if waiting.is_empty() {
        text.push_str("Nothing.\n");
    }
    for row in &waiting {
        writeln!(text, "- `{}` of {} until {}: `{}`", row.tool, row.seat, row.expires_at, row.approval)?;
    }
    let open = record.ranked(Effects.name(), i64::MIN, WAITING_MAX).await?;
    let open = open.iter().filter_map(|(id, row)| Some((id, decode::<EffectRow>(Some(row))?)));
    let asked = |row: &EffectRow| row.recalling.as_ref().is_some_and(|recalling| recalling.next_at.is_none());
    let unknown: Vec<_> = open.filter(|(_, row)| row.state == EffectState::Unknown && asked(row)).collect();
    if !unknown.is_empty() {
        text.push_str("\n## Nobody knows whether these happened\n\n");
    }
    for (id, row) in unknown {
        writeln!(text, "- `{}` at {}: `{id}`", row.tool, row.intended_at)?;
    }
    let purse = crate::purse::show(record, desk.office.now()).await?;
    write!(text, "\n## The purse\n\n```\n{}\n```\n", purse.trim_end())?;
    Ok(text)
}
