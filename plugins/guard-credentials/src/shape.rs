//! The known shapes of credentials: prefixes that issuers put before random characters, key blocks, signed tokens,
//! headers, and addresses with a password in them.
//!
//! A shape needs its prefix, its length and characters as random as an issuer makes them, so that a text that only
//! speaks of one is let through. Where white space was taken out, words run together: more randomness is asked for,
//! and shapes without a prefix of their own are left out.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// What a text stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As somebody wrote it.
    AsItStands,
    /// With its white space taken out.
    Squeezed,
}

/// A prefix and what stands after it.
struct Issued {
    what: &'static str,
    prefix: &'static str,
    /// The characters of the rest.
    body: fn(u8) -> bool,
    /// The fewest of them.
    chars_min: usize,
    /// How many digits there are among the first `chars_min`, at least.
    digits_min: usize,
}

const fn issued(
    what: &'static str,
    prefix: &'static str,
    body: fn(u8) -> bool,
    chars_min: usize,
    digits_min: usize,
) -> Issued {
    Issued { what, prefix, body, chars_min, digits_min }
}

const CLOUD: &str = "a cloud access key";
const SLACK: &str = "a Slack token";
const GITHUB: &str = "a GitHub token";
const GITLAB: &str = "a GitLab token";
const API: &str = "an API key";

/// The prefixes, from what each issuer publishes about its tokens.
const ISSUED: &[Issued] = &[
    issued(CLOUD, "AKIA", upper, 16, 1),
    issued(CLOUD, "ASIA", upper, 16, 1),
    issued(CLOUD, "AIza", word, 35, 1),
    issued(CLOUD, "GOCSPX-", word, 24, 1),
    issued(CLOUD, "ya29.", word, 40, 2),
    issued(CLOUD, "AccountKey=", base64, 40, 2),
    issued(CLOUD, "SharedAccessKey=", base64, 40, 2),
    issued(CLOUD, "dop_v1_", alnum, 64, 8),
    issued(SLACK, "xoxa-", hyphened, 20, 6),
    issued(SLACK, "xoxb-", hyphened, 20, 6),
    issued(SLACK, "xoxe.", dotted, 20, 3),
    issued(SLACK, "xoxe-", hyphened, 20, 6),
    issued(SLACK, "xoxo-", hyphened, 20, 6),
    issued(SLACK, "xoxp-", hyphened, 20, 6),
    issued(SLACK, "xoxr-", hyphened, 20, 6),
    issued(SLACK, "xoxs-", hyphened, 20, 6),
    issued(SLACK, "xapp-", hyphened, 20, 6),
    issued("a Slack webhook", "hooks.slack.com/services/T", path, 20, 3),
    issued(GITHUB, "ghp_", alnum, 36, 1),
    issued(GITHUB, "gho_", alnum, 36, 1),
    issued(GITHUB, "ghu_", alnum, 36, 1),
    issued(GITHUB, "ghs_", alnum, 36, 1),
    issued(GITHUB, "ghr_", alnum, 36, 1),
    issued(GITHUB, "github_pat_", word, 60, 4),
    issued(GITLAB, "glpat-", word, 20, 1),
    issued(GITLAB, "gldt-", word, 20, 1),
    issued(GITLAB, "glrt-", word, 20, 1),
    issued(GITLAB, "glcbt-", word, 20, 1),
    issued(GITLAB, "glptt-", word, 20, 1),
    issued(GITLAB, "gloas-", word, 20, 1),
    issued(GITLAB, "glsoat-", word, 20, 1),
    issued(API, "sk_live_", alnum, 20, 2),
    issued(API, "rk_live_", alnum, 20, 2),
    issued(API, "sk-", word, 32, 3),
    issued(API, "npm_", alnum, 36, 1),
    issued(API, "pypi-AgEI", word, 50, 3),
    issued(API, "hf_", alnum, 34, 1),
    issued(API, "SG.", dotted, 60, 3),
    issued(API, "shpat_", alnum, 32, 5),
    issued("a private key", "AGE-SECRET-KEY-1", upper, 58, 4),
];

