//! A delivery, as far as deciding what it asks needs it: every question is answered from its payload, and a
//! field that is missing or has another shape is an answer too, never an error.
//!
//! Slack's payloads change weekly, so nothing here insists on more than it uses. Deliberately absent: names
//! of people and channels, which are theirs to choose.

use crate::notation::{leads_with, mentions};
use crate::sender::Sender;
use crate::shortcut::{MESSAGE_ACTION, shortcut};
use event::{
    Author, ConnectionIdentified, DeliveryReceived, MessageReceived, Personal, Place, PlaceKind, PrincipalId,
    Topic,
};
use serde_json::Value;

/// [`DeliveryReceived::source`] of what comes from Slack.
pub const SOURCE_SLACK: &str = "slack";
/// [`DeliveryReceived::source`] of what is typed at a terminal.
pub const SOURCE_TERMINAL: &str = "terminal";
/// [`Place::team`] of a terminal.
pub const TERMINAL_TEAM: &str = "local";
/// [`Place::thread_ts`] of everything said in a terminal session: one session is one topic.
pub const TERMINAL_ROOT: &str = "0";

/// Where a terminal's delivery says that what is asked is a drill.
pub const DRILL: &str = "drill";

/// Whether what was said is to be answered in a drill: only a terminal can ask for one, by the way it was started. No
/// field of another source means that, whatever it is called.
#[must_use]
pub fn asks_a_drill(delivery: &DeliveryReceived) -> bool {
    delivery.source == SOURCE_TERMINAL && delivery.payload.json().get(DRILL) == Some(&Value::Bool(true))
}

/// [`DeliveryReceived::kind`] of Slack's events.
pub(crate) const EVENT_CALLBACK: &str = "event_callback";

/// Longest id or timestamp that a place is made of, in bytes. Slack's have about 11 and 17; four of these fit
/// a topic and a stream name.
pub const ID_PART_BYTES_MAX: usize = 48;

/// Subtypes that somebody said; the office acts on these alone. An allow-list, since Slack adds subtypes.
const SAID: [&str; 4] = ["", "file_share", "thread_broadcast", "me_message"];

/// Whether `text` can be part of a place: letters, digits, `.`, `-`, `_`, and not too long.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    !text.is_empty() && text.len() <= ID_PART_BYTES_MAX && text.bytes().all(plain)
}

/// One delivery, to be asked about.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The delivery.
    pub delivery: &'a DeliveryReceived,
}

impl<'a> Arrival<'a> {
    /// Looks at `delivery`.
    #[must_use]
    pub fn of(delivery: &'a DeliveryReceived) -> Self {
        Self { delivery }
    }

