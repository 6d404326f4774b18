//! Reading back: whether a message that may have been posted is there.
//!
//! Every message carries the name of its effect as metadata ([`crate::message::named`]), so it is known again whatever
//! Slack made of its text. One that was streamed carries it in the ids of its blocks too, and in its metadata once it is
//! whole: by these, one that broke off is told from one that did not. The channel's history, or the thread's replies, is read around the time of the post;
//! *absent* is said only of what was read to its end. A message that somebody deleted is absent too.

use guest::{Effect, Failure, Kind, Memory};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::ids::{ChannelId, EffectKey, Ts};
use crate::message::{METADATA_TYPE, streamed};
use crate::text::Untrusted;

/// How long before the host's time of the post its message may stand, in milliseconds: twice what the host lets its
/// clock and Slack's differ.
const BEFORE_MS: u64 = 10 * 60 * 1_000;
/// How long after it, in milliseconds: a post that was accepted slowly, and the same difference of the clocks.
const AFTER_MS: u64 = 30 * 60 * 1_000;
/// Messages asked for at once.
const PAGE_MESSAGES: usize = 100;
/// The most pages that are read: a thousand messages within forty minutes is the busiest of channels. A call of a
/// tool makes twenty requests at most.
const PAGES_MAX: usize = 10;

/// What a post was made with, as far as it says where.
#[derive(Debug, Deserialize)]
struct Posted {
    #[serde(alias = "to")]
    channel: ChannelId,
    thread_ts: Option<Ts>,
    #[serde(default)]
    text: String,
}

