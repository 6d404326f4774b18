//! A question to a person, as a card: what it is about, and a button for each answer. And the same once it was answered.
//!
//! Always: a button carries the name of its action and the id of what is asked about, and nothing else; labels and
//! values are plain text, where nothing is markup; what is quoted stands in a code block that nothing in it can end. An
//! answered question has no button. Deliberately absent: who may answer, which the host decides at the click.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::card::{Field, context, decided, fields_of, header, in_fences, named_before, plain};
use crate::ids::{Action, ChannelId, Destination, EffectKey, Ts, UserId};
use crate::message::{LABEL_CHARS_MAX, asked, body, fallback, in_thread, named, section};
use crate::text::{Mention, Untrusted};
use crate::tools::{mentions, placed};

/// The most answers that one question has: more is a form.
pub const CHOICES_MAX: usize = 5;
/// The most of what is quoted, in characters once escaped: what is asked about is known again by its beginning.
const QUOTED_CHARS_MAX: usize = 2_400;
/// The most of the sentence that says what is asked, in characters.
const SAID_CHARS_MAX: usize = 1_000;

/// One answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    action: Action,
    label: String,
    /// What Slack asks again before the click counts.
    sure: Option<String>,
}

/// The input of `slack.ask`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    channel: Destination,
    thread_ts: Option<Ts>,
    about: String,
    title: String,
    text: String,
    #[serde(default)]
    fields: Vec<Field>,
    #[serde(default)]
    quoted: String,
    choices: Vec<Choice>,
    #[serde(default)]
    mention: Vec<UserId>,
}

/// The input of `slack.ask-update`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    channel: ChannelId,
    ts: Ts,
    title: String,
    #[serde(default)]
    fields: Vec<Field>,
    #[serde(default)]
    quoted: String,
    state: String,
    /// Whom the state is of: named before it.
    by: Option<UserId>,
}

/// Posts a question.
///
/// # Errors
/// [`Kind::InvalidInput`] when it asks nothing; as [`placed`].
pub fn ask(input: Ask, key: &str, api: &Api) -> Result<Value, Failure> {
    let about = EffectKey::parse(&input.about)?;
    if !(1..=CHOICES_MAX).contains(&input.choices.len()) || input.text.trim().is_empty() {
        let message = format!("a question has a `text` and 1 to {CHOICES_MAX} `choices`");
        return Err(Failure::new(Kind::InvalidInput, message));
    }
    let calls = asked(&mentions(input.mention));
    let (said, _) = Untrusted::new(&input.text).head(SAID_CHARS_MAX);
    let mut blocks = vec![header(&input.title), section(&format!("{calls}{}", said.escaped()))];
    blocks.extend(fields_of(&input.fields));
    blocks.extend(quoted(&input.quoted));
    blocks.push(json!({ "type": "actions", "elements": buttons(&input.choices, &about) }));
    let mut post = body(&input.channel.into(), fallback(&calls, Untrusted::new(&input.title)), blocks);
    in_thread(&mut post, input.thread_ts.as_ref());
    named(&mut post, &EffectKey::parse(key)?);
    placed(&api.send("chat.postMessage", &Value::Object(post))?, input.thread_ts.as_ref(), api)
}

/// Changes a question to what was answered.
///
/// # Errors
/// See [`Api::send`].
pub fn answered(input: Answered, api: &Api) -> Result<Value, Failure> {
    let by = input.by.map(Mention::new);
    let mut blocks = vec![header(&input.title), decided(&input.state, by.as_ref())];
    blocks.extend(fields_of(&input.fields));
    blocks.extend(quoted(&input.quoted));
    let said = format!("{}: {}", input.title, input.state);
    let calls = named_before(by.as_ref());
    let mut update = body(&input.channel, fallback(&calls, Untrusted::new(&said)), blocks);
    update.insert("ts".to_owned(), json!(input.ts.as_str()));
    api.send("chat.update", &Value::Object(update))?;
    Ok(json!({ "channel": input.channel.as_str(), "ts": input.ts.as_str() }))
}

/// What is quoted, and that it is not all of it.
fn quoted(text: &str) -> Vec<Value> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let (mut blocks, is_cut) = in_fences(text, QUOTED_CHARS_MAX);
    if is_cut {
        blocks.push(context(&[&format!(
            "Not all of it is shown: it has {} characters.",
            text.chars().count()
        )]));
    }
    blocks
}

