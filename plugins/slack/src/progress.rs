//! What is seen while the office works: one line in the thread that changes and goes, or the status of the thread.
//!
//! Always: a line says what the host composed and nothing that a model or a person wrote, and is plain text all the
//! same. Taking a line away twice is taking it away once.

use guest::{Failure, Kind};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::ids::{ChannelId, EffectKey, Ts};
use crate::message::{body, in_thread, named};
use crate::text::Untrusted;
use crate::tools::placed;

/// The longest line, in characters: one line of a wide window.
pub const LINE_CHARS_MAX: usize = 200;
/// The longest title of a thread, in characters. Source: Slack's page of `agents.sessions.rename`.
const TITLE_CHARS_MAX: usize = 200;
/// The most prompts that a thread suggests. Source: Slack's page of `assistant.threads.setSuggestedPrompts`.
pub const PROMPTS_MAX: usize = 4;

/// The input of `slack.progress`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    channel: ChannelId,
    thread_ts: Option<Ts>,
    text: String,
}

/// The input of `slack.progress-change`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    channel: ChannelId,
    ts: Ts,
    text: String,
}

/// The input of `slack.progress-end`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    channel: ChannelId,
    ts: Ts,
}

/// The input of `slack.status`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    channel: ChannelId,
    thread_ts: Ts,
    text: String,
}

/// The input of `slack.assistant-thread`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssistantThread {
    channel: ChannelId,
    thread_ts: Ts,
    title: Option<String>,
    #[serde(default)]
    prompts: Vec<Prompt>,
}

/// Something that a person may ask with one click.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    title: String,
    message: String,
}

/// Posts a line.
///
/// # Errors
/// As [`placed`].
pub fn line(input: Line, key: &str, api: &Api) -> Result<Value, Failure> {
    let text = one_line(&input.text, LINE_CHARS_MAX)?;
    let mut post = body(&input.channel, text.clone(), vec![quiet(&text)]);
    in_thread(&mut post, input.thread_ts.as_ref());
    named(&mut post, &EffectKey::parse(key)?);
    placed(&api.send("chat.postMessage", &Value::Object(post))?, input.thread_ts.as_ref(), api)
}

/// Changes a line.
///
/// # Errors
/// See [`Api::send`].
pub fn changed(input: Changed, api: &Api) -> Result<Value, Failure> {
    let text = one_line(&input.text, LINE_CHARS_MAX)?;
    let mut update = body(&input.channel, text.clone(), vec![quiet(&text)]);
    update.insert("ts".to_owned(), json!(input.ts.as_str()));
    api.send("chat.update", &Value::Object(update))?;
    Ok(json!({ "channel": input.channel.as_str(), "ts": input.ts.as_str() }))
}

/// Takes a line away.
///
/// # Errors
/// See [`Api::send`].
pub fn ended(input: Ended, api: &Api) -> Result<Value, Failure> {
    let at = json!({ "channel": input.channel.as_str(), "ts": input.ts.as_str() });
    api.ensure("chat.delete", &at, "message_not_found")?;
    Ok(at)
}

/// Says what the office does, beside its name in the thread; nothing when the text is empty. Slack forgets it after two
/// minutes, and with the next message.
///
/// # Errors
/// See [`Api::send`].
pub fn status(input: Status, api: &Api) -> Result<Value, Failure> {
    let text = if input.text.is_empty() { String::new() } else { one_line(&input.text, LINE_CHARS_MAX)? };
    let (channel, thread) = (input.channel.as_str(), input.thread_ts.as_str());
    let said = json!({ "channel_id": channel, "thread_ts": thread, "status": text });
    api.send("assistant.threads.setStatus", &said)?;
    Ok(json!({ "channel": channel, "thread_ts": thread }))
}

/// Names an assistant thread, or suggests what may be asked in it.
///
/// # Errors
/// See [`Api::send`]; [`Kind::InvalidInput`] when there is nothing to do.
pub fn assistant_thread(input: AssistantThread, api: &Api) -> Result<Value, Failure> {
    let (channel, thread) = (input.channel.as_str(), input.thread_ts.as_str());
    if input.title.is_none() && input.prompts.is_empty() {
        return Err(Failure::new(Kind::InvalidInput, "there is neither a `title` nor `prompts`"));
    }
    if let Some(title) = &input.title {
        let title = one_line(title, TITLE_CHARS_MAX)?;
        let named = json!({ "channel_id": channel, "thread_ts": thread, "title": title });
        api.send("assistant.threads.setTitle", &named)?;
    }
    if !input.prompts.is_empty() {
        let prompts = input.prompts.iter().take(PROMPTS_MAX);
        let prompts: Vec<Value> =
            prompts.map(|prompt| json!({ "title": prompt.title, "message": prompt.message })).collect();
        let suggested = json!({ "channel_id": channel, "thread_ts": thread, "prompts": prompts });
        api.send("assistant.threads.setSuggestedPrompts", &suggested)?;
    }
    Ok(json!({ "channel": channel, "thread_ts": thread }))
}

