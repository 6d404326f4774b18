//! Forms of text, host names and paths that leave no doubt what they mean.

use percent_encoding::percent_decode;
use std::borrow::Cow;

/// Longest host name and longest label of one, in bytes (RFC 1035, section 2.3.4).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// How many layers of percent encoding are looked under for a dot segment: servers undo one, careless chains
/// of them two.
const PERCENT_NESTED_MAX: usize = 3;

/// Whether no parser skips, turns or cuts anything in the text.
pub(crate) fn text_is_plain(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\')
}

/// Whether this is a host name as DNS has it, in lower case and without a dot at the end.
pub(crate) fn name_is_plain(name: &str) -> bool {
    let label = |label: &str| {
        let byte = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        !label.is_empty() && label.len() <= LABEL_BYTES_MAX && label.bytes().all(byte)
    };
    name.len() <= NAME_BYTES_MAX && name.split('.').all(label)
}

/// Whether the path means the same to a server that decodes before it looks for dot segments. `url` has
/// resolved those that are written plainly or as `%2e`; left are those behind an encoded slash, a second
/// encoding or a path parameter (`/v1/..%2fadmin`, `/v1/%252e%252e/admin`, `/v1/..;/admin`).
pub(crate) fn path_is_plain(path: &str) -> bool {
    let climbs = |path: &[u8]| {
        let segments = path.split(|b| matches!(b, b'/' | b'\\'));
        let bare =
            |segment: &[u8]| segment.split(|&b| b == b';').next().is_some_and(|s| matches!(s, b"." | b".."));
        segments.into_iter().any(bare)
    };
    let mut decoded = Cow::Borrowed(path.as_bytes());
    for _ in 0..PERCENT_NESTED_MAX {
        if climbs(&decoded) {
            return false;
        }
        decoded = Cow::Owned(percent_decode(&decoded).collect());
    }
    !climbs(&decoded)
}

#[cfg(test)]
mod tests {
    use super::{name_is_plain, path_is_plain};
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    #[test]
    fn a_name_has_labels_of_dns_length_and_letters() {
        let (label, long) = ("a".repeat(63), "a".repeat(64));
        for name in ["a", "api.example.com", "xn--bcher-kva.example", "_dmarc.example.com", &label] {
            assert!(name_is_plain(name), "{name}");
        }
        for name in
            ["", ".", "a.", ".a", "a..b", "A", "a b", "ä", "a!b", "*.a", &long, &vec!["aa"; 100].join(".")]
        {
            assert!(!name_is_plain(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_path_that_passes_climbs_when_it_is_decoded(path in "(/|%2[fF]|%5c|\\.|%2e|%252e|a|;|%)*") {
            let once: Vec<u8> = percent_decode_str(&path).collect();
            let climbs = once.split(|b| b"/\\".contains(b)).any(|segment| segment == b".." || segment == b".");
            prop_assert!(!(climbs && path_is_plain(&path)), "{path}");
        }
    }
}
