//! The tools as a model sees them.

mod home;
mod live;

use guest::Definition;
use serde_json::{Map, Value, json};

use crate::card::{ARGUMENTS_TAKEN_CHARS_MAX, FIELDS_MAX};
use crate::message::{MENTIONS_MAX, TEXT_CHARS_MAX, TEXT_TAKEN_CHARS_MAX};

/// The argument of every tool that names the workspace. It chooses the token, under the guest, and says nothing else.
pub const TEAM: &str = "team";

/// Every tool of the plugin.
pub fn all() -> Vec<Definition> {
    let mut all = vec![post(), card(), card_update(), whisper(), react(), identity(), emoji(), file()];
    all.extend(home::all());
    all.extend(live::all());
    all.into_iter().map(in_a_workspace).collect()
}

/// Every tool takes the workspace it is used in: the host puts that one's token into the requests.
fn in_a_workspace(mut tool: Definition) -> Definition {
    if let Some(properties) = tool.input_schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert(TEAM.to_owned(), team());
    }
    tool
}

fn team() -> Value {
    json!({
        "type": "string",
        "pattern": "^[TE][A-Z0-9]{2,}$",
        "description": "The workspace's id, such as T0123ABCD, where the office is in several; the conversation's own \
                        when absent.",
    })
}

fn file() -> Definition {
    let mut properties = guest::file::properties();
    if let Some(fields) = properties.as_object_mut() {
        let which = "Which smaller rendition of an image it is.";
        fields.insert("rendition".to_owned(), json!({ "type": "string", "description": which }));
    }
    Definition {
        name: "slack.file",
        description: "Read a file that came with a message, by the id that the message names: an image, a PDF or a text. \
                      An image or a PDF is shown to you after the results, where you can look at such.",
        input_schema: json!({
            "type": "object",
            "properties": { "file": { "type": "string", "description": "The file's id, such as F0123ABCD." } },
            "required": ["file"],
            "additionalProperties": false,
        }),
        output_schema: json!({ "type": "object", "properties": properties, "required": ["name", "bytes"] }),
    }
}

fn channel() -> Value {
    json!({ "type": "string", "description": "The channel's id, such as C0123ABCD." })
}

/// Where a card goes.
fn destination() -> Value {
    let what = "The channel's id, such as C0123ABCD; or a person's, such as U0123ABCD, for a direct message to them.";
    json!({ "type": "string", "description": what })
}

fn ts(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn post() -> Definition {
    Definition {
        name: "slack.post",
        description: "Post a message to a Slack channel, or into a thread of it. Returns where it stands. The \
                      text is Markdown, tables and code blocks included; nothing in it can mention anybody, \
                      and links are not unfurled. What is longer than a message is given as a file too.",
        input_schema: json!({
            "type": "object",
            "properties": {
                "channel": channel(),
                "thread_ts": ts("The ts of the message whose thread this goes to."),
                "text": { "type": "string", "minLength": 1, "maxLength": TEXT_TAKEN_CHARS_MAX },
                "mention": mention(),
                "stream": recipient(),
            },
            "required": ["channel", "text"],
            "additionalProperties": false,
        }),
        output_schema: posted_whole(),
    }
}

/// Who sees a message grow.
fn recipient() -> Value {
    json!({
        "type": "object",
        "properties": {
            "user": { "type": "string", "pattern": "^[UW][A-Z0-9]{2,}$" },
            "team": { "type": "string", "pattern": "^[TE][A-Z0-9]{2,}$" },
        },
        "required": ["user", "team"],
        "additionalProperties": false,
        "description": "For whom the text is streamed, where it is long enough. Filled by the host.",
    })
}

/// Where a message stands, and what became of the part of its text that did not fit.
fn posted_whole() -> Value {
    let count = json!({ "type": "integer", "minimum": 1 });
    let rest = json!({
        "type": "object",
        "properties": { "file": { "type": "string" }, "messages": count, "of": count },
        "additionalProperties": false,
        "description": "Where the text was longer than one message: its file, or how many messages of how many were \
                        posted.",
    });
    let mut schema = posted();
    let unfinished = json!({
        "type": "object",
        "properties": { "shown": { "type": "integer" }, "of": { "type": "integer" } },
        "additionalProperties": false,
        "description": "Where the message broke off: how many of its pieces surely stand there.",
    });
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("rest".to_owned(), rest);
        properties.insert("unfinished".to_owned(), unfinished);
    }
    schema
}

fn mention() -> Value {
    json!({
        "type": "array",
        "items": { "type": "string", "pattern": "^[UW][A-Z0-9]{2,}$" },
        "maxItems": MENTIONS_MAX,
        "description": "Ids of those who are asked. Filled by the host, never from text.",
    })
}

/// Where a message stands.
fn posted() -> Value {
    json!({
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
    })
}

