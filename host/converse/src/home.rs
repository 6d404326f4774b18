//! What a person sets on their Home tab: who, and what.
//!
//! Read from the payload alone, and strictly: one action of the Home itself, an id that is an id, a person of this
//! workspace by ids. Deliberately absent: whether that person may set it, which the record says, as of any fact.

use crate::arrival::{Arrival, SOURCE_SLACK, is_plain};
use crate::click::{BLOCK_ACTIONS, member};
use crate::reason::Reason;
use crate::sender::Sender;
use event::{ConnectionIdentified, DeliveryReceived, Mode, PrincipalId};
use serde_json::Value;
use std::collections::BTreeSet;

/// `action_id` of the menu of channels. The tool that publishes a Home writes the same words.
pub const ACTION_CHANNEL: &str = "home.channel";
/// `action_id` of the menu of modes; its block is about the channel.
pub const ACTION_MODE: &str = "home.mode";
/// `action_id` of the menu of channels where may be told what was read with the person's accounts.
pub const ACTION_DISCLOSE: &str = "home.disclose";
/// `action_id` of the button that connects an account, before the number of the button; its value is the service.
pub const ACTION_CONNECT: &str = "home.connect";
/// `action_id` of the button that takes an account back, likewise.
pub const ACTION_DISCONNECT: &str = "home.disconnect";
/// `action_id` of a button that leads into a browser and asks nothing of the office.
pub const ACTION_OPEN: &str = "home.open";
/// The most channels that are taken from a menu.
pub const CHANNELS_MAX: usize = 50;

/// What somebody chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The channel whose settings they want to see, `C1`.
    Channel(String),
    /// A mode for this channel.
    Mode(String, Mode),
    /// The channels where may be told what was read with their accounts.
    Disclose(BTreeSet<String>),
    /// To connect their account at this service.
    Connect(String),
    /// To take back their account at this service.
    Disconnect(String),
}

/// Something that a person chose on their Home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Who.
    pub by: PrincipalId,
    /// The same, as Slack names them.
    pub user: String,
    /// The workspace of the person.
    pub team: String,
    /// What.
    pub chosen: Chosen,
}

/// What was chosen on a Home, or why nothing was.
///
/// # Errors
/// The rung that stopped it: another element, a program, somebody from outside, an office that does not know itself.
pub fn chosen(delivery: &DeliveryReceived, own: Option<&ConnectionIdentified>) -> Result<Choice, Reason> {
    let payload = delivery.payload.json();
    let chosen = what(delivery).ok_or(Reason::BlockAction)?;
    let sender = Sender::of(payload);
    let team = member(payload, &sender, own.ok_or(Reason::IdentityUnknown)?)?;
    let user = Some(sender.user).filter(|user| is_plain(user)).ok_or(Reason::IncompleteMessage)?;
    let by = PrincipalId::parse(&format!("person_{SOURCE_SLACK}.{team}.{user}"));
    let by = by.map_err(|_| Reason::IncompleteMessage)?;
    Ok(Choice { by, user: user.to_owned(), team: team.to_owned(), chosen })
}

/// What a delivery is, when something on a Home was used.
pub(crate) fn reason(delivery: &DeliveryReceived, own: Option<&ConnectionIdentified>) -> Option<Reason> {
    what(delivery)?;
    Some(chosen(delivery, own).map_or_else(|reason| reason, |_| Reason::HomeSetting))
}

fn what(delivery: &DeliveryReceived) -> Option<Chosen> {
    let payload = delivery.payload.json();
    let is_home = payload.pointer("/view/type").and_then(Value::as_str) == Some("home");
    if delivery.kind != BLOCK_ACTIONS || !is_home {
        return None;
    }
    let [action] = payload.get("actions").and_then(Value::as_array)?.as_slice() else { return None };
    let text = |pointer: &str| action.pointer(pointer).and_then(Value::as_str);
    let plain = |pointer: &str| text(pointer).filter(|text| is_plain(text)).map(str::to_owned);
    match text("/action_id")?.split('/').next()? {
        ACTION_CHANNEL => Some(Chosen::Channel(plain("/selected_conversation")?)),
        ACTION_MODE => {
            // A block's id is its number, what it is about, and the effect that published it.
            let about = text("/block_id")?.split('/').nth(1).filter(|about| is_plain(about))?;
            Some(Chosen::Mode(about.to_owned(), Mode::of_word(text("/selected_option/value")?)?))
        }
        ACTION_DISCLOSE => {
            let all = action.get("selected_conversations").and_then(Value::as_array)?;
            let channel = |value: &Value| value.as_str().filter(|text| is_plain(text)).map(str::to_owned);
            let channels: Option<BTreeSet<String>> = all.iter().map(channel).collect();
            channels.filter(|channels| channels.len() <= CHANNELS_MAX).map(Chosen::Disclose)
        }
        ACTION_CONNECT => plain("/value").map(Chosen::Connect),
        ACTION_DISCONNECT => plain("/value").map(Chosen::Disconnect),
        _ => None,
    }
}