    /// Whether it tells of a message, rather than of anything else. A message inside any other kind of delivery,
    /// such as the one a button hangs on, is quoted.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.delivery.kind == EVENT_CALLBACK
            && matches!(self.delivery.event.as_str(), "message" | "app_mention")
    }

    /// Whether somebody or something said it just now, in a subtype that carries words.
    #[must_use]
    pub fn is_said(&self) -> bool {
        SAID.contains(&self.delivery.subtype.as_str())
    }

    /// The workspace that the office was installed in, which is not always the sender's. `unknown` when the
    /// delivery does not say.
    #[must_use]
    pub fn team(&self) -> &'a str {
        let pointers = [
            "/authorizations/0/team_id",
            "/team_id",
            "/team/id",
            "/user/team_id",
            "/view/team_id",
            "/enterprise_id",
            "/enterprise/id",
        ];
        pointers.into_iter().map(|p| self.text_at(p)).find(|team| is_plain(team)).unwrap_or("unknown")
    }

    /// The conversation it belongs to.
    #[must_use]
    pub fn channel(&self) -> Option<&'a str> {
        let pointers = [
            "/event/channel",
            "/event/channel/id",
            "/event/item/channel",
            "/event/channel_id",
            "/channel/id",
            "/container/channel_id",
            "/channel_id",
        ];
        pointers.into_iter().map(|p| self.text_at(p)).find(|channel| is_plain(channel))
    }

    /// Who did it.
    #[must_use]
    pub fn sender(&self) -> Sender<'a> {
        Sender::of(self.subject())
    }

    /// What was said, in Slack's notation; empty when nothing was.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.subject().get("text").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it is an edit that left the text as it was: a link unfolded, metadata changed.
    #[must_use]
    pub fn leaves_text(&self) -> bool {
        let before =
            self.delivery.payload.json().pointer("/event/previous_message/text").and_then(Value::as_str);
        before.is_some_and(|before| before == self.text())
    }

    /// Whether it was said in the office's assistant view.
    #[must_use]
    pub fn is_in_assistant_view(&self) -> bool {
        self.delivery.payload.json().pointer("/event/assistant_thread").is_some_and(Value::is_object)
    }

    /// Where the message it tells of stands; for an edit or a deletion, the message that was changed.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        if self.delivery.source == SOURCE_TERMINAL {
            return self.terminal_place();
        }
        let stamp = |value: Option<&Value>| match value {
            Some(Value::String(ts)) => Some(ts.clone()),
            Some(Value::Number(ts)) => Some(ts.to_string()),
            _ => None,
        };
        let at =
            |pointer: &str| stamp(self.delivery.payload.json().pointer(pointer)).filter(|ts| is_plain(ts));
        let pointers: &[&str] = match self.delivery.subtype.as_str() {
            _ if self.takes_back() => {
                &["/event/previous_message/ts", "/event/deleted_ts", "/event/message/ts"]
            }
            "message_changed" => &["/event/message/ts", "/event/previous_message/ts"],
            _ => &["/event/ts", "/event/event_ts"],
        };
        let channel = self.channel()?;
        Some(Place {
            kind: self.place_kind(channel),
            team: self.team().to_owned(),
            channel: channel.to_owned(),
            ts: pointers.iter().find_map(|p| at(p))?,
            thread_ts: stamp(self.subject().get("thread_ts")).filter(|ts| is_plain(ts)),
        })
    }

    /// The topic of [`Arrival::place`].
    #[must_use]
    pub fn topic(&self) -> Option<Topic> {
        let has_place = self.is_message() || self.delivery.source == SOURCE_TERMINAL;
        if has_place { self.place().and_then(|place| place.topic()) } else { None }
    }

    /// Whether it names the office: it came as a mention, its text holds the entity, or its rich text does. A
    /// name in words, in code or in a quotation is no mention.
    #[must_use]
    pub fn names_office(&self, own: Option<&ConnectionIdentified>) -> bool {
        if self.delivery.event == "app_mention" {
            return true;
        }
        let Some(user) = own.map(|own| own.user.as_str()).filter(|user| !user.is_empty()) else {
            return false;
        };
        let blocks = self.subject().get("blocks").and_then(Value::as_array);
        let rich = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("rich_text");
        mentions(self.text(), user)
            || blocks
                .is_some_and(|blocks| blocks.iter().filter(rich).any(|block| has_user_element(block, user)))
    }

    /// Whether it begins by naming somebody who is not the office.
    #[must_use]
    pub fn leads_with_another(&self, own: &ConnectionIdentified) -> bool {
        leads_with(self.text()).is_some_and(|user| user != own.user)
    }

    /// Whether somebody outside the organisation takes part: a channel shared with another one, an author of
    /// another workspace, a guest or a stranger. What cannot be told counts as outside.
    #[must_use]
    pub fn is_outside(&self, own: &ConnectionIdentified) -> bool {
        if self.delivery.source == SOURCE_TERMINAL {
            return false;
        }
        let shared = self.delivery.payload.json().get("is_ext_shared_channel");
        let subject = self.subject();
        let flagged = ["is_stranger", "is_restricted", "is_ultra_restricted"].into_iter().any(|flag| {
            let set = |value: Option<&Value>| value.is_some_and(is_set);
            set(subject.get(flag)) || set(subject.get("user_profile").and_then(|profile| profile.get(flag)))
        });
        let organisation = self.text_at("/authorizations/0/enterprise_id");
        let ours = |team: &str| team == own.team || (!team.is_empty() && team == organisation);
        // Installed in a whole organisation, and the office is not: it is not this installation that is spoken to.
        let another = self.flag_at("/authorizations/0/is_enterprise_install") && organisation != own.team;
        another
            || shared.is_some_and(is_set)
            || flagged
            || !ours(self.team())
            || !self.author_teams().all(ours)
    }

    /// The message it carries, when something was said in a place that can be named. Programs' messages are
    /// messages too: they are never answered, and they are context.
    #[must_use]
    pub fn message(&self, own: Option<&ConnectionIdentified>) -> Option<MessageReceived> {
        if self.delivery.kind == MESSAGE_ACTION {
            return shortcut(self.delivery, own).map(|shortcut| shortcut.message);
        }
        let said = self.is_message() && (self.is_said() || self.delivery.subtype == "bot_message");
        if !said && self.delivery.source != SOURCE_TERMINAL {
            return None;
        }
        let place = self.place()?;
        // A place that makes no topic could never be answered or found again.
        place.topic()?;
        let author = self.author(&place, own);
        Some(MessageReceived {
            text: Personal::of(self.text().to_owned(), author.principal.clone()),
            author,
            place,
            mentions_office: self.names_office(own),
            subtype: self.delivery.subtype.clone(),
        })
    }

    pub(crate) fn author(&self, place: &Place, own: Option<&ConnectionIdentified>) -> Author {
        if place.kind == PlaceKind::Terminal {
            let principal = PrincipalId::parse(self.text_at("/person")).ok();
            return Author { principal, external: String::new(), bot: false };
        }
        let sender = self.sender();
        let team = self.author_teams().find(|team| is_plain(team)).unwrap_or(place.team.as_str());
        // Some senders echo the office's own messages as those of a plain user.
        let is_program = sender.is_program || own.is_some_and(|own| sender.is_office(own));
        let person = !is_program && is_plain(sender.user);
        let principal =
            person.then(|| PrincipalId::parse(&format!("person_slack.{team}.{}", sender.user)).ok());
        Author { principal: principal.flatten(), external: sender.external().to_owned(), bot: is_program }
    }

    /// The workspaces that the delivery says its author is of. `team` says so only where nothing better does:
    /// in a shared channel it may be the other side's.
    fn author_teams(&self) -> impl Iterator<Item = &'a str> {
        teams_of(self.subject())
    }

    fn terminal_place(&self) -> Option<Place> {
        let (session, ts) = (self.text_at("/session"), self.text_at("/ts"));
        (is_plain(session) && is_plain(ts)).then(|| Place {
            kind: PlaceKind::Terminal,
            team: TERMINAL_TEAM.to_owned(),
            channel: session.to_owned(),
            ts: ts.to_owned(),
            thread_ts: Some(TERMINAL_ROOT.to_owned()),
        })
    }

    pub(crate) fn place_kind(&self, channel: &str) -> PlaceKind {
        match self.text_at("/event/channel_type") {
            "channel" => PlaceKind::Channel,
            "group" => PlaceKind::Group,
            "mpim" => PlaceKind::Mpim,
            "im" | "app_home" => PlaceKind::Im,
            // Mentions do not state the type. `D` is a direct message always; other letters say nothing.
            _ if channel.starts_with('D') => PlaceKind::Im,
            _ => PlaceKind::Unknown,
        }
    }

    /// The object that was said or done: inside an edit or a deletion, the message itself.
    pub(crate) fn subject(&self) -> &'a Value {
        let payload = self.delivery.payload.json();
        let event = payload.get("event").unwrap_or(payload);
        let within = match self.delivery.subtype.as_str() {
            _ if self.takes_back() => event.get("previous_message"),
            "message_changed" | "message_replied" => event.get("message"),
            _ => None,
        };
        within.filter(|message| message.is_object()).unwrap_or(event)
    }

    fn flag_at(&self, pointer: &str) -> bool {
        self.delivery.payload.json().pointer(pointer).is_some_and(is_set)
    }

    fn text_at(&self, pointer: &str) -> &'a str {
        self.delivery.payload.json().pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }
}

/// As [`Arrival::author_teams`], of any message in a payload.
pub(crate) fn teams_of(message: &Value) -> impl Iterator<Item = &str> {
    let text =
        |pointer: &str| message.pointer(pointer).and_then(Value::as_str).filter(|team| !team.is_empty());
    let stated = [text("/user_team"), text("/source_team"), text("/user_profile/team")];
    let fallback = if stated.iter().all(Option::is_none) { text("/team") } else { None };
    stated.into_iter().chain([fallback]).flatten()
}

/// A flag that is anything but absent, null or false: a shape nobody has seen yet fails closed.
fn is_set(flag: &Value) -> bool {
    !matches!(flag, Value::Null | Value::Bool(false))
}

/// Whether a rich text block holds a `user` element for `user`. Payload nesting is bounded where it is parsed.
fn has_user_element(block: &Value, user: &str) -> bool {
    match block {
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str);
            (text("type") == Some("user") && text("user_id") == Some(user))
                || fields.values().any(|value| has_user_element(value, user))
        }
        Value::Array(items) => items.iter().any(|item| has_user_element(item, user)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
