//! Keys in memory: the same from the same seed, and gone with the last that holds them.

use super::key::{ID_BYTES, KEY_BYTES, Key, KeyId};
use event::PrincipalId;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

pub(super) struct Memory {
    seed: u64,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    keys: BTreeMap<PrincipalId, Key>,
    made: u64,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} keys)", self.held().keys.len())
    }
}

impl Memory {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing panics while it is held, and every change is one assignment.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read(&self, subject: &PrincipalId) -> Option<Key> {
        self.held().keys.get(subject).cloned()
    }

    pub(super) fn make(&self, subject: &PrincipalId) -> Key {
        let mut held = self.held();
        if let Some(key) = held.keys.get(subject) {
            return key.clone();
        }
        held.made += 1;
        let draw = |part: u8| {
            let hash =
                Sha256::new().chain_update(self.seed.to_be_bytes()).chain_update(held.made.to_be_bytes());
            hash.chain_update([part]).finalize()
        };
        let mut drawn = Zeroizing::new([0; ID_BYTES + KEY_BYTES]);
        for (to, from) in drawn.iter_mut().zip(draw(0).into_iter().chain(draw(1))) {
            *to = from;
        }
        let key = Key::of(&drawn);
        held.keys.insert(subject.clone(), key.clone());
        key
    }

    pub(super) fn destroy(&self, subject: &PrincipalId, id: &KeyId) -> bool {
        let mut held = self.held();
        let stands = held.keys.get(subject).is_some_and(|key| key.id == *id);
        if stands {
            held.keys.remove(subject);
        }
        stands
    }

    pub(super) fn subjects(&self) -> Vec<(PrincipalId, KeyId)> {
        self.held().keys.iter().map(|(subject, key)| (subject.clone(), key.id)).collect()
    }
}
