//! Which rows a rebuild may have written, so that it looks for no row that it knows to be nowhere.
//!
//! A table of bits, of one size however long the history is: a row that was written is always said to be, and one that
//! was not is said to be only where two share a bit, which costs a look.

use crate::rows::RowKey;
use std::hash::{BuildHasher, RandomState};

/// Bits of the table, a power of two: 8 MiB, in which one in a hundred of the rows that are not there is looked for when
/// there are half a million.
const BITS: usize = 1 << 26;

pub(super) struct Written {
    words: Vec<u64>,
    hasher: RandomState,
}

impl Written {
    pub(super) fn new() -> Self {
        Self { words: vec![0; BITS / 64], hasher: RandomState::new() }
    }

    /// The word and the bit in it that stand for `key`.
    fn place(&self, key: &RowKey) -> (usize, u64) {
        let hash = usize::try_from(self.hasher.hash_one(key) % (BITS as u64)).unwrap_or_default();
        (hash / 64, 1 << (hash % 64))
    }

    pub(super) fn add(&mut self, key: &RowKey) {
        let (word, bit) = self.place(key);
        if let Some(word) = self.words.get_mut(word) {
            *word |= bit;
        }
    }

    pub(super) fn may_hold(&self, key: &RowKey) -> bool {
        let (word, bit) = self.place(key);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Written;
    use crate::rows::RowKey;

    #[test]
    fn what_was_written_is_known_and_hardly_anything_else() {
        let mut written = Written::new();
        let key = |n: u32| RowKey::new("a", n.to_string());
        (0..10_000).for_each(|n| written.add(&key(n)));
        assert!((0..10_000).all(|n| written.may_hold(&key(n))));
        let strangers = (0..10_000).filter(|n| written.may_hold(&RowKey::new("b", n.to_string()))).count();
        assert!(strangers < 100, "{strangers}");
    }
}