fn buttons(choices: &[Choice], about: &EffectKey) -> Vec<Value> {
    let button = |choice: &Choice| {
        let mut button = json!({
            "type": "button", "action_id": choice.action.as_str(), "value": about.as_str(),
            "text": plain(&choice.label, LABEL_CHARS_MAX),
        });
        if let (Some(fields), Some(sure)) = (button.as_object_mut(), &choice.sure) {
            let confirm = json!({
                "title": plain(&choice.label, 100), "text": plain(sure, 300),
                "confirm": plain("Yes", 30), "deny": plain("Not now", 30),
            });
            fields.insert("confirm".to_owned(), confirm);
        }
        button
    };
    choices.iter().map(button).collect()
}

#[cfg(test)]
mod tests {
    use guest::Kind;
    use serde_json::{Value, json};

    use crate::tests::{Told, asked_of, call};

    fn question() -> Value {
        json!({"channel": "C012", "thread_ts": "1.0", "about": "effect_1", "title": "Did it go out? <!here>",
            "text": "Look in the thread. <@U9>", "fields": [{"name": "Tool", "value": "slack.post <!here>"}],
            "quoted": "``` <!channel>", "mention": ["U012"],
            "choices": [{"action": "effect.happened", "label": "It went out"},
                {"action": "effect.again", "label": "Try again", "sure": "It is sent once more."}]})
    }

    #[test]
    fn a_question_has_a_button_for_each_answer_and_nothing_on_it_is_more_than_text() {
        let done = json!({"ok": true, "channel": "C012", "ts": "2.0", "message": {"thread_ts": "1.0"}});
        let (output, asked) = asked_of(call("slack.ask", question()), &[Told::Ok(done)]);
        assert_eq!(output, Ok(json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0"})));
        let body = &asked[0].1;
        let buttons = body["blocks"].as_array().unwrap().last().unwrap()["elements"].as_array().unwrap();
        let acts: Vec<(&Value, &Value)> = buttons.iter().map(|b| (&b["action_id"], &b["value"])).collect();
        let about = json!("effect_1");
        assert_eq!(acts, [(&json!("effect.happened"), &about), (&json!("effect.again"), &about)]);
        assert_eq!(buttons[1]["confirm"]["text"]["text"], "It is sent once more.");
        let text = body.to_string();
        assert!(
            !text.contains("<!") && text.matches("<@").count() == 2 && text.contains("<@U012> "),
            "{text}"
        );
        assert!(text.contains("\\\\u0060"), "nothing ends the code block: {text}");
    }

    #[test]
    fn whoever_answered_is_named_once_before_what_they_said() {
        let input = json!({"channel": "C012", "ts": "2.0", "title": "Did it?", "state": "looked <!here>", "by": "U012"});
        let (_, asked) = asked_of(call("slack.ask-update", input), &[Told::Ok(json!({"ok": true}))]);
        assert_eq!(asked[0].1["blocks"][1]["text"]["text"], "<@U012> looked &lt;!here&gt;");
    }

    #[test]
    fn an_answered_question_has_no_button() {
        let input = json!({"channel": "C012", "ts": "2.0", "title": "Did it go out?", "state": "Bob <!here> said so"});
        let (output, asked) = asked_of(call("slack.ask-update", input), &[Told::Ok(json!({"ok": true}))]);
        assert_eq!(output, Ok(json!({"channel": "C012", "ts": "2.0"})));
        let text = asked[0].1.to_string();
        assert!(!text.contains("button") && !text.contains("<!") && text.contains("said so"), "{text}");
    }

    #[test]
    fn what_asks_nothing_and_an_action_that_is_none_are_refused() {
        let changes: [fn(&mut Value); 4] = [
            |input| input["choices"] = json!([]),
            |input| input["text"] = json!(" "),
            |input| input["choices"][0]["action"] = json!("<!here>"),
            |input| input["about"] = json!("<!here>"),
        ];
        for change in changes {
            let mut input = question();
            change(&mut input);
            let (output, asked) = asked_of(call("slack.ask", input.clone()), &[]);
            assert_eq!((output.unwrap_err().kind, asked.len()), (Kind::InvalidInput, 0), "{input}");
        }
    }
}
