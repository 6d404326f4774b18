//! The tools by which people see what the office does while it works, and are asked what it cannot know.

use guest::Definition;
use serde_json::{Value, json};

use super::{by, channel, destination, mention, posted, ts};
use crate::ask::CHOICES_MAX;
use crate::card::{ARGUMENTS_TAKEN_CHARS_MAX, FIELDS_MAX};
use crate::message::TEXT_TAKEN_CHARS_MAX;
use crate::progress::PROMPTS_MAX;

/// Each of them.
pub fn all() -> Vec<Definition> {
    vec![
        complete(),
        ask(),
        ask_update(),
        progress(),
        progress_change(),
        progress_end(),
        status(),
        assistant_thread(),
    ]
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "description": description })
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A message by where it stands.
fn at() -> Value {
    object(&json!({ "channel": channel(), "ts": ts("The message's own ts.") }), &["channel", "ts"])
}

fn in_thread() -> Value {
    let thread = ts("The ts of the thread's first message.");
    object(&json!({ "channel": channel(), "thread_ts": thread }), &["channel", "thread_ts"])
}

fn complete() -> Definition {
    let count = json!({ "type": "integer", "minimum": 0 });
    Definition {
        name: "slack.complete",
        description: "Bring a message that broke off while it was streamed to its end, in the same place.",
        input_schema: object(
            &json!({
                "channel": channel(),
                "thread_ts": ts("The ts of the message whose thread it stands in."),
                "ts": ts("The message's own ts."),
                "text": { "type": "string", "minLength": 1, "maxLength": TEXT_TAKEN_CHARS_MAX },
                "effect": text("The effect that the message is, effect_…."),
                "shown": count,
            }),
            &["channel", "thread_ts", "ts", "text", "effect", "shown"],
        ),
        output_schema: super::posted_whole(),
    }
}

fn asked_properties(channel: Value) -> Value {
    let line =
        object(&json!({ "name": { "type": "string" }, "value": { "type": "string" } }), &["name", "value"]);
    json!({
        "channel": channel,
        "title": text("What it is about."),
        "fields": { "type": "array", "items": line, "maxItems": FIELDS_MAX },
        "quoted": { "type": "string", "maxLength": ARGUMENTS_TAKEN_CHARS_MAX, "description": "JSON text that is shown as it is." },
    })
}

fn with(mut properties: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (properties.as_object_mut(), more) {
        fields.extend(more);
    }
    properties
}

fn ask() -> Definition {
    let choice = object(
        &json!({
            "action": { "type": "string", "pattern": "^[a-z-]+(\\.[a-z-]+)+$" },
            "label": text("What stands on the button."),
            "sure": text("What Slack asks again before the click counts."),
        }),
        &["action", "label"],
    );
    let more = json!({
        "thread_ts": ts("The ts of the message whose thread this goes to."),
        "about": text("The id of what is asked about; what the buttons carry."),
        "text": text("What is asked."),
        "choices": { "type": "array", "items": choice, "minItems": 1, "maxItems": CHOICES_MAX },
        "mention": mention(),
    });
    Definition {
        name: "slack.ask",
        description: "Ask people in Slack something that a click answers. Nothing on it can mention anybody but those \
                      who are asked.",
        input_schema: object(
            &with(asked_properties(destination()), more),
            &["channel", "about", "title", "text", "choices"],
        ),
        output_schema: posted(),
    }
}

fn ask_update() -> Definition {
    let more = json!({ "ts": ts("The question's own ts."), "state": text("What was answered."), "by": by() });
    Definition {
        name: "slack.ask-update",
        description: "Change a question in Slack to what was answered. The buttons go.",
        input_schema: object(&with(asked_properties(channel()), more), &["channel", "ts", "title", "state"]),
        output_schema: at(),
    }
}

fn progress() -> Definition {
    Definition {
        name: "slack.progress",
        description: "Put one quiet line into a thread that says what the office does there. Returns where it stands.",
        input_schema: object(
            &json!({
                "channel": channel(),
                "thread_ts": ts("The ts of the message whose thread this goes to."),
                "text": text("One line."),
            }),
            &["channel", "text"],
        ),
        output_schema: posted(),
    }
}

fn progress_change() -> Definition {
    Definition {
        name: "slack.progress-change",
        description: "Change that line.",
        input_schema: object(
            &json!({ "channel": channel(), "ts": ts("The line's own ts."), "text": text("One line.") }),
            &["channel", "ts", "text"],
        ),
        output_schema: at(),
    }
}

fn progress_end() -> Definition {
    Definition {
        name: "slack.progress-end",
        description: "Take that line away. Done when it is gone, also when it was gone before.",
        input_schema: at(),
        output_schema: at(),
    }
}

fn status() -> Definition {
    Definition {
        name: "slack.status",
        description: "Say beside the office's name in a thread what it does; nothing when the text is empty. Slack forgets \
                      it after two minutes, and with the next message.",
        input_schema: object(
            &json!({
                "channel": channel(),
                "thread_ts": ts("The ts of the thread's first message."),
                "text": { "type": "string" },
            }),
            &["channel", "thread_ts", "text"],
        ),
        output_schema: in_thread(),
    }
}

fn assistant_thread() -> Definition {
    let prompt = object(
        &json!({ "title": text("What stands on it."), "message": text("What is asked by a click on it.") }),
        &["title", "message"],
    );
    Definition {
        name: "slack.assistant-thread",
        description: "Name an assistant thread in Slack, or suggest what may be asked in it.",
        input_schema: object(
            &json!({
                "channel": channel(),
                "thread_ts": ts("The ts of the thread's first message."),
                "title": text("One line."),
                "prompts": { "type": "array", "items": prompt, "maxItems": PROMPTS_MAX },
            }),
            &["channel", "thread_ts"],
        ),
        output_schema: in_thread(),
    }
}
