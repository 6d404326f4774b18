//! What persons said, inside a fact: open while it is used, sealed where it is kept.
//!
//! A [`Personal`] field names the persons whose words it holds or derives from. The record seals it under their keys
//! on the way in and opens it on the way out, so that whoever folds, stores or exports an event has the sealed form,
//! and destroying one person's key takes the words from every copy. The words of nobody stand as they are.
//!
//! As JSON: the bare value when it is nobody's; `{"of": […], "sealed": "…"}` when it is sealed; `{"of": […],
//! "open": …}` while it is open, which is never kept. A bare value that has exactly these members is wrapped as
//! open and of nobody, so that no value from outside passes for a sealed one.
//!
//! Deliberately absent: any key, and any way from a sealed field to its value (`vault`).

mod fields;

use crate::{PrincipalId, PrincipalKind};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt;

/// What stands where words were whose key is gone.
pub const ERASED: &str = "[erased]";

const OF: &str = "of";
const OPEN: &str = "open";
const SEALED: &str = "sealed";

/// A value that holds something of the persons it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Personal<T> {
    of: BTreeSet<PrincipalId>,
    state: State<T>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State<T> {
    Open(T),
    /// In base64; what is in it is `vault`'s to say.
    Sealed(String),
}

/// What can be personal: text and JSON.
pub trait Content: Serialize + DeserializeOwned + private::Content {}

impl Content for String {}
impl Content for Value {}

mod private {
    /// Which values would be read as a wrapper.
    use super::Personal;
    use serde::Deserializer;

    pub trait Content: Sized {
        fn looks_wrapped(&self) -> bool;
        fn erased() -> Self;

        /// A field that holds such a value, open or sealed.
        fn field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Personal<Self>, D::Error>;
    }

    impl Content for String {
        // Text is nearly always bare, and then needs no JSON in between.
        fn field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Personal<Self>, D::Error> {
            deserializer.deserialize_any(super::Text)
        }

        fn looks_wrapped(&self) -> bool {
            false
        }

        fn erased() -> Self {
            super::ERASED.to_owned()
        }
    }

    impl Content for serde_json::Value {
        fn field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Personal<Self>, D::Error> {
            super::from_json(serde::Deserialize::deserialize(deserializer)?)
        }

        fn looks_wrapped(&self) -> bool {
            super::wrapper(self).is_some()
        }

        fn erased() -> Self {
            Self::from(super::ERASED)
        }
    }
}

/// The member beside `of` in what has the members of a wrapper, whatever they hold.
fn wrapper(value: &Value) -> Option<&'static str> {
    let fields = value.as_object().filter(|fields| fields.len() == 2 && fields.contains_key(OF))?;
    [OPEN, SEALED].into_iter().find(|key| fields.contains_key(*key))
}

impl<T> Personal<T> {
    /// `value`, which holds words of `subjects` or derives from them. Only persons have words of their own: agents
    /// and systems among them are left out.
    #[must_use]
    pub fn of(value: T, subjects: impl IntoIterator<Item = PrincipalId>) -> Self {
        let person = |subject: &PrincipalId| subject.kind() == PrincipalKind::Person;
        Self { of: subjects.into_iter().filter(person).collect(), state: State::Open(value) }
    }

    /// The value; nothing while it is sealed.
    #[must_use]
    pub fn value(&self) -> Option<&T> {
        match &self.state {
            State::Open(value) => Some(value),
            State::Sealed(_) => None,
        }
    }

    /// The persons whose words it holds or derives from; empty when it is nobody's.
    #[must_use]
    pub fn subjects(&self) -> &BTreeSet<PrincipalId> {
        &self.of
    }
}

impl Personal<String> {
    /// The text, or [`ERASED`] while it is sealed.
    #[must_use]
    pub fn text(&self) -> &str {
        self.value().map_or(ERASED, String::as_str)
    }
}

impl Personal<Value> {
    /// The JSON; null while it is sealed, which no reader takes for a value.
    #[must_use]
    pub fn json(&self) -> &Value {
        self.value().unwrap_or(&Value::Null)
    }
}

