//! One key, its id, and how both are written in a file.
//!
//! A file is four lines of text: what it is, whose, the id, the key. Ids are drawn, not derived: they say nothing about
//! the key, and stand in the open beside what is sealed under it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use event::PrincipalId;
use std::fmt;
use zeroize::Zeroizing;

/// Bytes of an id: a person has few keys in a life, and two must never share one.
pub(super) const ID_BYTES: usize = 8;
/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 32;
/// Longest file, in bytes: the longest principal and three short lines fit.
pub(super) const FILE_BYTES_MAX: usize = 512;

const HEADING: &str = "chancery-key 1";

/// Which of a person's keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub(super) [u8; ID_BYTES]);

impl KeyId {
    /// Reads an id: 16 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; ID_BYTES];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyId({self})")
    }
}

/// A key. Printing it shows its id alone.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) id: KeyId,
    pub(super) bytes: Zeroizing<[u8; KEY_BYTES]>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

impl Key {
    /// A key of drawn bytes.
    pub(super) fn of(drawn: &Zeroizing<[u8; ID_BYTES + KEY_BYTES]>) -> Self {
        let (mut id, mut bytes) = ([0; ID_BYTES], Zeroizing::new([0; KEY_BYTES]));
        for (to, from) in id.iter_mut().chain(bytes.iter_mut()).zip(drawn.iter()) {
            *to = *from;
        }
        Self { id: KeyId(id), bytes }
    }

    /// The file of this key of `subject`.
    pub(super) fn write(&self, subject: &PrincipalId) -> Zeroizing<String> {
        // Full capacity from the start: text that grows leaves copies of the key behind.
        let mut text = Zeroizing::new(String::with_capacity(FILE_BYTES_MAX));
        let bytes = Zeroizing::new(hex::encode(self.bytes.as_slice()));
        for line in [HEADING, subject.as_str(), &self.id.to_string(), &bytes] {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// The key in the file of `subject`; nothing when it is not one.
    pub(super) fn read(text: &[u8], subject: &PrincipalId) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.strip_suffix('\n')?;
        let mut lines = text.split('\n');
        let named = lines.next()? == HEADING && lines.next()? == subject.as_str();
        let id = KeyId::parse(lines.next()?)?;
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        hex::decode_to_slice(lines.next()?, bytes.as_mut_slice()).ok()?;
        (named && lines.next().is_none()).then_some(Self { id, bytes })
    }
}

/// What stands before the rest of a sealed value.
pub(super) const VERSION: u8 = 1;

/// The ids of the keys that `sealed` is sealed under, in the order of its `subjects`; nothing when it is not sealed for
/// so many.
#[must_use]
pub fn key_ids(sealed: &str, subjects: usize) -> Option<Vec<KeyId>> {
    let bytes = 1 + subjects.checked_mul(ID_BYTES)?;
    // Three bytes are four characters: whole groups decode alone.
    let head = sealed.get(..bytes.div_ceil(3) * 4).unwrap_or(sealed);
    let head = STANDARD_NO_PAD.decode(head).ok()?;
    ids(head.get(..bytes)?)
}

/// The ids in the head of a sealed value.
pub(super) fn ids(head: &[u8]) -> Option<Vec<KeyId>> {
    let (version, ids) = head.split_first()?;
    let id = |bytes: &[u8]| <[u8; ID_BYTES]>::try_from(bytes).map(KeyId).ok();
    if *version == VERSION { ids.chunks(ID_BYTES).map(id).collect() } else { None }
}
