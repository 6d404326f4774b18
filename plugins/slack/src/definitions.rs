//! The tools as a model sees them.

use guest::Definition;
use serde_json::{Value, json};

use crate::message::{MENTIONS_MAX, TEXT_CHARS_MAX};

/// Every tool of the plugin.
pub fn all() -> Vec<Definition> {
    vec![post(), react(), identity()]
}

fn channel() -> Value {
    json!({ "type": "string", "description": "The channel's id, such as C0123ABCD." })
}

fn ts(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn post() -> Definition {
    Definition {
        name: "slack.post",
        description: "Post a message to a Slack channel, or into a thread of it. Returns where it stands. The \
                      text is shown as written, with Slack's *bold*, _italic_ and `code`; nothing in it can \
                      mention anybody, and links are not unfurled.",
        input_schema: json!({
            "type": "object",
            "properties": {
                "channel": channel(),
                "thread_ts": ts("The ts of the message whose thread this goes to."),
                "text": { "type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX },
                "mention": {
                    "type": "array",
                    "items": { "type": "string", "pattern": "^[UW][A-Z0-9]{2,}$" },
                    "maxItems": MENTIONS_MAX,
                    "description": "Ids of those who are asked. Filled by the host, never from text.",
                },
            },
            "required": ["channel", "text"],
            "additionalProperties": false,
        }),
        output_schema: json!({
            "type": "object",
            "properties": {
                "channel": channel(),
                "ts": ts("The message's own ts."),
                "thread_ts": {
                    "type": ["string", "null"],
                    "description": "The thread it stands in; null when a thread was asked for and Slack put it elsewhere.",
                },
            },
            "required": ["channel", "ts"],
            "additionalProperties": false,
        }),
    }
}

fn react() -> Definition {
    let schema = json!({
        "type": "object",
        "properties": {
            "channel": channel(),
            "ts": ts("The ts of the message."),
            "emoji": { "type": "string", "description": "The emoji's name without colons, such as eyes." },
        },
        "required": ["channel", "ts", "emoji"],
        "additionalProperties": false,
    });
    Definition {
        name: "slack.react",
        description: "Put an emoji on a Slack message. Done when it is there, also when it was there before.",
        input_schema: schema.clone(),
        output_schema: schema,
    }
}

fn identity() -> Definition {
    Definition {
        name: "slack.identity",
        description: "Ask Slack who this bot is: workspace, bot user, bot and name.",
        input_schema: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        output_schema: json!({
            "type": "object",
            "properties": {
                "team": { "type": "string" },
                "bot_user": { "type": "string" },
                "bot": { "type": "string" },
                "app": { "type": "string" },
                "name": { "type": "string" },
            },
            "required": ["team", "bot_user", "bot", "name"],
            "additionalProperties": false,
        }),
    }
}
