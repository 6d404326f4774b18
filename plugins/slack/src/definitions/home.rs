//! The tools by which one person sets something, or asks something with a form.

use guest::Definition;
use serde_json::{Value, json};

use super::posted;
use crate::form::WORDS_CHARS_MAX;
use crate::home::{CHANNELS_MAX, CHOICES_MAX, PARTS_MAX};
use crate::message::TEXT_TAKEN_CHARS_MAX;

/// Each of them.
pub fn all() -> Vec<Definition> {
    vec![home(), form(), begin()]
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": TEXT_TAKEN_CHARS_MAX, "description": description })
}

fn user(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^[UW][A-Z0-9]{2,}$", "description": description })
}

fn channel() -> Value {
    json!({ "type": "string", "pattern": "^[CDG][A-Z0-9]{2,}$" })
}

fn thing(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9._:-]{1,48}$", "description": description })
}

fn action() -> Value {
    text("What comes back when it is used, such as home.mode.")
}

fn home() -> Definition {
    let option = object(
        &json!({ "value": thing("What it sets."), "label": text("As people read it.") }),
        &["value", "label"],
    );
    let button = object(
        &json!({ "action": action(), "about": thing("What it is about."), "label": text("On the button."),
            "sure": text("What Slack asks again."), "url": text("Where it leads, in the person's browser.") }),
        &["action", "about", "label"],
    );
    let label = || text("What stands beside it, as Markdown.");
    let menu =
        object(&json!({ "action": action(), "label": label(), "chosen": channel() }), &["action", "label"]);
    let many = json!({ "type": "array", "items": channel(), "maxItems": CHANNELS_MAX });
    let menus =
        object(&json!({ "action": action(), "label": label(), "chosen": many }), &["action", "label"]);
    let choice = object(
        &json!({ "action": action(), "label": label(), "about": thing("What it sets something of."),
            "options": { "type": "array", "items": option, "minItems": 1, "maxItems": CHOICES_MAX },
            "chosen": thing("Which option is in force.") }),
        &["action", "label", "about", "options"],
    );
    let part = |name: &str, schema: Value| object(&json!({ name: schema }), &[name]);
    let buttons = json!({ "type": "array", "items": button, "minItems": 1, "maxItems": CHOICES_MAX });
    let parts = json!({ "anyOf": [
        part("header", text("A heading.")), part("text", text("Markdown.")), part("note", text("Small print.")),
        part("channel", menu), part("channels", menus), part("choice", choice), part("buttons", buttons),
    ] });
    Definition {
        name: "slack.home",
        description: "Show something on the Home tab of one person, with menus and buttons, in place of what was there. \
                      Nobody is notified.",
        input_schema: object(
            &json!({
                "user": user("Whose Home it is."),
                "parts": { "type": "array", "items": parts, "minItems": 1, "maxItems": PARTS_MAX },
            }),
            &["user", "parts"],
        ),
        output_schema: object(&json!({ "user": user("Whose Home it is.") }), &["user"]),
    }
}

fn form() -> Definition {
    Definition {
        name: "slack.form",
        description: "Open a form for one person in which they ask something, and say where it is to be answered.",
        input_schema: object(
            &json!({
                "user": user("Who sees it."),
                "trigger": text("What Slack gave with the shortcut; good once, for three seconds."),
                "name": text("What comes back with the words, such as chancery.question."),
                "title": text("Above the form."),
                "submit": text("On its button."),
                "words": text("Above the words."),
                "place": text("Above the place."),
                "hint": text("What leaving the place out means."),
            }),
            &["user", "trigger", "name", "title", "submit", "words", "place", "hint"],
        ),
        output_schema: object(&json!({ "user": user("Who sees it.") }), &["user"]),
    }
}

fn begin() -> Definition {
    let said = format!("Markdown; what a person wrote in the form has at most {WORDS_CHARS_MAX} characters.");
    Definition {
        name: "slack.begin",
        description: "Begin a thread with what somebody asked: in a channel, or in a person's direct messages. Returns \
                      where it stands.",
        input_schema: object(
            &json!({
                "to": { "type": "string", "pattern": "^[CDGUW][A-Z0-9]{2,}$",
                    "description": "The channel, or the person whose direct messages are meant." },
                "user": user("Who is named before the text. Filled by the host, never from text."),
                "text": text(&said),
            }),
            &["to", "text"],
        ),
        output_schema: posted(),
    }
}
