//! The ids that reach Slack, each a type that only well-formed text becomes.
//!
//! Names are never keys: `#general` and `@alice` are refused, since a name can be taken by anybody.

use guest::{Failure, Kind, excerpt};
use serde::Deserialize;

/// The longest id, in characters; Slack's own are about eleven.
const ID_CHARS_MAX: usize = 32;
/// The longest emoji name, in characters.
const EMOJI_CHARS_MAX: usize = 100;
/// The longest name of an effect, in characters; the same limit as the host has for any id.
const KEY_CHARS_MAX: usize = 200;
/// The longest name of a thing, in characters: with its number and the name of an effect it stays below what Slack
/// takes as the id of a block.
const THING_CHARS_MAX: usize = 48;
/// The longest trigger, in characters; Slack's own have about 60.
const TRIGGER_CHARS_MAX: usize = 200;
/// How much of a bad id a message repeats, in characters.
const EXCERPT_CHARS_MAX: usize = 60;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $wanted:literal, $is_one:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                if $is_one(&text) {
                    Ok(Self(text))
                } else {
                    Err(format!(concat!("`{}` is not ", $wanted), excerpt(&text, EXCERPT_CHARS_MAX)))
                }
            }
        }
    };
}

id!(
    /// A person or bot: `U…`, or `W…` on an Enterprise Grid.
    UserId, "a user id such as U0123ABCD", is_user
);
id!(
    /// A channel, direct message or group.
    ChannelId, "a channel id such as C0123ABCD (a name will not do)", is_channel
);
/// Where a card goes: a channel, or a person, who is asked where nobody else reads. Slack takes a person's id where a
/// direct message to them is meant, and answers with its channel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Destination(ChannelId);

impl From<Destination> for ChannelId {
    fn from(destination: Destination) -> Self {
        destination.0
    }
}

impl TryFrom<String> for Destination {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if is_channel(&text) || is_user(&text) {
            return Ok(Self(ChannelId(text)));
        }
        let shown = excerpt(&text, EXCERPT_CHARS_MAX);
        Err(format!("`{shown}` is not a channel's id such as C0123ABCD, or a person's such as U0123ABCD"))
    }
}

id!(
    /// A file.
    FileId, "a file's id such as F0123ABCD", is_file
);
id!(
    /// The `ts` of a message; names it within its channel.
    Ts, "the ts of a message, such as 1712345678.000100", is_ts
);
id!(
    /// An emoji by name, without colons.
    Emoji, "the name of an emoji, such as eyes", is_emoji
);
id!(
    /// A workspace: `T…`, or `E…` where the app is installed for an organisation.
    TeamId, "a workspace's id such as T0123ABCD", is_team
);
id!(
    /// What a button does, such as `effect.happened`. The host reads the same word from the click.
    Action, "the name of an action, such as effect.happened", is_action
);
id!(
    /// A call that waits for a person's yes: what a button of its card carries, and says nothing else.
    ApprovalId, "the id of an approval, such as approval_0123abcd", is_approval
);
id!(
    /// What a menu or a button is about, or one of its options: it says nothing else.
    Thing, "a plain id of letters, digits and `.`, `-`, `_`, `:`", is_thing
);
id!(
    /// A channel, or a person, whose direct messages with the app are meant.
    Whither, "the id of a channel or of a person, such as C0123ABCD", is_whither
);
id!(
    /// What Slack gives with a click or a shortcut, once and for three seconds, to open a form with.
    Trigger, "what opens a form", is_trigger
);

impl Whither {
    /// As a channel: Slack takes a person's id for the direct messages with them.
    pub fn channel(&self) -> ChannelId {
        ChannelId(self.0.clone())
    }
}

/// The name of an effect, as the metadata of a message carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectKey(String);

