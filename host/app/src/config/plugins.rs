//! What holds for all plugins, and where those that a command installs are kept.

use super::CredentialConfig;
use crate::place::At;
use crate::plugin::signature;
use anyhow::{Context, Result, ensure};
use component::{Bounds, STARTING_BOUNDS};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

const BYTES_PER_MIB: u64 = 1024 * 1024;
/// Most keys that are trusted: a few people and a build machine, and an end to trying them.
const KEYS_MAX: usize = 32;

/// The section `[plugins]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginsConfig {
    /// The folder of the components that commands installed, each under its digest; beside the record's file by
    /// default, or beside this one where the record is no file.
    pub folder: Option<PathBuf>,
    /// The lock file: what is installed and granted, as text beside the configuration.
    #[serde(default = "lock")]
    pub lock: PathBuf,
    /// Whether a component without a good signature by one of the keys is refused.
    #[serde(default)]
    pub require_signatures: bool,
    /// The keys that are trusted: minisign public keys, the second line of a `.pub` file each.
    #[serde(default)]
    pub keys: Vec<String>,
    /// Registries that want a password: host (and port), and the credential, which has a `user`.
    #[serde(default)]
    pub registries: BTreeMap<String, String>,
    /// How long compiling one component may take, in milliseconds.
    #[serde(default = "compile_ms")]
    pub compile_ms: u64,
    /// How much memory it may take, in mebibytes.
    #[serde(default = "compile_mib")]
    pub compile_mib: u64,
}

fn compile_ms() -> u64 {
    STARTING_BOUNDS.wall_ms
}

fn compile_mib() -> u64 {
    STARTING_BOUNDS.memory_bytes / BYTES_PER_MIB
}

fn lock() -> PathBuf {
    PathBuf::from("chancery.lock")
}

impl Default for PluginsConfig {
    fn default() -> Self {
        Self {
            folder: None,
            lock: lock(),
            require_signatures: false,
            keys: Vec::new(),
            registries: BTreeMap::new(),
            compile_ms: compile_ms(),
            compile_mib: compile_mib(),
        }
    }
}

impl PluginsConfig {
    /// Says where the folder is when the file does not.
    pub(super) fn place(&mut self, record: &At) {
        let beside = match record {
            // Anchored already, and anchoring an absolute path changes nothing.
            At::Sqlite(path) => {
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).with_extension("plugins")
            }
            At::Postgres(_) => PathBuf::from("chancery.plugins"),
        };
        self.folder.get_or_insert(beside);
    }

    /// What compiling one component may take.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        Bounds { wall_ms: self.compile_ms, memory_bytes: self.compile_mib.saturating_mul(BYTES_PER_MIB) }
    }

    pub(super) fn check(&self, credentials: &BTreeMap<String, CredentialConfig>) -> Result<()> {
        for (host, credential) in &self.registries {
            let known = credentials.get(credential).is_some_and(|known| known.user.is_some());
            ensure!(
                known,
                "`[plugins.registries]` names `{}` for `{}`, and `[credentials]` has no such entry with a `user`",
                credential.escape_debug(),
                host.escape_debug()
            );
        }
        ensure!(
            (1_000..=3_600_000).contains(&self.compile_ms),
            "`[plugins] compile_ms` is {}: between 1000 and 3600000 milliseconds",
            self.compile_ms
        );
        ensure!(
            (64..=65_536).contains(&self.compile_mib),
            "`[plugins] compile_mib` is {}: between 64 and 65536 mebibytes",
            self.compile_mib
        );
        ensure!(self.keys.len() <= KEYS_MAX, "`[plugins] keys` names more than {KEYS_MAX} keys");
        for key in &self.keys {
            signature::key(key).context("`[plugins] keys`")?;
        }
        ensure!(
            !self.require_signatures || !self.keys.is_empty(),
            "`[plugins] require_signatures` is set and `keys` names none, so that no plugin could ever load: name the \
             public keys that are trusted"
        );
        Ok(())
    }
}
