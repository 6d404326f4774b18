//! The credentials of one host, by reference.
//!
//! A value is read when first asked for and kept until it is refreshed. A value that was replaced is still a
//! secret: it stays in the scan. Reading a file blocks the thread for a moment, at first use only.

use crate::scan::{Needles, first_in};
use crate::{AccountRef, Accounts, Secret, Source, VaultError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many replaced values of one reference stay in the scan: the one just rotated out, and one before it.
pub const RETIRED_MAX: usize = 2;

/// Credentials by reference. Shared by everything that needs one; see the crate's page for who may look.
pub struct Vault {
    sources: BTreeMap<String, Source>,
    accounts: Option<Accounts>,
    known: Mutex<BTreeMap<String, Known>>,
}

/// What was read for one reference.
#[derive(Default)]
struct Known {
    current: Option<Secret>,
    /// How the current value may be written; `None` when there is none or it is too short to look for.
    needles: Option<Arc<Needles>>,
    retired: VecDeque<Arc<Needles>>,
}

impl Vault {
    /// A vault over these places. Reads nothing yet.
    #[must_use]
    pub fn new(sources: BTreeMap<String, Source>) -> Self {
        Self { sources, accounts: None, known: Mutex::default() }
    }

    /// The same vault, which also has the accounts that people connect: [`AccountRef::reference`] names one.
    #[must_use]
    pub fn with_accounts(self, accounts: Accounts) -> Self {
        Self { accounts: Some(accounts), ..self }
    }

    /// The accounts that people connect.
    #[must_use]
    pub fn accounts(&self) -> Option<&Accounts> {
        self.accounts.as_ref()
    }

    /// Every reference configured, in order.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// Whether a credential is configured under `reference`. Reads nothing: its value may still be missing.
    #[must_use]
    pub fn has(&self, reference: &str) -> bool {
        match AccountRef::parse(reference) {
            Some(account) => self.accounts.as_ref().is_some_and(|accounts| accounts.has(&account)),
            None => self.sources.contains_key(reference),
        }
    }

    /// A copy of the value, read now if it was not read before.
    ///
    /// # Errors
    /// When the reference is not configured, or its value is missing, unreadable or unusable.
    pub fn get(&self, reference: &str) -> Result<Secret, VaultError> {
        if let Some(account) = AccountRef::parse(reference) {
            return self.account(reference, &account);
        }
        let source = self.source(reference)?;
        if let Some(secret) = self.known().get(reference).and_then(|known| known.current.as_ref()) {
            return Ok(secret.copy());
        }
        let secret = source.read(reference)?;
        let copy = secret.copy();
        self.known().entry(reference.to_owned()).or_default().replace(Some(secret));
        Ok(copy)
    }

    /// Reads the value again: the operator replaced it, or the other side no longer takes it. If that fails,
    /// the old value is not used any more and the next [`Vault::get`] tries again.
    ///
    /// # Errors
    /// As [`Vault::get`].
    pub fn refresh(&self, reference: &str) -> Result<(), VaultError> {
        let (secret, failure) = match self.source(reference)?.read(reference) {
            Ok(secret) => (Some(secret), Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.known().entry(reference.to_owned()).or_default().replace(secret);
        failure
    }

    /// Reads every value not read yet, so that [`Vault::scan`] knows them all, and returns what is wrong with
    /// the others: for the start of the host and for its doctor.
    #[must_use]
    pub fn read_all(&self) -> Vec<VaultError> {
        self.sources.keys().filter_map(|reference| self.get(reference).err()).collect()
    }

    /// The reference of a credential whose value occurs in `text`, if any: raw, in hexadecimal, in base64 of
    /// either alphabet at any alignment, percent-encoded or JSON-escaped. Looks for values that were read
    /// and have at least [`crate::SCANNED_BYTES_MIN`] bytes, and for those they replaced. Takes time in
    /// proportion to text and values: give long text to a thread that may block.
    #[must_use]
    pub fn scan(&self, text: &[u8]) -> Option<String> {
        let each = |(reference, known): (&String, &Known)| {
            let of_one = known.needles.iter().chain(&known.retired).cloned();
            of_one.map(|needles| (reference.clone(), needles)).collect::<Vec<_>>()
        };
        let (references, all): (Vec<_>, Vec<_>) = self.known().iter().flat_map(each).unzip();
        first_in(text, &all).and_then(|index| references.into_iter().nth(index))
    }

    /// What opens an account, read anew each time: another process may have taken it away.
    fn account(&self, reference: &str, account: &AccountRef) -> Result<Secret, VaultError> {
        let unknown = || VaultError::NotConnected { reference: reference.to_owned() };
        let accounts = self.accounts.as_ref().ok_or_else(unknown)?;
        let kept = accounts.read(account).map_err(|error| VaultError::Account(Box::new(error)))?;
        let kept = kept.ok_or_else(unknown)?;
        let copy = kept.access.copy();
        let mut known = self.known();
        known.entry(reference.to_owned()).or_default().replace(Some(kept.access));
        // What a new value is had with never goes into a guest's request, and is looked for like any other.
        known.entry(format!("{reference} (refresh)")).or_default().replace(kept.refresh);
        Ok(copy)
    }

    fn source(&self, reference: &str) -> Result<&Source, VaultError> {
        let unknown = || VaultError::Unknown { reference: reference.to_owned() };
        self.sources.get(reference).ok_or_else(unknown)
    }

    /// Nothing panics while it is held, and every change is one assignment: a poisoned lock is still sound.
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Takes a new value, or none, and keeps looking for the one it replaces.
    fn replace(&mut self, secret: Option<Secret>) {
        let same = matches!((&self.current, &secret), (Some(old), Some(new)) if old.same_as(new));
        if same {
            return;
        }
        let needles = secret.as_ref().and_then(Needles::of).map(Arc::new);
        self.retired.extend(std::mem::replace(&mut self.needles, needles));
        while self.retired.len() > RETIRED_MAX {
            self.retired.pop_front();
        }
        self.current = secret;
    }
}

#[cfg(test)]
mod tests {
    use super::Vault;
    use crate::{Source, VaultError};
    use std::collections::BTreeMap;
    use std::fs;

    struct Kept {
        folder: tempfile::TempDir,
        vault: Vault,
    }

    fn kept(values: &[(&str, &str)]) -> Kept {
        let folder = tempfile::tempdir().unwrap();
        let mut sources = BTreeMap::new();
        for (reference, value) in values {
            let path = folder.path().join(reference);
            fs::write(&path, value).unwrap();
            sources.insert((*reference).to_owned(), Source::File(path));
        }
        Kept { folder, vault: Vault::new(sources) }
    }

    impl Kept {
        fn write(&self, reference: &str, value: &str) {
            fs::write(self.folder.path().join(reference), value).unwrap();
        }

        fn value(&self, reference: &str) -> String {
            self.vault.get(reference).map(|secret| secret.expose().to_owned()).unwrap()
        }
    }

    #[test]
    fn a_value_is_read_at_first_use_and_again_only_when_asked() {
        let kept = kept(&[("bot", "first-value\n")]);
        assert_eq!(kept.value("bot"), "first-value");
        kept.write("bot", "second-value\n");
        assert_eq!(kept.value("bot"), "first-value");
        kept.vault.refresh("bot").unwrap();
        assert_eq!(kept.value("bot"), "second-value");
    }

    #[test]
    fn a_reference_can_be_asked_about_without_being_read() {
        let kept = kept(&[("bot", "")]);
        assert!(kept.vault.has("bot"));
        assert!(!kept.vault.has("other"));
        assert!(matches!(kept.vault.get("other"), Err(VaultError::Unknown { .. })));
        assert!(matches!(kept.vault.get("bot"), Err(VaultError::Missing { .. })));
        assert_eq!(kept.vault.references().collect::<Vec<_>>(), ["bot"]);
    }

    #[test]
    fn only_what_was_read_is_looked_for() {
        let kept = kept(&[("bot", "xoxb-not-a-token"), ("short", "1234567"), ("empty", "")]);
        assert_eq!(kept.vault.scan(b"Bearer xoxb-not-a-token"), None);
        let missing = kept.vault.read_all();
        assert!(
            matches!(missing.as_slice(), [VaultError::Missing { reference, .. }] if reference == "empty")
        );
        assert_eq!(kept.vault.scan(b"Bearer xoxb-not-a-token"), Some("bot".to_owned()));
        assert_eq!(kept.vault.scan(b"1234567"), None);
    }

    #[test]
    fn a_replaced_value_is_still_looked_for() {
        let kept = kept(&[("bot", "first-value")]);
        kept.value("bot");
        kept.vault.refresh("bot").unwrap();
        kept.write("bot", "second-value");
        kept.vault.refresh("bot").unwrap();
        assert_eq!(kept.vault.scan(b"first-value"), Some("bot".to_owned()));
        assert_eq!(kept.vault.scan(b"second-value"), Some("bot".to_owned()));
    }

    #[test]
    fn a_value_that_was_taken_away_is_not_used_but_still_looked_for() {
        let kept = kept(&[("bot", "first-value")]);
        kept.value("bot");
        kept.write("bot", "");
        assert!(kept.vault.refresh("bot").is_err());
        assert!(kept.vault.get("bot").is_err());
        assert_eq!(kept.vault.scan(b"first-value"), Some("bot".to_owned()));
        kept.write("bot", "second-value");
        assert_eq!(kept.value("bot"), "second-value");
    }
}