/// The person who opened their Home, and the channel that it showed last, when it was the Home they opened.
#[must_use]
pub fn opened<'a>(arrival: &Arrival<'a>, own: &ConnectionIdentified) -> Option<(PrincipalId, &'a str)> {
    let tab = arrival.delivery.payload.json().pointer("/event/tab").and_then(Value::as_str);
    let user = arrival.sender().user;
    if arrival.is_outside(own) || !is_plain(user) || tab != Some("home") {
        return None;
    }
    let by = PrincipalId::parse(&format!("person_{SOURCE_SLACK}.{}.{user}", arrival.team())).ok()?;
    Some((by, user))
}

#[cfg(test)]
mod tests {
    use super::{Chosen, chosen};
    use crate::fixture::own;
    use crate::{Arrival, Manner, Reason, classify};
    use event::{DeliveryReceived, Mode};
    use serde_json::{Value, json};

    fn payload(action: Value) -> Value {
        json!({"type": "block_actions", "team": {"id": "T1"}, "user": {"id": "U1", "team_id": "T1"},
            "container": {"type": "view", "view_id": "V1"},
            "view": {"id": "V1", "type": "home", "app_id": "A1", "bot_id": "B1", "blocks": []},
            "actions": [action]})
    }

    fn delivery(payload: Value) -> DeliveryReceived {
        DeliveryReceived {
            source: "slack".into(),
            kind: payload["type"].as_str().unwrap().into(),
            event: String::new(),
            subtype: String::new(),
            external_id: String::new(),
            retry: 0,
            payload: payload.into(),
        }
    }

    fn mode() -> Value {
        json!({"type": "static_select", "action_id": "home.mode", "block_id": "4/C1/effect_1",
            "selected_option": {"text": {"type": "plain_text", "text": "Eager"}, "value": "eager"}})
    }

    #[test]
    fn each_menu_and_button_says_what_was_chosen_and_by_whom() {
        for (action, expected) in [
            (mode(), Chosen::Mode("C1".into(), Mode::Eager)),
            (
                json!({"action_id": "home.channel", "block_id": "3//effect_1", "selected_conversation": "C9"}),
                Chosen::Channel("C9".into()),
            ),
            (
                json!({"action_id": "home.disclose", "selected_conversations": ["C2", "C1", "C2"]}),
                Chosen::Disclose(["C1".to_owned(), "C2".to_owned()].into()),
            ),
            (
                json!({"action_id": "home.disclose", "selected_conversations": []}),
                Chosen::Disclose([].into()),
            ),
            (json!({"action_id": "home.connect/0", "value": "linear"}), Chosen::Connect("linear".into())),
            (json!({"action_id": "home.disconnect/7", "value": "mail"}), Chosen::Disconnect("mail".into())),
        ] {
            let delivery = delivery(payload(action));
            let found = chosen(&delivery, Some(&own())).unwrap();
            assert_eq!(
                (found.by.as_str(), found.user.as_str(), found.chosen),
                ("person_slack.T1.U1", "U1", expected)
            );
            let reason = classify(&Arrival::of(&delivery), false, Some(&own()), &Manner::default());
            assert_eq!(reason, Reason::HomeSetting);
        }
    }

    #[test]
    fn what_is_odd_or_from_outside_chooses_nothing() {
        let with = |pointer: &str, value: Value| {
            let mut payload = payload(mode());
            *payload.pointer_mut(pointer).unwrap() = value;
            payload
        };
        for (payload, expected) in [
            (with("/view/type", json!("modal")), Reason::BlockAction),
            (with("/actions/0/block_id", json!("<!here>")), Reason::BlockAction),
            (with("/actions/0/selected_option/value", json!("loud")), Reason::BlockAction),
            (with("/actions/0/action_id", json!("home.other")), Reason::BlockAction),
            (with("/actions", json!([mode(), mode()])), Reason::BlockAction),
            (with("/team/id", json!("T2")), Reason::ExternalPerson),
            (with("/user/team_id", json!("T2")), Reason::ExternalPerson),
            (with("/user/id", json!("U0BOT")), Reason::OwnAct),
            (with("/user/id", json!("")), Reason::IncompleteMessage),
        ] {
            let delivery = delivery(payload);
            assert_eq!(chosen(&delivery, Some(&own())), Err(expected), "{:?}", delivery.payload.json());
            let reason = classify(&Arrival::of(&delivery), false, Some(&own()), &Manner::default());
            assert_eq!(reason, expected);
        }
        let many: Vec<String> = (0..=super::CHANNELS_MAX).map(|n| format!("C{n}")).collect();
        let many = delivery(payload(json!({"action_id": "home.disclose", "selected_conversations": many})));
        assert_eq!(chosen(&many, Some(&own())), Err(Reason::BlockAction));
        assert_eq!(chosen(&delivery(payload(mode())), None), Err(Reason::IdentityUnknown));
    }
}