/// What a card says, asked or decided; `more` is what tells the two apart.
fn card_input(channel: Value, more: &[(&str, Value, bool)]) -> Value {
    let text = |description: &str| json!({ "type": "string", "minLength": 1, "description": description });
    let line = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "value": { "type": "string" } },
        "required": ["name", "value"],
        "additionalProperties": false,
    });
    let mut properties = Map::from_iter([
        ("channel".to_owned(), channel),
        ("approval".to_owned(), text("The approval, approval_…; what the buttons carry.")),
        ("title".to_owned(), text("What the card is about.")),
        ("fields".to_owned(), json!({ "type": "array", "items": line, "maxItems": FIELDS_MAX })),
        (
            "arguments".to_owned(),
            json!({ "type": "string", "minLength": 1, "maxLength": ARGUMENTS_TAKEN_CHARS_MAX, "description": "The exact arguments, as JSON text." }),
        ),
        ("digest".to_owned(), text("SHA-256 of the canonical arguments.")),
    ]);
    let mut required: Vec<&str> = vec!["channel", "approval", "title", "arguments", "digest"];
    for (name, schema, is_required) in more {
        properties.insert((*name).to_owned(), schema.clone());
        required.extend(is_required.then_some(*name));
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn card() -> Definition {
    Definition {
        name: "slack.card",
        description: "Show in Slack what waits for a person's yes, with a button for yes and one for no. Returns \
                      where the card stands. Nothing on it can mention anybody but those who are asked.",
        input_schema: card_input(
            destination(),
            &[
                ("thread_ts", ts("The ts of the message whose thread this goes to."), false),
                (
                    "until",
                    json!({ "type": "string", "description": "Until when it can be answered, as text." }),
                    true,
                ),
                ("mention", mention(), false),
            ],
        ),
        output_schema: posted(),
    }
}

/// Who decided something.
fn by() -> Value {
    json!({ "type": "string", "pattern": "^[UW][A-Z0-9]{2,}$",
        "description": "Who is named before it. Filled by the host, never from text." })
}

fn card_update() -> Definition {
    Definition {
        name: "slack.card-update",
        description: "Change a card in Slack to what was decided. The buttons go.",
        input_schema: card_input(
            channel(),
            &[
                ("ts", ts("The card's own ts."), true),
                (
                    "state",
                    json!({ "type": "string", "minLength": 1, "description": "What was decided." }),
                    true,
                ),
                ("by", by(), false),
            ],
        ),
        output_schema: json!({
            "type": "object",
            "properties": { "channel": channel(), "ts": ts("The card's own ts.") },
            "required": ["channel", "ts"],
            "additionalProperties": false,
        }),
    }
}

fn whisper() -> Definition {
    let link = json!({
        "type": "object",
        "properties": {
            "label": { "type": "string", "minLength": 1, "maxLength": 75 },
            "url": { "type": "string", "pattern": "^https?://", "maxLength": 3_000 },
        },
        "required": ["label", "url"],
        "additionalProperties": false,
    });
    let user = json!({ "type": "string", "pattern": "^[UW][A-Z0-9]{2,}$", "description": "Who sees it." });
    Definition {
        name: "slack.whisper",
        description: "Say something in a Slack channel that one person sees, with a button that opens an address where there \
                      is a `link`. Nobody is notified.",
        input_schema: json!({
            "type": "object",
            "properties": {
                "channel": channel(),
                "thread_ts": ts("The ts of the message whose thread this goes to."),
                "user": user,
                "text": { "type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX },
                "link": link,
            },
            "required": ["channel", "user", "text"],
            "additionalProperties": false,
        }),
        output_schema: json!({
            "type": "object",
            "properties": { "channel": channel(), "user": user },
            "required": ["channel", "user"],
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

fn emoji() -> Definition {
    Definition {
        name: "slack.emoji",
        description: "Ask Slack for the names of the emoji that the workspace made itself.",
        input_schema: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        output_schema: json!({
            "type": "object",
            "properties": { "names": { "type": "array", "items": { "type": "string" } } },
            "required": ["names"],
            "additionalProperties": false,
        }),
    }
}

fn identity() -> Definition {
    Definition {
        name: "slack.identity",
        description: "Ask Slack who this bot is: workspace, bot user, bot and name, and what its token was granted.",
        input_schema: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        output_schema: json!({
            "type": "object",
            "properties": {
                "team": { "type": "string" },
                "bot_user": { "type": "string" },
                "bot": { "type": "string" },
                "app": { "type": "string" },
                "name": { "type": "string" },
                "scopes": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "What the token was granted; absent where Slack does not say.",
                },
            },
            "required": ["team", "bot_user", "bot", "name"],
            "additionalProperties": false,
        }),
    }
}
