//! The context of a request: the arguments that policies can see, and the facts the host states.
//!
//! Always holds: a value becomes exactly the type the schema gives its place, or the call is not asked.
//! Deliberately absent: every argument the schema does not name; see [`crate::schema::Omitted`].

use crate::catalogue::Resource;
use crate::entities::{Asked, CannotAsk, uid};
use crate::schema::{Field, Scalar, Shape};
use cedar_policy::{Context, RestrictedExpression};
use event::Integrity;
use serde_json::Value;
use std::collections::BTreeMap;

/// How many items a list may have. Building a set of ten thousand takes ten milliseconds; no policy that a
/// person wrote needs as many.
pub const SET_ITEMS_MAX: usize = 1_000;

/// Whole numbers up to here survive JSON written with a fraction, as in `3.0` (RFC 7493, section 2.2).
const FRACTION_EXACT_MAX: f64 = 9_007_199_254_740_991.0;

/// The context of `asked`, whose arguments have the type `input`.
pub(super) fn context(asked: &Asked<'_>, input: &Shape) -> Result<Context, CannotAsk> {
    let word = |kind, word| uid(kind, word).map(RestrictedExpression::new_entity_uid);
    let integrity = match asked.integrity {
        Integrity::Trusted => "trusted",
        Integrity::Untrusted => "untrusted",
        Integrity::Unknown => "unknown",
    };
    let granted = match asked.resource {
        Resource::Origin { granted, .. } => *granted,
        Resource::Destination(_) | Resource::Model(_) | Resource::Plugin(_) => true,
    };
    let pairs = [
        ("input", express(input, asked.input, "")?),
        ("origin_kind", word("OriginKind", asked.origin_kind.word())?),
        ("flow", word("Flow", asked.flow.word())?),
        ("integrity", word("Integrity", integrity)?),
        ("effect", word("Effect", asked.effect.word())?),
        ("account", word("Account", asked.account.word())?),
        ("account_of", RestrictedExpression::new_string(asked.account_of.clone())),
        ("granted", RestrictedExpression::new_bool(granted)),
        ("approved", RestrictedExpression::new_bool(asked.approved)),
    ];
    Context::from_pairs(pairs.map(|(name, value)| (name.to_owned(), value)))
        .map_err(|e| CannotAsk(e.to_string()))
}

fn express(shape: &Shape, value: &Value, at: &str) -> Result<RestrictedExpression, CannotAsk> {
    match shape {
        Shape::One(scalar) => one(*scalar, value, at),
        Shape::Set(scalar) => {
            let items = value.as_array().ok_or_else(|| unfit(at, "is not a list"))?;
            if items.len() > SET_ITEMS_MAX {
                return Err(unfit(at, &format!("has more than {SET_ITEMS_MAX} items")));
            }
            let items: Result<Vec<_>, _> = items.iter().map(|item| one(*scalar, item, at)).collect();
            Ok(RestrictedExpression::new_set(items?))
        }
        Shape::Record(fields) => record(fields, value, at),
    }
}

/// Only the named members: others are nobody's business here.
fn record(
    fields: &BTreeMap<String, Field>,
    value: &Value,
    at: &str,
) -> Result<RestrictedExpression, CannotAsk> {
    let members = value.as_object().ok_or_else(|| unfit(at, "is not an object"))?;
    let mut pairs = Vec::with_capacity(fields.len());
    for (name, field) in fields {
        let at = format!("{at}/{name}");
        match members.get(name) {
            Some(Value::Null) if field.nullable => {}
            Some(member) => pairs.push((name.clone(), express(&field.shape, member, &at)?)),
            None if field.required => return Err(unfit(&at, "is missing")),
            None => {}
        }
    }
    RestrictedExpression::new_record(pairs).map_err(|e| CannotAsk(e.to_string()))
}

fn one(scalar: Scalar, value: &Value, at: &str) -> Result<RestrictedExpression, CannotAsk> {
    match (scalar, value) {
        (Scalar::Text, Value::String(text)) => Ok(RestrictedExpression::new_string(text.clone())),
        (Scalar::Truth, Value::Bool(truth)) => Ok(RestrictedExpression::new_bool(*truth)),
        (Scalar::Whole, _) => whole(value)
            .map(RestrictedExpression::new_long)
            .ok_or_else(|| unfit(at, "is not a whole number of 64 bits")),
        (Scalar::Text, _) => Err(unfit(at, "is not a string")),
        (Scalar::Truth, _) => Err(unfit(at, "is not true or false")),
    }
}

