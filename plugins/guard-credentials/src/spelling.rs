//! Other spellings of a text: what a reader of it could turn it back into without knowing a key.
//!
//! Each function is linear in its text. Of a decoding only what is readable counts, so that images and digests are
//! not mistaken for something encoded.

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::borrow::Cow;

/// Shortest run of base64 that is decoded: it holds the shortest credential there is a shape for.
const BASE64_CHARS_MIN: usize = 24;
/// Shortest piece of base64 that is joined to the next over white space: shorter ones are words.
const BASE64_PIECE_CHARS_MIN: usize = 16;
/// Shortest run of hexadecimal digits that is decoded.
const HEX_CHARS_MIN: usize = 32;
/// Shortest stretch of ASCII among other bytes that is read: by chance an image has one in some megabytes.
const STRETCH_BYTES_MIN: usize = 16;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// How a text was spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// With invisible or wide characters.
    Hidden,
    /// With white space in between.
    Split,
    /// `%41`.
    Percent,
    /// `\u0041`, `\x41`, `&#65;`.
    Escaped,
    /// Base64, in either alphabet.
    Base64,
    /// Hexadecimal digits.
    Hex,
}

impl Spelling {
    /// The spelling, for a reason.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hidden => "with invisible or wide characters in it",
            Self::Split => "split by white space",
            Self::Percent => "percent-encoded",
            Self::Escaped => "written in escapes",
            Self::Base64 => "encoded in base64",
            Self::Hex => "written in hexadecimal",
        }
    }
}

/// `text` without characters that show nothing, and with wide forms of ASCII as ASCII.
pub fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let fold = |c: char| match c {
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => None,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        c => Some(c),
    };
    Cow::Owned(text.chars().filter_map(fold).collect())
}

/// `text` without white space, when it has any.
pub fn squeezed(text: &str) -> Option<String> {
    let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    (squeezed.len() < text.len()).then_some(squeezed)
}

/// What `text`, or a part of it, says when one encoding is taken off.
pub fn decoded(text: &str) -> Vec<(Spelling, String)> {
    let mut found = Vec::new();
    found.extend(percent(text).map(|text| (Spelling::Percent, text)));
    found.extend(escapes(text).map(|text| (Spelling::Escaped, text)));
    found.extend(base64_in(text).into_iter().map(|text| (Spelling::Base64, text)));
    found.extend(hex_in(text).into_iter().map(|text| (Spelling::Hex, text)));
    found
}

