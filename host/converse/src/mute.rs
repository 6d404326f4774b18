//! Muting a thread by an emoji, and taking that back: whoever takes part in a thread may ask for silence there.
//!
//! Any of the office's mute emoji on any message of a thread, by any person of the workspace, mutes it for speaking
//! unasked; whoever mentions the office there is still answered. It lasts until one who put such an emoji takes it off.

use crate::arrival::Arrival;
use crate::manner::Manner;
use event::{
    Actor, ConnectionIdentified, DeliveryReceived, EventId, Label, PrincipalId, Proposed, Topic, TopicMuted,
    TopicUnmuted,
};
use serde_json::Value;

/// A reaction that mutes, or takes that back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mute {
    /// The message it was put on, as [`event::Place::key`] names it.
    pub message: String,
    /// Who.
    pub by: PrincipalId,
    /// Whether it was taken back.
    pub taken_back: bool,
}

/// The mute in `delivery`, when it is one: a reaction of a person of the workspace with one of the mute emoji.
#[must_use]
pub fn mute(delivery: &DeliveryReceived, own: &ConnectionIdentified, manner: &Manner) -> Option<Mute> {
    let arrival = Arrival::of(delivery);
    let taken_back = match delivery.event.as_str() {
        "reaction_added" => false,
        "reaction_removed" => true,
        _ => return None,
    };
    let text = |pointer: &str| delivery.payload.json().pointer(pointer).and_then(Value::as_str);
    let (emoji, ts) = (text("/event/reaction")?, text("/event/item/ts")?);
    let sender = arrival.sender();
    let ours = !sender.is_office(own) && !sender.is_program && !arrival.is_outside(own);
    if !ours || text("/event/item/type") != Some("message") || !manner.mutes.contains(emoji) {
        return None;
    }
    if !crate::is_plain(sender.user) || !crate::is_plain(ts) {
        return None;
    }
    let by = PrincipalId::parse(&format!("person_slack.{}.{}", arrival.team(), sender.user)).ok()?;
    Some(Mute { message: format!("{}:{}:{ts}", arrival.team(), arrival.channel()?), by, taken_back })
}

/// The fact of a mute of `topic`.
#[must_use]
pub fn fact(mute: &Mute, topic: Topic, delivery: EventId, host: &PrincipalId) -> Proposed {
    let by = mute.by.clone();
    let id = EventId::derived(&["topic.muted", delivery.as_str()]);
    let cause = Some(delivery.clone());
    let fact = if mute.taken_back {
        TopicUnmuted { topic, by, delivery }.into()
    } else {
        TopicMuted { topic, by, delivery }.into()
    };
    Proposed { id, actor: Actor { principal: host.clone(), seat: None }, cause, label: Label::host(), fact }
}

#[cfg(test)]
mod tests {
    use super::mute;
    use crate::Manner;
    use crate::fixture::own;
    use event::DeliveryReceived;
    use serde_json::{Value, json};

    fn of(event: &str, change: Value) -> Option<(String, bool)> {
        let mut payload = json!({"type": "event_callback", "team_id": "T1", "event": {"type": event, "user": "U1",
            "reaction": "no_bell", "item": {"type": "message", "channel": "C1", "ts": "1.0"}}});
        for (key, value) in change.as_object().unwrap() {
            payload["event"][key] = value.clone();
        }
        let delivery = DeliveryReceived {
            source: "slack".into(),
            kind: "event_callback".into(),
            event: event.into(),
            subtype: String::new(),
            external_id: String::new(),
            retry: 0,
            payload: payload.into(),
        };
        let manner = Manner { mutes: ["no_bell".to_owned()].into(), ..Manner::default() };
        mute(&delivery, &own(), &manner).map(|mute| (mute.message, mute.taken_back))
    }

    #[test]
    fn an_emoji_of_a_person_on_a_message_mutes_and_taking_it_off_takes_that_back() {
        assert_eq!(of("reaction_added", json!({})), Some(("T1:C1:1.0".into(), false)));
        assert_eq!(of("reaction_removed", json!({})), Some(("T1:C1:1.0".into(), true)));
        for other in [
            json!({"reaction": "tada"}),
            json!({"user": "U0BOT"}),
            json!({"user": "USLACKBOT"}),
            json!({"user_team": "T2"}),
            json!({"item": {"type": "file", "channel": "C1", "ts": "1.0"}}),
            json!({"item": {"type": "message", "channel": "C1"}}),
        ] {
            assert_eq!(of("reaction_added", other.clone()), None, "{other}");
        }
        assert_eq!(of("pin_added", json!({})), None);
    }
}
