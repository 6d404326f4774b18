//! One payload of each kind, in this repository: what it is answered and what it is found to ask.

use super::Desk;
use axum::http::StatusCode;
use event::Class;
use serde_json::{Value, json};

/// An event callback of our workspace.
fn callback(event: Value) -> String {
    json!({"type": "event_callback", "team_id": "T1", "api_app_id": "A0BOT", "event_id": "Ev1", "event": event}).to_string()
}

fn message(change: Value) -> String {
    let mut event = json!({"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1",
        "ts": "1700000000.000100", "text": "hello"});
    for (key, value) in change.as_object().unwrap() {
        event[key] = value.clone();
    }
    callback(event)
}

fn click(payload: Value) -> String {
    let text: String = url::form_urlencoded::byte_serialize(payload.to_string().as_bytes()).collect();
    format!("payload={text}")
}

/// Each kind of thing Slack sends, with its class and reason.
fn kinds() -> Vec<(String, Class, &'static str)> {
    vec![
        (message(json!({})), Class::Passive, "channel-message"),
        (message(json!({"text": "<@U0BOT> hi"})), Class::Explicit, "mention"),
        (message(json!({"channel": "D1", "channel_type": "im"})), Class::Explicit, "direct-message"),
        (message(json!({"user": "U0BOT"})), Class::Ignored, "own-message"),
        (message(json!({"bot_id": "B0BOT", "user": null})), Class::Ignored, "own-message"),
        (message(json!({"app_id": "A0BOT", "user": null})), Class::Ignored, "own-message"),
        (message(json!({"bot_id": "B7", "text": "<@U0BOT> hi"})), Class::Ignored, "bot-message"),
        (message(json!({"subtype": "bot_message", "user": null})), Class::Ignored, "bot-message"),
        (message(json!({"subtype": "channel_join"})), Class::Ignored, "unsupported-subtype"),
        (
            message(json!({"subtype": "message_changed", "message": {"user": "U1", "text": "b"}})),
            Class::Context,
            "edit",
        ),
        (
            message(json!({"subtype": "message_deleted", "previous_message": {"user": "U1"}})),
            Class::Context,
            "deletion",
        ),
        (message(json!({"ts": null})), Class::Ignored, "incomplete-message"),
        (message(json!({"text": "<@U2> hi"})), Class::Context, "addressed-to-another"),
        (message(json!({"text": "<@U0BOT> hi", "user_team": "T2"})), Class::Context, "external-person"),
        (message(json!({"text": ":wave:"})), Class::Ignored, "emoji-only"),
        (message(json!({"subtype": "file_share", "files": []})), Class::Passive, "channel-message"),
        (
            callback(
                json!({"type": "app_mention", "channel": "C1", "user": "U1", "text": "<@U0BOT>", "event_ts": "1515449522000016"}),
            ),
            Class::Explicit,
            "mention",
        ),
        (
            callback(json!({"type": "reaction_added", "user": "U1", "item": {"channel": "C1", "ts": "1.0"}})),
            Class::Context,
            "reaction",
        ),
        (callback(json!({"type": "reaction_added", "user": "U0BOT"})), Class::Ignored, "own-act"),
        (
            callback(json!({"type": "tokens_revoked", "tokens": {"bot": ["U0BOT"]}})),
            Class::Ignored,
            "installation-change",
        ),
        (callback(json!({"type": "something_new"})), Class::Ignored, "unknown-type"),
        (callback(json!({})), Class::Ignored, "empty-event"),
        (json!({"type": "event_callback"}).to_string(), Class::Ignored, "empty-event"),
        (
            json!({"type": "app_rate_limited", "team_id": "T1", "minute_rate_limited": 1}).to_string(),
            Class::Ignored,
            "rate-limited",
        ),
        (json!({"any": ["thing", null, -0.0, 1e300]}).to_string(), Class::Ignored, "unknown-type"),
        (
            click(
                json!({"type": "block_actions", "team": {"id": "T1"}, "channel": {"id": "C1"}, "trigger_id": "1.2.x"}),
            ),
            Class::Ignored,
            "block-action",
        ),
        (click(json!({"type": "view_submission", "team": {"id": "T1"}})), Class::Ignored, "view-submission"),
        (
            click(json!({"type": "message_action", "message": {"type": "message", "text": "<@U0BOT>"}})),
            Class::Ignored,
            "shortcut",
        ),
        (
            "command=%2Fask&text=hi&team_id=T1&user_id=U1&trigger_id=1.2.x".to_owned(),
            Class::Ignored,
            "slash-command",
        ),
    ]
}

#[tokio::test]
async fn each_kind_of_payload_gets_one_class_and_one_reason() {
    for (body, class, reason) in kinds() {
        let desk = Desk::open().await;
        let answer = desk.post(body.clone()).await;
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, ""), "{body}");
        let classes = desk.classes().await;
        let found: Vec<_> = classes.iter().map(|c| (c.class, c.reason.as_str(), c.asks.is_some())).collect();
        assert_eq!(found, [(class, reason, class == Class::Explicit)], "{body}");
    }
}
