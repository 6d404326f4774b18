//! Compiled code on disk, kept by what it was compiled from.
//!
//! A file's name covers the component's digest, wasmtime's version and everything in the engine's
//! configuration that bears on code; its first 32 bytes seal the rest, and the name, under a key of this machine. A
//! file that does not match is compiled anew. Loading machine code means trusting it: the folder must be this user's
//! alone, one that others can write in or that is somebody else's is refused, and the key stands beside the folder and
//! not in it, so that whoever can only put files there (a volume, a backup that is restored) puts no code into the
//! host. Nothing here is worth a backup.
//!
//! Deliberately absent: a limit on the folder. Code of versions no longer installed stays until it is deleted.

use event::Digest;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use wasmtime::component::Component;

/// The seal at a file's head, and the key it is made with: one SHA-256 each.
const SEAL_BYTES: usize = 32;
/// Only the owner may look into the folder or its files.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Rights that nobody but the owner may have on the folder.
const OTHERS_MODE: u32 = 0o077;

/// Tells apart the files that one process makes for a moment.
static PROBES: AtomicU64 = AtomicU64::new(0);

/// Why code cannot be kept in a folder.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The folder cannot be made or looked at.
    #[error("the folder for compiled code `{folder}` cannot be used: make it writable, or name another")]
    Folder {
        /// The folder.
        folder: String,
        /// What the system said.
        source: io::Error,
    },
    /// Others may look into or write in the folder: code from it could be anybody's.
    #[error("the folder for compiled code `{folder}` is open to other users: `chmod 700` it, or delete it")]
    Open {
        /// The folder.
        folder: String,
    },
    /// The key beside the folder cannot be used.
    #[error(
        "the key of compiled code `{key}` is no key that this user alone can read: delete it, and another is made"
    )]
    Key {
        /// The file of the key.
        key: String,
    },
}

/// The folder, and what its files' names depend on beside a component.
pub(crate) struct Kept {
    folder: PathBuf,
    engine: Digest,
    key: [u8; SEAL_BYTES],
    written: AtomicU64,
}

impl Kept {
    /// Uses `folder`, making it if need be.
    pub(crate) fn open(folder: PathBuf, engine: &wasmtime::Engine) -> Result<Self, CodeError> {
        let named = folder.display().to_string();
        match private(&folder) {
            Ok(true) => {}
            Ok(false) => return Err(CodeError::Open { folder: named }),
            Err(source) => return Err(CodeError::Folder { folder: named, source }),
        }
        let file = key_file(&folder);
        let key = key(&file).map_err(|source| CodeError::Folder { folder: named, source })?;
        let key = key.ok_or_else(|| CodeError::Key { key: file.display().to_string() })?;
        Ok(Self { folder, engine: compatibility(engine), key, written: AtomicU64::new(0) })
    }

    /// The component with this digest, if its code is kept here and whole.
    pub(crate) fn load(&self, engine: &wasmtime::Engine, digest: &Digest) -> Option<Component> {
        let bytes = fs::read(self.path(digest)).ok()?;
        let Some(code) = self.sealed(&self.name(digest), &bytes) else {
            tracing::warn!(
                digest = digest.short(),
                "kept code was changed or is of another machine, and is compiled anew"
            );
            return None;
        };
        match trusted(engine, code) {
            Ok(component) => Some(component),
            Err(error) => {
                tracing::warn!(
                    digest = digest.short(),
                    "kept code does not load and is compiled anew: {error:#}"
                );
                None
            }
        }
    }

    /// Keeps the code of a component. Not being able to is worth a line in the log and costs only time.
    pub(crate) fn keep(&self, digest: &Digest, code: &[u8]) {
        if let Err(error) = self.write(digest, code) {
            tracing::warn!(digest = digest.short(), "compiled code cannot be kept: {error}");
        }
    }

