//! Files that came with a message: which they are, as the delivery says. Their content is read by a tool, through the gate.

use crate::arrival::is_plain;
use event::DeliveryReceived;
use fold::message::Attached;
use serde_json::Value;

/// The tool that reads one in Slack, and where its input names the file.
pub const TOOL_SLACK_FILE: &str = "slack.file";
/// See [`TOOL_SLACK_FILE`].
pub const SLACK_FILE_ARGUMENT: &str = "file";

/// Most files of one message that are told of: Slack takes ten.
const FILES_MAX: usize = 10;
/// Longest name or media type that is repeated, in characters.
const WORDS_CHARS_MAX: usize = 120;

/// The files that came with a delivery of Slack's, but for those that are gone, or out of its plan's reach.
#[must_use]
pub fn attached(delivery: &DeliveryReceived) -> Vec<Attached> {
    let files = delivery.payload.json().pointer("/event/files").and_then(Value::as_array);
    files.into_iter().flatten().filter_map(one).take(FILES_MAX).collect()
}

fn one(file: &Value) -> Option<Attached> {
    let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_gone = matches!(text("mode"), "tombstone" | "hidden_by_limit");
    let cut = |text: &str| text.chars().take(WORDS_CHARS_MAX).collect();
    (is_plain(text("id")) && !is_gone).then(|| Attached {
        id: text("id").to_owned(),
        name: cut(text("name")),
        media_type: cut(text("mimetype")),
        bytes: file.get("size").and_then(Value::as_u64),
    })
}

#[cfg(test)]
mod tests {
    use super::attached;
    use event::DeliveryReceived;
    use serde_json::{Value, json};

    fn with(files: Value) -> Vec<String> {
        let payload = json!({"event": {"type": "message", "subtype": "file_share", "files": files}});
        let delivery = DeliveryReceived {
            source: "slack".into(),
            kind: "event_callback".into(),
            event: "message".into(),
            subtype: "file_share".into(),
            external_id: String::new(),
            retry: 0,
            payload: payload.into(),
        };
        attached(&delivery).into_iter().map(|file| file.id).collect()
    }

    #[test]
    fn files_are_told_by_their_ids_and_what_is_gone_or_no_id_is_not() {
        let file =
            |id: &str, mode: &str| json!({"id": id, "name": "a.png", "mimetype": "image/png", "mode": mode});
        let files =
            json!([file("F01", "hosted"), file("F02", "tombstone"), file("F 3", "hosted"), "F04", null]);
        assert_eq!(with(files), ["F01"]);
        assert!(with(json!("none")).is_empty() && with(json!(null)).is_empty());
        let many: Vec<Value> = (10..40).map(|n| file(&format!("F{n}"), "hosted")).collect();
        assert_eq!(with(json!(many)).len(), 10);
    }
}
