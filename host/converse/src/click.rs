//! A click on a button of an approval card: who clicked, what they say, and to what.
//!
//! Read from the payload alone, and strictly: one action, an id that is an id, a person of this workspace by ids.
//! A click says nothing about whether that person may answer: the gate decides that, at the moment of the answer.
//! What Slack does not put into a click cannot be looked at here: whether the account was deactivated, is a guest or
//! a stranger. Whoever that is holds no seat of the office unless somebody gave them one.

use crate::arrival::{Arrival, SOURCE_SLACK, is_plain};
use crate::reason::Reason;
use crate::sender::Sender;
use event::{ApprovalId, ConnectionIdentified, DeliveryReceived, PrincipalId};
use serde_json::Value;

/// [`DeliveryReceived::kind`] of clicks.
pub(crate) const BLOCK_ACTIONS: &str = "block_actions";
/// `action_id` of the button that says yes. The plugin that draws cards writes the same word.
pub const ACTION_YES: &str = "approval.yes";
/// `action_id` of the button that says no.
pub const ACTION_NO: &str = "approval.no";

/// Facts about a user that Slack states in other payloads; one that is set keeps a click from counting.
const OUTSIDE_FLAGS: [&str; 5] =
    ["is_stranger", "is_restricted", "is_ultra_restricted", "is_external", "deleted"];
/// Facts about a user that make it a program.
const PROGRAM_FLAGS: [&str; 3] = ["is_bot", "is_app_user", "is_workflow_bot"];

/// One click on an approval card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Click {
    /// The approval that the button names.
    pub approval: ApprovalId,
    /// Whether the button says yes.
    pub yes: bool,
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

/// What a click asks: an answer to a call that waits, or why it is none.
///
/// # Errors
/// The rung that stopped it: another button, a program, somebody from outside, an office that does not know itself.
pub fn click(delivery: &DeliveryReceived, own: Option<&ConnectionIdentified>) -> Result<Click, Reason> {
    let payload = delivery.payload.json();
    let (approval, yes) = answered(delivery).ok_or(Reason::BlockAction)?;
    let own = own.ok_or(Reason::IdentityUnknown)?;
    let sender = Sender::of(payload);
    if sender.is_office(own) {
        return Err(Reason::OwnAct);
    }
    let is_flagged =
        |flags: &[&str]| flags.iter().any(|flag| is_set(payload.pointer(&format!("/user/{flag}"))));
    if sender.is_program || is_flagged(&PROGRAM_FLAGS) {
        return Err(Reason::BotMessage);
    }
    let team = team_of(payload, own).filter(|_| !is_flagged(&OUTSIDE_FLAGS)).ok_or(Reason::ExternalPerson)?;
    let text = |pointers: &[&str]| {
        let found = pointers.iter().find_map(|pointer| payload.pointer(pointer).and_then(Value::as_str));
        found.filter(|text| is_plain(text)).map(str::to_owned)
    };
    let found = || {
        let user = is_plain(sender.user).then(|| sender.user.to_owned())?;
        Some(Click {
            by: PrincipalId::parse(&format!("person_{SOURCE_SLACK}.{team}.{user}")).ok()?,
            approval,
            yes,
            user,
            channel: text(&["/container/channel_id", "/channel/id"])?,
            ts: text(&["/container/message_ts", "/message/ts"])?,
            thread_ts: text(&["/container/thread_ts", "/message/thread_ts"]),
        })
    };
    found().ok_or(Reason::IncompleteMessage)
}

/// The approval and the answer, when the delivery is a click on one button of a card.
fn answered(delivery: &DeliveryReceived) -> Option<(ApprovalId, bool)> {
    let payload = delivery.payload.json();
    let [action] = payload.get("actions").and_then(Value::as_array)?.as_slice() else { return None };
    let text = |key: &str| action.get(key).and_then(Value::as_str);
    let yes = match text("action_id")? {
        ACTION_YES => true,
        ACTION_NO => false,
        _ => return None,
    };
    let is_button = delivery.kind == BLOCK_ACTIONS && text("type") == Some("button");
    let approval = ApprovalId::parse(text("value")?).ok()?;
    is_button.then_some((approval, yes))
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
    /// What a click asks; see [`click`].
    pub(crate) fn of_click(&self, own: Option<&ConnectionIdentified>) -> Reason {
        match click(self.delivery, own) {
            Ok(_) => Reason::ApprovalAnswer,
            Err(reason) => reason,
        }
    }
}

#[cfg(test)]
mod tests;
