//! `[vault]`: where the keys of persons are kept, and the tokens that services give to the office.

use super::Config;
use anyhow::{Result, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Where the keys of persons are kept, and tokens.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaultConfig {
    /// Their folder; it is made when it is not there. Every host of one record uses the same.
    pub keys: Option<PathBuf>,
    /// The folder of tokens that services give to the office; it is made when it is needed. Every host of one record
    /// uses the same.
    pub tokens: Option<PathBuf>,
}

impl Config {
    /// Where tokens are kept that services give to the office.
    #[must_use]
    pub fn tokens_folder(&self) -> PathBuf {
        self.vault.tokens.clone().unwrap_or_else(|| self.record.keys.with_extension("tokens"))
    }
}

/// Refuses a folder of secrets in the folder of the journal, from where they would be committed and pushed: keys with what
/// is sealed under them. `setting` names it.
///
/// # Errors
/// When it is there.
pub(super) fn apart(setting: &str, secrets: &Path, journal: &Path) -> Result<()> {
    ensure!(
        !real(secrets).starts_with(real(journal)),
        "`{setting}` is `{}`, in the folder of the journal, which is pushed, and secrets would go with it; name a folder \
         elsewhere",
        secrets.display()
    );
    Ok(())
}

/// The path with every link followed and every `..` gone, as far as it exists.
fn real(path: &Path) -> PathBuf {
    match (std::fs::canonicalize(path), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(parent), Some(name)) if !parent.as_os_str().is_empty() => real(parent).join(name),
        (Err(_), _, Some(name)) => std::env::current_dir().unwrap_or_default().join(name),
        (Err(_), ..) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn keys_are_never_kept_where_the_journal_is_pushed_from() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        std::fs::create_dir(&journal).unwrap();
        std::os::unix::fs::symlink(&journal, folder.path().join("link")).unwrap();
        for inside in ["journal", "journal/keys", "link/a/keys", "journal/../journal/keys"] {
            let told = apart("vault.keys", &folder.path().join(inside), &journal).unwrap_err().to_string();
            assert!(told.contains("name a folder elsewhere"), "{inside}: {told}");
        }
        for outside in ["keys", "journal-keys", "journal/../keys"] {
            apart("vault.keys", &folder.path().join(outside), &journal).unwrap();
        }
    }
}