impl<T> From<T> for Personal<T> {
    /// A value of nobody: no person said it, and it derives from nobody's words.
    fn from(value: T) -> Self {
        Self { of: BTreeSet::new(), state: State::Open(value) }
    }
}

impl From<&str> for Personal<String> {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl<T: fmt::Display> fmt::Display for Personal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            Some(value) => value.fmt(f),
            None => f.write_str(ERASED),
        }
    }
}

impl<T: Content> Serialize for Personal<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.state {
            State::Open(value) if self.of.is_empty() && !value.looks_wrapped() => value.serialize(serializer),
            State::Open(value) => json!({OF: self.of, OPEN: value}).serialize(serializer),
            State::Sealed(sealed) => json!({OF: self.of, SEALED: sealed}).serialize(serializer),
        }
    }
}

impl<'de, T: Content> Deserialize<'de> for Personal<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::field(deserializer)
    }
}

/// What a field holds that reads as `value`.
fn from_json<T: Content, E: serde::de::Error>(value: Value) -> Result<Personal<T>, E> {
    match wrapped(&value) {
        Some(personal) => Ok(personal),
        None => serde_json::from_value::<T>(value).map(Personal::from).map_err(E::custom),
    }
}

/// Text, bare or in a wrapper.
struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Personal<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Personal::from(text.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Personal::from(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        from_json(Value::deserialize(MapAccessDeserializer::new(map))?)
    }
}

/// What a wrapper holds. A body written before there were wrappers may hold its members by chance, with other types:
/// that is a bare value.
fn wrapped<T: Content>(value: &Value) -> Option<Personal<T>> {
    let key = wrapper(value)?;
    let of = BTreeSet::deserialize(value.get(OF)?).ok()?;
    let held = value.get(key)?;
    let state = match key {
        SEALED => State::Sealed(held.as_str()?.to_owned()),
        _ => State::Open(T::deserialize(held).ok()?),
    };
    Some(Personal { of, state })
}

/// A personal field, whatever it holds: what sealing and opening need of it.
pub trait Field {
    /// As [`Personal::subjects`].
    fn subjects(&self) -> &BTreeSet<PrincipalId>;

    /// What has to be sealed before it is kept; nothing when it is sealed or nobody's.
    fn to_seal(&self) -> Option<Value>;

    /// The sealed form; nothing while it is open.
    fn sealed(&self) -> Option<&str>;

    /// Puts the sealed form in the value's place.
    fn seal(&mut self, sealed: String);

    /// Puts the value in the sealed form's place.
    ///
    /// # Errors
    /// When it has not the shape of this field; the field stays sealed.
    fn open(&mut self, value: Value) -> Result<(), serde_json::Error>;

    /// Puts [`ERASED`] in the value's place, as nobody's.
    fn erase(&mut self);

    /// Makes an open value nobody's: for showing it, never for keeping it.
    fn show_bare(&mut self);
}

impl<T: Content> Field for Personal<T> {
    fn subjects(&self) -> &BTreeSet<PrincipalId> {
        &self.of
    }

    fn to_seal(&self) -> Option<Value> {
        let value = self.value().filter(|_| !self.of.is_empty())?;
        // Text and JSON are always expressible.
        Some(serde_json::to_value(value).unwrap_or(Value::Null))
    }

    fn sealed(&self) -> Option<&str> {
        match &self.state {
            State::Sealed(sealed) => Some(sealed),
            State::Open(_) => None,
        }
    }

    fn seal(&mut self, sealed: String) {
        self.state = State::Sealed(sealed);
    }

    fn open(&mut self, value: Value) -> Result<(), serde_json::Error> {
        self.state = State::Open(serde_json::from_value(value)?);
        Ok(())
    }

    fn erase(&mut self) {
        self.of.clear();
        self.state = State::Open(T::erased());
    }

    fn show_bare(&mut self) {
        if matches!(self.state, State::Open(_)) {
            self.of.clear();
        }
    }
}

#[cfg(test)]
mod tests;