fn percent(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut out, mut at, mut changed) = (Vec::with_capacity(bytes.len()), 0, false);
    while let Some(byte) = bytes.get(at) {
        let decoded = (*byte == b'%').then(|| bytes.get(at + 1..at + 3).and_then(hex_byte)).flatten();
        changed |= decoded.is_some();
        out.push(decoded.unwrap_or(*byte));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    changed.then(|| String::from_utf8_lossy(&out).into_owned())
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let &[high, low] = digits else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// Takes off the escapes of JSON, JavaScript, C and HTML.
fn escapes(text: &str) -> Option<String> {
    let (mut out, mut rest, mut changed) = (String::with_capacity(text.len()), text, false);
    while let Some(at) = rest.find(['\\', '&']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let escape = if from.starts_with('\\') { backslash(from) } else { entity(from) };
        let (decoded, length) = escape.unwrap_or((from.chars().next(), 1));
        changed |= escape.is_some();
        out.extend(decoded);
        rest = from.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// The character that the escape at the start of `text` stands for, and the length of the escape.
fn backslash(text: &str) -> Option<(Option<char>, usize)> {
    let number =
        |digits: Option<&str>| digits.and_then(|d| u32::from_str_radix(d, 16).ok()).map(char::from_u32);
    match text.as_bytes().get(1)? {
        b'u' if text.as_bytes().get(2) == Some(&b'{') => {
            let end = text.get(3..)?.char_indices().take(8).find(|(_, c)| *c == '}').map(|(n, _)| n + 3)?;
            Some((number(text.get(3..end))?, end + 1))
        }
        b'u' => Some((number(text.get(2..6))?, 6)),
        b'U' => Some((number(text.get(2..10))?, 10)),
        b'x' => Some((number(text.get(2..4))?, 4)),
        b'n' | b'r' | b't' => Some((Some('\n'), 2)),
        b'\\' => Some((Some('\\'), 2)),
        b'/' => Some((Some('/'), 2)),
        b'"' => Some((Some('"'), 2)),
        _ => None,
    }
}

fn entity(text: &str) -> Option<(Option<char>, usize)> {
    let end = text.char_indices().take(12).find(|(_, c)| *c == ';').map(|(n, _)| n)?;
    let decoded = match text.get(1..end)? {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "equals" => Some('='),
        name => {
            let digits = name.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(number.ok()?)
        }
    };
    Some((decoded, end + 1))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// What the runs of base64 in `text` say, where that is readable. Where a run begins is not known when letters stand
/// before it, so each of the four places is tried.
fn base64_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for run in base64_runs(text) {
        for start in 0..4 {
            let Some(digits) = run.get(start..) else { break };
            let whole = digits.len() - usize::from(digits.len() % 4 == 1);
            let decoded = digits.get(..whole).and_then(|digits| BASE64.decode(digits).ok());
            found.extend(decoded.and_then(readable));
        }
    }
    found
}

/// The runs, in the standard alphabet. Lines of one block are one run.
fn base64_runs(text: &str) -> Vec<Vec<u8>> {
    let (mut runs, mut run, mut piece) = (Vec::new(), Vec::new(), 0);
    let mut gap = false;
    let mut end = |run: &mut Vec<u8>| {
        if run.len() >= BASE64_CHARS_MIN {
            runs.push(std::mem::take(run));
        } else {
            run.clear();
        }
    };
    for byte in text.bytes() {
        if is_base64(byte) {
            if gap && piece < BASE64_PIECE_CHARS_MIN {
                end(&mut run);
            }
            piece = if gap { 1 } else { piece + 1 };
            gap = false;
            run.push(match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => other,
            });
        } else if byte.is_ascii_whitespace() {
            gap = true;
        } else {
            end(&mut run);
            (piece, gap) = (0, false);
        }
    }
    end(&mut run);
    runs
}

fn hex_in(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_ascii_hexdigit()).filter(|run| run.len() >= HEX_CHARS_MIN);
    let decode = |run: &str| run.as_bytes().chunks_exact(2).map(hex_byte).collect::<Option<Vec<u8>>>();
    runs.filter_map(decode).filter_map(readable).collect()
}

/// What people could read of the bytes: all of them as text, or else the stretches of ASCII among them.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let odd = |c: char| c.is_control() && !c.is_whitespace();
    if let Some(text) = std::str::from_utf8(&bytes).ok().filter(|text| !text.contains(odd)) {
        return Some(text.to_owned());
    }
    let stretches = bytes.split(|byte| !matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'));
    let long = stretches.filter(|stretch| stretch.len() >= STRETCH_BYTES_MIN);
    let text = long.map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{Spelling, base64_in, decoded, escapes, folded, hex_in, percent, squeezed};
    use base64::Engine;

    const SAID: &str = "The tide turns at six, and then it falls until noon.";

    fn encoded() -> String {
        base64::engine::general_purpose::STANDARD.encode(SAID)
    }

    #[test]
    fn invisible_and_wide_characters_are_folded_away() {
        assert_eq!(folded("a\u{200b}b\u{2060}c\u{ff21}\u{ff11}\u{e0041}\u{ad}"), "abcA1");
        assert_eq!(folded("Grüße, 世界"), "Grüße, 世界");
        assert_eq!(squeezed("a b\n\u{a0}c"), Some("abc".to_owned()));
        assert_eq!(squeezed("abc"), None);
    }

    #[test]
    fn percent_and_escapes_are_taken_off_and_what_is_none_stays() {
        assert_eq!(percent("a%41%zz%4"), Some("aA%zz%4".to_owned()));
        assert_eq!(percent("100 % of it"), None);
        let text = r"a\u0041\u{42}\x43\n\q&#68;&#x45;&nope;&";
        assert_eq!(escapes(text), Some("aABC\n\\qDE&nope;&".to_owned()));
        assert_eq!(escapes("AT&T"), None);
    }

    #[test]
    fn base64_is_read_wherever_it_begins_in_either_alphabet_and_over_lines() {
        let run = encoded();
        assert!(base64_in(&run).contains(&SAID.to_owned()));
        let url = run.replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned();
        assert!(base64_in(&format!("x=({url})")).contains(&SAID.to_owned()));
        let (head, tail) = run.split_at(40);
        assert!(base64_in(&format!("{head}\r\n  {tail}")).contains(&SAID.to_owned()));
        assert!(base64_in(&format!("abc{run}")).iter().any(|text| text.contains("turns at six")));
    }

    #[test]
    fn an_image_or_a_digest_says_nothing() {
        let image: Vec<u8> = (0..600_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let run = base64::engine::general_purpose::STANDARD.encode(image);
        assert_eq!(decoded(&format!("data:image/png;base64,{run}")), []);
        assert_eq!(hex_in("3f786850e387550fdab836ed7e6dc881de23001b"), Vec::<String>::new());
        let hex: String = SAID.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex_in(&hex), [SAID]);
        assert_eq!(Spelling::Hex.word(), "written in hexadecimal");
    }
}
