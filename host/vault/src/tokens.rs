//! The folder of tokens: what services gave to this office, to be kept and replaced, one file for each reference.
//!
//! Each is sealed under the key of the organisation, so that a copy of this folder alone opens nothing. Files of before
//! hold the bare value; they are read as they are, and sealed at the next start of a host ([`Tokens::seal`]).
//!
//! Every host of one record uses the same folder, so a token is read again each time it is asked for. A file is whole or
//! not there: it is written beside its place, brought to the disk and then put there; whoever writes holds one lock.
//! Deliberately absent: what the operator keeps (those are sources of the configuration, and win), and history: a token
//! that was replaced is gone from here.

use crate::keyring::{About, Keyring, KeyringError, Missing, Opened};
use crate::source::Source;
use crate::{SECRET_BYTES_MAX, Secret, VaultError};
use event::PrincipalId;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Longest reference, in bytes: it is the name of a file.
const REFERENCE_BYTES_MAX: usize = 128;
/// What a file that is being written ends with. No reference does.
const UNFINISHED: &str = ".new";
/// Held by whoever writes. No reference begins so.
const LOCK: &str = ".lock";
/// What the first line of a file that is sealed begins with, and its rest; then a random id, and what is sealed.
const NAME: &str = "chancery-token";
const VERSION: &str = " 1\n";
/// Longest file, in bytes: a value, base64 and the rest.
const FILE_BYTES_MAX: u64 = 2 * SECRET_BYTES_MAX as u64 + 1_024;

/// A token that could not be kept, read or taken away.
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
    /// The key it is sealed under is not there, or is another.
    #[error(
        "the token `{reference}` does not open with the keys in `{}`; put back the keys folder that this office was run \
         with, or install the office in that workspace again", keys.display()
    )]
    Locked {
        /// The token.
        reference: String,
        /// The folder of keys.
        keys: PathBuf,
    },
    /// The keys cannot be used.
    #[error("the token `{reference}` cannot be sealed or opened")]
    Keys {
        /// The token.
        reference: String,
        /// Why.
        #[source]
        error: KeyringError,
    },
    /// The system gives no randomness.
    #[error("the system gives no randomness to seal a token with")]
    NoEntropy(#[source] getrandom::Error),
}

/// The folder, and that of the keys it is sealed under.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    folder: PathBuf,
    keys: PathBuf,
}

impl Tokens {
    pub(crate) fn new(folder: PathBuf, keys: PathBuf) -> Self {
        Self { folder, keys }
    }

    /// Whether a token is kept under `reference`. Opens nothing.
    pub(crate) fn has(&self, reference: &str) -> bool {
        is_name(reference) && self.folder.join(reference).is_file()
    }

    /// The token under `reference`, read anew.
    ///
    /// # Errors
    /// As [`crate::Vault::get`].
    pub(crate) fn read(&self, reference: &str) -> Result<Secret, VaultError> {
        let place = Source::File(self.folder.join(reference));
        match self.sealed(reference).map_err(|error| place.unreadable(reference, error))? {
            Some(sealed) => {
                self.opened(reference, &sealed).map_err(|error| VaultError::Token(Box::new(error)))
            }
            None => place.read(reference),
        }
    }

