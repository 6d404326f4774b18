//! The office's slash command: what somebody asks of it in a channel without saying anything there.
//!
//! `/chancery mode` tells the channel's mode, `/chancery mode eager` asks for another; `/chancery connect linear` asks for
//! a link to connect one's account. Who may set one is the record's to
//! say. Deliberately absent: asking a seat anything; whoever wants an answer mentions the office.

use crate::arrival::{Arrival, is_plain};
use event::{ConnectionIdentified, DeliveryReceived, Mode, PrincipalId};
use serde_json::Value;

/// [`DeliveryReceived::kind`] of a slash command.
const SLASH_COMMAND: &str = "slash_command";

/// What somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To know the mode of the channel.
    Tell,
    /// Another mode.
    Set(Mode),
    /// To connect an account at a service.
    Connect(String),
    /// To take back the account at a service.
    Disconnect(String),
    /// Something that the office does not know.
    Unknown,
}

/// A slash command of a person of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The conversation it was used in, `T1:C1`.
    pub channel: String,
    /// The channel alone, `C1`.
    pub channel_id: String,
    /// Who, in Slack, `U1`.
    pub user: String,
    /// Who.
    pub by: PrincipalId,
    /// What they want.
    pub wish: Wish,
}

/// The command in `delivery`, when it is one and comes from within.
#[must_use]
pub fn command(delivery: &DeliveryReceived, own: &ConnectionIdentified) -> Option<Command> {
    let arrival = Arrival::of(delivery);
    if delivery.kind != SLASH_COMMAND || arrival.is_outside(own) {
        return None;
    }
    let (channel, user) = (arrival.channel()?, arrival.sender().user);
    let by = is_plain(user)
        .then(|| PrincipalId::parse(&format!("person_slack.{}.{user}", arrival.team())).ok())??;
    let text = delivery.payload.json().get("text").and_then(Value::as_str).unwrap_or_default();
    Some(Command {
        channel: format!("{}:{channel}", arrival.team()),
        channel_id: channel.to_owned(),
        user: user.to_owned(),
        by,
        wish: wish(text),
    })
}

fn wish(text: &str) -> Wish {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["mode"] => Wish::Tell,
        ["connect", service] => Wish::Connect((*service).to_owned()),
        ["disconnect", service] => Wish::Disconnect((*service).to_owned()),
        ["mode", word] => Mode::of_word(word).map_or(Wish::Unknown, Wish::Set),
        _ => Wish::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{Wish, command};
    use event::{ConnectionIdentified, DeliveryReceived, Mode};
    use serde_json::{Value, json};

    fn of(change: Value) -> Option<(String, String, Wish)> {
        let own = ConnectionIdentified {
            source: "slack".into(),
            team: "T1".into(),
            user: "U0BOT".into(),
            bot: "B1".into(),
            app: "A1".into(),
        };
        let mut payload = json!({"type": "slash_command", "command": "/chancery", "text": "mode Eager",
            "team_id": "T1", "channel_id": "C1", "user_id": "U1"});
        for (key, value) in change.as_object().unwrap() {
            payload[key] = value.clone();
        }
        let delivery = DeliveryReceived {
            source: "slack".into(),
            kind: payload["type"].as_str().unwrap().into(),
            event: String::new(),
            subtype: String::new(),
            external_id: String::new(),
            retry: 0,
            payload: payload.into(),
        };
        command(&delivery, &own).map(|found| (found.channel, found.by.as_str().to_owned(), found.wish))
    }

    #[test]
    fn a_command_says_who_wants_what_where() {
        let (channel, by, wish) = of(json!({})).unwrap();
        assert_eq!(
            (channel.as_str(), by.as_str(), wish),
            ("T1:C1", "person_slack.T1.U1", Wish::Set(Mode::Eager))
        );
        assert_eq!(of(json!({"text": " mode "})).unwrap().2, Wish::Tell);
        assert_eq!(of(json!({"text": "connect Linear"})).unwrap().2, Wish::Connect("linear".to_owned()));
        assert_eq!(
            of(json!({"text": "disconnect linear"})).unwrap().2,
            Wish::Disconnect("linear".to_owned())
        );
        for text in ["", "connect", "connect a b", "mode loud", "mode eager now", "help"] {
            assert_eq!(of(json!({"text": text})).unwrap().2, Wish::Unknown, "{text}");
        }
    }

    #[test]
    fn a_command_from_outside_or_of_nobody_is_none() {
        for change in [
            json!({"team_id": "T2"}),
            json!({"user_id": ""}),
            json!({"user_id": "<!here>"}),
            json!({"channel_id": ""}),
            json!({"type": "form"}),
        ] {
            assert_eq!(of(change.clone()), None, "{change}");
        }
    }
}
