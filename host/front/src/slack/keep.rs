//! What of a payload goes on the record: all of it, but for what would let a reader of the record act as Slack
//! or as the office.
//!
//! - The top-level `token` is Slack's deprecated verification token: it says nothing, and is left out.
//! - Response addresses, trigger ids and tokens are capabilities: whoever holds one can post or open a form. The
//!   record is readable by more than may do that and lasts longer than they do, so a digest stands in their
//!   place. It keeps two clicks apart and shows that a capability came. Nothing uses them at this depth; what
//!   will, takes them from the request before it gets here.
//! - What opens the office's own form ([`converse::form`]) stays as it is: whichever host of the record takes the
//!   shortcut up opens the form with it. It counts once, for three seconds, and for nobody without the app's token.
//! - A number that canonical JSON would round becomes a string of its digits, so that the record keeps it.
//!
//! What people wrote is not looked at: a secret that somebody pastes into a message is theirs to take back.

use converse::form::FORM_QUESTION;
use event::Digest;
use event::canon::INTEGER_MAX;
use serde_json::{Number, Value};

/// Keys whose text is a capability, wherever they stand.
const CAPABILITIES: [&str; 11] = [
    "access_token",
    "action_token",
    "bot_access_token",
    "interactivity_pointer",
    "refresh_token",
    "response_url",
    "secret",
    "token",
    "trigger_id",
    "webhook_url",
    "workflow_token",
];

/// `payload` as the record keeps it.
#[must_use]
pub fn kept(mut payload: Value) -> Value {
    if let Value::Object(fields) = &mut payload {
        fields.remove("token");
    }
    let text = |key: &str| payload.get(key).and_then(Value::as_str);
    let opens = text("type") == Some("shortcut") && text("callback_id") == Some(FORM_QUESTION);
    let trigger = payload.get("trigger_id").filter(|_| opens).cloned();
    keep(&mut payload);
    if let (Some(fields), Some(trigger)) = (payload.as_object_mut(), trigger.filter(Value::is_string)) {
        fields.insert("trigger_id".to_owned(), trigger);
    }
    payload
}

fn keep(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match value {
                    Value::String(text) if CAPABILITIES.contains(&key.as_str()) && !text.is_empty() => {
                        *text = format!("sha256:{}", Digest::of(text.as_bytes()));
                    }
                    _ => keep(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(keep),
        Value::Number(number) if !is_exact(number) => *value = Value::String(number.to_string()),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Number(_) => {}
    }
}

/// Whether every JSON reader gets this number back as it is. Large numbers with a fraction or exponent are
/// integers too, and read back as such.
fn is_exact(number: &Number) -> bool {
    match number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs)) {
        Some(magnitude) => magnitude <= INTEGER_MAX,
        None => number.as_f64().is_some_and(|n| n.abs() <= INTEGER_MAX as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::kept;
    use event::{canonical, inexact};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn capabilities_are_replaced_by_their_digests_wherever_they_stand() {
        let payload = json!({
            "token": "legacy",
            "trigger_id": "1.2.abc",
            "response_url": "https://hooks.slack.com/actions/T1/1/x",
            "response_urls": [{"response_url": "https://hooks.slack.com/x", "channel_id": "C1"}],
            "event": {"text": "token", "bot_access_token": "xwfp-1", "assistant_thread": {"action_token": "1.2"}},
            "state": {"values": {"secret": {"secret": {"value": "kept"}}}},
            "empty": {"token": ""},
        });
        let kept = kept(payload);
        let text = kept.to_string();
        for gone in ["legacy", "1.2.abc", "hooks.slack.com", "xwfp", "\"1.2\""] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        assert!(kept.get("token").is_none());
        assert!(kept["trigger_id"].as_str().unwrap().starts_with("sha256:"));
        assert_eq!(kept["event"]["text"], "token");
        assert_eq!(kept["state"]["values"]["secret"]["secret"]["value"], "kept");
        assert_eq!(kept["empty"]["token"], "");
    }

    #[test]
    fn only_the_shortcut_of_the_form_keeps_what_opens_one() {
        let of = |kind: &str, callback: &str| {
            let payload = json!({"type": kind, "callback_id": callback, "trigger_id": "1.2.abc",
                "user": {"trigger_id": "3.4.d"}, "response_url": "https://hooks.slack.com/x"});
            super::kept(payload)
        };
        let opens = of("shortcut", "chancery.question");
        assert_eq!(opens["trigger_id"], "1.2.abc");
        for kept in [&opens["user"]["trigger_id"], &opens["response_url"]] {
            assert!(kept.as_str().unwrap().starts_with("sha256:"), "{kept}");
        }
        for (kind, callback) in
            [("shortcut", "other"), ("message_action", "chancery.question"), ("view_submission", "")]
        {
            assert!(of(kind, callback)["trigger_id"].as_str().unwrap().starts_with("sha256:"), "{kind}");
        }
    }

    #[test]
    fn two_clicks_with_two_triggers_stay_two() {
        let click = |trigger: &str| kept(json!({"type": "block_actions", "trigger_id": trigger}));
        assert_ne!(click("a"), click("b"));
        assert_eq!(click("a"), click("a"));
    }

    #[test]
    fn a_number_that_would_be_rounded_becomes_text() {
        let payload: Value = serde_json::from_str(
            r#"{"a":9007199254740993,"b":-9007199254740992,"c":9007199254740991,"d":1e300,"e":0.5,"f":9007199254740992.0}"#,
        )
        .unwrap();
        let kept = kept(payload);
        assert_eq!((&kept["a"], &kept["b"]), (&json!("9007199254740993"), &json!("-9007199254740992")));
        assert_eq!((&kept["c"], &kept["e"]), (&json!(9_007_199_254_740_991_u64), &json!(0.5)));
        assert!(kept["d"].is_string() && kept["f"].is_string());
    }

    proptest! {
        #[test]
        fn what_is_kept_reads_back_to_the_same_bytes(a: i64, b: u64, c: f64) {
            let kept = kept(json!({"a": a, "b": [b], "c": c}));
            prop_assert_eq!(inexact(&kept), None);
            let bytes = canonical(&kept);
            let again: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(inexact(&again), None);
            prop_assert_eq!(canonical(&again), bytes);
        }
    }
}
