//! The keys that persons' words are sealed under: one a person, kept in a folder, never in the record.
//!
//! Always holds:
//! - a key is on the disk before anything sealed under it is handed out;
//! - what is sealed for several persons opens only with the keys of all of them;
//! - the same words in the same field of the same event are sealed to the same bytes while the keys stand, so that an
//!   append that is tried again is the same event;
//! - a key that was destroyed is not used again: files are read anew for every call, and nothing outlives it.
//!
//! Deliberately absent: any way to read a key, and any memory of whose key was destroyed (`fold::subject`).

mod about;
mod cipher;
mod error;
mod folder;
mod key;
mod memory;

pub use about::About;
pub use error::KeyringError;
pub use key::{KeyId, key_ids};

use event::PrincipalId;
use folder::Folder;
use key::Key;
use memory::Memory;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The keys of one office. Clones are the same keys.
#[derive(Clone, Debug)]
pub struct Keyring {
    place: Arc<Place>,
}

#[derive(Debug)]
enum Place {
    Folder(Folder),
    Memory(Memory),
}

/// What to do for a person who has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Make one: the words are new to the office.
    Make,
    /// Refuse: the words derive from what was erased, and must not outlive it.
    Refuse,
}

/// What came of opening.
#[derive(Debug, PartialEq, Eq)]
pub enum Opened {
    /// What was sealed.
    Plain(Zeroizing<Vec<u8>>),
    /// A key it was sealed under is no more.
    Erased,
}

impl Keyring {
    /// The keys in `folder`, which is made when it is not there.
    ///
    /// # Errors
    /// [`KeyringError::Folder`] when it cannot be made or used; [`KeyringError::Exposed`] when everyone on the machine
    /// may read it.
    pub fn open(folder: &Path) -> Result<Self, KeyringError> {
        Ok(Self { place: Arc::new(Place::Folder(Folder::open(folder)?)) })
    }

    /// Keys in memory, for tests and simulations: from the same seed come the same keys, in the order asked for.
    #[must_use]
    pub fn in_memory(seed: u64) -> Self {
        Self { place: Arc::new(Place::Memory(Memory::new(seed))) }
    }

    /// The keys for one call: each is read once, and forgotten with what this returns.
    #[must_use]
    pub fn keys(&self) -> Keys<'_> {
        Keys { ring: self, known: BTreeMap::new() }
    }

    /// The id of a person's key; nothing when they have none.
    ///
    /// # Errors
    /// As [`Keys::open`].
    pub fn key_id(&self, subject: &PrincipalId) -> Result<Option<KeyId>, KeyringError> {
        Ok(self.read(subject)?.map(|key| key.id))
    }

    /// Every person who has a key, in order, with its id.
    ///
    /// # Errors
    /// As [`Keys::open`].
    pub fn subjects(&self) -> Result<Vec<(PrincipalId, KeyId)>, KeyringError> {
        match self.place.as_ref() {
            Place::Folder(folder) => folder.subjects(),
            Place::Memory(memory) => Ok(memory.subjects()),
        }
    }

    /// Destroys a person's key if it is still the one of this id; whether it was. Doing it again does nothing. Once it
    /// returns, the key is gone from the disk, as far as the file system overwrites what it is told to.
    ///
    /// # Errors
    /// As [`Keys::open`]; then it may be tried again.
    pub fn destroy(&self, subject: &PrincipalId, id: &KeyId) -> Result<bool, KeyringError> {
        match self.place.as_ref() {
            Place::Folder(folder) => folder.destroy(subject, id),
            Place::Memory(memory) => Ok(memory.destroy(subject, id)),
        }
    }

    fn read(&self, subject: &PrincipalId) -> Result<Option<Key>, KeyringError> {
        match self.place.as_ref() {
            Place::Folder(folder) => folder.read(subject),
            Place::Memory(memory) => Ok(memory.read(subject)),
        }
    }

    fn make(&self, subject: &PrincipalId) -> Result<Key, KeyringError> {
        match self.place.as_ref() {
            Place::Folder(folder) => folder.make(subject),
            Place::Memory(memory) => Ok(memory.make(subject)),
        }
    }

    /// Makes sure that `key`, which somebody else may have made a moment ago, outlives a loss of power.
    fn settle(&self, key: &Key) -> Result<(), KeyringError> {
        match self.place.as_ref() {
            Place::Folder(folder) => folder.settle(&key.id),
            Place::Memory(_) => Ok(()),
        }
    }
}

/// The keys for one call.
#[derive(Debug)]
pub struct Keys<'a> {
    ring: &'a Keyring,
    known: BTreeMap<PrincipalId, Option<Key>>,
}

impl Keys<'_> {
    /// Seals `plain`, which is `about` a field and holds words of `subjects`, of whom there is at least one.
    ///
    /// # Errors
    /// [`KeyringError::Erased`] for one who has no key, with [`Missing::Refuse`]; otherwise why the keys cannot be
    /// used.
    pub fn seal(
        &mut self,
        subjects: &BTreeSet<PrincipalId>,
        about: &About<'_>,
        plain: &[u8],
        missing: Missing,
    ) -> Result<String, KeyringError> {
        for subject in subjects {
            if self.known(subject)?.is_none() {
                if missing == Missing::Refuse {
                    return Err(KeyringError::Erased { subject: subject.clone() });
                }
                let made = self.ring.make(subject)?;
                self.known.insert(subject.clone(), Some(made));
            }
        }
        let keys = self.present(subjects).unwrap_or_default();
        for (_, key) in &keys {
            self.ring.settle(key)?;
        }
        cipher::seal(&keys, about, plain)
    }

    /// Opens what was sealed.
    ///
    /// # Errors
    /// [`KeyringError::Damaged`] and [`KeyringError::Folder`] when a key cannot be read; [`KeyringError::Changed`] when
    /// the keys stand and the bytes are not what was sealed here.
    pub fn open(
        &mut self,
        subjects: &BTreeSet<PrincipalId>,
        about: &About<'_>,
        sealed: &str,
    ) -> Result<Opened, KeyringError> {
        for subject in subjects {
            if self.known(subject)?.is_none() {
                return Ok(Opened::Erased);
            }
        }
        match self.present(subjects) {
            Some(keys) => cipher::open(&keys, about, sealed),
            None => Ok(Opened::Erased),
        }
    }

    fn known(&mut self, subject: &PrincipalId) -> Result<Option<&Key>, KeyringError> {
        if !self.known.contains_key(subject) {
            self.known.insert(subject.clone(), self.ring.read(subject)?);
        }
        Ok(self.known.get(subject).and_then(Option::as_ref))
    }

    /// The keys of `subjects`, in order of id; nothing when one is missing.
    fn present<'k>(&'k self, subjects: &'k BTreeSet<PrincipalId>) -> Option<Vec<(&'k PrincipalId, &'k Key)>> {
        let key = |subject| self.known.get(subject).and_then(Option::as_ref).map(|key| (subject, key));
        subjects.iter().map(key).collect()
    }
}

#[cfg(test)]
mod tests;
