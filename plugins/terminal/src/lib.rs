//! The terminal as a destination: `terminal.say`.
//!
//! It has no way out. What is said counts when the host records the effect as sent, and a terminal shows
//! what the record says was sent; so nothing can appear on a screen that is not on the record. Whoever
//! shows the text makes its control characters harmless: here it is kept as it is.

use guest::{Call, Definition, Failure, Host, Kind, Tools};
use serde::Deserialize;
use serde_json::{Value, json};

#[cfg(target_arch = "wasm32")]
guest::bindings::export!(Terminal with_types_in guest::bindings);

/// More than a person reads in one piece, in characters; the same as one Slack message holds.
const TEXT_CHARS_MAX: usize = 12_000;
/// Bounds the mentions of one message; a terminal has one person.
const MENTIONS_MAX: usize = 20;

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct Terminal;

impl Tools for Terminal {
    fn definitions() -> Vec<Definition> {
        vec![Definition {
            name: "terminal.say",
            description: "Say something in a terminal session. Returns once it is on the record.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "session": { "type": "string", "minLength": 1, "description": "The terminal session." },
                    "text": { "type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX },
                    "mention": {
                        "type": "array",
                        "items": { "type": "string" },
                        "maxItems": MENTIONS_MAX,
                        "description": "Who is asked. Filled by the host, never from text.",
                    },
                },
                "required": ["session", "text"],
                "additionalProperties": false,
            }),
            output_schema: json!({
                "type": "object",
                "properties": { "session": { "type": "string" }, "shown": { "const": true } },
                "required": ["session", "shown"],
                "additionalProperties": false,
            }),
        }]
    }

    fn call(call: &Call, _host: &dyn Host) -> Result<Value, Failure> {
        match call.tool.as_str() {
            "terminal.say" => say(call.read()?),
            _ => Err(call.unknown()),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Say {
    session: String,
    text: String,
    #[serde(default)]
    mention: Vec<String>,
}

fn say(say: Say) -> Result<Value, Failure> {
    if say.session.is_empty() {
        return Err(Failure::new(Kind::InvalidInput, "`session` is empty: name the terminal session"));
    }
    if say.text.trim().is_empty() {
        return Err(Failure::new(Kind::InvalidInput, "`text` is empty: there is nothing to say"));
    }
    let chars = say.text.chars().count();
    if chars > TEXT_CHARS_MAX {
        let message = format!("the text has {chars} characters and one message holds {TEXT_CHARS_MAX}");
        return Err(Failure::new(Kind::TooLarge, message));
    }
    if say.mention.len() > MENTIONS_MAX {
        let message = format!("one message mentions at most {MENTIONS_MAX} people");
        return Err(Failure::new(Kind::InvalidInput, message));
    }
    Ok(json!({ "session": say.session, "shown": true }))
}

#[cfg(test)]
mod tests {
    use guest::Level;

    use super::*;

    struct Bare;

    impl Host for Bare {
        fn setting(&self, _key: &str) -> Option<Value> {
            None
        }

        fn credential_exists(&self, _reference: &str) -> bool {
            false
        }

        fn log(&self, _level: Level, _line: &str) {}
    }

    fn call(tool: &str, input: Value) -> Result<Value, Failure> {
        let call = Call { tool: tool.to_owned(), input, key: "effect-1".to_owned() };
        Terminal::call(&call, &Bare)
    }

    #[test]
    fn what_is_said_counts_as_shown_in_its_session() {
        let said =
            call("terminal.say", json!({"session": "t-1", "text": "Good morning.", "mention": ["p-1"]}));
        assert_eq!(said, Ok(json!({"session": "t-1", "shown": true})));
    }

    #[test]
    fn saying_nothing_or_nowhere_is_invalid() {
        for input in [
            json!({"session": "t-1", "text": "  \n"}),
            json!({"session": "", "text": "Hello"}),
            json!({"text": "Hello"}),
            json!({"session": "t-1", "text": "Hello", "loud": true}),
        ] {
            assert_eq!(call("terminal.say", input.clone()).unwrap_err().kind, Kind::InvalidInput, "{input}");
        }
    }

    #[test]
    fn a_text_beyond_the_limit_is_too_large_and_says_the_limit() {
        let text = "x".repeat(TEXT_CHARS_MAX + 1);
        let failure = call("terminal.say", json!({"session": "t-1", "text": text})).unwrap_err();
        assert_eq!(failure.kind, Kind::TooLarge);
        assert!(failure.message.contains("12000"), "{}", failure.message);
    }

    #[test]
    fn the_manifest_names_the_tools_that_are_defined_and_no_other() {
        let manifest: toml::Table = include_str!("../plugin.toml").parse().unwrap();
        let asked: Vec<&str> =
            manifest["tool"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        let defined: Vec<&str> = Terminal::definitions().iter().map(|tool| tool.name).collect();
        assert_eq!(asked, defined);
    }

    #[test]
    fn another_tool_is_not_found() {
        assert_eq!(call("terminal.shout", json!({})).unwrap_err().kind, Kind::NotFound);
    }
}
