//! SHA-256 digests, shown as 64 lower-case hexadecimal digits.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

/// The SHA-256 of some bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::hexadecimal(&Sha256::digest(bytes))
    }

    /// The digest of several parts, each preceded by its length, so that no two lists share one.
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self::hexadecimal(&hash.finalize())
    }

    /// The record makes several digests for every event: the digits are written two at a time.
    fn hexadecimal(hash: &[u8]) -> Self {
        let mut digits = [b'0'; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(hash) {
            for (digit, half) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = HEXADECIMAL.get(usize::from(half)).copied().unwrap_or(b'0');
            }
        }
        Self(String::from_utf8_lossy(&digits).into_owned())
    }

    /// A digest written down before: 64 lower-case hexadecimal digits, or nothing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::written(text.to_owned())
    }

    /// The same of text that nobody else needs.
    #[must_use]
    pub fn written(text: String) -> Option<Self> {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (text.len() == 64 && text.bytes().all(hex)).then_some(Self(text))
    }

    /// All 64 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    #[test]
    fn a_digest_is_what_the_standard_says_in_hexadecimal() {
        // FIPS 180-4, the examples of SHA-256.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").as_str(), abc);
        assert_eq!(Digest::parse(abc).as_ref(), Some(&Digest::of(b"abc")));
        let of_parts =
            Digest::of(&[8_u64.to_be_bytes().as_slice(), b"8 bytes.", &0_u64.to_be_bytes()].concat());
        assert_eq!(Digest::of_parts(&[b"8 bytes.", b""]), of_parts);
    }
}
