//! Canonical JSON (RFC 8785): the same data always gives the same bytes.

use crate::Digest;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The largest integer that every JSON reader keeps: 2^53-1 (RFC 7493, section 2.2).
pub const INTEGER_MAX: u64 = 9_007_199_254_740_991;

/// How deep plain JSON goes: far above any body, and below what a parser still reads.
const PLAIN_DEPTH_MAX: usize = 64;

/// The canonical bytes of `value`. Take [`inexact`] first where the value came from outside: an integer
/// beyond [`INTEGER_MAX`] is rounded here as RFC 8785 says.
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    // What is nearly all there is takes a fraction of the time this way.
    if is_plain(value)
        && let Ok(bytes) = serde_json::to_vec(&Ordered(value))
    {
        return bytes;
    }
    // Serialising a `Value` can only fail on non-finite numbers, which a `Value` cannot hold.
    serde_json_canonicalizer::to_vec(value).unwrap_or_else(|_| value.to_string().into_bytes())
}

/// Whether `value` is such that writing it with its keys in order is canonical, and reading what was written gives it
/// back: its keys are such that all orders agree, its numbers have one spelling, and it is not too deep.
#[must_use]
pub fn is_plain(value: &Value) -> bool {
    is_plain_within(value, PLAIN_DEPTH_MAX)
}

fn is_plain_within(value: &Value, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else { return false };
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => {
            let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            magnitude.is_some_and(|magnitude| magnitude <= INTEGER_MAX)
        }
        Value::Array(items) => items.iter().all(|item| is_plain_within(item, below)),
        Value::Object(fields) => {
            fields.iter().all(|(key, field)| key.is_ascii() && is_plain_within(field, below))
        }
    }
}

/// Writes a value with the keys of every object in order.
struct Ordered<'a>(&'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Ordered)),
            Value::Object(fields) if is_in_order(fields) => {
                serializer.collect_map(fields.iter().map(|(key, field)| (key, Ordered(field))))
            }
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_unstable_by_key(|(key, _)| *key);
                serializer.collect_map(fields.into_iter().map(|(key, field)| (key, Ordered(field))))
            }
            plain => plain.serialize(serializer),
        }
    }
}

fn is_in_order(fields: &Map<String, Value>) -> bool {
    fields.keys().zip(fields.keys().skip(1)).all(|(one, next)| one < next)
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
    use super::{INTEGER_MAX, PLAIN_DEPTH_MAX, canonical, inexact, is_plain};
    use proptest::prelude::*;
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

    /// IEEE-754 bits and how they are written: RFC 8785, appendix B, all that are finite.
    const NUMBERS: &[(u64, &str)] = &[
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];

    #[test]
    fn the_numbers_of_rfc_8785_are_written_as_it_says_and_read_back_to_the_bit() {
        for (bits, written) in NUMBERS {
            let number = f64::from_bits(*bits);
            assert_eq!(canonical(&json!(number)), written.as_bytes(), "{bits:#x}");
            let back: f64 = serde_json::from_str(written).unwrap();
            // The two zeros are one number.
            assert!(back.to_bits() == *bits || number == 0.0, "{written} reads as {:#x}", back.to_bits());
        }
        for bits in [0x7fff_ffff_ffff_ffff, 0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000] {
            assert!(
                serde_json::Number::from_f64(f64::from_bits(bits)).is_none(),
                "no JSON has such a number"
            );
        }
    }

    #[test]
    fn two_integers_that_share_their_bytes_are_both_inexact() {
        let (one, other) = (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64));
        assert_eq!(canonical(&one), canonical(&other));
        assert!(inexact(&one).is_some() && inexact(&other).is_some());
        assert_eq!(canonical(&json!(INTEGER_MAX)), b"9007199254740991");
    }

    fn value(number: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            number,
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// Numbers that JSON keeps exactly and in one form: integers up to 2^53-1, and what has a fraction.
    fn exact() -> impl Strategy<Value = Value> {
        let limit = i64::try_from(INTEGER_MAX).unwrap();
        prop_oneof![
            (-limit..=limit).prop_map(Value::from),
            any::<f64>()
                .prop_filter("a fraction", |n| n.is_finite() && n.fract() != 0.0)
                .prop_map(Value::from),
        ]
    }

    fn any_number() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
        ]
    }

    /// Keys on both sides of the surrogates, where the two orders differ, in no order, and numbers of any spelling.
    fn unordered() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-9_i64..9).prop_map(Value::from),
            any_number(),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            let key = "[a-c\u{0}\"\u{7f}]{0,3}|[a-c\u{e000}\u{fb33}\u{1f600}]{0,3}";
            let fields = prop::collection::hash_map(key, inner.clone(), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..5).prop_map(Value::from),
                fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_short_way_comes_to_what_the_library_says(value in unordered()) {
            prop_assert_eq!(canonical(&value), serde_json_canonicalizer::to_vec(&value).unwrap());
            if is_plain(&value) {
                let mut ordered = value.clone();
                ordered.sort_all_objects();
                let back: Value = serde_json::from_slice(&canonical(&value)).unwrap();
                prop_assert_eq!(back.to_string(), ordered.to_string());
            }
        }

        #[test]
        fn what_is_exact_reads_back_as_it_was(value in value(exact())) {
            prop_assert_eq!(inexact(&value), None);
            let back: Value = serde_json::from_slice(&canonical(&value)).unwrap();
            prop_assert_eq!(back, value);
        }

        #[test]
        fn canonical_form_is_its_own_canonical_form(value in value(any_number())) {
            let once = canonical(&value);
            let twice = canonical(&serde_json::from_slice(&once).unwrap());
            prop_assert_eq!(once, twice);
        }

        #[test]
        fn every_double_is_read_back_to_the_bit(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite() && number != 0.0);
            let back: f64 = serde_json::from_slice(&canonical(&json!(number))).unwrap();
            prop_assert_eq!(back.to_bits(), bits);
        }
    }

    #[test]
    fn what_nests_deeply_is_not_plain() {
        let nested = |depth| (1..depth).fold(json!({}), |inner, _| json!([inner]));
        assert!(is_plain(&nested(PLAIN_DEPTH_MAX)));
        assert!(!is_plain(&nested(PLAIN_DEPTH_MAX + 1)));
    }

    #[test]
    fn numbers_of_more_than_one_spelling_are_written_as_canonical_form_says() {
        let numbers = json!([1.0, 1e21, 9_007_199_254_740_991_u64, -3]);
        assert_eq!(canonical(&numbers), b"[1,1e+21,9007199254740991,-3]");
    }

    #[test]
    fn an_integer_that_would_be_rounded_is_named() {
        assert_eq!(inexact(&json!({"a": [1, {"b/c": 9_007_199_254_740_993_u64}]})), Some("/a/1/b~1c".into()));
        assert_eq!(inexact(&json!(-9_007_199_254_740_992_i64)), Some(String::new()));
        assert_eq!(inexact(&json!({"a": [9_007_199_254_740_991_u64, 0.5, "x", null]})), None);
    }
}
