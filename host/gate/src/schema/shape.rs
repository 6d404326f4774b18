//! The part of a tool's arguments that policies can see: a type read from the tool's JSON Schema.
//!
//! Always holds: what Cedar cannot express is left out and named, never guessed. A record here holds only the
//! members it names, and only those are passed, so arguments that nobody declared cannot make a request fail.
//! Deliberately absent: resolving `$ref`, and unions; Cedar has neither.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How deep records may nest. Arguments of real tools stay within four; beyond this nobody writes policies.
pub const SHAPE_DEPTH_MAX: usize = 8;

/// A type Cedar has and JSON can carry exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// `String`.
    Text,
    /// `Long`: a whole number of 64 bits.
    Whole,
    /// `Bool`.
    Truth,
}

/// The type of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One value.
    One(Scalar),
    /// A set of values: order and repetition are lost, as Cedar has no lists.
    Set(Scalar),
    /// Named members.
    Record(BTreeMap<String, Field>),
}

/// One member of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its type.
    pub(crate) shape: Shape,
    /// Whether it must be there.
    pub(crate) required: bool,
    /// Whether it may be `null`, which policies see as absent.
    pub(crate) nullable: bool,
}

/// A place in the arguments that policies cannot see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unseen {
    pub(super) pointer: String,
    pub(super) why: &'static str,
}

impl Shape {
    /// The record of a tool's arguments, and what was left out of it.
    pub(super) fn of_input(schema: &Value) -> (Self, Vec<Unseen>) {
        let mut unseen = Vec::new();
        let record = match schema.as_object() {
            // Arguments are always one JSON object, so a schema with members and no type means an object.
            Some(object)
                if object.contains_key("properties") || single_type(object) == Ok(("object", false)) =>
            {
                Self::record(object, "", 1, &mut unseen)
            }
            _ => {
                unseen.push(Unseen { pointer: String::new(), why: "its schema names no members" });
                Self::Record(BTreeMap::new())
            }
        };
        unseen.sort_by(|a, b| a.pointer.cmp(&b.pointer));
        (record, unseen)
    }

    fn record(schema: &Map<String, Value>, pointer: &str, depth: usize, unseen: &mut Vec<Unseen>) -> Self {
        let open = !matches!(schema.get("additionalProperties"), None | Some(Value::Bool(false)));
        let properties = schema.get("properties").and_then(Value::as_object);
        if open || properties.is_none() {
            unseen.push(Unseen { pointer: format!("{pointer}/*"), why: "its members have no fixed names" });
        }
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut fields = BTreeMap::new();
        for (name, member) in properties.into_iter().flatten() {
            let at = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
            match Self::member(member, &at, depth, unseen) {
                Ok((shape, nullable)) => {
                    let required = required.contains(&name.as_str());
                    fields.insert(name.clone(), Field { shape, required, nullable });
                }
                Err(why) => unseen.push(Unseen { pointer: at, why }),
            }
        }
        Self::Record(fields)
    }

    fn member(
        schema: &Value,
        at: &str,
        depth: usize,
        unseen: &mut Vec<Unseen>,
    ) -> Result<(Self, bool), &'static str> {
        let object = schema.as_object().ok_or("its schema allows anything")?;
        let (kind, nullable) = single_type(object)?;
        let shape = match kind {
            "object" if depth >= SHAPE_DEPTH_MAX => return Err("it is nested too deep"),
            "object" => Self::record(object, at, depth + 1, unseen),
            "array" => Self::Set(items(object)?),
            other => Self::One(scalar(other)?),
        };
        Ok((shape, nullable))
    }

    /// Writes the type as Cedar's schema language has it, `indent` spaces in.
    pub(super) fn write(&self, out: &mut String, indent: usize) {
        match self {
            Self::One(scalar) => out.push_str(scalar.cedar()),
            // Writing to a string cannot fail.
            Self::Set(scalar) => _ = write!(out, "Set<{}>", scalar.cedar()),
            Self::Record(fields) if fields.is_empty() => out.push_str("{}"),
            Self::Record(fields) => {
                out.push_str("{\n");
                for (name, field) in fields {
                    let mark = if field.required && !field.nullable { "" } else { "?" };
                    _ = write!(out, "{:indent$}  {}{mark}: ", "", quoted(name));
                    field.shape.write(out, indent + 2);
                    out.push_str(",\n");
                }
                _ = write!(out, "{:indent$}}}", "");
            }
        }
    }
}

