//! A click on a button of a card: who clicked, what they say, and to what.
//!
//! Read from the payload alone, and strictly: one action, an id that is an id, a person of this workspace by ids.
//! A click says nothing about whether that person may answer: the gate decides that, at the moment of the answer.
//! What Slack does not put into a click cannot be looked at here: whether the account was deactivated, is a guest or
//! a stranger. Whoever that is holds no seat of the office unless somebody gave them one.

use crate::arrival::{Arrival, SOURCE_SLACK, is_plain};
use crate::reason::Reason;
use crate::sender::Sender;
use event::{ApprovalId, ConnectionIdentified, DeliveryReceived, EffectId, PrincipalId};
use serde_json::Value;

/// [`DeliveryReceived::kind`] of clicks.
pub(crate) const BLOCK_ACTIONS: &str = "block_actions";
/// `action_id` of the button that says yes. The plugin that draws cards writes the same word.
pub const ACTION_YES: &str = "approval.yes";
/// `action_id` of the button that says no.
pub const ACTION_NO: &str = "approval.no";

/// `action_id` of the button that says that an effect happened.
pub const ACTION_HAPPENED: &str = "effect.happened";
/// `action_id` of the button that says that an effect did not happen.
pub const ACTION_ABSENT: &str = "effect.absent";
/// `action_id` of the button that says that an effect did not happen and is to be tried again.
pub const ACTION_AGAIN: &str = "effect.again";

/// Facts about a user that Slack states in other payloads; one that is set keeps a click from counting.
const OUTSIDE_FLAGS: [&str; 5] =
    ["is_stranger", "is_restricted", "is_ultra_restricted", "is_external", "deleted"];
/// Facts about a user that make it a program.
const PROGRAM_FLAGS: [&str; 3] = ["is_bot", "is_app_user", "is_workflow_bot"];

/// What somebody says with a click.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// Yes or no to a call that waits.
    Approval {
        /// The approval that the button names.
        approval: ApprovalId,
        /// Whether the button says yes.
        yes: bool,
    },
    /// What became of an effect.
    Effect {
        /// The effect that the button names.
        effect: EffectId,
        /// What they saw.
        saw: Saw,
    },
}

/// What somebody saw of an effect that nobody knew the outcome of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saw {
    /// It happened.
    Happened,
    /// It did not happen.
    Absent,
    /// It did not happen, and is to be tried again.
    Again,
}

/// One click on a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Click {
    /// What they say.
    pub says: Says,
    /// Who clicked.
    pub by: PrincipalId,
    /// The same, as Slack names them.
    pub user: String,
    /// The channel of the message that the button hangs on.
    pub channel: String,
    /// That message.
    pub ts: String,
    /// The thread it stands in, when it does.
    pub thread_ts: Option<String>,
}

/// What a click says, or why it says nothing.
///
/// # Errors
/// The rung that stopped it: another button, a program, somebody from outside, an office that does not know itself.
pub fn click(delivery: &DeliveryReceived, own: Option<&ConnectionIdentified>) -> Result<Click, Reason> {
    let payload = delivery.payload.json();
    let says = says(delivery).ok_or(Reason::BlockAction)?;
    let own = own.ok_or(Reason::IdentityUnknown)?;
    let sender = Sender::of(payload);
    let team = member(payload, &sender, own)?;
    let text = |pointers: &[&str]| {
        let found = pointers.iter().find_map(|pointer| payload.pointer(pointer).and_then(Value::as_str));
        found.filter(|text| is_plain(text)).map(str::to_owned)
    };
    let found = || {
        let user = is_plain(sender.user).then(|| sender.user.to_owned())?;
        Some(Click {
            by: PrincipalId::parse(&format!("person_{SOURCE_SLACK}.{team}.{user}")).ok()?,
            says,
            user,
            channel: text(&["/container/channel_id", "/channel/id"])?,
            ts: text(&["/container/message_ts", "/message/ts"])?,
            thread_ts: text(&["/container/thread_ts", "/message/thread_ts"]),
        })
    };
    found().ok_or(Reason::IncompleteMessage)
}

