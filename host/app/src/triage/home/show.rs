//! What a Home shows, from above to below, as the parts that the plugin draws.

use super::super::mode;
use super::Desk;
use crate::owner;
use anyhow::Result;
use converse::home::{
    ACTION_CHANNEL, ACTION_CONNECT, ACTION_DISCLOSE, ACTION_DISCONNECT, ACTION_MODE, ACTION_OPEN,
    CHANNELS_MAX,
};
use event::{AccountConnected, DisclosureSet, Mode, PrincipalId, Timestamp};
use fold::approval::{ApprovalRow, Approvals};
use fold::channel::{ChannelRow, Channels};
use fold::effect::{EffectRow, EffectState, Effects};
use fold::setting::{self, Settings};
use fold::{Projection, decode};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The most calls that wait which are shown.
const WAITING_MAX: usize = 20;
/// The most services that are shown with a button: as many as stand beside each other.
const SERVICES_MAX: usize = 10;

/// What the Home is published with, beside what stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    /// The channel whose settings are shown, `C1`.
    pub(super) channel: Option<String>,
    /// What came of what the person chose, as Markdown.
    pub(super) said: Option<String>,
    /// A service, and where the person connects their account there.
    pub(super) link: Option<(String, String)>,
}

/// Whether a destination is a channel of Slack's, as its menus name one.
pub(super) fn is_channel(destination: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    destination.len() > 2 && destination.starts_with(['C', 'G']) && destination.bytes().all(is_part)
}

/// The parts of the Home of `person` in the workspace `team`.
///
/// # Errors
/// When the record cannot be read.
pub(super) async fn parts(
    desk: &Desk,
    person: &PrincipalId,
    team: &str,
    shown: &Shown,
) -> Result<Vec<Value>> {
    let mut parts = Vec::new();
    parts.extend(shown.said.as_ref().map(|said| json!({ "text": said })));
    if let Some((service, url)) = &shown.link {
        let button = json!({ "action": ACTION_OPEN, "about": service, "url": url,
            "label": format!("Connect {service} in my browser") });
        parts.push(json!({ "buttons": [button] }));
    }
    parts.push(json!({ "header": desk.office.config.office.name }));
    parts.push(json!({ "text": about(desk)? }));
    if desk.office.config.owner().is_ok_and(|owner| owner == *person) {
        waiting(desk, &mut parts).await?;
    }
    of_channel(desk, person, (team, shown.channel.as_deref()), &mut parts).await?;
    of_person(desk, person, &mut parts).await?;
    if desk.office.config.owner().is_ok_and(|owner| owner == *person) {
        let purse = crate::purse::brief(&desk.office.record, desk.office.now()).await?;
        parts.push(json!({ "header": "The purse" }));
        parts.push(json!({ "text": purse }));
    }
    Ok(parts)
}

/// What the office is and how it is used.
fn about(desk: &Desk) -> Result<String> {
    let manner = &desk.office.manner;
    let mut text = "Mention me in a channel, or write to me here. What I do outside is asked of policy and purse first, \
                    and stands on the record.\n\n"
        .to_owned();
    if manner.weighs {
        let mutes: Vec<String> = manner.mutes.iter().map(|emoji| format!("`:{emoji}:`")).collect();
        writeln!(
            text,
            "- Unasked I speak where it helps: I am **{}** unless a channel has a mode of its own.\n\
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
    writeln!(text, "- *Ask me something*, among the shortcuts, asks me from anywhere.")?;
    Ok(text)
}

/// The settings of one channel that the person chooses.
async fn of_channel(
    desk: &Desk,
    person: &PrincipalId,
    (team, channel): (&str, Option<&str>),
    parts: &mut Vec<Value>,
) -> Result<()> {
    let office = &desk.office;
    parts.push(json!({ "header": "A channel's settings" }));
    let mut menu = json!({ "action": ACTION_CHANNEL, "label": "Which channel?" });
    // A menu shows what it can offer: no direct messages.
    let offered = channel.filter(|channel| is_channel(channel));
    if let (Some(menu), Some(channel)) = (menu.as_object_mut(), offered) {
        menu.insert("chosen".to_owned(), json!(channel));
    }
    parts.push(json!({ "channel": menu }));
    let Some(channel) = channel else { return Ok(()) };
    let named = format!("{team}:{channel}");
    let mode = mode::of(desk, &named).await?;
    if owner::seat_to_state(&office.record, person, mode::KIND).await?.is_some() {
        let options: Vec<Value> =
            Mode::ALL.iter().map(|mode| json!({ "value": mode.word(), "label": name(*mode) })).collect();
        let label = "How readily do I speak there unasked? _Quiet_: never. _Reserved_: when I am quite sure that it \
                     helps. _Proactive_: when it probably helps. _Eager_: whenever it may help.";
        let menu = json!({ "action": ACTION_MODE, "label": label, "about": channel, "chosen": mode.word(),
            "options": options });
        parts.push(json!({ "choice": menu }));
    } else {
        let text = format!("I am **{mode}** there: {}. The owner of this office sets that.", meaning(mode));
        parts.push(json!({ "text": text }));
    }
    parts.push(json!({ "note": lately(desk, &named).await? }));
    Ok(())
}

/// A mode as a menu shows it.
fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Quiet => "Quiet",
        Mode::Reserved => "Reserved",
        Mode::Proactive => "Proactive",
        Mode::Eager => "Eager",
    }
}