    /// The references there are, in order.
    pub(crate) fn references(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| is_name(name)).collect();
        names.sort_unstable();
        names
    }

    /// The references of what is kept as a bare value. What cannot be read is not among them.
    pub(crate) fn unsealed(&self) -> Vec<String> {
        let bare = |reference: &String| self.is_ours(reference) && matches!(self.sealed(reference), Ok(None));
        self.references().into_iter().filter(bare).collect()
    }

    /// Whether its file is one of this folder and nowhere else: what another name leads to as well, such as a secret that
    /// is mounted, is its owner's, and is read as it is.
    fn is_ours(&self, reference: &str) -> bool {
        let about = fs::symlink_metadata(self.folder.join(reference));
        about.is_ok_and(|about| about.is_file() && about.nlink() == 1)
    }

    /// Seals what is kept as a bare value, and overwrites that; says which there were. Whoever dies in between leaves
    /// each as it was or sealed.
    ///
    /// # Errors
    /// The first that could not be sealed, which is as it was.
    pub(crate) fn seal(&self) -> Result<Vec<String>, TokenError> {
        if self.unsealed().is_empty() {
            return Ok(Vec::new());
        }
        let failed = |error| self.unwritable(LOCK, error);
        let _lock = self.lock().map_err(failed)?;
        let mut sealed = Vec::new();
        for reference in self.unsealed() {
            let path = self.folder.join(&reference);
            // Without a value there is nothing to seal; whoever reads it is told.
            let Ok(secret) = Source::File(path.clone()).read(&reference) else { continue };
            let failed = |error| self.unwritable(&reference, error);
            let bare = OpenOptions::new().write(true).open(&path).map_err(failed)?;
            // What is overwritten is what was looked at, whatever became of its name meanwhile.
            let about = bare.metadata().map_err(failed)?;
            if !self.is_ours(&reference) || !about.is_file() || about.nlink() != 1 {
                continue;
            }
            self.write(&reference, &secret)?;
            overwritten(bare).map_err(failed)?;
            sealed.push(reference);
        }
        Ok(sealed)
    }

    /// Keeps `secret` under `reference`, in place of what was there. Durable when this returns.
    ///
    /// # Errors
    /// Why it is not kept; then what was there still is.
    pub(crate) fn keep(&self, reference: &str, secret: &Secret) -> Result<(), TokenError> {
        if !is_name(reference) {
            return Err(TokenError::Name(reference.to_owned()));
        }
        let failed = |error| self.unwritable(reference, error);
        if !self.folder.exists() {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        }
        let mode = fs::metadata(&self.folder).map_err(failed)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(TokenError::Readable(self.folder.clone()));
        }
        let _lock = self.lock().map_err(failed)?;
        self.write(reference, secret)
    }

    /// Takes away what is kept under `reference`; no difference when there is nothing.
    ///
    /// # Errors
    /// When its file cannot be removed.
    pub(crate) fn forget(&self, reference: &str) -> Result<(), TokenError> {
        if !self.has(reference) {
            return Ok(());
        }
        let failed = |error| self.unwritable(reference, error);
        let _lock = self.lock().map_err(failed)?;
        match fs::remove_file(self.folder.join(reference)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            Err(_) => Ok(()),
            Ok(()) => settled(&self.folder).map_err(failed),
        }
    }

    /// What a file holds behind its heading: id and sealed value. Nothing where it holds a bare value; what begins as a
    /// sealed one does, and was cut or changed on its way, is none.
    fn sealed(&self, reference: &str) -> io::Result<Option<String>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(FILE_BYTES_MAX as usize));
        File::open(self.folder.join(reference))?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        let Some(sealed) = bytes.strip_prefix(NAME.as_bytes()) else { return Ok(None) };
        let sealed = sealed.strip_prefix(VERSION.as_bytes()).unwrap_or_default();
        Ok(Some(String::from_utf8_lossy(sealed).into_owned()))
    }

    fn opened(&self, reference: &str, sealed: &str) -> Result<Secret, TokenError> {
        let locked = || TokenError::Locked { reference: reference.to_owned(), keys: self.keys.clone() };
        // A folder that is not there is not made here: an empty one opens nothing.
        if !self.keys.is_dir() {
            return Err(locked());
        }
        let (id, sealed) = sealed.trim_end().split_once('\n').ok_or_else(locked)?;
        let keyring = self.keyring(reference)?;
        match keyring.keys().open(&office(), &about(id, reference), sealed) {
            Ok(Opened::Plain(plain)) => {
                let text = std::str::from_utf8(&plain).ok().map(str::to_owned);
                text.and_then(|text| Secret::new(Zeroizing::new(text))).ok_or_else(locked)
            }
            Ok(Opened::Erased) | Err(KeyringError::Changed) => Err(locked()),
            Err(error) => Err(TokenError::Keys { reference: reference.to_owned(), error }),
        }
    }

    /// The caller holds the lock.
    fn write(&self, reference: &str, secret: &Secret) -> Result<(), TokenError> {
        let mut drawn = [0; 16];
        getrandom::fill(&mut drawn).map_err(TokenError::NoEntropy)?;
        let id = hex::encode(drawn);
        let keyring = self.keyring(reference)?;
        let sealed = keyring.keys().seal(&office(), &about(&id, reference), secret.bytes(), Missing::Make);
        let sealed = sealed.map_err(|error| TokenError::Keys { reference: reference.to_owned(), error })?;
        self.put(reference, &format!("{NAME}{VERSION}{id}\n{sealed}\n"))
            .map_err(|error| self.unwritable(reference, error))
    }

    fn put(&self, reference: &str, text: &str) -> io::Result<()> {
        let unfinished = self.folder.join(format!("{reference}{UNFINISHED}"));
        // What a host that was killed left behind is nobody's.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, self.folder.join(reference))?;
        settled(&self.folder)
    }

    fn keyring(&self, reference: &str) -> Result<Keyring, TokenError> {
        Keyring::open(&self.keys).map_err(|error| TokenError::Keys { reference: reference.to_owned(), error })
    }

    fn lock(&self) -> io::Result<File> {
        let path = self.folder.join(LOCK);
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.lock()?;
        Ok(file)
    }

    fn unwritable(&self, reference: &str, error: io::Error) -> TokenError {
        TokenError::Unwritable { reference: reference.to_owned(), folder: self.folder.clone(), error }
    }
}

