//! Between values of the component model and JSON, both ways, as `shape` says they look.
//!
//! Total: the schema was checked before, and whatever still does not fit is an error with its place, never a panic
//! and never a guess.

use super::shape::EXACT_MAX;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};
use wasmtime::component::{Type, Val};

/// The value of type `ty` that `json` is.
///
/// # Errors
/// A sentence: the place, and what is wanted there.
pub(super) fn val(ty: &Type, json: &Value) -> Result<Val, String> {
    Ok(match (ty, json) {
        (Type::Bool, Value::Bool(yes)) => Val::Bool(*yes),
        (Type::S8, _) => Val::S8(integer(json)?),
        (Type::U8, _) => Val::U8(integer(json)?),
        (Type::S16, _) => Val::S16(integer(json)?),
        (Type::U16, _) => Val::U16(integer(json)?),
        (Type::S32, _) => Val::S32(integer(json)?),
        (Type::U32, _) => Val::U32(integer(json)?),
        (Type::S64, _) => Val::S64(integer(json)?),
        (Type::U64, _) => Val::U64(integer(json)?),
        (Type::Float32, Value::Number(number)) => Val::Float32(float32(number)?),
        (Type::Float64, Value::Number(number)) => Val::Float64(number.as_f64().ok_or("no number that fits")?),
        (Type::Char, Value::String(text)) => Val::Char(character(text)?),
        (Type::String, Value::String(text)) => Val::String(text.clone()),
        (Type::List(list), Value::String(text)) if list.ty() == Type::U8 => Val::List(bytes(text)?),
        (Type::List(list), Value::Array(items)) => Val::List(vals(&list.ty(), items)?),
        (Type::FixedLengthList(list), Value::Array(items)) if items.len() == list.len() as usize => {
            Val::FixedLengthList(vals(&list.ty(), items)?)
        }
        (Type::Tuple(tuple), Value::Array(items)) if items.len() == tuple.types().len() => {
            let each = tuple.types().zip(items).enumerate();
            Val::Tuple(each.map(|(n, (ty, item))| at(n, val(&ty, item))).collect::<Result<_, _>>()?)
        }
        (Type::Record(record), Value::Object(object)) => {
            Val::Record(fields(record.fields().map(|field| (field.name, field.ty)), object)?)
        }
        (Type::Variant(variant), _) => {
            let (name, inside) = case(json)?;
            let found = variant.cases().find(|case| case.name == name).ok_or_else(|| no_case(name))?;
            Val::Variant(name.to_owned(), payload(found.ty, inside, name)?)
        }
        (Type::Enum(names), Value::String(name)) => {
            Val::Enum(names.names().find(|known| known == name).ok_or_else(|| no_case(name))?.to_owned())
        }
        (Type::Flags(flags), Value::Array(set)) => Val::Flags(flagged(flags.names(), set)?),
        (Type::Option(_), Value::Null) => Val::Option(None),
        (Type::Option(option), _) => {
            let inner = option.ty();
            let inside =
                if matches!(inner, Type::Option(_)) { json.get("some").ok_or("no `some`")? } else { json };
            Val::Option(Some(Box::new(val(&inner, inside)?)))
        }
        (Type::Result(result), _) => {
            let (name, inside) = case(json)?;
            match name {
                "ok" => Val::Result(Ok(payload(result.ok(), inside.filter(|json| !json.is_null()), name)?)),
                "error" => {
                    Val::Result(Err(payload(result.err(), inside.filter(|json| !json.is_null()), name)?))
                }
                other => return Err(no_case(other)),
            }
        }
        _ => return Err("this is of another type".to_owned()),
    })
}