/// When the office speaks unasked in a mode.
fn meaning(mode: Mode) -> &'static str {
    match mode {
        Mode::Quiet => "I speak when I am asked",
        Mode::Reserved => "unasked I speak when I am quite sure that it helps",
        Mode::Proactive => "unasked I speak when it probably helps",
        Mode::Eager => "unasked I speak whenever it may help",
    }
}

/// How often the office spoke in a channel unasked.
async fn lately(desk: &Desk, channel: &str) -> Result<String> {
    if !desk.office.manner.weighs {
        return Ok("No small model is configured: whatever the mode, I speak when I am asked.".to_owned());
    }
    let row: Option<ChannelRow> = decode(desk.office.record.row(Channels.name(), channel).await?.as_ref());
    let spent = row.unwrap_or_default().spent(desk.office.now());
    Ok(match (spent.all, spent.acks) {
        (0, 0) => "Within the last hour I have not spoken there unasked.".to_owned(),
        (all, acks) => {
            format!("Within the last hour, unasked: {all} times I spoke there, {acks} emoji I put.")
        }
    })
}

/// The person's own accounts, and where may be told what is read with them.
async fn of_person(desk: &Desk, person: &PrincipalId, parts: &mut Vec<Value>) -> Result<()> {
    let (record, services) = (&desk.office.record, &desk.office.config.services);
    if services.is_empty() {
        return Ok(());
    }
    let (mut text, mut buttons, mut connected) = (String::new(), Vec::new(), 0);
    for service in services {
        let row = record.row(Settings.name(), &setting::account(&service.credential, person)).await?;
        let is_connected = decode::<AccountConnected>(row.as_ref()).is_some();
        connected += usize::from(is_connected);
        let state = if is_connected { "connected" } else { "not connected" };
        writeln!(text, "- **{}**: {state}", service.name)?;
        let name = service.name.as_str();
        if is_connected {
            let sure = "I use your account no more, forget what opens it, and tell the service.";
            buttons.push(json!({ "action": ACTION_DISCONNECT, "about": name, "sure": sure,
                "label": format!("Disconnect {name}") }));
        } else if service.by_browser().is_some() {
            buttons
                .push(json!({ "action": ACTION_CONNECT, "about": name, "label": format!("Connect {name}") }));
        }
    }
    parts.push(json!({ "header": "Your accounts" }));
    parts.push(json!({ "text": text }));
    buttons.truncate(SERVICES_MAX);
    if !buttons.is_empty() {
        parts.push(json!({ "buttons": buttons }));
    }
    let row = record.row(Settings.name(), &setting::disclosure(person)).await?;
    let told = decode::<DisclosureSet>(row.as_ref()).map(|set| set.destinations).unwrap_or_default();
    if connected > 0 || !told.is_empty() {
        disclosure(&told, parts);
    }
    Ok(())
}

fn disclosure(told: &BTreeSet<String>, parts: &mut Vec<Value>) {
    let (channels, others): (Vec<&String>, Vec<&String>) = told.iter().partition(|one| is_channel(one));
    let label = "Where may I tell what I read with your accounts, besides to you?";
    let chosen: Vec<&String> = channels.into_iter().take(CHANNELS_MAX).collect();
    parts.push(json!({ "channels": { "action": ACTION_DISCLOSE, "label": label, "chosen": chosen } }));
    if !others.is_empty() {
        let others: Vec<&str> = others.into_iter().map(String::as_str).collect();
        parts.push(json!({ "note": format!("Besides, as said by command: {}", others.join(", ")) }));
    }
}

/// What waits for the owner.
async fn waiting(desk: &Desk, parts: &mut Vec<Value>) -> Result<()> {
    let record = &desk.office.record;
    let rows = record.ranked(Approvals.name(), i64::MIN, WAITING_MAX).await?;
    let rows: Vec<ApprovalRow> = rows.iter().filter_map(|(_, row)| decode(Some(row))).collect();
    let mut text = String::new();
    for row in &rows {
        writeln!(
            text,
            "- `{}`, wanted by {}, until {}. The card in its thread asks you, and so does `chancery approval show {}`.",
            row.tool,
            row.seat,
            minute(row.expires_at),
            row.approval
        )?;
    }
    if rows.is_empty() {
        text.push_str("Nothing.");
    }
    parts.push(json!({ "header": "Waits for your yes" }));
    parts.push(json!({ "text": text }));
    let open = record.ranked(Effects.name(), i64::MIN, WAITING_MAX).await?;
    let open = open.iter().filter_map(|(id, row)| Some((id, decode::<EffectRow>(Some(row))?)));
    let asked = |row: &EffectRow| row.recalling.as_ref().is_some_and(|recalling| recalling.next_at.is_none());
    let mut text = String::new();
    for (id, row) in open.filter(|(_, row)| row.state == EffectState::Unknown && asked(row)) {
        writeln!(text, "- `{}` of {}: `chancery effect show {id}`", row.tool, minute(row.intended_at))?;
    }
    if !text.is_empty() {
        parts.push(json!({ "header": "Nobody knows whether these happened" }));
        parts.push(json!({ "text": text }));
    }
    Ok(())
}

/// A moment as people read it: day and minute, in UTC.
fn minute(at: Timestamp) -> String {
    let text = at.to_string();
    text.get(..16).map_or(text.clone(), |text| format!("{} UTC", text.replace('T', " ")))
}