/// Looks for the message of a post or a card.
///
/// # Errors
/// What keeps Slack from showing the history, such as a missing scope.
pub fn message(effect: &Effect, api: &Api) -> Result<Memory, Failure> {
    let place: Posted = effect.read()?;
    let key = EffectKey::parse(&effect.key)?;
    let window = Window::around(effect.around_ms);
    if let Some(thread) = &place.thread_ts {
        match look("conversations.replies", &place.channel, Some(thread), &window, &key, api) {
            Ok(Looked::Found(found)) => return Ok(Memory::Found(reference(&place, &found, &key))),
            Ok(Looked::TooMany) => return Ok(too_many()),
            // Where the thread is gone the message stands in the channel, if anywhere.
            Ok(Looked::Nothing) => {}
            Err(failure) if failure.kind == Kind::NotFound => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(match look("conversations.history", &place.channel, None, &window, &key, api)? {
        Looked::Found(found) => Memory::Found(reference(&place, &found, &key)),
        Looked::TooMany => too_many(),
        Looked::Nothing => Memory::Absent,
    })
}

fn too_many() -> Memory {
    Memory::CannotSay(format!(
        "more than {} messages stand around that time, and it is not among those",
        PAGES_MAX * PAGE_MESSAGES
    ))
}

/// What the post would have given back.
fn reference(place: &Posted, message: &Value, key: &EffectKey) -> Value {
    let text = |key: &str| message.get(key).and_then(Value::as_str);
    let mut reference = json!({ "channel": place.channel.as_str(), "ts": text("ts") });
    let Some(fields) = reference.as_object_mut() else { return reference };
    let thread = text("thread_ts");
    if place.thread_ts.is_some() || thread.is_some() {
        fields.insert("thread_ts".to_owned(), json!(thread));
    }
    if !says(message, key) {
        let of = streamed(Untrusted::new(&place.text)).map_or(0, |texts| texts.len());
        fields.insert("unfinished".to_owned(), json!({ "shown": pieces_of(message, key), "of": of }));
    }
    reference
}

/// Where a message stands that was to be a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// Under the message that it was to hang under.
    InThread,
    /// In the channel by itself.
    InChannel,
    /// Slack does not show it, or does not answer.
    Unknown,
}

/// Where the message `ts` stands, which was to be a reply to `thread`: in the replies, or else in the channel itself.
pub fn stands(channel: &str, ts: &str, thread: &Ts, api: &Api) -> Stands {
    let one = |method: &str, thread: Option<&Ts>| -> Result<Option<Value>, Failure> {
        let mut query = vec![
            ("channel", channel.to_owned()),
            ("oldest", ts.to_owned()),
            ("latest", ts.to_owned()),
            ("inclusive", "true".to_owned()),
            // Of replies, the first message of the thread comes along.
            ("limit", "2".to_owned()),
        ];
        query.extend(thread.map(|thread| ("ts", thread.as_str().to_owned())));
        let page = api.read(method, &query)?;
        let messages = page.get("messages").and_then(Value::as_array).into_iter().flatten();
        let is_it = |message: &&Value| message.get("ts").and_then(Value::as_str) == Some(ts);
        Ok(messages.into_iter().find(is_it).cloned())
    };
    let hangs = |message: &Value| message.get("thread_ts").and_then(Value::as_str) == Some(thread.as_str());
    match one("conversations.replies", Some(thread)) {
        Ok(Some(message)) if hangs(&message) => return Stands::InThread,
        Ok(_) => {}
        Err(failure) if failure.kind == Kind::NotFound => {}
        Err(_) => return Stands::Unknown,
    }
    match one("conversations.history", None) {
        Ok(Some(message)) if hangs(&message) => Stands::InThread,
        Ok(Some(_)) => Stands::InChannel,
        Ok(None) | Err(_) => Stands::Unknown,
    }
}

/// From when to when, as Slack writes moments.
struct Window {
    oldest: String,
    latest: String,
}

impl Window {
    fn around(ms: u64) -> Self {
        let seconds = |ms: u64| format!("{}.{:03}000", ms / 1_000, ms % 1_000);
        let (oldest, latest) = (ms.saturating_sub(BEFORE_MS), ms.saturating_add(AFTER_MS));
        Self { oldest: seconds(oldest), latest: seconds(latest) }
    }
}

enum Looked {
    Found(Value),
    Nothing,
    TooMany,
}

fn look(
    method: &str,
    channel: &ChannelId,
    thread: Option<&Ts>,
    window: &Window,
    key: &EffectKey,
    api: &Api,
) -> Result<Looked, Failure> {
    let mut cursor = String::new();
    for _ in 0..PAGES_MAX {
        let mut query = vec![
            ("channel", channel.as_str().to_owned()),
            ("oldest", window.oldest.clone()),
            ("latest", window.latest.clone()),
            ("inclusive", "true".to_owned()),
            ("include_all_metadata", "true".to_owned()),
            ("limit", PAGE_MESSAGES.to_string()),
        ];
        query.extend(thread.map(|thread| ("ts", thread.as_str().to_owned())));
        if !cursor.is_empty() {
            query.push(("cursor", cursor.clone()));
        }
        let page = api.read(method, &query)?;
        let messages = page.get("messages").and_then(Value::as_array);
        let Some(messages) = messages else {
            let message = format!("Slack's answer to {method} has no messages");
            return Err(Failure::new(Kind::Malformed, message));
        };
        if let Some(found) = messages.iter().find(|message| is_named(message, key)) {
            return Ok(Looked::Found(found.clone()));
        }
        let next = page.pointer("/response_metadata/next_cursor").and_then(Value::as_str).unwrap_or_default();
        let more = page.get("has_more").and_then(Value::as_bool).unwrap_or_default();
        match (more || !next.is_empty(), next.is_empty()) {
            (false, _) => return Ok(Looked::Nothing),
            // More is there, and nothing says how to come to it.
            (true, true) => return Ok(Looked::TooMany),
            (true, false) => next.clone_into(&mut cursor),
        }
    }
    Ok(Looked::TooMany)
}

/// Whether the message carries the name of this effect, and says where it stands.
fn is_named(message: &Value, key: &EffectKey) -> bool {
    message.get("ts").is_some_and(Value::is_string) && (says(message, key) || pieces_of(message, key) > 0)
}

/// Whether its metadata is that of this effect: then all of it is there.
fn says(message: &Value, key: &EffectKey) -> bool {
    let at = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    at("/metadata/event_type") == Some(METADATA_TYPE)
        && at("/metadata/event_payload/key") == Some(key.as_str())
}

/// How many of its blocks are pieces of this effect.
fn pieces_of(message: &Value, key: &EffectKey) -> usize {
    let of_it = |block: &&Value| {
        let id = block.get("block_id").and_then(Value::as_str).unwrap_or_default();
        id.rsplit_once('.').is_some_and(|(effect, _)| effect == key.as_str())
    };
    message.get("blocks").and_then(Value::as_array).map_or(0, |blocks| blocks.iter().filter(of_it).count())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use guest::http::{Ask, Method, Reply, Wire};
    use guest::{Host, Level};

    use super::*;
    use crate::recalled;

    /// Answers one request after the other, and keeps what was asked.
    struct Pages {
        answers: RefCell<Vec<Value>>,
        asked: RefCell<Vec<Ask>>,
    }

    impl Pages {
        fn of(answers: &[Value]) -> Self {
            let answers = answers.iter().rev().cloned().collect();
            Self { answers: RefCell::new(answers), asked: RefCell::default() }
        }

        fn paths(&self) -> Vec<String> {
            self.asked.borrow().iter().map(|ask| ask.address.path_and_query().to_owned()).collect()
        }
    }

    impl Wire for Pages {
        fn exchange(&self, ask: &Ask) -> Result<Reply, Failure> {
            self.asked.borrow_mut().push(ask.clone());
            let body = self.answers.borrow_mut().pop().unwrap().to_string().into_bytes();
            Ok(Reply { status: 200, headers: Vec::new(), body, cut: false })
        }
    }

    struct Office;

    impl Host for Office {
        fn setting(&self, _key: &str) -> Option<Value> {
            None
        }

        fn credential_exists(&self, _reference: &str) -> bool {
            true
        }

        fn log(&self, _level: Level, _line: &str) {}
    }

    fn effect(input: Value) -> Effect {
        Effect { tool: "slack.post".into(), input, key: "effect_1".into(), around_ms: 1_700_000_000_123 }
    }

    fn page(messages: Value, next: &str) -> Value {
        json!({"ok": true, "messages": messages, "has_more": !next.is_empty(),
            "response_metadata": {"next_cursor": next}})
    }

    fn ours(ts: &str, key: &str) -> Value {
        json!({"ts": ts, "text": "x", "metadata": {"event_type": METADATA_TYPE, "event_payload": {"key": key}}})
    }

    #[test]
    fn a_message_is_found_by_the_name_it_carries_and_by_nothing_else() {
        let others = json!([
            {"ts": "5.0", "text": "effect_1"},
            {"ts": "4.0", "metadata": {"event_type": "another_app", "event_payload": {"key": "effect_1"}}},
            ours("3.0", "effect_2"),
        ]);
        let wire = Pages::of(&[page(others, "bmV4dA=="), page(json!([ours("2.0", "effect_1")]), "")]);
        let said = recalled(&effect(json!({"channel": "C012", "text": "x"})), &Office, &wire).unwrap();
        assert_eq!(said, Memory::Found(json!({"channel": "C012", "ts": "2.0"})));
        assert!(wire.asked.borrow().iter().all(|ask| ask.method == Method::Get && ask.body.is_empty()));
        assert_eq!(
            wire.paths(),
            [
                "/api/conversations.history?channel=C012&oldest=1699999400.123000&latest=1700001800.123000&inclusive=true&include_all_metadata=true&limit=100",
                "/api/conversations.history?channel=C012&oldest=1699999400.123000&latest=1700001800.123000&inclusive=true&include_all_metadata=true&limit=100&cursor=bmV4dA%3D%3D",
            ]
        );
    }

    #[test]
    fn a_reply_is_looked_for_in_its_thread_and_then_in_the_channel() {
        let input = json!({"channel": "C012", "thread_ts": "1.0", "text": "x"});
        let mut reply = ours("2.0", "effect_1");
        reply["thread_ts"] = json!("1.0");
        let wire = Pages::of(&[page(json!([{"ts": "1.0"}, reply]), "")]);
        let said = recalled(&effect(input.clone()), &Office, &wire).unwrap();
        assert_eq!(said, Memory::Found(json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0"})));
        assert!(
            wire.paths()[0].starts_with("/api/conversations.replies?channel=C012&"),
            "{:?}",
            wire.paths()
        );
        assert!(wire.paths()[0].ends_with("&ts=1.0"));
        // The parent was deleted: Slack put it into the channel.
        for first in [json!({"ok": false, "error": "thread_not_found"}), page(json!([{"ts": "1.0"}]), "")] {
            let wire = Pages::of(&[first, page(json!([ours("2.0", "effect_1")]), "")]);
            let said = recalled(&effect(input.clone()), &Office, &wire).unwrap();
            assert_eq!(said, Memory::Found(json!({"channel": "C012", "ts": "2.0", "thread_ts": null})));
        }
    }

    #[test]
    fn a_message_that_broke_off_is_found_by_its_blocks_and_said_to_be_unfinished() {
        let text = "A sentence of some length, and another one beside it. ".repeat(40);
        let input = json!({"channel": "C012", "thread_ts": "1.0", "text": text});
        let mut broken = json!({"ts": "2.0", "thread_ts": "1.0", "blocks": [
            {"type": "section", "block_id": "effect_1.0"}, {"type": "section", "block_id": "effect_1.1"},
            {"type": "section", "block_id": "effect_10.2"}, {"type": "section"}]});
        let other = json!({"ts": "3.0", "thread_ts": "1.0", "blocks": [{"type": "section", "block_id": "effect_10.0"}]});
        let wire = Pages::of(&[page(json!([{"ts": "1.0"}, other, broken]), "")]);
        let said = recalled(&effect(input.clone()), &Office, &wire).unwrap();
        let of = json!({"shown": 2, "of": 4});
        assert_eq!(
            said,
            Memory::Found(json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0", "unfinished": of}))
        );
        // Once it is whole, it says so.
        broken["metadata"] = ours("2.0", "effect_1")["metadata"].clone();
        let wire = Pages::of(&[page(json!([broken]), "")]);
        let said = recalled(&effect(input), &Office, &wire).unwrap();
        assert_eq!(said, Memory::Found(json!({"channel": "C012", "ts": "2.0", "thread_ts": "1.0"})));
    }

    #[test]
    fn absent_is_said_only_of_what_was_read_to_its_end() {
        let input = json!({"channel": "C012", "text": "x"});
        let said = |answers: &[Value]| recalled(&effect(input.clone()), &Office, &Pages::of(answers));
        assert_eq!(said(&[page(json!([]), "")]), Ok(Memory::Absent));
        let endless: Vec<Value> =
            (0..PAGES_MAX).map(|_| page(json!([ours("3.0", "effect_2")]), "n")).collect();
        assert!(matches!(said(&endless), Ok(Memory::CannotSay(_))));
        let mut no_way_on = page(json!([]), "");
        no_way_on["has_more"] = json!(true);
        assert!(matches!(said(&[no_way_on]), Ok(Memory::CannotSay(_))));
        let missing = json!({"ok": false, "error": "missing_scope", "needed": "channels:history"});
        assert_eq!(said(&[missing]).unwrap_err().kind, Kind::NotAllowed);
        assert_eq!(said(&[json!({"ok": true})]).unwrap_err().kind, Kind::Malformed);
    }

    #[test]
    fn what_leaves_no_message_to_find_cannot_be_told() {
        let effect = Effect { tool: "slack.whisper".into(), ..effect(json!({})) };
        assert!(matches!(recalled(&effect, &Office, &Pages::of(&[])), Ok(Memory::CannotSay(_))));
    }
}
