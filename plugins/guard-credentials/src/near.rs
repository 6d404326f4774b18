//! Random text near a word such as `password`.
//!
//! Whether a text is random is judged by how often its characters change kind: identifiers, paths and sentences stay
//! in one for longer. Never random: UUIDs, digests in hexadecimal unless a word is set equal to them, the office's own
//! ids, anything longer than credentials are.

/// Shortest random text that counts.
const CHARS_MIN: usize = 16;
/// Longest: what is longer is encoded content.
const CHARS_MAX: usize = 200;
/// How far before the random text the word may stand, in bytes: a word or two and an assignment.
const BEFORE_BYTES: usize = 48;
/// How far after: `… is the password`.
const AFTER_BYTES: usize = 24;
/// Fewest bits a character: a random text of sixteen characters has between 3.5 and 4.
const BITS_MIN: f64 = 3.2;
/// What announces a credential, in lower case.
const WORDS: [&str; 16] = [
    "password",
    "passwort",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "api key",
    "api-key",
    "api_key",
    "apikey",
    "access key",
    "access_key",
    "accesskey",
    "private_key",
    "credential",
];

/// What the text holds, if random text stands near such a word. Linear in the text.
pub fn find(text: &str) -> Option<&'static str> {
    let delimits = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\''
                    | '`'
                    | ','
                    | ';'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '<'
                    | '>'
                    | '|'
                    | ':'
                    | '='
                    | '&'
                    | '?'
            )
    };
    let mut at = 0;
    for piece in text.split(delimits) {
        let start = at;
        // Every delimiter counts with its own length.
        at += piece.len();
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let token = piece.trim_end_matches(['.', '!', '*', '_', '~']).trim_start_matches(['*', '~']);
        if (CHARS_MIN..=CHARS_MAX).contains(&token.len()) && announced(text, start, piece, token) {
            return Some("a secret next to a word that announces one");
        }
    }
    None
}

fn announced(text: &str, start: usize, piece: &str, token: &str) -> bool {
    let kind = Kind::of(token);
    if kind == Kind::Plain {
        return false;
    }
    let before = tail(text, start);
    let after = head(text, start + piece.len());
    let said = |around: &str| WORDS.iter().any(|word| around.contains(word));
    match kind {
        Kind::Plain => false,
        Kind::Random => (said(&before) || said(&after)) && !names_a_digest(&before),
        Kind::Hex => set_equal(&before),
    }
}

/// The last of what stands before `end`, in lower case.
fn tail(text: &str, end: usize) -> String {
    let bytes = text.as_bytes().get(end.saturating_sub(BEFORE_BYTES)..end).unwrap_or_default();
    String::from_utf8_lossy(bytes).to_lowercase()
}

/// The first of what stands after `start`, in lower case.
fn head(text: &str, start: usize) -> String {
    let end = (start + AFTER_BYTES).min(text.len());
    String::from_utf8_lossy(text.as_bytes().get(start..end).unwrap_or_default()).to_lowercase()
}

/// `sha256:…` and its kin.
fn names_a_digest(before: &str) -> bool {
    let word = before.trim_end_matches([':', '-', '=', ' ']);
    ["sha1", "sha256", "sha384", "sha512", "md5", "digest", "checksum", "commit"]
        .iter()
        .any(|name| word.ends_with(name))
}

/// Whether what stands before is such a word and an assignment, and nothing between.
fn set_equal(before: &str) -> bool {
    let left = before.trim_end_matches(['"', '\'', '`', ' ', '>']);
    let named = left.trim_end_matches(['=', ':']);
    let word = named.trim_end_matches(['"', '\'', '`', ' ']);
    named.len() < left.len() && WORDS.iter().any(|announces| word.ends_with(announces))
}

/// What a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing that was drawn at random, or known to be harmless.
    Plain,
    /// Hexadecimal digits alone: a digest, mostly.
    Hex,
    /// As drawn at random.
    Random,
}

impl Kind {
    fn of(token: &str) -> Self {
        let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if token.contains("://") || is_uuid(token) || is_id(token) || !token.is_ascii() {
            return Self::Plain;
        }
        if ["sha1-", "sha256-", "sha384-", "sha512-"].iter().any(|prefix| token.starts_with(prefix)) {
            return Self::Plain;
        }
        if hex(token) {
            let letters = token.bytes().any(|byte| byte.is_ascii_alphabetic());
            let digits = token.bytes().any(|byte| byte.is_ascii_digit());
            return if letters && digits && token.len() >= 32 { Self::Hex } else { Self::Plain };
        }
        if is_random(token) { Self::Random } else { Self::Plain }
    }
}

