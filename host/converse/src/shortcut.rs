//! A shortcut on a message: somebody asks the office about what somebody else said there.
//!
//! It is taken as a message of whoever used it, in the thread of the message it was used on, which it quotes: so what
//! holds of a question holds of it, and nobody asks in another's name. Deliberately absent: shortcuts without a message,
//! which open a form ([`crate::form`]).

use crate::arrival::{Arrival, SOURCE_SLACK, is_plain, teams_of};
use crate::click::member;
use crate::reason::Reason;
use crate::sender::Sender;
use event::{Author, ConnectionIdentified, DeliveryReceived, MessageReceived, Personal, Place, PrincipalId};
use serde_json::Value;

/// [`DeliveryReceived::kind`] of a shortcut on a message.
pub(crate) const MESSAGE_ACTION: &str = "message_action";
/// `callback_id` of the shortcut that asks about a message.
pub const SHORTCUT_ASK: &str = "chancery.ask";
/// `callback_id` of the shortcut that asks for a drill about one.
pub const SHORTCUT_DRILL: &str = "chancery.drill";

/// What stands before the quotation.
const ABOUT: &str = "About this message:";

/// A shortcut on a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shortcut {
    /// What it is taken as.
    pub message: MessageReceived,
    /// Whether it asks for a drill.
    pub drill: bool,
}

/// The shortcut that `delivery` is, when it is one of the office's and whole. With `own`, only a person of ours is taken.
pub(crate) fn shortcut(delivery: &DeliveryReceived, own: Option<&ConnectionIdentified>) -> Option<Shortcut> {
    let payload = delivery.payload.json();
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
    let drill = match text("/callback_id")? {
        SHORTCUT_ASK => false,
        SHORTCUT_DRILL => true,
        _ => return None,
    };
    let (arrival, sender) = (Arrival::of(delivery), Sender::of(payload));
    let team = match own {
        Some(own) => member(payload, &sender, own).ok()?,
        None => arrival.team(),
    };
    let plain = |pointer: &str| text(pointer).filter(|text| is_plain(text)).map(str::to_owned);
    let user = is_plain(sender.user).then(|| sender.user.to_owned())?;
    let channel = plain("/channel/id")?;
    let place = Place {
        kind: arrival.place_kind(&channel),
        team: arrival.team().to_owned(),
        ts: plain("/action_ts")?,
        thread_ts: Some(plain("/message/thread_ts").or_else(|| plain("/message/ts"))?),
        channel,
    };
    place.topic()?;
    let by = PrincipalId::parse(&format!("person_{SOURCE_SLACK}.{team}.{user}")).ok()?;
    let quoted = payload.get("message")?;
    let of = said_by(quoted, arrival.team()).into_iter().chain([by.clone()]);
    let message = MessageReceived {
        text: Personal::of(question(quoted.get("text").and_then(Value::as_str).unwrap_or_default()), of),
        author: Author { principal: Some(by), external: user, bot: false },
        place,
        mentions_office: true,
        subtype: String::new(),
    };
    Some(Shortcut { message, drill })
}

/// The person who said a message; nothing when a program did.
fn said_by(message: &Value, team: &str) -> Option<PrincipalId> {
    let sender = Sender::of(message);
    let user = Some(sender.user).filter(|user| !sender.is_program && is_plain(user))?;
    let team = teams_of(message).find(|team| is_plain(team)).unwrap_or(team);
    PrincipalId::parse(&format!("person_{SOURCE_SLACK}.{team}.{user}")).ok()
}

