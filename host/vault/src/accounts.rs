//! What opens the accounts that somebody connected while the office ran: kept sealed in a folder, never in the record.
//!
//! One file an account, sealed under its owner's key, so that whoever erases a person closes their accounts too. A file
//! appears whole or not at all, and is read anew for every use: what another process changed or took away counts at
//! once. Deliberately absent: whose account a call may use (`gate`), and asking a service for anything (`egress`).

use crate::keyring::{About, Keyring, KeyringError, Missing, Opened};
use crate::{SECRET_BYTES_MAX, Secret};
use event::{Digest, PrincipalId};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// What stands between a reference and the owner of the account it means.
const OF: char = '@';
/// How the file of an account ends.
const ENDING: &str = ".sealed";
/// How a file starts that is not in place yet.
const BESIDE: &str = ".new-";
/// Longest file, in bytes: two values, base64 and the rest.
const FILE_BYTES_MAX: u64 = 4 * SECRET_BYTES_MAX as u64;
/// The first line of what is sealed.
const HEADING: &str = "chancery-account 1";

/// An account: the reference by which routes name it, and whose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountRef {
    /// The reference, such as `mail.token`.
    pub credential: String,
    /// Whose it is.
    pub owner: PrincipalId,
}

impl AccountRef {
    /// The account that a route's credential means; nothing when it is a credential of the configuration.
    #[must_use]
    pub fn parse(reference: &str) -> Option<Self> {
        let (credential, owner) = reference.rsplit_once(OF)?;
        let owner = PrincipalId::parse(owner).ok()?;
        (!credential.is_empty()).then(|| Self { credential: credential.to_owned(), owner })
    }

    /// The credential of a route that means this account.
    #[must_use]
    pub fn reference(&self) -> String {
        event::account_reference(&self.credential, &self.owner)
    }

    /// The reference as a plugin knows it, whoever's account it means.
    #[must_use]
    pub fn plain(reference: &str) -> &str {
        reference.rsplit_once(OF).map_or(reference, |(credential, _)| credential)
    }
}

/// What opens an account.
pub struct Kept {
    /// The value that goes into requests.
    pub access: Secret,
    /// What a new one is had with, if it can be.
    pub refresh: Option<Secret>,
    /// When the first ends, in milliseconds since 1970; nothing when that is not known.
    pub ends_at_ms: Option<i64>,
}

/// An account that cannot be used. Each variant names what to do.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The folder cannot be used.
    #[error("the folder of accounts `{}` cannot be used: let the user this host runs as read and write it", path.display())]
    Folder {
        /// The folder or a file in it.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// Everyone on the machine may read it.
    #[error("everyone on this machine may read `{}`: take that right away (chmod o-rwx)", path.display())]
    Exposed {
        /// The folder.
        path: PathBuf,
    },
    /// The keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeyringError),
    /// What is there was not sealed here.
    #[error("what is kept of `{reference}` cannot be read: disconnect it and connect it anew")]
    Damaged {
        /// The account.
        reference: String,
    },
    /// What a service gave is no value to put into a request.
    #[error(
        "what was given for `{reference}` is no value of a credential: it is empty or longer than {SECRET_BYTES_MAX} bytes"
    )]
    Unusable {
        /// The account.
        reference: String,
    },
    /// The system gives no randomness.
    #[error("the system gives no randomness")]
    NoEntropy(#[source] getrandom::Error),
}

/// The accounts of one office, in a folder that several hosts may share.
#[derive(Clone, Debug)]
pub struct Accounts {
    folder: PathBuf,
    keyring: Keyring,
}

impl Accounts {
    /// The accounts in `folder`, which is made when something is first kept there.
    #[must_use]
    pub fn new(folder: PathBuf, keyring: Keyring) -> Self {
        Self { folder, keyring }
    }

    /// Keeps what opens `account`, in place of what was kept before.
    ///
    /// # Errors
    /// Why it is not kept; then what was there before still is.
    pub fn keep(
        &self,
        account: &AccountRef,
        access: &Secret,
        refresh: Option<&Secret>,
        ends_at_ms: Option<i64>,
    ) -> Result<(), AccountError> {
        let bytes = access.bytes().len() + refresh.map_or(0, |refresh| refresh.bytes().len());
        let one_line = |secret: &Secret| !secret.bytes().contains(&b'\n');
        if bytes > 2 * SECRET_BYTES_MAX || !one_line(access) || !refresh.is_none_or(one_line) {
            return Err(AccountError::Unusable { reference: account.reference() });
        }
        self.make_folder()?;
        let mut drawn = [0; 16];
        getrandom::fill(&mut drawn).map_err(AccountError::NoEntropy)?;
        let id = hex::encode(drawn);
        // Full capacity from the start: text that grows leaves copies of the value behind.
        let mut text = Zeroizing::new(String::with_capacity(FILE_BYTES_MAX as usize));
        let ends = ends_at_ms.map(|ms| ms.to_string()).unwrap_or_default();
        let parts = [HEADING, &ends, access.expose(), refresh.map_or("", Secret::expose)];
        for part in parts {
            text.push_str(part);
            text.push('\n');
        }
        let owner = BTreeSet::from([account.owner.clone()]);
        let about = about(&id, account);
        let sealed = self.keyring.keys().seal(&owner, &about.borrowed(), text.as_bytes(), Missing::Make)?;
        self.put(account, &format!("{id}\n{sealed}\n"))
    }