fn is_uuid(token: &str) -> bool {
    let parts: Vec<&str> = token.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// An id of the office, such as `turn_01h455vb4pex5vsknk084sn02q`, or a path of such ids.
fn is_id(token: &str) -> bool {
    let is_one = |part: &str| {
        part.split_once('_').is_some_and(|(kind, rest)| {
            (2..=12).contains(&kind.len())
                && kind.bytes().all(|byte| byte.is_ascii_lowercase())
                && rest.len() == 26
                && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
    };
    token.split('/').next().is_some_and(|part| is_one(part.rsplit('-').next().unwrap_or(part)))
}

/// Characters that stand between words of a path or a name say nothing; of the rest, how often the kind changes says
/// whether people wrote it.
fn is_random(token: &str) -> bool {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let bytes: Vec<u8> = token
        .bytes()
        .filter(|byte| !matches!(byte, b'.' | b'-' | b'_' | b'/' | b'=' | b'@' | b'~'))
        .collect();
    let count = |of: u8| bytes.iter().filter(|byte| kind(**byte) == of).count();
    let kinds = (0..4).filter(|of| count(*of) > 0).count();
    let changes = bytes.iter().zip(bytes.iter().skip(1)).filter(|(a, b)| kind(**a) != kind(**b)).count();
    let mixed = match kinds {
        0 | 1 => false,
        // Base32 and its kin: lower or upper case and digits.
        2 => bytes.len() >= 20 && count(2) >= 4 && changes * 10 >= bytes.len() * 3,
        _ => count(2) >= 1 && changes * 10 >= bytes.len() * 4,
    };
    bytes.len() >= CHARS_MIN - 2 && mixed && bits(&bytes) >= BITS_MIN
}

/// Shannon's entropy, in bits a character.
fn bits(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let total = bytes.len() as f64;
    let share = |count: &u32| f64::from(*count) / total;
    counts.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::{Kind, find};

    #[test]
    fn random_text_counts_only_near_a_word_that_announces_it() {
        let value = ["gT7x", "Qp2L", "vN9s", "Bd4W"].concat();
        assert!(find(&format!("the db password is {value}")).is_some());
        assert!(find(&format!("DB_PASSWORD='{value}'")).is_some());
        assert!(find(&format!("{value} is the password")).is_some());
        assert!(find(&format!("?access_token={value}&x=1")).is_some());
        assert!(find(&format!("the picture is at {value}")).is_none());
        let far = " and so on".repeat(10);
        assert!(find(&format!("the password{far} {value}")).is_none());
    }

    #[test]
    fn digests_ids_names_and_paths_are_not_random() {
        for text in [
            "the token was revoked in 3f786850e387550fdab836ed7e6dc881de23001b",
            "secret digest sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "token id 123e4567-e89b-12d3-a456-426614174000",
            "the token of turn_01h455vb4pex5vsknk084sn02q",
            "token refresh in host/gate/src/PolicyAdmit2.rs",
            "rotate the password with rotateCredentialsOfOffice2024",
            "the secret of ip-10-0-12-34.eu-west-1.compute.internal",
            "tokens: 1796057279123, password_min_length=16",
            "token integrity sha512-9K2s0fBzQeYx7mPqLw3vTn8cRj5hUa1dGk6oXi4pZbVtEyWrCuNqMsAfHgJlDk0O2iB7vX5nT1mY8zQ6wE3rUA==",
            "the secret ingredient is antidisestablishmentarianism",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }

    #[test]
    fn hexadecimal_is_a_secret_when_a_word_is_set_equal_to_it() {
        let hex = ["9b2f40c8d1", "e6a73504", "bb19ce72f8", "4d"].concat() + "31";
        assert_eq!(Kind::of(&hex), Kind::Hex);
        assert!(find(&format!("api_key={hex}")).is_some());
        assert!(find(&format!("{{\"token\": \"{hex}\"}}")).is_some());
        assert!(find(&format!("token digest: {hex}")).is_none());
    }

    #[test]
    fn of_a_thousand_draws_nearly_all_are_found() {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut state = 7_u64;
        let mut draw = |chars: usize| -> String {
            let next = |state: &mut u64| {
                *state =
                    state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                char::from(alphabet[(*state >> 33) as usize % alphabet.len()])
            };
            (0..chars).map(|_| next(&mut state)).collect()
        };
        for (chars, least) in [(20, 930), (32, 985), (40, 990)] {
            let found = (0..1_000).filter(|_| find(&format!("password: {}", draw(chars))).is_some()).count();
            assert!(found >= least, "{found} of 1000 with {chars} characters");
        }
    }
}
