//! Canonical JSON (RFC 8785): the same data always gives the same bytes.

use crate::Digest;
use serde_json::Value;

/// The largest integer that every JSON reader keeps: 2^53-1 (RFC 7493, section 2.2).
pub const INTEGER_MAX: u64 = 9_007_199_254_740_991;

/// The canonical bytes of `value`. Take [`inexact`] first where the value came from outside: an integer
/// beyond [`INTEGER_MAX`] is rounded here as RFC 8785 says.
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    // Serialising a `Value` can only fail on non-finite numbers, which a `Value` cannot hold.
    serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes())
}

/// The digest of the canonical bytes of `value`.
#[must_use]
pub fn canonical_digest(value: &Value) -> Digest {
    Digest::of(&canonical(value))
}

/// The JSON pointer of the first number in `value` that canonical form would change, if there is one.
///
/// Two different integers above 2^53-1 can share canonical bytes, so a digest of such a value would
/// approve one and run the other.
#[must_use]
pub fn inexact(value: &Value) -> Option<String> {
    match value {
        Value::Number(n) => {
            let magnitude = n.as_u64().or_else(|| n.as_i64().map(i64::unsigned_abs));
            magnitude.is_some_and(|m| m > INTEGER_MAX).then(String::new)
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(i, item)| inexact(item).map(|rest| format!("/{i}{rest}")))
        }
        Value::Object(fields) => fields.iter().find_map(|(key, item)| {
            inexact(item).map(|rest| format!("/{}{rest}", key.replace('~', "~0").replace('/', "~1")))
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{canonical, inexact};
    use serde_json::{Value, json};

    fn canon(text: &str) -> String {
        String::from_utf8(canonical(&serde_json::from_str::<Value>(text).unwrap())).unwrap()
    }

    #[test]
    fn the_examples_of_rfc_8785_come_out_byte_for_byte() {
        // RFC 8785, section 3.2.2 and 3.2.3.
        let input = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
        assert_eq!(
            canon(input),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
        let sorting = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
            "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
        assert_eq!(
            canon(sorting),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
             \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
             \"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
        );
    }

    #[test]
    fn an_integer_that_would_be_rounded_is_named() {
        assert_eq!(inexact(&json!({"a": [1, {"b/c": 9_007_199_254_740_993_u64}]})), Some("/a/1/b~1c".into()));
        assert_eq!(inexact(&json!(-9_007_199_254_740_992_i64)), Some(String::new()));
        assert_eq!(inexact(&json!({"a": [9_007_199_254_740_991_u64, 0.5, "x", null]})), None);
    }
}
