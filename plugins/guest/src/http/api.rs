//! What plugins of an HTTP API share: where it is, and how a text stands in its addresses.

use super::Address;
use crate::{Failure, Host, Kind};
use serde_json::Value;

/// Where the API of `plugin` is: what its setting `api` says, without a slash at the end, or else `default`.
///
/// # Errors
/// [`Kind::Other`] `misconfigured` when the setting is no address.
pub fn base(host: &dyn Host, plugin: &str, default: &str) -> Result<String, Failure> {
    let misconfigured = |why: &str| {
        let message = format!("the setting `api` of the plugin `{plugin}`: {why}");
        Failure::new(Kind::Other("misconfigured"), message)
    };
    let base = match host.setting("api") {
        None => default.to_owned(),
        Some(Value::String(base)) => base.trim_end_matches('/').to_owned(),
        Some(other) => return Err(misconfigured(&format!("it is {other} and not a string"))),
    };
    Address::parse(&base).map_err(|failure| misconfigured(&failure.message))?;
    Ok(base)
}

/// `text` with everything but letters, digits and `-._~` percent-encoded (RFC 3986, section 2.3).
#[must_use]
pub fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use serde_json::json;

    struct Set(Option<Value>);

    impl Host for Set {
        fn setting(&self, name: &str) -> Option<Value> {
            self.0.clone().filter(|_| name == "api")
        }

        fn credential_exists(&self, _: &str) -> bool {
            false
        }

        fn log(&self, _: Level, _: &str) {}
    }

    #[test]
    fn an_api_is_where_its_setting_says() {
        let at = |setting: Option<Value>| base(&Set(setting), "x", "https://api.example.com");
        assert_eq!(at(None).unwrap(), "https://api.example.com");
        assert_eq!(at(Some(json!("http://127.0.0.1:4100//"))).unwrap(), "http://127.0.0.1:4100");
        for wrong in [json!(4), json!("nowhere")] {
            let failure = at(Some(wrong)).unwrap_err();
            assert_eq!(failure.kind, Kind::Other("misconfigured"), "{}", failure.message);
            assert!(failure.message.contains("`api` of the plugin `x`"), "{}", failure.message);
        }
    }

    #[test]
    fn what_would_steer_an_address_is_encoded() {
        assert_eq!(encoded("a-b._~/?#%é"), "a-b._~%2F%3F%23%25%C3%A9");
    }
}
