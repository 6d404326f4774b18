//! The Home tab of one person: texts, and the menus and buttons by which that person sets something.
//!
//! Always: a menu says what it sets in its block, and a button in its value, each an id and nothing else; labels are
//! text like any other; what is shown keeps within what Slack takes of a view, and what is left out for that is text,
//! never a menu. A block is named after the effect that published it: Slack keeps what somebody chose in a block it
//! knows, also where the office shows that it stands otherwise.
//! Deliberately absent: who may set what, which the host decides when something is set.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::card::{context, header, plain};
use crate::ids::{Action, ChannelId, EffectKey, Thing, UserId};
use crate::message::{TEXT_CHARS_MAX, section, sections};
use crate::text::Untrusted;

/// The most blocks of a view. Source: Slack's Block Kit reference.
const BLOCKS_MAX: usize = 100;
/// The most parts of one Home: with their menus full it stays below what Slack takes of a view, 250,000 bytes.
pub const PARTS_MAX: usize = 20;
/// The most options of one menu, and buttons beside each other: what a person looks through.
pub const CHOICES_MAX: usize = 10;
/// The most channels that a menu of several shows as chosen. Source: what a person looks through.
pub const CHANNELS_MAX: usize = 50;
/// The most of what stands beside a menu, in characters.
const LABEL_CHARS_MAX: usize = 600;
/// The most of an option and of a button, in characters. Source: Slack's Block Kit reference.
const OPTION_CHARS_MAX: usize = 75;
/// The longest address of a button, in characters. Source: Slack's Block Kit reference.
const URL_CHARS_MAX: usize = 3_000;
/// The most of all addresses of one Home, in characters: one or two links, each of which may be long.
const ADDRESSES_CHARS_MAX: usize = 2 * URL_CHARS_MAX;
/// The most of a note, in characters.
const NOTE_CHARS_MAX: usize = 500;

/// What one Home shows, from above to below.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Home {
    user: UserId,
    parts: Vec<Part>,
}

/// A piece of a Home.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Part {
    /// A heading.
    Header(String),
    /// Markdown.
    Text(String),
    /// Small print.
    Note(String),
    /// A menu of the channels that the person sees; one is chosen.
    Channel(ChannelMenu),
    /// A menu of the same; several are chosen.
    Channels(ChannelsMenu),
    /// A menu of given options.
    Choice(ChoiceMenu),
    /// Buttons beside each other.
    Buttons(Vec<Button>),
}

/// See [`Part::Channel`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelMenu {
    action: Action,
    label: String,
    chosen: Option<ChannelId>,
}

/// See [`Part::Channels`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelsMenu {
    action: Action,
    label: String,
    #[serde(default)]
    chosen: Vec<ChannelId>,
}

/// See [`Part::Choice`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChoiceMenu {
    action: Action,
    label: String,
    about: Thing,
    options: Vec<Choice>,
    chosen: Option<Thing>,
}

/// One option of a menu.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    value: Thing,
    label: String,
}

/// One button.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Button {
    action: Action,
    about: Thing,
    label: String,
    /// What Slack asks again before the click counts.
    sure: Option<String>,
    /// Where it leads, in the person's browser.
    url: Option<String>,
}

/// Shows something on the Home tab of one person.
///
/// # Errors
/// See [`compose`] and [`Api::send`].
pub fn publish(input: &Home, key: &str, api: &Api) -> Result<Value, Failure> {
    api.send("views.publish", &compose(input, &EffectKey::parse(key)?)?)?;
    Ok(json!({ "user": input.user.as_str() }))
}

/// The body of `views.publish`. What does not fit is left out, and a line says so.
///
/// # Errors
/// [`Kind::InvalidInput`] when there is nothing to show or a menu has no options, [`Kind::TooLarge`] when it has more
/// parts or options than a person looks through.
pub fn compose(home: &Home, key: &EffectKey) -> Result<Value, Failure> {
    check(&home.parts)?;
    let controls = home.parts.iter().filter(|part| !matches!(part, Part::Text(_))).count();
    // One for the line that says that something is left out.
    let mut room = Room { blocks: BLOCKS_MAX - 1 - controls, chars: TEXT_CHARS_MAX, is_full: false };
    let mut blocks = Vec::new();
    for (n, part) in home.parts.iter().enumerate() {
        let name = |about: &str| format!("{n}/{about}/{}", key.as_str());
        match part {
            Part::Text(text) => blocks.extend(room.text(Untrusted::new(text))),
            Part::Header(text) => blocks.push(header(text)),
            Part::Note(text) => blocks.push(context(&[&cut(text, NOTE_CHARS_MAX)])),
            Part::Channel(menu) => {
                let mut element = channels("conversations_select", &menu.action, "Choose a channel");
                put(&mut element, "initial_conversation", menu.chosen.as_ref().map(|id| json!(id.as_str())));
                blocks.push(beside(&menu.label, &name(""), &element));
            }
            Part::Channels(menu) => {
                let mut element = channels("multi_conversations_select", &menu.action, "Nowhere but to you");
                let chosen: Vec<&str> =
                    menu.chosen.iter().take(CHANNELS_MAX).map(ChannelId::as_str).collect();
                put(&mut element, "initial_conversations", (!chosen.is_empty()).then(|| json!(chosen)));
                blocks.push(beside(&menu.label, &name(""), &element));
            }
            Part::Choice(menu) => blocks.push(beside(&menu.label, &name(menu.about.as_str()), &choice(menu))),
            Part::Buttons(all) => {
                let elements: Vec<Value> = all.iter().enumerate().map(button).collect();
                blocks.push(json!({ "type": "actions", "block_id": name(""), "elements": elements }));
            }
        }
    }
    Ok(json!({ "user_id": home.user.as_str(), "view": { "type": "home", "blocks": blocks } }))
}

