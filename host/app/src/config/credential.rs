//! `[credentials]`: where a credential is found, and how it goes into a request.

use super::SecretSource;
use serde::de::{Deserialize, Deserializer, Error};

/// Headers that are never a credential's: they say where a request goes or where it ends.
const NEVER: [&str; 8] =
    ["host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect"];

/// A credential by reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialConfig {
    /// Where its value is found.
    pub source: SecretSource,
    /// The header the value is put into as it is; `Authorization: Bearer …` when there is none.
    pub header: Option<String>,
    /// The user that goes with it, when it is a password: `Authorization: Basic …`.
    pub user: Option<String>,
}

impl<'de> Deserialize<'de> for CredentialConfig {
    /// Reads `{ env = "NAME" }` or `{ file = "PATH" }`, either with `header = "x-api-key"` or `user = "bot"`. Whatever stands there
    /// instead may be a secret and is never repeated in an error.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = toml::Value::deserialize(deserializer)?;
        let header = value.as_table_mut().and_then(|table| table.remove("header"));
        let header = match header {
            None => None,
            Some(toml::Value::String(name)) if is_header(&name) => Some(name.to_ascii_lowercase()),
            Some(_) => {
                return Err(D::Error::custom(
                    "`header` is the name of one HTTP header, such as \"x-api-key\"",
                ));
            }
        };
        let user = value.as_table_mut().and_then(|table| table.remove("user"));
        let user = match user {
            None => None,
            Some(toml::Value::String(name)) if is_user(&name) && header.is_none() => Some(name),
            Some(_) => {
                return Err(D::Error::custom(
                    "`user` is a name without a colon, for a password, and stands without `header`",
                ));
            }
        };
        Ok(Self { source: SecretSource::deserialize(value).map_err(D::Error::custom)?, header, user })
    }
}

fn is_user(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c != ':' && !c.is_control())
}

fn is_header(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !name.is_empty() && name.bytes().all(plain) && !NEVER.contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::CredentialConfig;
    use crate::config::SecretSource;

    fn read(text: &str) -> Result<CredentialConfig, String> {
        let table: toml::Table = format!("a = {text}").parse().unwrap();
        table["a"].clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())
    }

    #[test]
    fn a_credential_may_name_the_header_it_goes_into() {
        let plain = read(r#"{ env = "KEY" }"#).unwrap();
        assert_eq!((plain.source, plain.header), (SecretSource::Env("KEY".to_owned()), None));
        let own = read(r#"{ env = "KEY", header = "X-Api-Key" }"#).unwrap();
        assert_eq!(own.header.as_deref(), Some("x-api-key"));
        let password = read(r#"{ env = "KEY", user = "bot" }"#).unwrap();
        assert_eq!((password.header, password.user.as_deref()), (None, Some("bot")));
    }

    #[test]
    fn a_secret_or_a_header_that_is_none_is_refused_and_not_repeated() {
        for (text, said) in [
            (r#""hunter2""#, "env"),
            (r#"{ value = "hunter2", header = "x-api-key" }"#, "env"),
            (r#"{ env = "KEY", header = "hunter2: hunter2" }"#, "`header`"),
            (r#"{ env = "KEY", header = "Host" }"#, "`header`"),
            (r#"{ env = "KEY", header = 2 }"#, "`header`"),
            (r#"{ env = "KEY", user = "bot:hunter2" }"#, "`user`"),
            (r#"{ env = "KEY", user = "bot", header = "x-api-key" }"#, "`user`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said) && !error.contains("hunter2"), "{error}");
        }
    }
}