    /// What opens `account`; nothing when it is not kept, or its owner's key is no more.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn read(&self, account: &AccountRef) -> Result<Option<Kept>, AccountError> {
        let path = self.file(account);
        let mut text = String::new();
        match File::open(&path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path)(error)),
        }
        let damaged = || AccountError::Damaged { reference: account.reference() };
        let (id, sealed) = text.trim_end().split_once('\n').ok_or_else(damaged)?;
        let owner = BTreeSet::from([account.owner.clone()]);
        let about = about(id, account);
        let opened = self.keyring.keys().open(&owner, &about.borrowed(), sealed);
        match opened {
            Ok(Opened::Plain(plain)) => unsealed(&plain).map(Some).ok_or_else(damaged),
            Ok(Opened::Erased) => Ok(None),
            Err(KeyringError::Changed) => Err(damaged()),
            Err(error) => Err(error.into()),
        }
    }

    /// Forgets what opens `account`; whether there was anything.
    ///
    /// # Errors
    /// Why it may still be there.
    pub fn forget(&self, account: &AccountRef) -> Result<bool, AccountError> {
        let path = self.file(account);
        match fs::remove_file(&path) {
            Ok(()) => {
                File::open(&self.folder)
                    .and_then(|folder| folder.sync_all())
                    .map_err(failed(&self.folder))?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(&path)(error)),
        }
    }

    /// Whether something is kept of `account`. Opens nothing.
    #[must_use]
    pub fn has(&self, account: &AccountRef) -> bool {
        self.file(account).is_file()
    }

    /// A text that only this office can make and read, fit to stand in an address.
    ///
    /// # Errors
    /// Why there is none.
    pub fn ticket(&self, text: &str) -> Result<String, AccountError> {
        let mut drawn = [0; 16];
        getrandom::fill(&mut drawn).map_err(AccountError::NoEntropy)?;
        let id = hex::encode(drawn);
        let office = BTreeSet::from([PrincipalId::organisation()]);
        let sealed = self.keyring.keys().seal(&office, &of_ticket(&id), text.as_bytes(), Missing::Make)?;
        Ok(format!("{id}.{}", sealed.replace('+', "-").replace('/', "_")))
    }

    /// What such a text says; nothing when it was not made here.
    #[must_use]
    pub fn opened(&self, ticket: &str) -> Option<String> {
        let (id, sealed) = ticket.split_once('.')?;
        let sealed = sealed.replace('-', "+").replace('_', "/");
        let office = BTreeSet::from([PrincipalId::organisation()]);
        match self.keyring.keys().open(&office, &of_ticket(id), &sealed) {
            Ok(Opened::Plain(plain)) => Some(std::str::from_utf8(&plain).ok()?.to_owned()),
            Ok(Opened::Erased) | Err(_) => None,
        }
    }

    fn make_folder(&self) -> Result<(), AccountError> {
        let failed = failed(&self.folder);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(&failed)?;
        let mode = fs::metadata(&self.folder).map_err(&failed)?.permissions().mode();
        if mode & 0o007 != 0 {
            return Err(AccountError::Exposed { path: self.folder.clone() });
        }
        Ok(())
    }

    fn put(&self, account: &AccountRef, text: &str) -> Result<(), AccountError> {
        let (path, id) = (self.file(account), text.split('\n').next().unwrap_or_default());
        let beside = self.folder.join(format!("{BESIDE}{id}"));
        let written = || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            File::open(&self.folder)?.sync_all()
        };
        written().map_err(failed(&path))
    }

    /// The name says nothing of whose account it is.
    fn file(&self, account: &AccountRef) -> PathBuf {
        let name = Digest::of_parts(&[account.credential.as_bytes(), account.owner.as_str().as_bytes()]);
        self.folder.join(format!("{name}{ENDING}"))
    }
}

fn of_ticket(id: &str) -> About<'_> {
    About { stream: "account-ticket", event: id, kind: "account.ticket", field: "ticket" }
}

/// Where a sealed value stands.
struct Place {
    stream: String,
    id: String,
    field: String,
}

impl Place {
    fn borrowed(&self) -> About<'_> {
        About { stream: &self.stream, event: &self.id, kind: "account.connected", field: &self.field }
    }
}

fn about(id: &str, account: &AccountRef) -> Place {
    let AccountRef { credential, owner } = account;
    Place { stream: format!("account-{owner}"), id: id.to_owned(), field: credential.clone() }
}

