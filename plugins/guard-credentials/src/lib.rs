//! A guard that refuses a call whose arguments hold what looks like a credential.
//!
//! Every text among the arguments is looked at as it stands and in other spellings ([`spelling`]): without
//! invisible characters and white space, percent- and escape-decoded, base64 and hexadecimal decoded, these within
//! one another. In each it looks for the known shapes of credentials ([`shape`]) and for random text near a word such
//! as `password` ([`near`]). The reason says where and what, and never repeats what it found.
//!
//! It is a net with a mesh: a credential that is spelled backwards, spread over arguments or enciphered gets
//! through. Deliberately absent: any judgement about who reads it.

mod near;
mod shape;
mod spelling;

#[cfg(test)]
mod cases;
#[cfg(target_arch = "wasm32")]
mod world;

use serde_json::Value;
use spelling::Spelling;

/// The most text that is looked at in one call, all spellings together, in bytes. A call's arguments are at most a
/// mebibyte, and honest ones are in two or three spellings.
const LOOK_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How many encodings within one another are taken off.
const DEPTH_MAX: usize = 3;
/// Longest value that is read together with its key, in bytes: longer ones are texts, not credentials.
const VALUE_BYTES_MAX: usize = 256;

/// Looks at the arguments of a call: one JSON text.
///
/// # Errors
/// Why the call must not be made: one sentence.
pub fn look(arguments: &str) -> Result<(), String> {
    let value: Value =
        serde_json::from_str(arguments).map_err(|_| "the arguments are not JSON".to_owned())?;
    Look { left: LOOK_BYTES_MAX }.walk(&value, "")
}

/// One look at one call.
struct Look {
    left: usize,
}