/// The question, in Slack's notation: each line of the message is a line of a quotation.
fn question(text: &str) -> String {
    let lines = text.lines().map(|line| format!("&gt; {line}"));
    [ABOUT.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

impl Arrival<'_> {
    /// What a shortcut on a message asks.
    pub(crate) fn of_shortcut(&self, own: Option<&ConnectionIdentified>) -> Reason {
        let Some(own) = own else { return Reason::IdentityUnknown };
        match shortcut(self.delivery, Some(own)) {
            Some(Shortcut { drill: true, .. }) => Reason::Drill,
            Some(_) => Reason::MessageShortcut,
            None => {
                let payload = self.delivery.payload.json();
                let ours = shortcut(self.delivery, None).is_some();
                // Why a shortcut of the office's is not taken; any other is somebody else's.
                member(payload, &Sender::of(payload), own).err().filter(|_| ours).unwrap_or(Reason::Shortcut)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shortcut;
    use crate::fixture::own;
    use crate::{Arrival, Manner, Reason, classify};
    use event::DeliveryReceived;
    use serde_json::{Value, json};

    fn payload() -> Value {
        json!({"type": "message_action", "callback_id": "chancery.ask", "trigger_id": "sha256:0", "action_ts": "9.5",
            "team": {"id": "T1", "domain": "test"}, "user": {"id": "U1", "team_id": "T1", "name": "alice"},
            "channel": {"id": "C1", "name": "general"}, "message_ts": "2.0",
            "message": {"type": "message", "user": "U2", "team": "T1", "ts": "2.0", "thread_ts": "1.0",
                "text": "The tide turns at <https://a.example|six>.\nOr not &lt;!here&gt;"}})
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

    fn reason(payload: Value) -> Reason {
        classify(&Arrival::of(&delivery(payload)), false, Some(&own()), &Manner::default())
    }

    #[test]
    fn a_shortcut_is_a_question_of_whoever_used_it_in_the_thread_of_the_message() {
        let found = shortcut(&delivery(payload()), Some(&own())).unwrap();
        let (message, place) = (&found.message, &found.message.place);
        assert_eq!(message.author.principal.as_ref().unwrap().as_str(), "person_slack.T1.U1");
        assert_eq!(
            (place.channel.as_str(), place.ts.as_str(), place.thread_ts.as_deref()),
            ("C1", "9.5", Some("1.0"))
        );
        let shown = crate::readable(message.text.text());
        assert!(shown.starts_with("About this message:\n> The tide turns at "), "{shown}");
        assert!(shown.ends_with("\n> Or not <!here>"), "{shown}");
        let of: Vec<&str> = message.text.subjects().iter().map(|of| of.as_str()).collect();
        assert_eq!(of, ["person_slack.T1.U1", "person_slack.T1.U2"], "the words are of both");
        assert_eq!((reason(payload()), found.drill), (Reason::MessageShortcut, false));
        let mut drill = payload();
        drill["callback_id"] = json!("chancery.drill");
        assert_eq!(reason(drill), Reason::Drill);
        // A message that began no thread is the thread.
        let mut root = payload();
        root["message"].as_object_mut().unwrap().remove("thread_ts");
        let root = shortcut(&delivery(root), Some(&own())).unwrap();
        assert_eq!(root.message.place.thread_ts.as_deref(), Some("2.0"));
    }

    #[test]
    fn from_outside_of_a_program_or_of_another_app_it_asks_nothing() {
        for (pointer, value, expected) in [
            ("/callback_id", json!("other"), Reason::Shortcut),
            ("/channel/id", json!("<!here>"), Reason::Shortcut),
            ("/message", json!(null), Reason::Shortcut),
            ("/team/id", json!("T2"), Reason::ExternalPerson),
            ("/user/team_id", json!("T2"), Reason::ExternalPerson),
            ("/user/is_restricted", json!(true), Reason::ExternalPerson),
            ("/user/is_bot", json!(true), Reason::BotMessage),
            ("/user/id", json!("U0BOT"), Reason::OwnAct),
        ] {
            let mut payload = payload();
            *payload.pointer_mut(pointer).unwrap_or(&mut Value::Null) = value.clone();
            if payload.pointer(pointer).is_none() {
                payload["user"][pointer.rsplit('/').next().unwrap()] = value;
            }
            assert_eq!(reason(payload.clone()), expected, "{payload}");
            assert!(shortcut(&delivery(payload), Some(&own())).is_none(), "{pointer}");
        }
        let unknown = classify(&Arrival::of(&delivery(payload())), false, None, &Manner::default());
        assert_eq!(unknown, Reason::IdentityUnknown);
    }
}