impl EffectKey {
    /// Reads the key of a call; a call without one is a mistake of the host.
    ///
    /// # Errors
    /// [`Kind::InvalidInput`] when it is not an id: any app of the workspace may read metadata.
    pub fn parse(key: &str) -> Result<Self, Failure> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if key.is_empty() || key.len() > KEY_CHARS_MAX || !key.chars().all(is_part) {
            let shown = excerpt(key, EXCERPT_CHARS_MAX);
            return Err(Failure::new(Kind::InvalidInput, format!("the effect key `{shown}` is not an id")));
        }
        Ok(Self(key.to_owned()))
    }

    /// The text of the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One of `firsts`, then at least two capital letters or digits.
fn is_id(text: &str, firsts: &[char]) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    text.strip_prefix(firsts)
        .is_some_and(|rest| rest.len() >= 2 && text.len() <= ID_CHARS_MAX && rest.chars().all(is_part))
}

fn is_user(text: &str) -> bool {
    is_id(text, &['U', 'W'])
}

fn is_team(text: &str) -> bool {
    is_id(text, &['T', 'E'])
}

fn is_action(text: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    text.len() <= ID_CHARS_MAX && text.contains('.') && text.split('.').all(is_word)
}

fn is_channel(text: &str) -> bool {
    is_id(text, &['C', 'D', 'G'])
}

/// Letters, digits and what ids are joined with, at most `chars_max`.
fn is_plain(text: &str, chars_max: usize) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':');
    !text.is_empty() && text.len() <= chars_max && text.bytes().all(is_part)
}

fn is_thing(text: &str) -> bool {
    is_plain(text, THING_CHARS_MAX)
}

fn is_whither(text: &str) -> bool {
    is_channel(text) || is_user(text)
}

fn is_trigger(text: &str) -> bool {
    is_plain(text, TRIGGER_CHARS_MAX)
}

fn is_file(text: &str) -> bool {
    is_id(text, &['F'])
}

fn is_approval(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= KEY_CHARS_MAX
        && text.strip_prefix("approval_").is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_part))
}

fn is_ts(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.len() <= ID_CHARS_MAX && text.split_once('.').is_some_and(|(s, n)| is_number(s) && is_number(n))
}

/// Whether it is the name of an emoji.
pub fn is_emoji(text: &str) -> bool {
    // `::` joins a skin tone to the name: `wave::skin-tone-2`.
    let is_part =
        |c: char| c.is_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '+' | '\'' | ':');
    let count = text.chars().count();
    (1..=EMOJI_CHARS_MAX).contains(&count) && text.chars().all(is_part) && !text.starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_what_slack_calls_things_and_nothing_else() {
        for good in ["U012", "W0123ABCD", "UAB"] {
            assert!(UserId::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "U", "U1", "u0123", "U012|x", "<@U012>", "@alice", "B0123", "U012 ", "U012\n", "Ü012"]
        {
            assert!(UserId::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
        for bad in ["general", "#general", "<!channel>", "U0123ABCD", "C1"] {
            assert!(ChannelId::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
        for bad in ["", "1712345678", "1712345678.", ".1", "1.2.3", "1,2", "-1.0", "1.0 "] {
            assert!(Ts::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
        assert!(Ts::try_from("1712345678.000100".to_owned()).is_ok());
        for bad in ["", ":eyes:", "Eyes", "<!here>", "a b"] {
            assert!(Emoji::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
        for good in ["eyes", "+1", "wave::skin-tone-2", "übung"] {
            assert!(Emoji::try_from(good.to_owned()).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn an_approval_is_named_by_its_id_and_by_nothing_else() {
        assert!(ApprovalId::try_from("approval_0123abcd".to_owned()).is_ok());
        for bad in
            ["", "approval_", "approval_A", "approval_a b", "turn_1", "approval_<!here>", "xapproval_1"]
        {
            assert!(ApprovalId::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_effect_key_is_an_id() {
        assert!(EffectKey::parse("effect_8f7a:1.2-3").is_ok());
        for bad in ["", "<!here>", "a b", &"x".repeat(201)] {
            assert_eq!(EffectKey::parse(bad).map_err(|f| f.kind), Err(Kind::InvalidInput), "{bad}");
        }
    }
}