    fn name(&self, digest: &Digest) -> Digest {
        Digest::of_parts(&[digest.as_str().as_bytes(), self.engine.as_str().as_bytes()])
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(format!("{}.code", self.name(digest)))
    }

    /// The seal of code under its file's name. What is hashed last has one length, so that nothing can be added to it.
    fn seal(&self, name: &Digest, code: &[u8]) -> [u8; SEAL_BYTES] {
        let mut seal = Sha256::new();
        seal.update(self.key);
        seal.update(Sha256::digest(name.as_str().as_bytes()));
        seal.update(Sha256::digest(code));
        seal.finalize().into()
    }

    /// The code in a kept file, if its seal matches.
    fn sealed<'b>(&self, name: &Digest, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let (seal, code) = bytes.split_at_checked(SEAL_BYTES)?;
        (seal == self.seal(name, code)).then_some(code)
    }

    /// Beside, then into place in one move: a reader sees a whole file or none.
    fn write(&self, digest: &Digest, code: &[u8]) -> io::Result<()> {
        let path = &self.path(digest);
        let turn = self.written.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_extension(format!("{}-{turn}", std::process::id()));
        let mut file = new_file(&beside)?;
        let written =
            file.write_all(&self.seal(&self.name(digest), code)).and_then(|()| file.write_all(code));
        let kept = written.and_then(|()| fs::rename(&beside, path));
        if kept.is_err() {
            let _ = fs::remove_file(&beside);
        }
        kept
    }
}

#[expect(
    unsafe_code,
    reason = "machine code is trusted, not checked: it comes over a pipe from a process of this program, or from a folder \
              that only this user can write in, with a seal that matches; and wasmtime refuses code of another version or \
              configuration"
)]
pub(crate) fn trusted(engine: &wasmtime::Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes are what wasmtime's compiler wrote, here or in a process of this program, by the reasons above.
    unsafe { Component::deserialize(engine, code) }
}

