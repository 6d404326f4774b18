//! The folder of installed components, each under its digest, with its signature beside it.
//!
//! Always holds: what is read from here has the digest it is asked for by; a file appears whole or not at all.
//! Deliberately absent: deleting. A rollback needs what was there before, and a folder can be emptied by hand: what is
//! missing is fetched again by `chancery plugin install --locked`.

use super::signature;
use anyhow::{Context, Result, bail, ensure};
use component::{Artifact, COMPONENT_BYTES_MAX};
use event::Digest;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder is its owner's alone: whoever writes there could not make a component run, and could keep one from it.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A component and the signature that came with it.
#[derive(Clone, Debug)]
pub struct Component {
    /// It.
    pub artifact: Artifact,
    /// The text of its minisign file.
    pub signature: Option<String>,
}

/// The folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The folder of a configuration.
    #[must_use]
    pub fn of(config: &crate::Config) -> Self {
        Self { folder: config.installs.folder.clone().unwrap_or_else(|| PathBuf::from("chancery.plugins")) }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(format!("{digest}.wasm"))
    }

    /// Keeps a component.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn keep(&self, component: &Component) -> Result<()> {
        let path = self.path(&component.artifact.digest);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(&self.folder)
            .with_context(|| format!("the folder of plugins `{}` cannot be made", self.folder.display()))?;
        if let Some(text) = &component.signature {
            write(&signature::beside(&path), text.as_bytes())?;
        }
        write(&path, component.artifact.bytes())
    }

    /// The component with this digest.
    ///
    /// # Errors
    /// When it is not here, or what is here is another.
    pub fn component(&self, plugin: &str, digest: &Digest) -> Result<Component> {
        let path = self.path(digest);
        let bytes = read(&path).with_context(|| {
            format!(
                "the component {} of the plugin `{plugin}` is not in `{}`: `chancery plugin install --locked` fetches it",
                digest.short(),
                self.folder.display()
            )
        })?;
        if Digest::of(&bytes) != *digest {
            bail!(
                "`{}` is not the component it is named after: it was changed; delete it, and `chancery plugin install \
                 --locked` fetches it again",
                path.display()
            );
        }
        let artifact =
            Artifact::read(bytes).with_context(|| format!("`{}` is not a plugin", path.display()))?;
        ensure!(artifact.manifest.name == plugin, "`{}` is not the plugin `{plugin}`", path.display());
        Ok(Component { artifact, signature: signature::read_beside(&path)? })
    }
}

/// A file of at most a component's size, whole.
///
/// # Errors
/// When it is larger, or cannot be read.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let file = fs::File::open(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
    let mut bytes = Vec::new();
    file.take(COMPONENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    ensure!(
        bytes.len() <= COMPONENT_BYTES_MAX,
        "`{}` is larger than {COMPONENT_BYTES_MAX} bytes",
        path.display()
    );
    Ok(bytes)
}

/// Beside, then into place in one move.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let written = (|| {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(FILE_MODE).open(&beside)?.write_all(bytes)?;
        fs::rename(&beside, path)
    })();
    written.with_context(|| {
        let _ = fs::remove_file(&beside);
        format!("`{}` cannot be written", path.display())
    })
}