impl Scalar {
    fn cedar(self) -> &'static str {
        match self {
            Self::Text => "String",
            Self::Whole => "Long",
            Self::Truth => "Bool",
        }
    }
}

/// `text` as a string literal of Cedar, whose escapes are Rust's.
pub(super) fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// The one type a schema names, and whether `null` is allowed beside it.
fn single_type(schema: &Map<String, Value>) -> Result<(&str, bool), &'static str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Ok((kind, false)),
        Some(Value::Array(kinds)) => {
            let mut named = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            match (named.next(), named.next()) {
                (Some(kind), None) => Ok((kind, kinds.len() > 1)),
                _ => Err("it may be of several types"),
            }
        }
        _ => Err("its schema names no type"),
    }
}

fn items(schema: &Map<String, Value>) -> Result<Scalar, &'static str> {
    let of_scalars = "it is a list of something else than strings, whole numbers or booleans";
    let items = schema.get("items").and_then(Value::as_object).ok_or(of_scalars)?;
    match single_type(items) {
        Ok((kind, false)) => scalar(kind).map_err(|_| of_scalars),
        _ => Err(of_scalars),
    }
}

fn scalar(kind: &str) -> Result<Scalar, &'static str> {
    match kind {
        "string" => Ok(Scalar::Text),
        "integer" => Ok(Scalar::Whole),
        "boolean" => Ok(Scalar::Truth),
        "number" => Err("policies have no fractions"),
        _ => Err("it is of a type that policies do not have"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, SHAPE_DEPTH_MAX, Scalar, Shape};
    use serde_json::{Value, json};

    fn fields(shape: Shape) -> Vec<(String, Field)> {
        match shape {
            Shape::Record(fields) => fields.into_iter().collect(),
            other => panic!("not a record: {other:?}"),
        }
    }

    fn unseen(schema: &Value) -> Vec<(String, &'static str)> {
        Shape::of_input(schema).1.into_iter().map(|u| (u.pointer, u.why)).collect()
    }

    #[test]
    fn what_cedar_has_is_kept_and_the_rest_is_named() {
        let schema = json!({"type": "object", "required": ["url", "note"], "additionalProperties": false,
            "properties": {
                "url": {"type": "string"}, "count": {"type": "integer"}, "deep": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}}, "note": {"type": ["string", "null"]},
                "ratio": {"type": "number"}, "any": true, "either": {"type": ["string", "integer"]},
                "blocks": {"type": "array", "items": {"type": "object"}}, "a/b": {"anyOf": []}}});
        let kept: Vec<_> = fields(Shape::of_input(&schema).0)
            .into_iter()
            .map(|(name, field)| (name, field.shape, field.required && !field.nullable))
            .collect();
        assert_eq!(
            kept,
            [
                ("count".into(), Shape::One(Scalar::Whole), false),
                ("deep".into(), Shape::One(Scalar::Truth), false),
                ("note".into(), Shape::One(Scalar::Text), false),
                ("tags".into(), Shape::Set(Scalar::Text), false),
                ("url".into(), Shape::One(Scalar::Text), true),
            ]
        );
        let pointers: Vec<_> = unseen(&schema).into_iter().map(|(pointer, _)| pointer).collect();
        assert_eq!(pointers, ["/any", "/a~1b", "/blocks", "/either", "/ratio"]);
    }

    #[test]
    fn a_schema_without_members_gives_an_empty_record_and_says_so() {
        for schema in [json!({}), json!(true), json!({"type": "object"}), json!({"$ref": "#/$defs/x"})] {
            assert_eq!(fields(Shape::of_input(&schema).0), [], "{schema}");
            assert_eq!(unseen(&schema).len(), 1, "{schema}");
        }
    }

    #[test]
    fn nesting_ends_at_the_limit() {
        let mut schema = json!({"type": "string"});
        for _ in 0..SHAPE_DEPTH_MAX {
            schema = json!({"type": "object", "properties": {"in": schema}});
        }
        assert_eq!(unseen(&schema), []);
        let deeper = json!({"type": "object", "properties": {"in": schema}});
        assert_eq!(unseen(&deeper), [("/in".repeat(SHAPE_DEPTH_MAX), "it is nested too deep")]);
    }
}