fn check(parts: &[Part]) -> Result<(), Failure> {
    let says = |part: &Part| match part {
        Part::Text(text) | Part::Note(text) | Part::Header(text) => !text.trim().is_empty(),
        Part::Channel(ChannelMenu { label, .. }) | Part::Channels(ChannelsMenu { label, .. }) => {
            !label.trim().is_empty()
        }
        Part::Choice(menu) => {
            let has = |value: &Thing| menu.options.iter().any(|option| option.value == *value);
            let named = menu.options.iter().all(|option| !option.label.trim().is_empty());
            !menu.label.trim().is_empty()
                && !menu.options.is_empty()
                && named
                && menu.chosen.as_ref().is_none_or(has)
        }
        Part::Buttons(all) => {
            let leads = |url: &String| is_address(url);
            let whole = |button: &Button| !button.label.trim().is_empty() && button.url.iter().all(leads);
            !all.is_empty() && all.iter().all(whole)
        }
    };
    if parts.is_empty() || !parts.iter().all(says) {
        let message = "a Home has `parts`, each says something, and a menu has options";
        return Err(Failure::new(Kind::InvalidInput, message));
    }
    let many = |part: &Part| match part {
        Part::Choice(menu) => menu.options.len(),
        Part::Buttons(all) => all.len(),
        _ => 0,
    };
    let addresses: usize = parts.iter().map(addresses).sum();
    if parts.len() > PARTS_MAX
        || addresses > ADDRESSES_CHARS_MAX
        || parts.iter().any(|part| many(part) > CHOICES_MAX)
    {
        let message = format!("a Home has at most {PARTS_MAX} parts, and a menu {CHOICES_MAX} options");
        return Err(Failure::new(Kind::TooLarge, message));
    }
    Ok(())
}

/// How long the addresses of a part are, in characters.
fn addresses(part: &Part) -> usize {
    match part {
        Part::Buttons(all) => all.iter().filter_map(|button| button.url.as_ref()).map(String::len).sum(),
        _ => 0,
    }
}

/// Whether Slack takes it as where a button leads.
fn is_address(url: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '|');
    (url.starts_with("https://") || url.starts_with("http://"))
        && url.len() <= URL_CHARS_MAX
        && url.chars().all(plain)
}

/// What is left for text.
struct Room {
    blocks: usize,
    /// In UTF-16 units, as Slack counts.
    chars: usize,
    is_full: bool,
}

impl Room {
    /// The sections of a text, as many as there is room for; the first that is left out leaves a line.
    fn text(&mut self, text: Untrusted) -> Vec<Value> {
        let mut shown = Vec::new();
        for words in sections("", text) {
            let size = words.encode_utf16().count();
            if self.is_full {
                break;
            }
            if self.blocks == 0 || self.chars < size {
                self.is_full = true;
                shown.push(section("_There is more than fits here._"));
                break;
            }
            self.blocks -= 1;
            self.chars -= size;
            shown.push(section(&words));
        }
        shown
    }
}

/// Words with a menu beside them.
fn beside(label: &str, name: &str, element: &Value) -> Value {
    let words = sections("", Untrusted::new(&cut(label, LABEL_CHARS_MAX)));
    let mut block = section(words.first().map_or("", String::as_str));
    put(&mut block, "block_id", Some(json!(name)));
    put(&mut block, "accessory", Some(element.clone()));
    block
}

/// A menu of channels: those of the organisation's own.
fn channels(kind: &str, action: &Action, placeholder: &str) -> Value {
    json!({
        "type": kind, "action_id": action.as_str(), "placeholder": plain(placeholder, 150),
        "filter": {
            "include": ["public", "private"],
            "exclude_external_shared_channels": true,
            "exclude_bot_users": true,
        },
    })
}

fn choice(menu: &ChoiceMenu) -> Value {
    let option = |choice: &Choice| json!({ "text": plain(&choice.label, OPTION_CHARS_MAX), "value": choice.value.as_str() });
    let options: Vec<Value> = menu.options.iter().map(option).collect();
    let chosen = menu.options.iter().find(|choice| Some(&choice.value) == menu.chosen.as_ref()).map(option);
    let mut element = json!({
        "type": "static_select", "action_id": menu.action.as_str(), "placeholder": plain("Choose", 150),
        "options": options,
    });
    put(&mut element, "initial_option", chosen);
    element
}

fn button((n, button): (usize, &Button)) -> Value {
    let mut element = json!({
        // Two buttons of one block differ in their names; what stands behind the number is what they do.
        "type": "button", "action_id": format!("{}/{n}", button.action.as_str()), "value": button.about.as_str(),
        "text": plain(&button.label, OPTION_CHARS_MAX),
    });
    let confirm = button.sure.as_ref().map(|sure| {
        json!({ "title": plain(&button.label, 100), "text": plain(sure, 300), "confirm": plain("Yes", 30),
            "deny": plain("Not now", 30) })
    });
    put(&mut element, "confirm", confirm);
    put(&mut element, "url", button.url.as_ref().map(|url| json!(url)));
    element
}

fn put(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Some(fields), Some(value)) = (object.as_object_mut(), value) {
        fields.insert(key.to_owned(), value);
    }
}

fn cut(text: &str, chars_max: usize) -> String {
    let mut cut: String = text.chars().take(chars_max).collect();
    if cut.len() < text.len() {
        cut.pop();
        cut.push('…');
    }
    cut
}

#[cfg(test)]
pub mod tests;
