//! The form in which a person asks the office something, and the message by which that begins where it is answered.
//!
//! Always: the form asks for words and a place and for nothing else; in the message the person is named by their id and
//! their words are quoted as text.
//! Deliberately absent: what becomes of the words, and who may ask, which the host decides when they come.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::card::plain;
use crate::ids::{Action, ChannelId, EffectKey, Trigger, UserId, Whither};
use crate::message::{Message, compose};
use crate::text::{Mention, Untrusted};
use crate::tools::placed;

/// Where the words stand in what comes back: block, and element. The host reads the same words.
const WORDS: (&str, &str) = ("words", "form.words");
/// Where the place stands.
const PLACE: (&str, &str) = ("place", "form.place");
/// The longest words, in characters. Source: Slack's Block Kit reference.
pub const WORDS_CHARS_MAX: usize = 3_000;
/// The most of a form's title and of its buttons, in characters. Source: Slack's reference of views.
const TITLE_CHARS_MAX: usize = 24;
/// The most of a label, in characters.
const LABEL_CHARS_MAX: usize = 150;

/// The input of `slack.form`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    user: UserId,
    trigger: Trigger,
    name: Action,
    title: String,
    submit: String,
    /// What stands above the words.
    words: String,
    /// What stands above the place.
    place: String,
    /// What leaving the place out means.
    hint: String,
}

/// Opens the form for whoever the trigger is of.
///
/// # Errors
/// [`Kind::InvalidInput`] when it has no title or a label is empty; see [`Api::send`].
pub fn open(form: &Form, api: &Api) -> Result<Value, Failure> {
    let all = [&form.title, &form.submit, &form.words, &form.place, &form.hint];
    if all.iter().any(|text| text.trim().is_empty()) {
        return Err(Failure::new(Kind::InvalidInput, "a form has a title, a button and labels"));
    }
    let words = json!({
        "type": "input", "block_id": WORDS.0, "label": plain(&form.words, LABEL_CHARS_MAX),
        "element": { "type": "plain_text_input", "action_id": WORDS.1, "multiline": true,
            "max_length": WORDS_CHARS_MAX, "focus_on_load": true },
    });
    let place = json!({
        "type": "input", "block_id": PLACE.0, "optional": true, "label": plain(&form.place, LABEL_CHARS_MAX),
        "hint": plain(&form.hint, 2 * LABEL_CHARS_MAX),
        "element": { "type": "conversations_select", "action_id": PLACE.1,
            "placeholder": plain("Our direct messages", LABEL_CHARS_MAX),
            "filter": { "include": ["public", "private"], "exclude_external_shared_channels": true,
                "exclude_bot_users": true } },
    });
    let view = json!({
        "type": "modal", "callback_id": form.name.as_str(),
        "title": plain(&form.title, TITLE_CHARS_MAX), "submit": plain(&form.submit, TITLE_CHARS_MAX),
        "close": plain("Cancel", TITLE_CHARS_MAX),
        "blocks": [words, place],
    });
    api.send("views.open", &json!({ "trigger_id": form.trigger.as_str(), "view": view }))?;
    Ok(json!({ "user": form.user.as_str() }))
}

/// The input of `slack.begin`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    to: Whither,
    /// Who is named before the text.
    user: Option<UserId>,
    text: String,
}

impl Begin {
    /// Where it goes, when that is a channel.
    pub fn place(&self) -> Option<ChannelId> {
        ChannelId::try_from(self.to.as_str().to_owned()).ok()
    }
}

/// Posts what begins a thread.
///
/// # Errors
/// As [`compose`] and [`placed`].
pub fn begin(input: &Begin, key: &str, api: &Api) -> Result<Value, Failure> {
    let mentions: Vec<Mention> = input.user.iter().cloned().map(Mention::new).collect();
    let body = compose(&Message {
        channel: &input.to.channel(),
        thread: None,
        mentions: &mentions,
        text: Untrusted::new(&input.text),
        key: &EffectKey::parse(key)?,
    })?;
    placed(&api.send("chat.postMessage", &body)?, None, api)
}

#[cfg(test)]
mod tests {
    use guest::Kind;
    use serde_json::{Value, json};

    use crate::tests::{Told, asked_of, call};

    fn form() -> Value {
        json!({"user": "U012", "trigger": "1.2.abc", "name": "chancery.question", "title": "Ask the whole Chancery here",
            "submit": "Ask", "words": "What? <!here>", "place": "Where?", "hint": "Here <@U9>"})
    }

    #[test]
    fn a_form_asks_for_words_and_a_place_and_keeps_within_what_slack_takes() {
        let (output, asked) = asked_of(call("slack.form", form()), &[Told::Ok(json!({"ok": true}))]);
        assert_eq!(output, Ok(json!({"user": "U012"})));
        let (method, body) = &asked[0];
        assert_eq!((method.as_str(), &body["trigger_id"]), ("views.open", &json!("1.2.abc")));
        let view = &body["view"];
        assert_eq!((&view["type"], &view["callback_id"]), (&json!("modal"), &json!("chancery.question")));
        let title = view["title"]["text"].as_str().unwrap();
        assert_eq!((title.chars().count(), title), (24, "Ask the whole Chancery …"));
        let text = view.to_string();
        assert!(!text.contains("<!") && !text.contains("<@"), "{text}");
        assert_eq!(view["blocks"][1]["optional"], true);
        crate::home::tests::assert_fits(view);
    }

    #[test]
    fn a_form_without_words_is_none_and_one_whose_trigger_is_over_says_so() {
        let mut empty = form();
        empty["submit"] = json!(" ");
        let mut odd = form();
        odd["trigger"] = json!("a b");
        for input in [empty, odd] {
            let (output, asked) = asked_of(call("slack.form", input), &[]);
            assert_eq!((output.unwrap_err().kind, asked.len()), (Kind::InvalidInput, 0));
        }
        let (output, _) = asked_of(call("slack.form", form()), &[Told::No("expired_trigger_id")]);
        assert!(output.unwrap_err().message.contains("three seconds"));
    }

    #[test]
    fn what_begins_a_thread_names_who_asked_and_quotes_the_words_as_text() {
        let done = || Told::Ok(json!({"ok": true, "channel": "D012", "ts": "2.0", "message": {}}));
        for (to, user, said) in [("C012", json!("U012"), "<@U012> "), ("U012", json!(null), "")] {
            let input = json!({"to": to, "user": user, "text": "asks:\n\n> why? <!here> @channel"});
            let (output, asked) = asked_of(call("slack.begin", input), &[done()]);
            assert_eq!(output, Ok(json!({"channel": "D012", "ts": "2.0"})));
            let body = &asked[0].1;
            assert_eq!(body["channel"], to);
            let text = body["text"].as_str().unwrap();
            assert!(text.starts_with(&format!("{said}asks:")) && !text.contains("<!"), "{text}");
        }
        for to in ["#general", "", "B012"] {
            let (output, _) = asked_of(call("slack.begin", json!({"to": to, "text": "x"})), &[]);
            assert_eq!(output.unwrap_err().kind, Kind::InvalidInput);
        }
    }
}