impl Look {
    /// Keys come before what is under them, so that a place that is named holds no credential itself.
    fn walk(&mut self, value: &Value, at: &str) -> Result<(), String> {
        match value {
            Value::String(text) => self.text(text, at),
            Value::Array(items) => {
                let joined: String = items.iter().filter_map(Value::as_str).collect();
                if items.len() > 1 && !joined.is_empty() {
                    self.text(&joined, at)?;
                }
                items.iter().enumerate().try_for_each(|(n, item)| self.walk(item, &format!("{at}/{n}")))
            }
            Value::Object(fields) => fields.iter().try_for_each(|(key, inside)| {
                self.text(key, at)?;
                let at = format!("{at}/{key}");
                if let Some(value) = inside.as_str().filter(|value| value.len() <= VALUE_BYTES_MAX) {
                    self.text(&format!("{key}: {value}"), &at)?;
                }
                self.walk(inside, &at)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn text(&mut self, text: &str, at: &str) -> Result<(), String> {
        let at = if at.is_empty() { "/" } else { at };
        match self.spelled(text, 0) {
            Looked::Clean => Ok(()),
            Looked::Found { what, spelling } => {
                let how = spelling.map_or_else(String::new, |spelling| format!(", {}", spelling.word()));
                Err(format!(
                    "`{at}` holds what looks like {what}{how}: leave it out, and say where it is kept instead"
                ))
            }
            Looked::TooMuch => Err(format!(
                "`{at}` comes to more text than can be looked at: send less, or less of it encoded"
            )),
        }
    }

    /// Looks at `text`, and at what it says when its encodings are taken off.
    fn spelled(&mut self, text: &str, depth: usize) -> Looked {
        let Some(left) = self.left.checked_sub(text.len()) else { return Looked::TooMuch };
        self.left = left;
        let plain = spelling::folded(text);
        if let Some(what) = shape::find(&plain, shape::Mode::AsItStands).or_else(|| near::find(&plain)) {
            let spelling = (plain != text).then_some(Spelling::Hidden);
            return Looked::Found { what, spelling };
        }
        if let Some(what) =
            spelling::squeezed(&plain).and_then(|text| shape::find(&text, shape::Mode::Squeezed))
        {
            return Looked::Found { what, spelling: Some(Spelling::Split) };
        }
        if depth == DEPTH_MAX {
            return Looked::Clean;
        }
        for (spelling, decoded) in spelling::decoded(&plain) {
            match self.spelled(&decoded, depth + 1) {
                Looked::Clean => {}
                Looked::Found { what, .. } => return Looked::Found { what, spelling: Some(spelling) },
                Looked::TooMuch => return Looked::TooMuch,
            }
        }
        Looked::Clean
    }
}

/// What a look at one text came to.
enum Looked {
    Clean,
    Found { what: &'static str, spelling: Option<Spelling> },
    TooMuch,
}

#[cfg(test)]
mod tests {
    use super::{cases, look};
    use proptest::prelude::*;
    use serde_json::json;
    use std::path::Path;

    /// Made up, and put together here so that nothing in this file looks like a credential.
    fn key() -> String {
        ["AKIA", "Z7QW3M", "NX4K", "R2VJ6T"].concat()
    }

    #[test]
    fn the_reason_says_where_and_what_and_never_the_credential() {
        let key = key();
        let said = look(&json!({"a": [{"text": format!("use {key} there")}]}).to_string()).unwrap_err();
        assert!(said.starts_with("`/a/0/text` holds what looks like a cloud access key"), "{said}");
        assert!(!said.contains(&key), "{said}");
    }

    #[test]
    fn a_credential_is_found_as_a_key_and_spread_over_a_list() {
        let key = key();
        let said = look(&json!({"a": {key.clone(): 1}}).to_string()).unwrap_err();
        assert!(said.starts_with("`/a` holds") && !said.contains(&key), "{said}");
        let (head, tail) = key.split_at(9);
        assert!(look(&json!({"parts": [head, tail]}).to_string()).is_err());
    }

    #[test]
    fn a_value_is_read_with_its_key() {
        let value = ["gT7x", "Qp2L", "vN9s", "Bd4W"].concat();
        assert!(look(&json!({"db_password": value}).to_string()).is_err());
        assert_eq!(look(&json!({"colour": value}).to_string()), Ok(()));
    }

    #[test]
    fn encodings_within_one_another_are_taken_off() {
        use base64::Engine;
        let once = base64::engine::general_purpose::STANDARD.encode(format!("aws: {}", key()));
        let percent: String = once.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let said = look(&json!({"q": percent}).to_string()).unwrap_err();
        assert!(said.contains("percent-encoded"), "{said}");
    }

    #[test]
    fn what_comes_to_too_much_is_not_let_through_unseen() {
        let said = look(&json!({"text": "a ".repeat(5 * 1024 * 1024)}).to_string()).unwrap_err();
        assert!(said.contains("more text than can be looked at"), "{said}");
        assert!(look("{").is_err());
    }

    #[test]
    fn every_case_is_decided_as_its_folder_says() {
        let cases = cases::cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"));
        assert!(cases.len() >= 60, "{}", cases.len());
        for case in &cases {
            assert!(case.call["tool"].is_string() && case.call["effect"].is_string(), "{}", case.name);
            cases::check(case, look(&case.arguments.to_string()).err().as_deref());
        }
    }

    #[test]
    fn the_manifest_is_of_a_guard_and_names_this_crate() {
        let manifest: toml::Table = include_str!("../plugin.toml").parse().unwrap();
        assert_eq!(manifest["name"].as_str(), Some("guard-credentials"));
        assert_eq!(manifest["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    }

    proptest! {
        #[test]
        fn whatever_the_text_is_it_is_looked_at_and_the_key_in_it_is_found(
            before in any::<String>(),
            after in any::<String>(),
        ) {
            let _ = look(&json!({"text": before.clone()}).to_string());
            let text = format!("{before} {} {after}", key());
            let said = look(&json!({"text": text}).to_string());
            prop_assert!(said.is_err());
        }
    }
}