/// Small and grey: it is not what anybody is to read.
fn quiet(escaped: &str) -> Value {
    json!({ "type": "context", "elements": [{ "type": "mrkdwn", "text": escaped, "verbatim": true }] })
}

/// `text` as one line, escaped, of at most `chars_max` characters.
fn one_line(text: &str, chars_max: usize) -> Result<String, Failure> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return Err(Failure::new(Kind::InvalidInput, "`text` is empty: there is nothing to show"));
    }
    let (shown, is_cut) = Untrusted::new(&line).head(chars_max - 1);
    Ok(if is_cut { format!("{}…", shown.escaped()) } else { shown.escaped() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tests::{Told, asked_of, call};
    use guest::Kind;

    #[test]
    fn a_line_is_posted_changed_and_taken_away_and_mentions_nobody() {
        let line = json!({"channel": "C012", "thread_ts": "1.0", "text": "Working: <!here>\n& `x`"});
        let done = json!({"ok": true, "channel": "C012", "ts": "2.0", "message": {"thread_ts": "1.0"}});
        let (output, asked) = asked_of(call("slack.progress", line), &[Told::Ok(done)]);
        assert_eq!(output, Ok(json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0"})));
        let (method, body) = &asked[0];
        assert_eq!((method.as_str(), &body["thread_ts"]), ("chat.postMessage", &json!("1.0")));
        assert_eq!(body["blocks"][0]["elements"][0]["text"], "Working: &lt;!here&gt; &amp; `x`");
        assert_eq!(body["metadata"]["event_payload"]["key"], "effect_1");
        let change = json!({"channel": "C012", "ts": "2.0", "text": "x".repeat(500)});
        let (_, asked) = asked_of(call("slack.progress-change", change), &[Told::Ok(json!({"ok": true}))]);
        assert_eq!((asked[0].0.as_str(), &asked[0].1["ts"]), ("chat.update", &json!("2.0")));
        assert!(asked[0].1["text"].as_str().unwrap().chars().count() <= 200);
        for answer in [Told::Ok(json!({"ok": true})), Told::No("message_not_found")] {
            let end = json!({"channel": "C012", "ts": "2.0"});
            let (output, asked) = asked_of(call("slack.progress-end", end.clone()), &[answer]);
            assert_eq!((output, asked[0].0.as_str()), (Ok(end), "chat.delete"));
        }
    }

    #[test]
    fn a_status_may_be_taken_back_and_a_line_is_never_empty() {
        let status = json!({"channel": "D012", "thread_ts": "1.0", "text": ""});
        let (_, asked) = asked_of(call("slack.status", status), &[Told::Ok(json!({"ok": true}))]);
        assert_eq!(
            asked[0],
            (
                "assistant.threads.setStatus".to_owned(),
                json!({"channel_id": "D012", "thread_ts": "1.0", "status": ""})
            )
        );
        let (output, asked) =
            asked_of(call("slack.progress", json!({"channel": "C012", "text": " \n"})), &[]);
        assert_eq!((output.unwrap_err().kind, asked.len()), (Kind::InvalidInput, 0));
    }

    #[test]
    fn an_assistant_thread_gets_a_title_and_prompts() {
        let prompt = |n: usize| json!({"title": format!("t{n}"), "message": format!("m{n}")});
        let input = json!({"channel": "D012", "thread_ts": "1.0", "title": "Tides & <boats>",
            "prompts": (0..6).map(prompt).collect::<Vec<_>>()});
        let done = || Told::Ok(json!({"ok": true}));
        let (output, asked) = asked_of(call("slack.assistant-thread", input), &[done(), done()]);
        assert_eq!(output, Ok(json!({"channel": "D012", "thread_ts": "1.0"})));
        assert_eq!(asked[0].1["title"], "Tides &amp; &lt;boats&gt;");
        assert_eq!(asked[1].1["prompts"].as_array().unwrap().len(), 4);
        let nothing = json!({"channel": "D012", "thread_ts": "1.0"});
        let (output, _) = asked_of(call("slack.assistant-thread", nothing), &[]);
        assert_eq!(output.unwrap_err().kind, Kind::InvalidInput);
    }
}
