//! JSON Schema 2020-12, as tools state what they take and give.
//!
//! A schema comes from a guest and is met by what a model writes, so it is compiled once, refers to nothing
//! outside itself, and its patterns are matched in linear time. The crate `jsonschema` checks the whole
//! language: a subset of our own would pass what an author's schema forbids. Without its default features it
//! reads no file and no address.

use crate::log::plain;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// Longest schema: larger ones do not fit a model's list of tools either.
pub const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// Longest compiled pattern, so that no pattern multiplies itself into the host's memory.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;
/// Longest account of what does not fit: the checker quotes what it found.
const REASON_BYTES_MAX: usize = 400;

/// A schema that can be checked against.
pub(crate) struct Schema {
    pub(crate) value: Value,
    validator: Validator,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > SCHEMA_BYTES_MAX {
            return Err(format!("it is longer than {SCHEMA_BYTES_MAX} bytes"));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES_MAX))
            .build(&value)
            .map_err(|error| plain(&error.to_string(), REASON_BYTES_MAX))?;
        Ok(Self { value, validator })
    }

    /// Whether `value` fits.
    ///
    /// # Errors
    /// The place that does not fit, and why.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        self.validator.validate(value).map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the whole of it".to_owned() } else { format!("`{place}`") };
            format!("{place}: {}", plain(&error.to_string(), REASON_BYTES_MAX))
        })
    }

    /// Whether only objects can fit, as its `type` says.
    pub(crate) fn is_of_object(&self) -> bool {
        self.value.get("type").and_then(Value::as_str) == Some("object")
    }
}

#[cfg(test)]
mod tests {
    use super::{SCHEMA_BYTES_MAX, Schema};
    use serde_json::json;

    fn schema(value: serde_json::Value) -> Schema {
        Schema::parse(&value.to_string()).unwrap()
    }

    fn refusal(text: &str) -> String {
        Schema::parse(text).map(|_| ()).unwrap_err()
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_place() {
        let fetch = schema(json!({
            "type": "object", "required": ["url"], "additionalProperties": false,
            "properties": {"url": {"type": "string", "maxLength": 10}, "max_bytes": {"type": "integer", "minimum": 1}},
        }));
        assert!(fetch.is_of_object());
        assert_eq!(fetch.check(&json!({"url": "https://a"})), Ok(()));
        for (value, place) in [
            (json!({}), "the whole of it: \"url\" is a required property"),
            (json!([]), "the whole of it"),
            (json!({"url": 7}), "`/url`: 7 is not of type \"string\""),
            (json!({"url": "https://a", "max_bytes": 0}), "`/max_bytes`"),
            (
                json!({"url": "https://a", "as": 1}),
                "the whole of it: Additional properties are not allowed ('as'",
            ),
        ] {
            let reason = fetch.check(&value).unwrap_err();
            assert!(reason.starts_with(place), "{reason}");
        }
    }

    #[test]
    fn a_long_value_is_not_quoted_whole() {
        let reason = schema(json!({"type": "integer"})).check(&json!("x".repeat(10_000))).unwrap_err();
        assert!(reason.len() < 500, "{}", reason.len());
    }

    #[test]
    fn a_schema_refers_to_nothing_outside_itself() {
        for reference in ["https://example.com/schema.json", "file:///etc/passwd", "other.json"] {
            let text = json!({"type": "object", "properties": {"a": {"$ref": reference}}}).to_string();
            assert!(!refusal(&text).is_empty(), "{reference}");
        }
        let inside =
            schema(json!({"$defs": {"id": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/id"}}}));
        assert!(inside.check(&json!({"a": 1})).is_err());
    }

    #[test]
    fn a_pattern_that_would_run_away_ends_or_is_refused() {
        let slow = schema(json!({"type": "string", "pattern": "^(a+)+$"}));
        assert!(slow.check(&json!(format!("{}b", "a".repeat(50_000)))).is_err());
        assert!(!refusal(&json!({"pattern": "((a{100}){100}){100}"}).to_string()).is_empty());
        assert!(
            !refusal(&json!({"pattern": "(a)\\1"}).to_string()).is_empty(),
            "back references need backtracking"
        );
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        assert!(refusal("{").starts_with("it is not JSON"));
        assert!(refusal(&" ".repeat(SCHEMA_BYTES_MAX + 1)).contains("longer"));
        assert!(!refusal(&json!({"type": "things"}).to_string()).is_empty());
    }
}