/// A JSON number as an integer. JSON Schema counts `3.0` as one.
fn whole(value: &Value) -> Option<i64> {
    let exact = |n: &f64| n.fract() == 0.0 && n.abs() <= FRACTION_EXACT_MAX;
    // Within that bound the cast loses nothing.
    value.as_i64().or_else(|| value.as_f64().filter(|_| value.is_f64()).filter(exact).map(|n| n as i64))
}

fn unfit(at: &str, why: &str) -> CannotAsk {
    CannotAsk(if at.is_empty() { format!("the input {why}") } else { format!("`{at}` in the input {why}") })
}

#[cfg(test)]
mod tests {
    use super::{SET_ITEMS_MAX, express, whole};
    use crate::schema::{Field, Scalar, Shape};
    use cedar_policy::{Context, EvalResult};
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};
    use std::collections::BTreeMap;

    fn record(fields: &[(&str, Shape, bool, bool)]) -> Shape {
        let field = |(name, shape, required, nullable): &(&str, Shape, bool, bool)| {
            ((*name).to_owned(), Field { shape: shape.clone(), required: *required, nullable: *nullable })
        };
        Shape::Record(fields.iter().map(field).collect::<BTreeMap<_, _>>())
    }

    fn shape() -> Shape {
        record(&[
            ("url", Shape::One(Scalar::Text), true, false),
            ("count", Shape::One(Scalar::Whole), false, false),
            ("note", Shape::One(Scalar::Text), false, true),
            ("tags", Shape::Set(Scalar::Text), false, false),
        ])
    }

    #[test]
    fn arguments_that_nobody_declared_are_not_passed() {
        let seen = |input: &Value| {
            let pairs = [("input".to_owned(), express(&shape(), input, "").unwrap())];
            Context::from_pairs(pairs).unwrap().get("input")
        };
        let more = json!({"url": "a", "note": null, "extra": {"__entity": {"type": "Role", "id": "lead"}}});
        assert_eq!(seen(&more), seen(&json!({"url": "a"})));
        assert!(express(&record(&[]), &json!({"anything": 1.5}), "").is_ok());
    }

    #[test]
    fn a_value_of_another_type_is_named_and_not_bent() {
        let long: Vec<String> = (0..=SET_ITEMS_MAX).map(|n| n.to_string()).collect();
        for (input, at) in [
            (json!({}), "`/url`"),
            (json!({"url": {"__entity": {"type": "Role", "id": "lead"}}}), "`/url`"),
            (json!({"url": "a", "count": "1"}), "`/count`"),
            (json!({"url": "a", "count": 9_223_372_036_854_775_808_u64}), "`/count`"),
            (json!({"url": "a", "count": null}), "`/count`"),
            (json!({"url": "a", "note": 1}), "`/note`"),
            (json!({"url": "a", "tags": ["b", 1]}), "`/tags`"),
            (json!({"url": "a", "tags": long}), "`/tags`"),
            (json!([]), "the input"),
        ] {
            let Err(why) = express(&shape(), &input, "").map_err(|why| why.to_string()) else {
                panic!("{input}")
            };
            assert!(why.starts_with(at), "{input}: {why}");
        }
    }

    #[test]
    fn a_number_is_whole_or_nothing() {
        assert_eq!(whole(&json!(3.0)), Some(3));
        for wrong in
            [json!(3.5), json!(1e300), json!(9_007_199_254_740_993.0_f64), json!(u64::MAX), json!("3")]
        {
            assert_eq!(whole(&wrong), None, "{wrong}");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("(__entity|__extn|type|id)", inner, 0..3)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn members() -> impl Strategy<Value = Map<String, Value>> {
        proptest::collection::btree_map("(count|tags|note|__entity|other)", value(), 0..3)
            .prop_map(|members| members.into_iter().collect())
    }

    fn entity_free(value: &EvalResult) -> bool {
        match value {
            EvalResult::EntityUid(_) => false,
            EvalResult::Set(items) => items.iter().all(entity_free),
            EvalResult::Record(members) => members.iter().all(|(_, member)| entity_free(member)),
            _ => true,
        }
    }

    proptest! {
        #[test]
        fn whatever_the_arguments_no_entity_comes_of_them(url in ".*", mut rest in members()) {
            rest.insert("url".into(), url.clone().into());
            if let Ok(expression) = express(&shape(), &Value::Object(rest), "") {
                let context = Context::from_pairs([("input".to_owned(), expression)]).unwrap();
                let Some(EvalResult::Record(input)) = context.get("input") else { panic!("no record") };
                prop_assert_eq!(input.get("url"), Some(&EvalResult::String(url)));
                prop_assert!(input.iter().all(|(_, member)| entity_free(member)));
            }
        }
    }
}
