//! Finding a credential's value in text, however it is usually written.
//!
//! What a value looks like in plain, hexadecimal and base64 is worked out once ([`Needles`]); percent and JSON
//! escapes can be written in many ways, so the text is decoded instead, also one inside the other. Base64 is
//! found at every alignment, in both alphabets and across line breaks. Decoding is lenient: what is no escape
//! stays as it is. Deliberately absent: compression and encryption (`egress` refuses encoded responses), HTML
//! entities, and values a guest has taken to pieces.

use crate::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use memchr::{memchr, memmem};
use percent_encoding::percent_decode;
use std::borrow::Cow;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Shortest value that is looked for, in bytes: a shorter one turns up in honest text by chance.
pub const SCANNED_BYTES_MIN: usize = 8;

/// How often the text is decoded, one escape inside another: an escaped URL within JSON takes two.
const ESCAPES_NESTED_MAX: u32 = 2;

/// How one value may be written. Wiped when dropped.
pub(crate) struct Needles {
    plain: Vec<Zeroizing<Vec<u8>>>,
    base64: Vec<Zeroizing<String>>,
}

impl Needles {
    /// The ways to write `secret`; `None` when it is too short to look for.
    pub(crate) fn of(secret: &Secret) -> Option<Self> {
        let value = secret.bytes();
        if value.len() < SCANNED_BYTES_MIN {
            return None;
        }
        let mut plain = vec![
            Zeroizing::new(value.to_vec()),
            Zeroizing::new(hex::encode(value).into_bytes()),
            Zeroizing::new(hex::encode_upper(value).into_bytes()),
        ];
        if value.contains(&b' ') {
            // HTML forms write a space as `+`, which percent decoding leaves alone.
            plain.push(Zeroizing::new(value.iter().map(|&b| if b == b' ' { b'+' } else { b }).collect()));
        }
        Some(Self { plain, base64: (0..3).filter_map(|before| base64_at(value, before)).collect() })
    }

    /// Whether the value stands in the text, or in `joined`, the same text as [`base64_joined`] makes it.
    fn occur_in(&self, text: &[u8], joined: &[u8]) -> bool {
        self.plain.iter().any(|needle| memmem::find(text, needle).is_some())
            || self.base64.iter().any(|needle| memmem::find(joined, needle.as_bytes()).is_some())
    }
}

/// Which of `all` the text holds, by index: as it stands, or after undoing a few layers of escapes. The text
/// is decoded once for all of them.
pub(crate) fn first_in(text: &[u8], all: &[Arc<Needles>]) -> Option<usize> {
    if all.is_empty() { None } else { first_within(text, all, ESCAPES_NESTED_MAX) }
}

fn first_within(text: &[u8], all: &[Arc<Needles>], escapes: u32) -> Option<usize> {
    let joined = base64_joined(text);
    let found = all.iter().position(|needles| needles.occur_in(text, &joined));
    if found.is_some() || escapes == 0 {
        return found;
    }
    let undone = [percent_undone(text), json_undone(text)];
    undone.into_iter().flatten().find_map(|undone| first_within(&undone, all, escapes - 1))
}

/// The base64 digits that `value` alone determines when `before` bytes (0 to 2) precede it in its group.
fn base64_at(value: &[u8], before: usize) -> Option<Zeroizing<String>> {
    let mut padded = Zeroizing::new(Vec::with_capacity(before + value.len()));
    padded.resize(before, 0);
    padded.extend_from_slice(value);
    let digits = Zeroizing::new(STANDARD_NO_PAD.encode(&padded));
    // Digits are six bits: the first ones share bits with what precedes, the last may share with what follows.
    let (first, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    digits.get(first..end).map(|own| Zeroizing::new(own.to_owned()))
}

/// The text in one base64 alphabet and without white space, so that a digit run is found across lines.
fn base64_joined(text: &[u8]) -> Vec<u8> {
    let digit = |&b: &u8| match b {
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        _ if b.is_ascii_whitespace() => None,
        _ => Some(b),
    };
    text.iter().filter_map(digit).collect()
}

/// The text with `%41` undone; `None` when there is none.
fn percent_undone(text: &[u8]) -> Option<Vec<u8>> {
    match percent_decode(text).into() {
        Cow::Borrowed(_) => None,
        Cow::Owned(undone) => Some(undone),
    }
}

/// The text with the escapes of JSON strings undone (RFC 8259, section 7); `None` when there are none.
fn json_undone(text: &[u8]) -> Option<Vec<u8>> {
    memchr(b'\\', text)?;
    let mut undone = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        let (before, escaped) = rest.split_at(at);
        undone.extend_from_slice(before);
        let (char, len) = json_escape(escaped).unwrap_or(('\\', 1));
        undone.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        rest = escaped.get(len..).unwrap_or_default();
    }
    undone.extend_from_slice(rest);
    Some(undone)
}

