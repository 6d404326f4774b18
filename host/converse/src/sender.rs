//! Who did or said what a delivery tells, by ids alone.
//!
//! Names, display names and profile fields that people choose are never looked at.

use event::ConnectionIdentified;
use serde_json::Value;

/// Users that are Slack itself: notices come from them.
const SLACK_USERS: [&str; 2] = ["USLACK", "USLACKBOT"];

/// Who did it. Ids that the delivery does not state are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender<'a> {
    /// The user, `U…` or `W…`.
    pub user: &'a str,
    /// The bot, `B…`.
    pub bot: &'a str,
    /// The app that said it, `A…`. Never the envelope's `api_app_id`, which names the receiver.
    pub app: &'a str,
    /// Whether a program said it.
    pub is_program: bool,
}

impl<'a> Sender<'a> {
    /// Reads the sender from `subject`, the object that was said or done.
    pub(crate) fn of(subject: &'a Value) -> Self {
        let text = |pointer: &str| subject.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let first =
            |pointers: &[&str]| pointers.iter().map(|p| text(p)).find(|t| !t.is_empty()).unwrap_or_default();
        let user = first(&["/user", "/user_id", "/user/id"]);
        let bot = first(&["/bot_id", "/bot_profile/id"]);
        let is_program = !bot.is_empty()
            || subject.get("bot_profile").is_some_and(Value::is_object)
            || text("/subtype") == "bot_message"
            || subject.pointer("/user_profile/is_bot") == Some(&Value::Bool(true))
            || SLACK_USERS.contains(&user);
        Self { user, bot, app: first(&["/app_id", "/bot_profile/app_id"]), is_program }
    }

    /// Whether this is the office itself: by its user, its bot or its app, since each is missing in some
    /// payloads.
    #[must_use]
    pub fn is_office(&self, own: &ConnectionIdentified) -> bool {
        let same = |theirs: &str, ours: &str| !ours.is_empty() && theirs == ours;
        same(self.user, &own.user) || same(self.bot, &own.bot) || same(self.app, &own.app)
    }

    /// Whether Slack itself said it.
    pub(crate) fn is_slack(&self) -> bool {
        SLACK_USERS.contains(&self.user)
    }

    /// The id to keep: the user, or the bot when no user is stated.
    #[must_use]
    pub fn external(&self) -> &'a str {
        if self.user.is_empty() { self.bot } else { self.user }
    }
}
