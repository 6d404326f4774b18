//! An address of mail, as it may stand in a header.

use serde::Deserialize;
use std::fmt;

/// Longest address, in bytes (RFC 5321, section 4.5.3.1.3, without the angle brackets).
const ADDRESS_BYTES_MAX: usize = 254;
/// Longest part before the `@`, in bytes (RFC 5321, section 4.5.3.1.1).
const LOCAL_BYTES_MAX: usize = 64;

/// `someone@example.com`: a dot-atom at a host, in ASCII. No name beside it, no quotes, no comments, no list: nothing
/// that could be read as a second recipient or another header.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct MailAddress(String);

impl TryFrom<String> for MailAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let dotted = |part: &str, known: fn(u8) -> bool| {
            !part.is_empty() && part.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(known))
        };
        let in_local = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
        let in_host = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let sound = text.len() <= ADDRESS_BYTES_MAX
            && text.split_once('@').is_some_and(|(local, host)| {
                local.len() <= LOCAL_BYTES_MAX
                    && dotted(local, in_local)
                    && dotted(host, in_host)
                    && host.contains('.')
            });
        if sound {
            Ok(Self(text))
        } else {
            Err("an address of mail is like `someone@example.com`".to_owned())
        }
    }
}

impl fmt::Display for MailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::MailAddress;

    #[test]
    fn nothing_that_could_be_read_as_more_than_one_address_is_one() {
        for text in ["a@example.com", "a.b+c@mail.example.com", "o'neil@example.org"] {
            assert!(MailAddress::try_from(text.to_owned()).is_ok(), "{text}");
        }
        for text in [
            "",
            "a",
            "a@",
            "@example.com",
            "a@localhost",
            "a@b@example.com",
            "a@example.com,b@example.com",
            "a@example.com b@example.com",
            "A <a@example.com>",
            "\"a b\"@example.com",
            "a@example.com\r\nBcc: b@example.com",
            "a(comment)@example.com",
            "a@[127.0.0.1]",
            "a..b@example.com",
            "ä@example.com",
            "a@exämple.com",
        ] {
            assert!(MailAddress::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert!(MailAddress::try_from(format!("{}@example.com", "a".repeat(65))).is_err());
    }
}