/// The JSON that `val` of type `ty` is.
///
/// # Errors
/// A sentence: the place, and why no JSON stands for it.
pub(super) fn json(ty: &Type, val: Val) -> Result<Value, String> {
    Ok(match (ty, val) {
        (_, Val::Bool(yes)) => yes.into(),
        (_, Val::S8(n)) => n.into(),
        (_, Val::U8(n)) => n.into(),
        (_, Val::S16(n)) => n.into(),
        (_, Val::U16(n)) => n.into(),
        (_, Val::S32(n)) => n.into(),
        (_, Val::U32(n)) => n.into(),
        (_, Val::S64(n)) if n.unsigned_abs() > EXACT_MAX.unsigned_abs() => n.to_string().into(),
        (_, Val::S64(n)) => n.into(),
        (_, Val::U64(n)) if n > EXACT_MAX.unsigned_abs() => n.to_string().into(),
        (_, Val::U64(n)) => n.into(),
        (_, Val::Float32(x)) => number(x.into())?,
        (_, Val::Float64(x)) => number(x)?,
        (_, Val::Char(c)) => c.to_string().into(),
        (_, Val::String(text)) => text.into(),
        (Type::List(list), Val::List(items)) if list.ty() == Type::U8 => base64_of(items).into(),
        (Type::List(list), Val::List(items)) => array(items.into_iter().map(|item| (list.ty(), item)))?,
        (Type::FixedLengthList(list), Val::FixedLengthList(items)) => {
            array(items.into_iter().map(|item| (list.ty(), item)))?
        }
        (Type::Tuple(tuple), Val::Tuple(items)) => array(tuple.types().zip(items))?,
        (Type::Record(record), Val::Record(values)) => {
            let typed = record.fields().map(|field| field.ty).zip(values);
            let mut object = Map::new();
            for (ty, (name, value)) in typed {
                let value = json(&ty, value).map_err(|reason| below(&name, &reason))?;
                object.insert(name, value);
            }
            Value::Object(object)
        }
        (_, Val::Variant(name, None)) | (_, Val::Enum(name)) => name.into(),
        (Type::Variant(variant), Val::Variant(name, Some(inside))) => {
            let ty = variant.cases().find(|case| case.name == name).and_then(|case| case.ty);
            let ty = ty.ok_or_else(|| no_case(&name))?;
            let value = json(&ty, *inside).map_err(|reason| below(&name, &reason))?;
            one_key(&name, value)
        }
        (_, Val::Flags(set)) => set.into_iter().map(Value::from).collect(),
        (_, Val::Option(None)) => Value::Null,
        (Type::Option(option), Val::Option(Some(inside))) => {
            let inner = option.ty();
            let value = json(&inner, *inside)?;
            if matches!(inner, Type::Option(_)) { one_key("some", value) } else { value }
        }
        (Type::Result(result), Val::Result(Ok(inside))) => one_key("ok", maybe(result.ok(), inside)?),
        (Type::Result(result), Val::Result(Err(inside))) => one_key("error", maybe(result.err(), inside)?),
        _ => return Err("a value of another type than was said".to_owned()),
    })
}

/// What stands in a case: its JSON, or null.
pub(super) fn maybe(ty: Option<Type>, inside: Option<Box<Val>>) -> Result<Value, String> {
    match (ty, inside) {
        (Some(ty), Some(inside)) => json(&ty, *inside),
        _ => Ok(Value::Null),
    }
}

/// The values of an object's fields, in the order of the type; of an option, also when it is absent.
pub(super) fn fields<'t>(
    types: impl Iterator<Item = (&'t str, Type)>,
    object: &Map<String, Value>,
) -> Result<Vec<(String, Val)>, String> {
    let mut values = Vec::new();
    for (name, ty) in types {
        let value = match (&ty, object.get(name)) {
            (Type::Option(_), None) => Ok(Val::Option(None)),
            (_, None) => Err("it is not there".to_owned()),
            (_, Some(json)) => val(&ty, json),
        };
        values.push((name.to_owned(), value.map_err(|reason| below(name, &reason))?));
    }
    Ok(values)
}