/// What the text holds, if it holds a credential of a known shape. Linear in the text.
pub fn find(text: &str, mode: Mode) -> Option<&'static str> {
    let bytes = text.as_bytes();
    if let Some(what) = (0..bytes.len()).find_map(|at| issued_at(bytes, at, mode)) {
        return Some(what);
    }
    if key_block(text) {
        return Some("a private key");
    }
    if signed_token(text) {
        return Some("a signed token");
    }
    if mode == Mode::Squeezed {
        return None;
    }
    if header(text) {
        return Some("an authorization header");
    }
    (url_password(text) || field_password(text)).then_some("a connection string with a password")
}

fn issued_at(bytes: &[u8], at: usize, mode: Mode) -> Option<&'static str> {
    let rest = bytes.get(at..)?;
    if !may_begin(rest) {
        return None;
    }
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    if mode == Mode::AsItStands && before.is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let is = |issued: &&Issued| {
        rest.strip_prefix(issued.prefix.as_bytes()).is_some_and(|rest| is_random(issued, rest, mode))
    };
    ISSUED.iter().find(is).map(|issued| issued.what)
}

/// Whether some prefix begins like this: asked at every byte, so that the list is gone through at few of them.
fn may_begin(rest: &[u8]) -> bool {
    let (Some(first), Some(second)) = (rest.first(), rest.get(1)) else { return false };
    match first {
        b'A' => matches!(second, b'G' | b'I' | b'K' | b'S' | b'c'),
        b'G' => *second == b'O',
        b'S' => matches!(second, b'G' | b'h'),
        b'd' => *second == b'o',
        b'g' => matches!(second, b'h' | b'i' | b'l'),
        b'h' => matches!(second, b'f' | b'o'),
        b'n' => *second == b'p',
        b'p' => *second == b'y',
        b'r' => *second == b'k',
        b's' => matches!(second, b'h' | b'k'),
        b'x' => matches!(second, b'a' | b'o'),
        b'y' => *second == b'a',
        _ => false,
    }
}

fn is_random(issued: &Issued, rest: &[u8], mode: Mode) -> bool {
    let body = rest.get(..issued.chars_min).unwrap_or_default();
    let digits = body.iter().filter(|byte| byte.is_ascii_digit()).count();
    let digits_min = match mode {
        Mode::AsItStands => issued.digits_min,
        Mode::Squeezed => issued.digits_min.max(issued.chars_min / 12).max(2),
    };
    !body.is_empty()
        && body.iter().all(|byte| (issued.body)(*byte))
        && digits >= digits_min
        && !is_placeholder(body)
}

