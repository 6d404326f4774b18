//! The folder of tokens: what services gave to this office, to be kept and replaced, one file for each reference.
//!
//! Every host of one record uses the same folder, so a token is read again each time it is asked for. A file is whole or
//! not there: it is written beside its place, brought to the disk and then put there. Only the user this host runs as
//! reads it. Deliberately absent: what the operator keeps (those are sources of the configuration, and win), and history:
//! a token that was replaced is gone from here.

use crate::Secret;
use crate::source::Source;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Longest reference, in bytes: it is the name of a file.
const REFERENCE_BYTES_MAX: usize = 128;
/// What a file that is being written ends with. No reference does.
const UNFINISHED: &str = ".new";

/// A token that could not be kept or taken away.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// There is no folder for them.
    #[error("there is no folder to keep tokens in; name one as `vault.tokens`")]
    NoFolder,
    /// The reference is no name of a file.
    #[error(
        "`{0}` cannot be the name of a token: letters, digits, `.`, `-`, `_` and `@`, at most {REFERENCE_BYTES_MAX}"
    )]
    Name(String),
    /// Others may read the folder.
    #[error("others than this user may read `{}`, where tokens are kept; run `chmod 700` on it", .0.display())]
    Readable(PathBuf),
    /// The file system said no.
    #[error("the token `{reference}` could not be written in `{}`; let the user this host runs as write there", folder.display())]
    Unwritable {
        /// The token.
        reference: String,
        /// Where.
        folder: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
}

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct Tokens(PathBuf);

impl Tokens {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Where the token under `reference` is, when there is one.
    pub(crate) fn source(&self, reference: &str) -> Option<Source> {
        let path = self.0.join(reference);
        (is_name(reference) && path.is_file()).then_some(Source::File(path))
    }

    /// The references there are, in order.
    pub(crate) fn references(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| is_name(name)).collect();
        names.sort_unstable();
        names
    }

    /// Keeps `secret` under `reference`, in place of what was there. Durable when this returns.
    pub(crate) fn keep(&self, reference: &str, secret: &Secret) -> Result<(), TokenError> {
        if !is_name(reference) {
            return Err(TokenError::Name(reference.to_owned()));
        }
        let failed = |error| self.unwritable(reference, error);
        if !self.0.exists() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(failed)?;
        }
        let mode = fs::metadata(&self.0).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(TokenError::Readable(self.0.clone()));
        }
        self.write(reference, secret).map_err(failed)
    }

    /// Takes away what is kept under `reference`; no difference when there is nothing.
    pub(crate) fn forget(&self, reference: &str) -> Result<(), TokenError> {
        if !is_name(reference) {
            return Ok(());
        }
        match fs::remove_file(self.0.join(reference)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.unwritable(reference, error)),
            Err(_) => Ok(()),
            Ok(()) => settled(&self.0).map_err(|error| self.unwritable(reference, error)),
        }
    }

    fn write(&self, reference: &str, secret: &Secret) -> io::Result<()> {
        let unfinished = self.0.join(format!("{reference}{UNFINISHED}"));
        // What a host that was killed left behind is nobody's.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(secret.bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, self.0.join(reference))?;
        settled(&self.0)
    }

    fn unwritable(&self, reference: &str, error: io::Error) -> TokenError {
        TokenError::Unwritable { reference: reference.to_owned(), folder: self.0.clone(), error }
    }
}

/// Brings the names in `folder` to the disk.
fn settled(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Whether `text` names a file in the folder and nothing else.
fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'@');
    (1..=REFERENCE_BYTES_MAX).contains(&text.len())
        && text.bytes().all(plain)
        && !text.starts_with('.')
        && !text.ends_with(UNFINISHED)
}

#[cfg(test)]
mod tests {
    use super::{TokenError, Tokens, is_name};
    use crate::{Given, Secret, Source, Vault};
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn secret(text: &str) -> Secret {
        Source::Given(Given::new(text.to_owned())).read("given").unwrap()
    }

    #[test]
    fn a_token_that_is_kept_is_found_by_another_host_and_one_that_was_replaced_is_still_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("tokens");
        let vault = || Vault::new(BTreeMap::new()).with_tokens(at.clone());
        let (one, other) = (vault(), vault());
        assert!(!one.has("slack.bot-token@T1") && one.get("slack.bot-token@T1").is_err());
        one.keep("slack.bot-token@T1", secret("first-token")).unwrap();
        assert_eq!(other.get("slack.bot-token@T1").unwrap().expose(), "first-token");
        one.keep("slack.bot-token@T1", secret("second-token")).unwrap();
        assert_eq!(other.get("slack.bot-token@T1").unwrap().expose(), "second-token");
        assert_eq!(other.scan(b"a first-token"), Some("slack.bot-token@T1".to_owned()));
        assert_eq!(one.kept(), ["slack.bot-token@T1"]);
        assert_eq!(fs::metadata(&at).unwrap().permissions().mode() & 0o777, 0o700);
        let file = at.join("slack.bot-token@T1");
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        one.forget("slack.bot-token@T1").unwrap();
        one.forget("slack.bot-token@T1").unwrap();
        assert!(other.get("slack.bot-token@T1").is_err() && other.kept().is_empty());
        assert_eq!(other.scan(b"a second-token"), Some("slack.bot-token@T1".to_owned()));
    }

    #[test]
    fn another_name_for_a_credential_is_the_same_credential() {
        let sources = BTreeMap::from([("bot".to_owned(), Source::Given(Given::new("the-token".into())))]);
        let vault = Vault::new(sources);
        vault.also("bot@T1", "bot");
        assert_eq!(vault.get("bot@T1").unwrap().expose(), "the-token");
        assert!(vault.has("bot@T1") && !vault.has("bot@T2"));
        vault.not_also("bot@T1");
        assert!(vault.get("bot@T1").is_err() && vault.get("bot").is_ok());
    }

    #[test]
    fn what_is_no_name_of_a_file_in_the_folder_is_never_one() {
        for bad in ["", ".", "..", "../x", "a/b", ".hidden", "a\0", "ä", &"x".repeat(129), "token.new"] {
            assert!(!is_name(bad), "{bad:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::new(folder.path().to_owned());
        assert!(matches!(tokens.keep("../x", &secret("a-token")), Err(TokenError::Name(_))));
        assert!(tokens.source("../x").is_none());
    }

    #[test]
    fn a_folder_that_others_may_read_gets_no_token() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let tokens = Tokens::new(folder.path().to_owned());
        assert!(matches!(tokens.keep("a", &secret("a-token")), Err(TokenError::Readable(_))));
        assert!(matches!(
            Vault::new(BTreeMap::new()).keep("a", secret("a-token")),
            Err(TokenError::NoFolder)
        ));
    }
}
