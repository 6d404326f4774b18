//! Whether a message was sent or a draft kept, as the mailbox shows it now. Only reads.

use guest::{Failure, Memory};
use serde_json::{Value, json};

use crate::api::Api;
use crate::compose::{EFFECT_HEADER, message_id, plain};
use crate::message::{header, text};
use crate::read::{PAGE_MAX, checked, found, head};
use crate::write::{New, said};

/// How long before its time a message is looked for, in seconds: clocks differ.
const BEFORE_S: u64 = 10 * 60;
/// How long after it, in seconds: it may have arrived late.
const AFTER_S: u64 = 24 * 60 * 60;

/// The headers that may carry the effect's name. Gmail keeps a `Message-ID` that it replaced under the second name.
const CARRIERS: [&str; 3] = ["Message-ID", "X-Google-Original-Message-ID", EFFECT_HEADER];

/// Looks for a message by its `Message-ID`, and where Gmail gave it another, for the headers that keep the effect's
/// name among what was sent to the same address about then.
pub fn sent(api: &Api<'_>, new: &New, key: &str, around_ms: u64) -> Result<Memory, Failure> {
    if let Some(message) = by_message_id(api, key)? {
        return Ok(Memory::Found(said(&message)));
    }
    let around = around_ms / 1_000;
    let (from, until) = (around.saturating_sub(BEFORE_S), around.saturating_add(AFTER_S));
    let (ids, next) = found(api, &format!("in:sent to:{} after:{from} before:{until}", new.to), None)?;
    for id in ids {
        let message = head(api, &id, &CARRIERS)?;
        if carries(&message, key) {
            return Ok(Memory::Found(said(&message)));
        }
    }
    Ok(if next.is_some() { beyond() } else { Memory::Absent })
}

fn carries(message: &Value, key: &str) -> bool {
    let [own, replaced, effect] = CARRIERS.map(|name| header(message, name));
    let is_own = |id: &str| id.trim_matches(['<', '>']) == message_id(key);
    is_own(&own) || is_own(&replaced) || effect == plain(key)
}

/// The message with the effect's `Message-ID`, wherever it is.
fn by_message_id(api: &Api<'_>, key: &str) -> Result<Option<Value>, Failure> {
    let (ids, _) = found(api, &format!("rfc822msgid:{}", message_id(key)), None)?;
    match ids.first() {
        Some(id) => head(api, id, &["Message-ID"]).map(Some),
        None => Ok(None),
    }
}

/// Looks for a draft among the newest. One that its owner has sent meanwhile is a message.
pub fn drafted(api: &Api<'_>, key: &str) -> Result<Memory, Failure> {
    let answer = api.get(&format!("/drafts?maxResults={PAGE_MAX}"))?;
    let listed = answer.get("drafts").and_then(Value::as_array).into_iter().flatten();
    for id in listed.map(|draft| text(draft.get("id"))).take(PAGE_MAX) {
        let draft = api.get(&format!("/drafts/{}?format=metadata", checked(&id)?))?;
        let message = draft.get("message").cloned().unwrap_or_default();
        if carries(&message, key) {
            return Ok(Memory::Found(json!({"draft": id})));
        }
    }
    if by_message_id(api, key)?.is_some() {
        return Ok(Memory::CannotSay("it is no draft any more: its owner sent it".to_owned()));
    }
    let more = answer.get("nextPageToken").is_some_and(Value::is_string);
    Ok(if more { beyond() } else { Memory::Absent })
}

fn beyond() -> Memory {
    Memory::CannotSay(format!("it is not among the {PAGE_MAX} that were looked through"))
}