/// What people write where a credential would stand: few different characters, or words that say so.
fn is_placeholder(body: &[u8]) -> bool {
    let mut seen = [false; 256];
    body.iter().for_each(|byte| {
        if let Some(seen) = seen.get_mut(usize::from(*byte)) {
            *seen = true
        }
    });
    let different = seen.iter().filter(|seen| **seen).count();
    let lower = body.to_ascii_lowercase();
    let says = |word: &str| lower.windows(word.len()).any(|window| window == word.as_bytes());
    different < 8.min(body.len())
        || says("example")
        || says("xxxxx")
        || says("placeholder")
        || says("redacted")
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn hyphened(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn dotted(byte: u8) -> bool {
    word(byte) || byte == b'.'
}

fn path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'/'
}

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

/// How far the label of a key block goes, in bytes: the longest there is has a third of it.
const LABEL_BYTES_MAX: usize = 80;
/// How many characters of a key stand after its label before it counts as one: the shortest key has four more.
const KEY_CHARS_MIN: usize = 60;

/// `-----BEGIN … PRIVATE KEY-----` with a key after it, or a key file of PuTTY's.
fn key_block(text: &str) -> bool {
    let has_key = |(at, begin): (usize, &str)| {
        let rest = text.get(at + begin.len()..).unwrap_or_default();
        let Some((label, key)) = rest.split_once("-----") else { return false };
        let words: String = label.chars().take(LABEL_BYTES_MAX).filter(char::is_ascii_alphabetic).collect();
        let is_private = label.len() < LABEL_BYTES_MAX && words.contains("PRIVATEKEY");
        let key: Vec<u8> = key.bytes().filter(|b| !b.is_ascii_whitespace()).take(KEY_CHARS_MIN).collect();
        let digits = key.iter().filter(|byte| byte.is_ascii_digit()).count();
        is_private
            && digits >= 2
            && key.iter().filter(|byte| base64(**byte)).count() * 10 >= KEY_CHARS_MIN * 9
    };
    text.match_indices("-----BEGIN").any(has_key)
        || (text.contains("PuTTY-User-Key-File-") && text.contains("Private-Lines:"))
}

/// Longest header of a signed token that is read, in bytes.
const HEADER_BYTES_MAX: usize = 2_000;

/// Three or more parts in base64url, the first of which is a JSON object that names an algorithm.
fn signed_token(text: &str) -> bool {
    let is_token = |(at, _): (usize, &str)| {
        let rest = text.get(at..).unwrap_or_default();
        let end = rest.bytes().position(|byte| !dotted(byte)).unwrap_or(rest.len());
        let mut parts = rest.get(..end).unwrap_or_default().split('.');
        let header = parts.next().filter(|header| header.len() <= HEADER_BYTES_MAX);
        let signed = parts.take(2).filter(|part| part.len() >= 16).count() == 2;
        let names_algorithm = |header: Vec<u8>| header.windows(5).any(|window| window == b"\"alg\"");
        signed && header.and_then(|header| URL_SAFE_NO_PAD.decode(header).ok()).is_some_and(names_algorithm)
    };
    text.match_indices("eyJ").any(is_token)
}

/// Shortest bearer token; shorter ones are words.
const BEARER_CHARS_MIN: usize = 20;

/// `Bearer …`, or `Authorization: Basic …`.
fn header(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let token = |at: usize| {
        let rest = text.get(at..).unwrap_or_default().trim_start_matches([' ', '\t', ':', '"', '\'']);
        let end = rest
            .bytes()
            .position(|byte| !(dotted(byte) || base64(byte) || matches!(byte, b'~' | b'=')))
            .unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    };
    let bearer = |(at, word): (usize, &str)| {
        let token = token(at + word.len());
        let digits = token.bytes().filter(u8::is_ascii_digit).count();
        token.len() >= BEARER_CHARS_MIN && digits >= 3 && !is_placeholder(token.as_bytes())
    };
    let basic = |(at, word): (usize, &str)| {
        let before = lower.get(at.saturating_sub(24)..at).unwrap_or_default();
        let pair = base64::engine::general_purpose::STANDARD.decode(token(at + word.len())).ok();
        let pair = pair.and_then(|pair| String::from_utf8(pair).ok());
        before.contains("authorization") && pair.is_some_and(|pair| pair.contains(':') && pair.len() >= 5)
    };
    lower.match_indices("bearer").any(bearer) || lower.match_indices("basic ").any(basic)
}

/// Longest name and password in an address that are read, in bytes.
const USERINFO_BYTES_MAX: usize = 300;

/// `scheme://name:password@host`.
fn url_password(text: &str) -> bool {
    let has_password = |(at, _): (usize, &str)| {
        let rest = text.get(at + 3..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`' | '<' | '>');
        let authority = rest.split(ends).next().unwrap_or_default();
        let Some((user, host)) = authority.rsplit_once('@') else { return false };
        let password = user.split_once(':').map(|(_, password)| password);
        let is_written = |password: &str| user.len() <= USERINFO_BYTES_MAX && is_password(password);
        !host.is_empty() && password.is_some_and(is_written)
    };
    text.match_indices("://").any(has_password)
}

/// How far apart a connection string's parts may stand, in bytes.
const NEARBY_BYTES: usize = 200;
/// What else stands in a connection string.
const PLACES: [&str; 7] = ["server=", "data source=", "host=", "user id=", "uid=", "database=", "dbname="];

/// `Server=…;Password=…`.
fn field_password(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let has_password = |(at, key): (usize, &str)| {
        let value = text.get(at + key.len()..).unwrap_or_default();
        let value = value.split(|c: char| c.is_whitespace() || matches!(c, ';' | '"' | '\'' | '&')).next();
        let around = at.saturating_sub(NEARBY_BYTES)..(at + NEARBY_BYTES).min(lower.len());
        let around = String::from_utf8_lossy(lower.as_bytes().get(around).unwrap_or_default()).into_owned();
        value.is_some_and(is_password) && PLACES.iter().any(|place| around.contains(place))
    };
    lower.match_indices("password=").any(has_password) || lower.match_indices("pwd=").any(has_password)
}

/// Whether a password stands there, and not a word for one.
fn is_password(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "password", "passwd", "pass", "pwd", "secret", "token", "changeme", "example", "user", "none",
        "null", "port",
    ];
    let lower = text.to_ascii_lowercase();
    let is_word = WORDS.iter().any(|word| {
        lower.trim_matches(['-', '_']).trim_start_matches("your").trim_matches(['-', '_']) == *word
    });
    let is_blank = text.chars().all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '…' | '-' | '_'));
    let is_variable = text.starts_with(['<', '$', '{', '[', '%']);
    let is_port = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.chars().count() >= 3 && !is_word && !is_blank && !is_variable && !is_port
}

#[cfg(test)]
mod tests {
    use super::{ISSUED, Mode, find, is_password, may_begin};

    #[test]
    fn a_shape_is_whole_or_it_is_none() {
        let key = ["AKIA", "Z7QW3MNX4KR2VJ6T"].concat();
        let found = |text: &str| find(text, Mode::AsItStands);
        assert_eq!(found(&key), Some("a cloud access key"));
        assert_eq!(found(&format!("({key})")), Some("a cloud access key"));
        assert_eq!(found(&key[..19]), None, "one character short");
        assert_eq!(found(&format!("x{key}")), None, "within a word");
        assert_eq!(find(&format!("x{key}"), Mode::Squeezed), Some("a cloud access key"));
    }

    #[test]
    fn every_prefix_may_begin() {
        for issued in ISSUED {
            assert!(may_begin(issued.prefix.as_bytes()), "{}", issued.prefix);
        }
    }

    #[test]
    fn what_only_speaks_of_a_credential_is_let_through() {
        let begins = ["-----BEGIN PRIVATE", " KEY-----"].concat();
        let begins = format!("{begins} is how such a file begins, and everything after it is one long text.");
        for text in [
            begins.as_str(),
            "Tokens begin with ghp_ and have thirty-six letters after that; those of apps begin with ghs_ instead.",
            "AKIAIOSFODNN7EXAMPLE is the key of the manual",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "postgres://app:$PASSWORD@host, or https://a.example:8080/@me, or https://a.example:443@b.example/",
            "The bearer of this letter may enter. Authorization: Bearer <your token>",
            "Server=db;Password=***;",
        ] {
            assert_eq!(find(text, Mode::AsItStands), None, "{text}");
            let squeezed: String = text.split_whitespace().collect();
            assert_eq!(find(&squeezed, Mode::Squeezed), None, "{squeezed}");
        }
    }

    #[test]
    fn a_password_is_no_word_for_one() {
        for text in ["hunter2", "p@ss", "correct-horse"] {
            assert!(is_password(text), "{text}");
        }
        for text in ["", "ab", "YOUR_PASSWORD", "your-secret", "****", "${PW}", "<pw>", "5432"] {
            assert!(!is_password(text), "{text}");
        }
    }
}