fn unsealed(plain: &[u8]) -> Option<Kept> {
    let text = std::str::from_utf8(plain).ok()?;
    let mut lines = text.split('\n');
    if lines.next()? != HEADING {
        return None;
    }
    let ends = lines.next()?;
    let ends_at_ms = if ends.is_empty() { None } else { Some(ends.parse().ok()?) };
    let access = Secret::new(Zeroizing::new(lines.next()?.to_owned()))?;
    let refresh = Secret::new(Zeroizing::new(lines.next()?.to_owned()));
    Some(Kept { access, refresh, ends_at_ms })
}

fn failed(path: &Path) -> impl Fn(io::Error) -> AccountError {
    let path = path.to_owned();
    move |error| AccountError::Folder { path: path.clone(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::given(text.to_owned()).unwrap()
    }

    fn account(owner: &str) -> AccountRef {
        AccountRef { credential: "mail.token".to_owned(), owner: PrincipalId::parse(owner).unwrap() }
    }

    fn accounts(folder: &Path) -> Accounts {
        Accounts::new(folder.join("accounts"), Keyring::in_memory(7))
    }

    #[test]
    fn what_opens_an_account_is_kept_sealed_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let (accounts, alice) = (accounts(folder.path()), account("person_alice"));
        assert!(accounts.read(&alice).unwrap().is_none() && !accounts.has(&alice));
        accounts.keep(&alice, &secret("access-value"), Some(&secret("refresh-value")), Some(5)).unwrap();
        let kept = accounts.read(&alice).unwrap().unwrap();
        assert_eq!((kept.access.expose(), kept.ends_at_ms), ("access-value", Some(5)));
        assert_eq!(kept.refresh.unwrap().expose(), "refresh-value");
        for entry in fs::read_dir(folder.path().join("accounts")).unwrap() {
            let entry = entry.unwrap();
            let text = fs::read_to_string(entry.path()).unwrap() + &entry.file_name().to_string_lossy();
            assert!(!text.contains("-value") && !text.contains("alice"), "{text}");
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        accounts.keep(&alice, &secret("another-value"), None, None).unwrap();
        let kept = accounts.read(&alice).unwrap().unwrap();
        assert_eq!((kept.access.expose(), kept.ends_at_ms), ("another-value", None));
        assert!(kept.refresh.is_none());
        assert!(accounts.forget(&alice).unwrap() && !accounts.forget(&alice).unwrap());
        assert!(accounts.read(&alice).unwrap().is_none());
    }

    #[test]
    fn one_persons_file_opens_no_other_account_and_nothing_once_they_are_erased() {
        let folder = tempfile::tempdir().unwrap();
        let (accounts, alice, bob) =
            (accounts(folder.path()), account("person_alice"), account("person_bob"));
        accounts.keep(&alice, &secret("access-value"), None, None).unwrap();
        accounts.keep(&bob, &secret("his-value"), None, None).unwrap();
        fs::copy(accounts.file(&alice), accounts.file(&bob)).unwrap();
        assert!(!matches!(accounts.read(&bob), Ok(Some(_))));
        let key = accounts.keyring.key_id(&alice.owner).unwrap().unwrap();
        accounts.keyring.destroy(&alice.owner, &key).unwrap();
        assert!(accounts.read(&alice).unwrap().is_none());
    }

    #[test]
    fn a_reference_says_whose_account_it_means() {
        let alice = account("person_alice");
        assert_eq!(AccountRef::parse(&alice.reference()), Some(alice.clone()));
        assert_eq!(AccountRef::plain(&alice.reference()), "mail.token");
        for plain in ["mail.token", "mail.token@", "mail.token@alice", "@person_alice"] {
            assert_eq!(AccountRef::parse(plain), None, "{plain}");
        }
        assert_eq!(AccountRef::plain("mail.token"), "mail.token");
    }

    #[test]
    fn a_ticket_says_what_it_was_made_to_say_and_no_other_text_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let accounts = accounts(folder.path());
        let ticket = accounts.ticket("for alice").unwrap();
        assert_eq!(accounts.opened(&ticket).as_deref(), Some("for alice"));
        assert_ne!(accounts.ticket("for alice").unwrap(), ticket);
        assert!(
            ticket.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)),
            "{ticket}"
        );
        let mut changed = ticket.clone();
        changed.replace_range(..1, if ticket.starts_with('0') { "1" } else { "0" });
        for other in [changed.as_str(), "", ".", "a.b", &ticket[..ticket.len() - 2]] {
            assert_eq!(accounts.opened(other), None, "{other}");
        }
    }

    #[test]
    fn a_value_that_would_not_come_back_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let accounts = accounts(folder.path());
        let two_lines = accounts.keep(&account("person_alice"), &secret("a\nb"), None, None);
        assert!(matches!(two_lines, Err(AccountError::Unusable { .. })));
        assert!(
            Secret::given(" ".to_owned()).is_none()
                && Secret::given("x".repeat(SECRET_BYTES_MAX + 1)).is_none()
        );
    }
}
