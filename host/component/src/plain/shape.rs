//! From a type of the component model to the JSON Schema of its values.
//!
//! | type | JSON |
//! |---|---|
//! | `bool`, `string`, numbers up to 32 bits, floats | themselves |
//! | `s64`, `u64` | an integer, or its digits as a string beyond ±(2^53-1) |
//! | `char` | a string of one character |
//! | `list<u8>` | base64 |
//! | other lists, tuples | arrays |
//! | records | objects; a field of an `option` may be absent |
//! | enums, variant cases without a value | the name |
//! | variant cases with a value | an object with the one key `name` |
//! | flags | an array of names |
//! | `option<T>` | `T`, or null; within another option `{"some": T}`, or null |
//! | `result` | `{"ok": …}` or `{"error": …}`; as a function's answer the value, or a failure of the call |

use serde_json::{Map, Value, json};
use wasmtime::component::Type;

/// Most types that one tool is made of, each counted as often as it stands there: small types can name one another
/// so that they unfold without end.
const TYPES_MAX: usize = 1_000;
/// Deepest nesting of types: below what readers of JSON take.
const DEPTH_MAX: usize = 24;
/// The largest integer that every reader of JSON keeps.
pub(super) const EXACT_MAX: i64 = (1 << 53) - 1;

/// Unfolds types, within a measure.
pub(super) struct Shapes {
    left: usize,
    depth: usize,
}

impl Shapes {
    pub(super) fn new() -> Self {
        Self { left: TYPES_MAX, depth: 0 }
    }

    /// An object with these fields and no other; those of an option may be absent.
    ///
    /// # Errors
    /// A sentence: what has no likeness in JSON.
    pub(super) fn object<'t>(
        &mut self,
        fields: impl Iterator<Item = (&'t str, Type)>,
    ) -> Result<Value, String> {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (name, ty) in fields {
            if !matches!(ty, Type::Option(_)) {
                required.push(Value::from(name));
            }
            let shape = self.of(&ty).map_err(|reason| format!("`{name}`: {reason}"))?;
            properties.insert(name.to_owned(), shape);
        }
        Ok(
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}),
        )
    }

    /// What a function that gives `ty` answers when it does not fail.
    ///
    /// # Errors
    /// As [`Shapes::object`].
    pub(super) fn answer(&mut self, ty: Option<&Type>) -> Result<Value, String> {
        match ty {
            Some(Type::Result(result)) => {
                // A failure needs no schema, but must be something that can be told.
                if let Some(error) = result.err() {
                    self.of(&error)?;
                }
                self.or_null(result.ok())
            }
            other => self.or_null(other.cloned()),
        }
    }

    fn or_null(&mut self, ty: Option<Type>) -> Result<Value, String> {
        ty.map_or_else(|| Ok(json!({"type": "null"})), |ty| self.of(&ty))
    }

    fn of(&mut self, ty: &Type) -> Result<Value, String> {
        self.left =
            self.left.checked_sub(1).ok_or_else(|| format!("its types unfold to more than {TYPES_MAX}"))?;
        if self.depth >= DEPTH_MAX {
            return Err(format!("its types nest deeper than {DEPTH_MAX}"));
        }
        self.depth += 1;
        let shape = self.unfolded(ty);
        self.depth -= 1;
        shape
    }

    fn unfolded(&mut self, ty: &Type) -> Result<Value, String> {
        Ok(match ty {
            Type::Bool => json!({"type": "boolean"}),
            Type::S8 => integer(i8::MIN, i8::MAX),
            Type::U8 => integer(u8::MIN, u8::MAX),
            Type::S16 => integer(i16::MIN, i16::MAX),
            Type::U16 => integer(u16::MIN, u16::MAX),
            Type::S32 => integer(i32::MIN, i32::MAX),
            Type::U32 => integer(u32::MIN, u32::MAX),
            Type::S64 => json!({"anyOf": [integer(-EXACT_MAX, EXACT_MAX), digits("^-?[0-9]{1,19}$")]}),
            Type::U64 => json!({"anyOf": [integer(0, EXACT_MAX), digits("^[0-9]{1,20}$")]}),
            Type::Float32 | Type::Float64 => json!({"type": "number"}),
            Type::Char => json!({"type": "string", "minLength": 1, "maxLength": 1}),
            Type::String => json!({"type": "string"}),
            Type::List(list) if list.ty() == Type::U8 => {
                json!({"type": "string", "contentEncoding": "base64"})
            }
            Type::List(list) => json!({"type": "array", "items": self.of(&list.ty())?}),
            Type::FixedLengthList(list) => {
                let items = self.of(&list.ty())?;
                json!({"type": "array", "items": items, "minItems": list.len(), "maxItems": list.len()})
            }
            Type::Tuple(tuple) => self.tuple(tuple.types())?,
            Type::Record(record) => self.object(record.fields().map(|field| (field.name, field.ty)))?,
            Type::Variant(variant) => self.variant(variant.cases().map(|case| (case.name, case.ty)))?,
            Type::Enum(names) => json!({"type": "string", "enum": names.names().collect::<Vec<_>>()}),
            Type::Flags(flags) => {
                let names = json!({"type": "string", "enum": flags.names().collect::<Vec<_>>()});
                json!({"type": "array", "items": names, "uniqueItems": true})
            }
            Type::Option(option) => self.option(&option.ty())?,
            Type::Result(result) => {
                let (ok, error) = (self.or_null(result.ok())?, self.or_null(result.err())?);
                json!({"oneOf": [one_key("ok", ok), one_key("error", error)]})
            }
            other => return Err(format!("{}, and nothing in JSON stands for that", strange(other))),
        })
    }

    fn tuple(&mut self, types: impl Iterator<Item = Type>) -> Result<Value, String> {
        let items = types.map(|ty| self.of(&ty)).collect::<Result<Vec<_>, _>>()?;
        let count = items.len();
        Ok(
            json!({"type": "array", "prefixItems": items, "items": false, "minItems": count, "maxItems": count}),
        )
    }

    fn variant<'t>(&mut self, cases: impl Iterator<Item = (&'t str, Option<Type>)>) -> Result<Value, String> {
        let mut shapes = Vec::new();
        for (name, ty) in cases {
            shapes.push(match ty {
                None => json!({"const": name}),
                Some(ty) => one_key(name, self.of(&ty)?),
            });
        }
        Ok(json!({"oneOf": shapes}))
    }

    fn option(&mut self, inner: &Type) -> Result<Value, String> {
        let shape = self.of(inner)?;
        let some = if matches!(inner, Type::Option(_)) { one_key("some", shape) } else { shape };
        Ok(json!({"anyOf": [some, {"type": "null"}]}))
    }
}

fn integer(least: impl Into<i64>, most: impl Into<i64>) -> Value {
    json!({"type": "integer", "minimum": least.into(), "maximum": most.into()})
}

fn digits(pattern: &str) -> Value {
    json!({"type": "string", "pattern": pattern})
}

fn one_key(key: &str, shape: Value) -> Value {
    json!({"type": "object", "properties": {key: shape}, "required": [key], "additionalProperties": false})
}

fn strange(ty: &Type) -> &'static str {
    match ty {
        Type::Own(_) | Type::Borrow(_) => "it is a resource",
        Type::Future(_) => "it is a future",
        Type::Stream(_) => "it is a stream",
        Type::Map(_) => "it is a map",
        _ => "it is of a type nobody here knows",
    }
}