/// The keys of an installation are the office's own.
fn office() -> BTreeSet<PrincipalId> {
    BTreeSet::from([PrincipalId::organisation()])
}

/// A value opens under its own reference alone.
fn about<'a>(id: &'a str, reference: &'a str) -> About<'a> {
    About { stream: "token", event: id, kind: "token.kept", field: reference }
}

/// Brings the names in `folder` to the disk.
fn settled(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Writes zeros over all of a file that has no name any more, as far as the file system does what it is told.
fn overwritten(mut file: File) -> io::Result<()> {
    let bytes = usize::try_from(file.metadata()?.len()).unwrap_or(SECRET_BYTES_MAX);
    file.write_all(&vec![0; bytes])?;
    file.sync_all()
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
        let vault = || Vault::new(BTreeMap::new()).with_tokens(at.clone(), folder.path().join("keys"));
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
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(&file).unwrap().contains("-token@") && one.unsealed().is_empty());
        one.forget("slack.bot-token@T1").unwrap();
        one.forget("slack.bot-token@T1").unwrap();
        assert!(other.get("slack.bot-token@T1").is_err() && other.kept().is_empty());
        assert_eq!(other.scan(b"a second-token"), Some("slack.bot-token@T1".to_owned()));
    }

    #[test]
    fn what_has_a_name_elsewhere_too_is_read_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("tokens");
        fs::create_dir(&at).unwrap();
        let outside = |name: &str| folder.path().join(name);
        fs::write(outside("mounted"), "mounted-token").unwrap();
        fs::write(outside("kept"), "linked-token").unwrap();
        std::os::unix::fs::symlink(outside("mounted"), at.join("slack.bot-token@T1")).unwrap();
        fs::hard_link(outside("kept"), at.join("slack.bot-token@T2")).unwrap();
        fs::write(at.join("slack.bot-token@T3"), "bare-token").unwrap();
        let tokens = Tokens::new(at.clone(), folder.path().join("keys"));
        assert_eq!(tokens.seal().unwrap(), ["slack.bot-token@T3"]);
        assert_eq!(fs::read_to_string(outside("mounted")).unwrap(), "mounted-token");
        assert_eq!(fs::read_to_string(outside("kept")).unwrap(), "linked-token");
        for (team, token) in [("T1", "mounted-token"), ("T2", "linked-token"), ("T3", "bare-token")] {
            assert_eq!(tokens.read(&format!("slack.bot-token@{team}")).unwrap().expose(), token);
        }
    }

    #[test]
    fn a_sealed_file_that_was_cut_or_mangled_is_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("tokens");
        let tokens = Tokens::new(at.clone(), folder.path().join("keys"));
        tokens.keep("a", &secret("the-token")).unwrap();
        let whole = fs::read_to_string(at.join("a")).unwrap();
        let mangled = [
            whole.replace('\n', "\r\n"),
            whole[..14].to_owned(),
            whole[..16].to_owned(),
            whole[..17].to_owned(),
            whole[..40].to_owned(),
            whole.replacen('1', "2", 1),
        ];
        for text in mangled {
            fs::write(at.join("a"), &text).unwrap();
            assert!(tokens.seal().unwrap().is_empty(), "{text:?}");
            assert_eq!(fs::read_to_string(at.join("a")).unwrap(), text);
            let error = tokens.read("a").err().unwrap().to_string();
            assert!(error.contains("put back the keys"), "{text:?}: {error}");
        }
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
        let tokens = Tokens::new(folder.path().to_owned(), folder.path().join("keys"));
        assert!(matches!(tokens.keep("../x", &secret("a-token")), Err(TokenError::Name(_))));
        assert!(!tokens.has("../x"));
    }

    #[test]
    fn a_folder_that_others_may_read_gets_no_token() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let tokens = Tokens::new(folder.path().to_owned(), folder.path().join("keys"));
        assert!(matches!(tokens.keep("a", &secret("a-token")), Err(TokenError::Readable(_))));
        assert!(matches!(
            Vault::new(BTreeMap::new()).keep("a", secret("a-token")),
            Err(TokenError::NoFolder)
        ));
    }

    #[test]
    fn a_bare_value_of_before_is_read_and_sealed_once() {
        let folder = tempfile::tempdir().unwrap();
        let (at, keys) = (folder.path().join("tokens"), folder.path().join("keys"));
        fs::create_dir(&at).unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).unwrap();
        for (reference, value) in
            [("slack.bot-token@T1", "xoxb-canary\n"), ("slack.refresh-token@T1", "xoxe-canary")]
        {
            fs::write(at.join(reference), value).unwrap();
        }
        fs::write(at.join("empty"), "").unwrap();
        let vault = Vault::new(BTreeMap::new()).with_tokens(at.clone(), keys.clone());
        assert_eq!(vault.get("slack.bot-token@T1").unwrap().expose(), "xoxb-canary");
        assert!(!keys.exists(), "reading makes no key");
        assert_eq!(vault.unsealed(), ["empty", "slack.bot-token@T1", "slack.refresh-token@T1"]);
        assert_eq!(vault.seal_kept().unwrap(), ["slack.bot-token@T1", "slack.refresh-token@T1"]);
        assert!(vault.seal_kept().unwrap().is_empty());
        for entry in fs::read_dir(&at).unwrap() {
            assert!(!fs::read_to_string(entry.unwrap().path()).unwrap().contains("canary"));
        }
        let another = Vault::new(BTreeMap::new()).with_tokens(at, keys);
        assert_eq!(another.get("slack.refresh-token@T1").unwrap().expose(), "xoxe-canary");
    }

    #[test]
    fn without_its_key_or_with_another_a_token_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let (at, keys) = (folder.path().join("tokens"), folder.path().join("keys"));
        let vault =
            |keys: &str| Vault::new(BTreeMap::new()).with_tokens(at.clone(), folder.path().join(keys));
        vault("keys").keep("a@T1", secret("first-token")).unwrap();
        vault("other").keep("b@T1", secret("other-token")).unwrap();
        for wrong in ["other", "missing"] {
            let told = vault(wrong).get("a@T1").err().unwrap().to_string();
            assert!(
                told.contains("`a@T1` does not open with the keys in `") && told.contains(wrong),
                "{told}"
            );
            assert!(
                told.contains("put back the keys folder") && told.contains("install the office"),
                "{told}"
            );
        }
        assert!(!folder.path().join("missing").exists(), "no key is made to open something with");
        // Nor does what was kept for one workspace open for another, or what somebody changed.
        fs::copy(at.join("a@T1"), at.join("a@T2")).unwrap();
        assert!(vault("keys").get("a@T2").is_err() && vault("keys").get("a@T1").is_ok());
        let changed = fs::read_to_string(at.join("a@T1")).unwrap().replacen('A', "B", 1);
        fs::write(at.join("a@T1"), format!("{changed}x")).unwrap();
        assert!(vault("keys").get("a@T1").is_err());
        assert!(keys.is_dir());
    }
}
