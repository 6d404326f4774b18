//! An absolute `http` or `https` address, split as `wasi:http` takes it.
//!
//! Strict on purpose: what two parsers might read differently (a user name, a backslash, a host that is not
//! ASCII, a space) is refused rather than mended, so that the address a policy judged is the address that
//! is asked. The host judges it again.

use std::fmt;

use crate::failure::excerpt;
use crate::{Failure, Kind};

/// The longest address, in bytes: what common servers take, with room to spare.
const ADDRESS_BYTES_MAX: usize = 8_192;
/// How much of a bad address a message repeats, in characters.
const EXCERPT_CHARS_MAX: usize = 120;

/// Where a request goes. Has no user name and no fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    secure: bool,
    authority: String,
    path_and_query: String,
}

impl Address {
    /// Reads an address. The fragment is dropped, since no request carries it; characters of path and
    /// query that may not stand in a request are percent-encoded.
    ///
    /// # Errors
    /// [`Kind::InvalidInput`], saying what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            let shown = excerpt(text, EXCERPT_CHARS_MAX);
            Failure::new(Kind::InvalidInput, format!("`{shown}` is not an address to ask: {why}"))
        };
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(wrong(&format!("it is longer than {ADDRESS_BYTES_MAX} bytes")));
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err(wrong("it has a space, a control character or a backslash"));
        }
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("it does not begin with https:// or http://"))?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(wrong("only https and http are spoken")),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        check_authority(authority).map_err(wrong)?;
        let slash = if tail.starts_with('/') { "" } else { "/" };
        Ok(Self {
            secure,
            authority: authority.to_ascii_lowercase(),
            path_and_query: format!("{slash}{}", encode(tail)),
        })
    }

    /// Whether the scheme is `https`.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Host and, where it is given, port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query; begins with `/`.
    pub fn path_and_query(&self) -> &str {
        &self.path_and_query
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path_and_query)
    }
}

fn check_authority(authority: &str) -> Result<(), &'static str> {
    if authority.contains('@') {
        return Err("it carries a user name");
    }
    if !authority.is_ascii() {
        return Err("its host is not ASCII: write it as punycode (`xn--…`)");
    }
    let (host, tail, is_host): (_, _, fn(char) -> bool) = match authority.strip_prefix('[') {
        Some(v6) => {
            let (host, tail) = v6.split_once(']').ok_or("its host is not a host")?;
            (host, tail, |c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'))
        }
        None => {
            let (host, tail) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            (host, tail, |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
        }
    };
    if host.is_empty() || !host.chars().all(is_host) {
        return Err("its host is not a host");
    }
    let is_port = |port: &str| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok();
    if tail.is_empty() || tail.strip_prefix(':').is_some_and(is_port) {
        Ok(())
    } else {
        Err("its port is not a port")
    }
}

/// Percent-encodes what may not stand in a path or query, and nothing else: what is encoded stays as it is.
fn encode(tail: &str) -> String {
    let mut encoded = String::with_capacity(tail.len());
    for byte in tail.bytes() {
        if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'`' | b'{' | b'}' | b'|' | b'^') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_split_as_a_request_takes_it() {
        for (text, origin, path) in [
            ("https://example.com", "https://example.com", "/"),
            ("HTTPS://Example.COM/A/b?q=1#part", "https://example.com", "/A/b?q=1"),
            ("http://127.0.0.1:8080?x", "http://127.0.0.1:8080", "/?x"),
            ("http://[::1]:80/x", "http://[::1]:80", "/x"),
            ("http://[::1]", "http://[::1]", "/"),
            ("https://example.com/größe?a=b|c", "https://example.com", "/gr%C3%B6%C3%9Fe?a=b%7Cc"),
            ("https://example.com/a%20b", "https://example.com", "/a%20b"),
            ("https://example.com/@user/page", "https://example.com", "/@user/page"),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.origin().as_str(), address.path_and_query()), (origin, path), "{text}");
        }
    }

    #[test]
    fn an_address_that_two_parsers_may_read_differently_is_refused() {
        for text in [
            "",
            "example.com/page",
            "ftp://example.com/",
            "file:///etc/passwd",
            "javascript://example.com/%0aalert(1)",
            "https://",
            "https:///path",
            "https://user@example.com/",
            "https://user:secret@example.com/",
            "https://good.example\\@bad.example/",
            "https://exam ple.com/",
            "https://example.com/a b",
            "https://example.com/\r\nhost: bad.example",
            "https://ex%61mple.com/",
            "https://bücher.example/",
            "https://example.com:/",
            "https://example.com:99999/",
            "https://example.com:80:80/",
            "https://[::1/",
            "https://[::1]x/",
        ] {
            let refused = Address::parse(text).map(|address| address.to_string());
            assert_eq!(refused.map_err(|f| f.kind), Err(Kind::InvalidInput), "{text}");
        }
    }

    #[test]
    fn a_bad_address_is_repeated_in_part_only() {
        let failure = Address::parse(&format!("https://example.com/{}", "x".repeat(9_000))).unwrap_err();
        assert!(failure.message.len() < 300, "{}", failure.message);
    }
}
