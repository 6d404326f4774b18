//! A thread of Slack's assistant view: who opened it and where, and what is set on it.

use crate::arrival::{Arrival, is_plain};
use event::{ConnectionIdentified, DeliveryReceived};
use serde_json::{Value, json};

/// The tool that names a thread, and suggests what may be asked in it.
pub const TOOL_ASSISTANT: &str = "slack.assistant-thread";

/// The longest title, in characters: one line of the list of threads.
const TITLE_CHARS_MAX: usize = 80;

/// A thread of the assistant view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssistantThread {
    /// The conversation with that person.
    pub channel: String,
    /// The thread's first message.
    pub thread_ts: String,
}

/// The thread that somebody of ours opened.
#[must_use]
pub fn opened(delivery: &DeliveryReceived, own: &ConnectionIdentified) -> Option<AssistantThread> {
    let arrival = Arrival::of(delivery);
    let at = |pointer: &str| {
        let text = delivery.payload.json().pointer(pointer).and_then(Value::as_str);
        text.filter(|text| is_plain(text)).map(str::to_owned)
    };
    let ours = delivery.event == "assistant_thread_started" && !arrival.is_outside(own);
    let thread = AssistantThread {
        channel: at("/event/assistant_thread/channel_id")?,
        thread_ts: at("/event/assistant_thread/thread_ts")?,
    };
    ours.then_some(thread)
}

/// Arguments of [`TOOL_ASSISTANT`] that suggest `prompts`: what stands on each, and what is asked by it.
#[must_use]
pub fn suggesting(thread: &AssistantThread, prompts: &[(String, String)]) -> Value {
    let prompts: Vec<Value> =
        prompts.iter().map(|(title, message)| json!({ "title": title, "message": message })).collect();
    json!({ "channel": thread.channel, "thread_ts": thread.thread_ts, "prompts": prompts })
}

/// Arguments of [`TOOL_ASSISTANT`] that name a thread after what was asked in it first; nothing when that has no words.
#[must_use]
pub fn naming(channel: &str, thread_ts: &str, asked: &str) -> Option<Value> {
    let line = asked.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    };
    (!title.is_empty()).then(|| json!({ "channel": channel, "thread_ts": thread_ts, "title": title }))
}

#[cfg(test)]
mod tests {
    use super::{AssistantThread, naming, opened, suggesting};
    use event::{ConnectionIdentified, DeliveryReceived};
    use serde_json::{Value, json};

    fn delivery(team: &str, thread: Value) -> DeliveryReceived {
        DeliveryReceived {
            source: "slack".into(),
            kind: "event_callback".into(),
            event: "assistant_thread_started".into(),
            subtype: String::new(),
            external_id: "Ev1".into(),
            retry: 0,
            payload: json!({"type": "event_callback", "team_id": team, "event": {
                "type": "assistant_thread_started", "assistant_thread": thread}})
            .into(),
        }
    }

    #[test]
    fn a_thread_that_is_opened_says_where_it_is() {
        let own = ConnectionIdentified {
            source: "slack".into(),
            team: "T1".into(),
            user: "U0BOT".into(),
            bot: "B1".into(),
            app: "A1".into(),
        };
        let thread = json!({"user_id": "U1", "channel_id": "D1", "thread_ts": "1.0", "context": {}});
        let found = AssistantThread { channel: "D1".into(), thread_ts: "1.0".into() };
        assert_eq!(opened(&delivery("T1", thread.clone()), &own), Some(found.clone()));
        assert_eq!(opened(&delivery("T2", thread), &own), None);
        assert_eq!(opened(&delivery("T1", json!({"channel_id": "D1"})), &own), None);
        let prompts = [("Tides".to_owned(), "When does the tide turn?".to_owned())];
        assert_eq!(
            suggesting(&found, &prompts),
            json!({"channel": "D1", "thread_ts": "1.0", "prompts": [{"title": "Tides", "message": "When does the tide turn?"}]})
        );
    }

    #[test]
    fn a_thread_is_named_after_the_first_line_of_what_was_asked() {
        let title = |asked: &str| Some(naming("D1", "1.0", asked)?["title"].as_str().unwrap().to_owned());
        assert_eq!(title("When does\n the tide turn?").unwrap(), "When does the tide turn?");
        assert_eq!(title(&"é".repeat(200)).unwrap().chars().count(), 81);
        assert_eq!(title(" \n"), None);
    }
}
