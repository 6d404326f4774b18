//! Keys in a folder: one file a person, which several hosts may share.
//!
//! A key appears whole or not at all: it is written beside, flushed, and linked to its name, which fails when somebody
//! was faster; then theirs is read. Making and destroying hold one lock, so that nobody destroys the key that a person
//! got after an erasure. A file of nothing but zeros is a key that was destroyed by a host that then stopped.

use super::error::KeyringError;
use super::key::{FILE_BYTES_MAX, ID_BYTES, KEY_BYTES, Key, KeyId};
use event::PrincipalId;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// How the file of a key ends, after the person's id.
const ENDING: &str = ".key";
/// How a file starts that is not linked to its name yet.
const BESIDE: &str = ".new-";
const LOCK: &str = ".lock";
/// Keys that are known to be on the disk; beyond that they are flushed once more, which costs a moment and no memory.
const SETTLED_MAX: usize = 100_000;

#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Ids of keys whose names are on the disk for sure. Ids alone, so a destroyed key is not remembered.
    settled: Mutex<BTreeSet<KeyId>>,
}

/// What a file holds.
enum Found {
    Key(Key),
    /// Nothing but zeros.
    Destroyed,
    Nothing,
    Other,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, KeyringError> {
        let failed = failed(path);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(&failed)?;
        let mode = fs::metadata(path).map_err(&failed)?.permissions().mode();
        if mode & 0o007 != 0 {
            return Err(KeyringError::Exposed { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), settled: Mutex::default() })
    }

    pub(super) fn read(&self, subject: &PrincipalId) -> Result<Option<Key>, KeyringError> {
        let found = match self.found(subject)? {
            // Perhaps it is being destroyed at this moment: look again when nobody is.
            Found::Other => {
                let _lock = self.lock()?;
                self.found(subject)?
            }
            found => found,
        };
        match found {
            Found::Key(key) => Ok(Some(key)),
            Found::Destroyed | Found::Nothing => Ok(None),
            Found::Other => Err(KeyringError::Damaged { path: self.file(subject) }),
        }
    }

    pub(super) fn make(&self, subject: &PrincipalId) -> Result<Key, KeyringError> {
        let _lock = self.lock()?;
        self.tidy()?;
        let (name, path) = (self.file(subject), self.path.as_path());
        match self.found(subject)? {
            Found::Key(key) => return Ok(key),
            Found::Other => return Err(KeyringError::Damaged { path: name }),
            Found::Destroyed => fs::remove_file(&name).map_err(failed(&name))?,
            Found::Nothing => {}
        }
        let mut drawn = Zeroizing::new([0; ID_BYTES + KEY_BYTES]);
        getrandom::fill(drawn.as_mut_slice()).map_err(KeyringError::NoEntropy)?;
        let key = Key::of(&drawn);
        let beside = path.join(format!("{BESIDE}{}", key.id));
        written(&beside, key.write(subject).as_bytes()).map_err(failed(&beside))?;
        let linked = fs::hard_link(&beside, &name);
        fs::remove_file(&beside).map_err(failed(&beside))?;
        match linked {
            Ok(()) => {}
            // A lock does not bind every network's file system; a link does.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return match self.found(subject)? {
                    Found::Key(theirs) => Ok(theirs),
                    _ => Err(KeyringError::Damaged { path: name }),
                };
            }
            Err(error) => return Err(failed(&name)(error)),
        }
        self.settle(&key.id)?;
        Ok(key)
    }

    pub(super) fn destroy(&self, subject: &PrincipalId, id: &KeyId) -> Result<bool, KeyringError> {
        let _lock = self.lock()?;
        let name = self.file(subject);
        let stood = match self.found(subject)? {
            Found::Key(key) if key.id == *id => true,
            // Whoever overwrote it stopped before it was unlinked.
            Found::Destroyed => false,
            Found::Other => return Err(KeyringError::Damaged { path: name }),
            Found::Key(_) | Found::Nothing => return Ok(false),
        };
        if stood {
            overwrite(&name).map_err(failed(&name))?;
        }
        fs::remove_file(&name).map_err(failed(&name))?;
        self.flush()?;
        Ok(stood)
    }

    pub(super) fn subjects(&self) -> Result<Vec<(PrincipalId, KeyId)>, KeyringError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed(&self.path))? {
            let name = entry.map_err(failed(&self.path))?.file_name();
            let subject = name.to_str().and_then(|name| name.strip_suffix(ENDING));
            let Some(subject) = subject.and_then(|subject| PrincipalId::parse(subject).ok()) else {
                continue;
            };
            found.extend(self.read(&subject)?.map(|key| (subject, key.id)));
        }
        found.sort();
        Ok(found)
    }

    /// Makes sure that the name of the key `id` is on the disk.
    pub(super) fn settle(&self, id: &KeyId) -> Result<(), KeyringError> {
        let settled = || self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if settled().contains(id) {
            return Ok(());
        }
        self.flush()?;
        let mut settled = settled();
        if settled.len() >= SETTLED_MAX {
            settled.clear();
        }
        settled.insert(*id);
        Ok(())
    }

    fn file(&self, subject: &PrincipalId) -> PathBuf {
        self.path.join(format!("{subject}{ENDING}"))
    }

    fn found(&self, subject: &PrincipalId) -> Result<Found, KeyringError> {
        let name = self.file(subject);
        // Full capacity from the start: a buffer that grows leaves copies of the key behind.
        let mut text = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX + 1));
        let read =
            File::open(&name).and_then(|file| file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut text));
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(failed(&name)(error)),
        }
        Ok(match Key::read(&text, subject) {
            Some(key) => Found::Key(key),
            None if !text.is_empty() && text.iter().all(|byte| *byte == 0) => Found::Destroyed,
            None => Found::Other,
        })
    }

    /// Held until it is dropped.
    fn lock(&self) -> Result<File, KeyringError> {
        let path = self.path.join(LOCK);
        let lock = || {
            let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        lock().map_err(failed(&path))
    }

    fn flush(&self) -> Result<(), KeyringError> {
        File::open(&self.path).and_then(|folder| folder.sync_all()).map_err(failed(&self.path))
    }

    /// Removes what hosts left that stopped while they made a key: nothing is sealed under it. The caller holds the lock.
    fn tidy(&self) -> Result<(), KeyringError> {
        for entry in fs::read_dir(&self.path).map_err(failed(&self.path))? {
            let entry = entry.map_err(failed(&self.path))?;
            if entry.file_name().to_string_lossy().starts_with(BESIDE) {
                let path = entry.path();
                // One that is linked to its name is a key in use.
                if fs::metadata(&path).map_err(failed(&path))?.nlink() == 1 {
                    overwrite(&path).map_err(failed(&path))?;
                }
                fs::remove_file(&path).map_err(failed(&path))?;
            }
        }
        Ok(())
    }
}

fn written(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

/// Writes zeros over all of a file, and waits for the disk.
fn overwrite(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let bytes = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX).min(FILE_BYTES_MAX);
    file.write_all(&vec![0; bytes])?;
    file.sync_all()
}

fn failed(path: &Path) -> impl Fn(io::Error) -> KeyringError {
    let path = path.to_owned();
    move |error| KeyringError::Folder { path: path.clone(), error }
}