fn integer<N: TryFrom<i64> + TryFrom<u64>>(json: &Value) -> Result<N, String> {
    let from_text = |text: &str| {
        let negative = text.parse::<i64>().ok().and_then(|n| N::try_from(n).ok());
        negative.or_else(|| text.parse::<u64>().ok().and_then(|n| N::try_from(n).ok()))
    };
    let found = match json {
        Value::String(text) => from_text(text),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(n), ..) => N::try_from(n).ok(),
            (_, Some(n), _) => N::try_from(n).ok(),
            // `3.0` is an integer to a schema.
            (_, _, Some(x)) => from_text(&format!("{x:.0}")).filter(|_| x.fract() == 0.0),
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| "no integer that fits".to_owned())
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is lost is precision, which a 32-bit float never had"
)]
fn float32(number: &Number) -> Result<f32, String> {
    let near = number.as_f64().map(|x| x as f32).filter(|x| x.is_finite());
    near.ok_or_else(|| "no 32-bit number that fits".to_owned())
}

fn character(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err("this is not one character".to_owned()),
    }
}

fn bytes(text: &str) -> Result<Vec<Val>, String> {
    let bytes = STANDARD.decode(text).map_err(|_| "this is not base64".to_owned())?;
    Ok(bytes.into_iter().map(Val::U8).collect())
}

fn base64_of(items: Vec<Val>) -> String {
    let byte = |item| if let Val::U8(byte) = item { Some(byte) } else { None };
    STANDARD.encode(items.into_iter().filter_map(byte).collect::<Vec<u8>>())
}

fn vals(ty: &Type, items: &[Value]) -> Result<Vec<Val>, String> {
    items.iter().enumerate().map(|(n, item)| at(n, val(ty, item))).collect()
}

fn array(items: impl Iterator<Item = (Type, Val)>) -> Result<Value, String> {
    items
        .enumerate()
        .map(|(n, (ty, item))| at(n, json(&ty, item)))
        .collect::<Result<Vec<_>, _>>()
        .map(Value::Array)
}

/// A case by its name, and what stands in it: `"name"`, or `{"name": …}`.
fn case(json: &Value) -> Result<(&str, Option<&Value>), String> {
    match json {
        Value::String(name) => Ok((name, None)),
        Value::Object(object) if object.len() == 1 => {
            object.iter().next().map(|(name, inside)| (name.as_str(), Some(inside))).ok_or_else(String::new)
        }
        _ => Err("this is not the name of a case, nor an object with that one key".to_owned()),
    }
}

fn payload(ty: Option<Type>, inside: Option<&Value>, name: &str) -> Result<Option<Box<Val>>, String> {
    match (ty, inside) {
        (None, None) => Ok(None),
        (Some(ty), Some(inside)) => {
            val(&ty, inside).map(|val| Some(Box::new(val))).map_err(|reason| below(name, &reason))
        }
        // The value of an option may be null, and then the whole case was taken for one without.
        (Some(ty @ Type::Option(_)), None) => Ok(Some(Box::new(val(&ty, &Value::Null)?))),
        (Some(_), None) => Err(format!("`{name}` needs a value")),
        (None, Some(_)) => Err(format!("`{name}` has no value")),
    }
}

fn flagged<'t>(names: impl Iterator<Item = &'t str>, set: &[Value]) -> Result<Vec<String>, String> {
    let known: Vec<&str> = names.collect();
    let flag = |json: &Value| {
        let name = json.as_str().filter(|name| known.contains(name));
        name.map(ToOwned::to_owned).ok_or_else(|| "this is none of its flags".to_owned())
    };
    set.iter().enumerate().map(|(n, json)| at(n, flag(json))).collect()
}

fn number(x: f64) -> Result<Value, String> {
    Number::from_f64(x).map(Value::Number).ok_or_else(|| format!("{x} is no number in JSON"))
}

fn one_key(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

fn no_case(name: &str) -> String {
    format!("`{}` is none of its cases", crate::log::plain(name, crate::NAME_BYTES_MAX))
}

fn at<T>(n: usize, value: Result<T, String>) -> Result<T, String> {
    value.map_err(|reason| below(&n.to_string(), &reason))
}

/// A reason with one more step of its place before it.
fn below(step: &str, reason: &str) -> String {
    match reason.strip_prefix('`') {
        Some(rest) if rest.starts_with('/') => format!("`/{step}{rest}"),
        _ => format!("`/{step}`: {reason}"),
    }
}
