//! The card of one call that waits for a person's yes: what will run, on whose wish, until when; two buttons.
//!
//! Always: a button carries the approval's id and nothing else, so whoever forges one says no more than a name;
//! labels and values are plain text, where nothing is markup; the arguments stand in code blocks that nothing in
//! them can end, and where they are cut, the card says so, before and at the button. A decided card has no button.
//! Deliberately absent: who may answer, which the host decides at the click.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ids::{ApprovalId, ChannelId, EffectKey, Ts};
use crate::message::{SECTION_CHARS_MAX, asked, body, fallback, in_thread, named, section};
use crate::text::{Mention, Untrusted};

/// The `action_id` of the button that says yes. The host reads the same word from the click.
pub const ACTION_YES: &str = "approval.yes";
/// The `action_id` of the button that says no.
pub const ACTION_NO: &str = "approval.no";

/// The most that a header block holds, in characters. Source: Slack's Block Kit reference.
const HEADER_CHARS_MAX: usize = 150;
/// The most lines of label and value: one section holds ten fields, and a card with more is not read.
pub const FIELDS_MAX: usize = 8;
/// The most of one label and value, in characters: a quarter of what a field holds, so that eight of them, the
/// arguments and the rest stay below what one message takes.
const FIELD_CHARS_MAX: usize = 500;
/// The most of the arguments that is shown, in characters once escaped: two pages.
const ARGUMENTS_CHARS_MAX: usize = 6_000;
/// The longest arguments that are taken, in characters: what is far beyond a card is still named with its length.
pub const ARGUMENTS_TAKEN_CHARS_MAX: usize = 200_000;
/// The most of the line that says how it was decided, in characters.
const STATE_CHARS_MAX: usize = 1_000;
/// What begins and ends a code block, with its line ends.
const FENCE_CHARS: usize = 8;
/// A backtick as JSON may write it: the same string, and no end of a code block.
const BACKTICK: &str = "\\u0060";

/// A label and what it says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    name: String,
    value: String,
}

/// What a card says, asked or decided.
#[derive(Debug)]
pub struct Card {
    /// The approval.
    pub approval: ApprovalId,
    /// What the card is about.
    pub title: String,
    /// Lines of label and value.
    pub fields: Vec<Field>,
    /// The exact arguments, as JSON text.
    pub arguments: String,
    /// Digest of the canonical arguments.
    pub digest: String,
}

/// Where a new card goes.
#[derive(Debug)]
pub struct Place<'a> {
    /// The channel.
    pub channel: &'a ChannelId,
    /// The message whose thread it goes to.
    pub thread: Option<&'a Ts>,
    /// Whom it asks.
    pub mentions: &'a [Mention],
}

/// The body of `chat.postMessage` for a card that asks.
///
/// # Errors
/// As [`check`].
pub fn compose_card(card: &Card, place: &Place, until: &str, key: &EffectKey) -> Result<Value, Failure> {
    check(card)?;
    let (arguments, is_cut) = arguments(card);
    let calls = asked(place.mentions);
    let mut blocks = vec![header(&card.title)];
    if !calls.is_empty() {
        blocks.push(section(&format!("{calls}please answer.")));
    }
    blocks.extend(fields_of(&card.fields));
    blocks.extend(arguments);
    blocks.push(context(&[until, &about_arguments(card, is_cut)]));
    blocks.push(buttons(card, is_cut));
    let mut body = body(place.channel, fallback(&calls, Untrusted::new(&card.title)), blocks);
    in_thread(&mut body, place.thread);
    named(&mut body, key);
    Ok(Value::Object(body))
}

/// The body of `chat.update` for a card that was decided: the same card with `state` in place of its buttons, after
/// `by` where it is known by whom.
///
/// # Errors
/// As [`check`].
pub fn compose_decided(
    card: &Card,
    (channel, ts): (&ChannelId, &Ts),
    state: &str,
    by: Option<&Mention>,
) -> Result<Value, Failure> {
    check(card)?;
    let (arguments, is_cut) = arguments(card);
    let mut blocks = vec![header(&card.title), decided(state, by)];
    blocks.extend(fields_of(&card.fields));
    blocks.extend(arguments);
    blocks.push(context(&[&about_arguments(card, is_cut)]));
    let said = format!("{}: {state}", card.title);
    let mut body = body(channel, fallback(&named_before(by), Untrusted::new(&said)), blocks);
    body.insert("ts".to_owned(), json!(ts.as_str()));
    Ok(Value::Object(body))
}