/// The character that the escape at the start of `text` stands for, and the escape's length.
fn json_escape(text: &[u8]) -> Option<(char, usize)> {
    let short = |char| Some((char, 2));
    match text.get(1)? {
        b'"' => short('"'),
        b'\\' => short('\\'),
        b'/' => short('/'),
        b'b' => short('\u{8}'),
        b'f' => short('\u{c}'),
        b'n' => short('\n'),
        b'r' => short('\r'),
        b't' => short('\t'),
        b'u' => {
            let first = utf16_unit(text)?;
            if let Some(char) = char::from_u32(first.into()) {
                return Some((char, 6));
            }
            let second = utf16_unit(text.get(6..)?)?;
            char::decode_utf16([first, second]).next()?.ok().map(|char| (char, 12))
        }
        _ => None,
    }
}

/// The unit that `\uXXXX` at the start of `text` stands for.
fn utf16_unit(text: &[u8]) -> Option<u16> {
    let digits = text.get(..6)?.strip_prefix(b"\\u")?;
    let mut bytes = [0; 2];
    hex::decode_to_slice(digits, &mut bytes).ok()?;
    Some(u16::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::{Needles, SCANNED_BYTES_MIN, first_in};
    use crate::Secret;
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
    use proptest::prelude::*;
    use std::sync::Arc;
    use zeroize::Zeroizing;

    fn needles(value: &str) -> Option<Needles> {
        Needles::of(&Secret::new(Zeroizing::new(value.to_owned()))?)
    }

    /// Whether the text holds the value; a second value, which it never holds, comes first.
    fn holds(text: &[u8], value: &str) -> bool {
        let all = ["\u{10ffff}".repeat(9).as_str(), value].map(|value| Arc::new(needles(value).unwrap()));
        match first_in(text, &all) {
            None => false,
            Some(index) => {
                assert_eq!(index, 1);
                true
            }
        }
    }

    fn every_char_as_json(text: &str) -> String {
        text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect()
    }

    fn every_byte_as_percent(text: &str) -> String {
        text.bytes().map(|b| format!("%{b:02x}")).collect()
    }

    fn json(text: &str) -> String {
        let escape = |c: char| match c {
            '"' | '\\' | '/' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        };
        text.chars().flat_map(|c| escape(c).chars().collect::<Vec<_>>()).collect()
    }

    /// One way to write a value together with what is around it; the index chooses it.
    fn written(way: usize, before: &str, value: &str, after: &str) -> String {
        let whole = format!("{before}{value}{after}");
        let wrapped = |text: String| {
            text.as_bytes()
                .chunks(5)
                .map(|c| String::from_utf8_lossy(c).into_owned())
                .collect::<Vec<_>>()
                .join("\r\n")
        };
        match way {
            0 => whole,
            1 => STANDARD.encode(whole),
            2 => URL_SAFE_NO_PAD.encode(whole),
            3 => wrapped(STANDARD.encode(whole)),
            4 => percent_encode(whole.as_bytes(), NON_ALPHANUMERIC).to_string(),
            5 => every_byte_as_percent(&whole),
            6 => json(&whole),
            7 => every_char_as_json(&whole),
            8 => json(&percent_encode(whole.as_bytes(), NON_ALPHANUMERIC).to_string()),
            9 => every_byte_as_percent(&json(&whole)),
            10 => hex::encode(whole),
            11 => json(&STANDARD.encode(whole)),
            _ => percent_encode(STANDARD.encode(whole).as_bytes(), NON_ALPHANUMERIC).to_string(),
        }
    }
    const WAYS: usize = 13;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_value_is_found_however_it_is_written(
            way in 0..WAYS,
            value in "[ -~]{8,40}",
            before in "[ -~]{0,9}",
            after in "\\PC{0,9}",
        ) {
            let text = written(way, &before, &value, &after);
            prop_assert!(holds(text.as_bytes(), &value), "way {way}: {text:?}");
        }

        #[test]
        fn a_value_of_any_text_is_found_plain_and_encoded(way in 0..WAYS, value in "\\PC{8,20}") {
            let text = written(way, "", &value, "");
            prop_assert!(holds(text.as_bytes(), &value), "way {way}: {text:?}");
        }

        #[test]
        fn text_that_lacks_a_random_value_passes(value in "[A-Za-z0-9_-]{16,40}", text in "\\PC{0,200}") {
            prop_assert!(!holds(text.as_bytes(), &value));
        }

        #[test]
        fn no_bytes_make_the_scan_panic(value in "\\PC{8,20}", text: Vec<u8>) {
            holds(&text, &value);
        }
    }

    #[test]
    fn half_written_escapes_are_left_as_they_are() {
        let found = |text: &str| holds(text.as_bytes(), "s3cret-value");
        for text in ["\\", "\\u", "\\u00", "\\ud83d", "\\ud83d\\u0041", "%", "%4", "%zz", "\\x"] {
            assert!(!found(text), "{text}");
            assert!(found(&format!("{text}s3cret-value{text}")), "{text}");
        }
    }

    #[test]
    fn a_space_written_as_plus_is_found() {
        assert!(holds(b"q=open+sesame%21", "open sesame!"));
    }

    #[test]
    fn what_is_too_short_to_tell_is_not_looked_for() {
        assert!(needles(&"x".repeat(SCANNED_BYTES_MIN - 1)).is_none());
        assert!(needles(&"x".repeat(SCANNED_BYTES_MIN)).is_some());
    }
}