/// Everything about the engine that compiled code depends on, wasmtime's version included.
fn compatibility(engine: &wasmtime::Engine) -> Digest {
    struct Fed(Vec<u8>);
    impl Hasher for Fed {
        fn write(&mut self, bytes: &[u8]) {
            self.0.extend_from_slice(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut fed = Fed(Vec::new());
    engine.precompile_compatibility_hash().hash(&mut fed);
    Digest::of(&fed.0)
}

/// Makes the folder if it is not there, and says whether it is the owner's alone.
fn private(folder: &Path) -> io::Result<bool> {
    fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    let about = fs::metadata(folder)?;
    Ok(about.permissions().mode() & OTHERS_MODE == 0 && about.uid() == own_uid(folder)?)
}

/// Who this process is, as the file system sees it: whoever a new file belongs to.
fn own_uid(folder: &Path) -> io::Result<u32> {
    let probe =
        folder.join(format!("probe-{}-{}", std::process::id(), PROBES.fetch_add(1, Ordering::Relaxed)));
    let uid = new_file(&probe)?.metadata().map(|about| about.uid());
    fs::remove_file(&probe)?;
    uid
}

/// The key's file stands beside the folder.
fn key_file(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".key");
    folder.with_file_name(name)
}

/// The key in `file`, made when there is none; nothing when the file is no key, or others may read it.
fn key(file: &Path) -> io::Result<Option<[u8; SEAL_BYTES]>> {
    match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_key(file)?,
        read => drop(read?),
    }
    let mode = fs::metadata(file)?.permissions().mode();
    let key = fs::read(file)?.try_into().ok();
    Ok(key.filter(|_| mode & OTHERS_MODE == 0))
}

/// Makes a key, whole or not at all; one that another process made meanwhile stays.
fn make_key(file: &Path) -> io::Result<()> {
    let mut key = [0_u8; SEAL_BYTES];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let beside =
        file.with_extension(format!("key-{}-{}", std::process::id(), PROBES.fetch_add(1, Ordering::Relaxed)));
    let made = new_file(&beside)?.write_all(&key).and_then(|()| fs::hard_link(&beside, file));
    fs::remove_file(&beside)?;
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn new_file(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

#[cfg(test)]
mod tests {
    use super::{CodeError, Kept, SEAL_BYTES, key_file};
    use event::Digest;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// The smallest component there is: magic, version, layer.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn engine() -> wasmtime::Engine {
        wasmtime::Engine::default()
    }

    fn only_file(folder: &std::path::Path) -> std::path::PathBuf {
        let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.into_iter().next().unwrap()
    }

    #[test]
    fn code_that_was_kept_loads_and_code_that_was_changed_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine();
        let kept = Kept::open(folder.path().join("code"), &engine).unwrap();
        let digest = Digest::of(EMPTY);
        assert!(kept.load(&engine, &digest).is_none());
        kept.keep(&digest, &engine.precompile_component(EMPTY).unwrap());
        assert!(kept.load(&engine, &digest).is_some());
        let file = only_file(&folder.path().join("code"));
        let mut bytes = fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file, &bytes).unwrap();
        assert!(kept.load(&engine, &digest).is_none(), "one changed bit");
        fs::write(&file, bytes.get(..20).unwrap()).unwrap();
        assert!(kept.load(&engine, &digest).is_none(), "cut within the seal");
    }

    #[test]
    fn another_configuration_has_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let (engine, other) =
            (engine(), wasmtime::Engine::new(wasmtime::Config::new().epoch_interruption(true)).unwrap());
        let kept = Kept::open(folder.path().join("code"), &engine).unwrap();
        let digest = Digest::of(EMPTY);
        kept.keep(&digest, &engine.precompile_component(EMPTY).unwrap());
        assert!(Kept::open(folder.path().join("code"), &other).unwrap().load(&other, &digest).is_none());
    }

    #[test]
    fn a_folder_open_to_others_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let shared = folder.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(Kept::open(shared, &engine()), Err(CodeError::Open { .. })));
    }

    #[test]
    fn a_folder_made_here_and_its_files_are_the_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("deep/code");
        let engine = engine();
        let kept = Kept::open(made.clone(), &engine).unwrap();
        kept.keep(&Digest::of(EMPTY), &engine.precompile_component(EMPTY).unwrap());
        assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(only_file(&made)).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn code_that_somebody_put_there_without_the_key_does_not_load() {
        use sha2::Digest as _;
        let folder = tempfile::tempdir().unwrap();
        let (engine, made) = (engine(), folder.path().join("code"));
        let kept = Kept::open(made.clone(), &engine).unwrap();
        let digest = Digest::of(EMPTY);
        kept.keep(&digest, &engine.precompile_component(EMPTY).unwrap());
        let file = only_file(&made);
        let honest = fs::read(&file).unwrap();
        // Sealed as anybody could.
        let code = &honest[SEAL_BYTES..];
        fs::write(&file, [sha2::Sha256::digest(code).as_slice(), code].concat()).unwrap();
        assert!(kept.load(&engine, &digest).is_none());
        // Code of one component under the name of another.
        let other = Digest::of(b"another");
        fs::write(kept.path(&other), &honest).unwrap();
        assert!(kept.load(&engine, &other).is_none());
        // Code of a machine with another key.
        fs::write(&file, &honest).unwrap();
        assert!(kept.load(&engine, &digest).is_some());
        fs::remove_file(key_file(&made)).unwrap();
        assert!(Kept::open(made, &engine).unwrap().load(&engine, &digest).is_none());
    }

    #[test]
    fn a_key_that_others_may_read_or_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("code");
        Kept::open(made.clone(), &engine()).unwrap();
        let key = key_file(&made);
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Kept::open(made.clone(), &engine()), Err(CodeError::Key { .. })));
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&key, b"short").unwrap();
        assert!(matches!(Kept::open(made, &engine()), Err(CodeError::Key { .. })));
    }
}