/// Whether it is a card at all.
///
/// # Errors
/// [`Kind::InvalidInput`] when it says nothing or its digest is none, [`Kind::TooLarge`] when it says too much.
fn check(card: &Card) -> Result<(), Failure> {
    if card.title.trim().is_empty() || card.arguments.trim().is_empty() {
        return Err(Failure::new(Kind::InvalidInput, "a card has a `title` and `arguments`"));
    }
    if card.digest.is_empty() || !card.digest.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Failure::new(Kind::InvalidInput, "`digest` is not a digest in hexadecimal digits"));
    }
    let chars = card.arguments.chars().count();
    if card.fields.len() > FIELDS_MAX || chars > ARGUMENTS_TAKEN_CHARS_MAX {
        let message = format!(
            "a card has at most {FIELDS_MAX} fields and arguments of {ARGUMENTS_TAKEN_CHARS_MAX} characters"
        );
        return Err(Failure::new(Kind::TooLarge, message));
    }
    Ok(())
}

/// Plain text of at most `chars_max` characters once escaped, with an ellipsis where it is cut.
pub(crate) fn plain(text: &str, chars_max: usize) -> Value {
    let (shown, is_cut) = Untrusted::new(text).head(chars_max);
    let text = if is_cut {
        format!("{}…", Untrusted::new(text).head(chars_max.saturating_sub(1)).0.escaped())
    } else {
        shown.escaped()
    };
    json!({ "type": "plain_text", "text": text, "emoji": false })
}

pub(crate) fn header(title: &str) -> Value {
    json!({ "type": "header", "text": plain(title, HEADER_CHARS_MAX) })
}

/// Lines of label and value.
pub(crate) fn fields_of(fields: &[Field]) -> Option<Value> {
    let line = |field: &Field| plain(&format!("{}: {}", field.name, field.value), FIELD_CHARS_MAX);
    let lines: Vec<Value> = fields.iter().take(FIELDS_MAX).map(line).collect();
    (!lines.is_empty()).then(|| json!({ "type": "section", "fields": lines }))
}

/// The arguments in code blocks, and whether there are more of them.
fn arguments(card: &Card) -> (Vec<Value>, bool) {
    in_fences(&card.arguments, ARGUMENTS_CHARS_MAX)
}

/// The first `chars_max` characters of JSON text in code blocks, and whether there are more of them.
pub(crate) fn in_fences(json: &str, chars_max: usize) -> (Vec<Value>, bool) {
    let text = json.replace('`', BACKTICK);
    let (shown, is_cut) = Untrusted::new(&text).head(chars_max);
    let room = SECTION_CHARS_MAX - FENCE_CHARS;
    let block = |piece: &Untrusted| section(&format!("```\n{}\n```", piece.escaped()));
    (shown.pieces(room, room).iter().map(block).collect(), is_cut)
}

/// What the arguments are, so that they can be compared with what else is shown of them.
fn about_arguments(card: &Card, is_cut: bool) -> String {
    let chars = card.arguments.chars().count();
    let (approval, digest) = (card.approval.as_str(), &card.digest);
    if is_cut {
        format!(
            "NOT ALL of the arguments are shown: they have {chars} characters, SHA-256 {digest}. All of them: \
             chancery approval show {approval}"
        )
    } else {
        format!("{approval}. The arguments have {chars} characters, SHA-256 {digest}.")
    }
}

pub(crate) fn context(lines: &[&str]) -> Value {
    let elements: Vec<Value> = lines.iter().map(|line| plain(line, FIELD_CHARS_MAX)).collect();
    json!({ "type": "context", "elements": elements })
}

/// How it was decided, after the name of whoever decided it.
pub(crate) fn decided(state: &str, by: Option<&Mention>) -> Value {
    match by {
        None => json!({ "type": "section", "text": plain(state, STATE_CHARS_MAX) }),
        Some(_) => {
            let (shown, _) = Untrusted::new(state).head(STATE_CHARS_MAX);
            section(&format!("{}{}", named_before(by), shown.escaped()))
        }
    }
}

/// A person's name with a space behind it; a change of a message notifies nobody.
pub(crate) fn named_before(by: Option<&Mention>) -> String {
    by.map_or(String::new(), |by| asked(std::slice::from_ref(by)))
}

fn buttons(card: &Card, is_cut: bool) -> Value {
    let approval = card.approval.as_str();
    let shown = if is_cut { "Not all of its arguments are shown on the card. It" } else { "It" };
    let confirm = json!({
        "title": plain("Run this call?", 100),
        "text": plain(&format!("{shown} runs once, with exactly the arguments of {approval}."), 300),
        "confirm": plain("Yes, run it", 30),
        "deny": plain("Not now", 30),
        "style": "danger",
    });
    let button = |action: &str, text: &str| json!({ "type": "button", "action_id": action, "text": plain(text, 75), "value": approval });
    let (mut yes, no) = (button(ACTION_YES, "Approve"), button(ACTION_NO, "Deny"));
    if let Some(yes) = yes.as_object_mut() {
        yes.insert("confirm".to_owned(), confirm);
        yes.insert("style".to_owned(), json!("primary"));
    }
    json!({ "type": "actions", "elements": [yes, no] })
}

#[cfg(test)]
mod tests;