/// The workspace of a person of ours who used a button or a shortcut.
///
/// # Errors
/// Whether it was the office itself, a program, or somebody from outside.
pub(crate) fn member<'a>(
    payload: &'a Value,
    sender: &Sender<'_>,
    own: &ConnectionIdentified,
) -> Result<&'a str, Reason> {
    if sender.is_office(own) {
        return Err(Reason::OwnAct);
    }
    let is_flagged =
        |flags: &[&str]| flags.iter().any(|flag| is_set(payload.pointer(&format!("/user/{flag}"))));
    if sender.is_program || is_flagged(&PROGRAM_FLAGS) {
        return Err(Reason::BotMessage);
    }
    team_of(payload, own).filter(|_| !is_flagged(&OUTSIDE_FLAGS)).ok_or(Reason::ExternalPerson)
}

/// What the one button of a card says that the delivery is a click on.
fn says(delivery: &DeliveryReceived) -> Option<Says> {
    let payload = delivery.payload.json();
    let [action] = payload.get("actions").and_then(Value::as_array)?.as_slice() else { return None };
    let text = |key: &str| action.get(key).and_then(Value::as_str);
    let value = text("value")?;
    let approval = |yes| Some(Says::Approval { approval: ApprovalId::parse(value).ok()?, yes });
    let effect = |saw| Some(Says::Effect { effect: EffectId::parse(value).ok()?, saw });
    let says = match text("action_id")? {
        ACTION_YES => approval(true),
        ACTION_NO => approval(false),
        ACTION_HAPPENED => effect(Saw::Happened),
        ACTION_ABSENT => effect(Saw::Absent),
        ACTION_AGAIN => effect(Saw::Again),
        _ => None,
    };
    let is_button = delivery.kind == BLOCK_ACTIONS && text("type") == Some("button");
    says.filter(|_| is_button)
}

/// The workspace of whoever clicked; nothing when the card or the person belongs to another organisation.
fn team_of<'a>(payload: &'a Value, own: &ConnectionIdentified) -> Option<&'a str> {
    let text = |pointer: &str| {
        payload.pointer(pointer).and_then(Value::as_str).filter(|team| is_plain(team)).unwrap_or_default()
    };
    let (installed, of_user) = (text("/team/id"), text("/user/team_id"));
    let organisations = [text("/team/enterprise_id"), text("/enterprise/id")];
    // Where the app is installed for an organisation, each of its workspaces is ours.
    let is_org = organisations.contains(&own.team.as_str());
    let shared = ["/is_ext_shared_channel", "/channel/is_ext_shared"];
    let is_shared = shared.iter().any(|flag| is_set(payload.pointer(flag)));
    let is_ours = |team: &str| !team.is_empty() && (team == own.team || (is_org && team == installed));
    let team = if of_user.is_empty() { installed } else { of_user };
    (!is_shared && (is_org || is_ours(installed)) && is_ours(team)).then_some(team)
}

/// A flag that is anything but absent, null or false.
fn is_set(flag: Option<&Value>) -> bool {
    !matches!(flag, None | Some(Value::Null | Value::Bool(false)))
}

impl Arrival<'_> {
    /// What a click asks; see [`click`] and [`crate::home::chosen`].
    pub(crate) fn of_click(&self, own: Option<&ConnectionIdentified>) -> Reason {
        if let Some(reason) = crate::home::reason(self.delivery, own) {
            return reason;
        }
        match click(self.delivery, own) {
            Ok(Click { says: Says::Approval { .. }, .. }) => Reason::ApprovalAnswer,
            Ok(Click { says: Says::Effect { .. }, .. }) => Reason::EffectAnswer,
            Err(reason) => reason,
        }
    }
}

#[cfg(test)]
mod tests;
