//! The credentials of one host, by reference.
//!
//! A value is read when first asked for and kept until it is refreshed; one that a service gave is read each time, since
//! another host may have been given the next. A value that was replaced is still a
//! secret: it stays in the scan. Reading a file blocks the thread for a moment, at first use only.

use crate::scan::{Needles, first_in};
use crate::tokens::{TokenError, Tokens};
use crate::{AccountRef, Accounts, Secret, Source, VaultError};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many replaced values of one reference stay in the scan: the one just rotated out, and one before it.
pub const RETIRED_MAX: usize = 2;

/// Credentials by reference. Shared by everything that needs one; see the crate's page for who may look.
pub struct Vault {
    sources: BTreeMap<String, Source>,
    accounts: Option<Accounts>,
    tokens: Option<Tokens>,
    /// Other names of credentials, and what each is another name of.
    aliases: Mutex<BTreeMap<String, String>>,
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
        Self { sources, accounts: None, tokens: None, aliases: Mutex::default(), known: Mutex::default() }
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

    /// The same, and what is kept in `folder`: what services gave to this office, sealed under the keys in `keys`.
    #[must_use]
    pub fn with_tokens(self, folder: PathBuf, keys: PathBuf) -> Self {
        Self { tokens: Some(Tokens::new(folder, keys)), ..self }
    }

    /// Seals what an earlier version kept as bare values; says which there were.
    ///
    /// # Errors
    /// The first that could not be sealed, which is as it was.
    pub fn seal_kept(&self) -> Result<Vec<String>, TokenError> {
        self.tokens.as_ref().map_or_else(|| Ok(Vec::new()), Tokens::seal)
    }

    /// The references of what is kept and not sealed, in order.
    #[must_use]
    pub fn unsealed(&self) -> Vec<String> {
        self.tokens.as_ref().map(Tokens::unsealed).unwrap_or_default()
    }

    /// Keeps what a service gave under `reference`, in place of what was kept there. Durable when this returns.
    ///
    /// # Errors
    /// Why it could not be kept; then nothing has changed.
    pub fn keep(&self, reference: &str, secret: Secret) -> Result<(), TokenError> {
        self.tokens.as_ref().ok_or(TokenError::NoFolder)?.keep(reference, &secret)?;
        self.known().entry(reference.to_owned()).or_default().replace(Some(secret));
        Ok(())
    }

    /// Takes away what is kept under `reference`. It is still looked for ([`Vault::scan`]).
    ///
    /// # Errors
    /// When its file cannot be removed.
    pub fn forget(&self, reference: &str) -> Result<(), TokenError> {
        if let Some(tokens) = &self.tokens {
            tokens.forget(reference)?;
        }
        if let Some(known) = self.known().get_mut(reference).filter(|_| !self.sources.contains_key(reference))
        {
            known.replace(None);
        }
        Ok(())
    }

    /// The references of what is kept, in order.
    #[must_use]
    pub fn kept(&self) -> Vec<String> {
        self.tokens.as_ref().map(Tokens::references).unwrap_or_default()
    }

    /// Lets `alias` be another name of the credential `reference`.
    pub fn also(&self, alias: &str, reference: &str) {
        self.aliases().insert(alias.to_owned(), reference.to_owned());
    }

    /// Lets `alias` be a name of nothing again.
    pub fn not_also(&self, alias: &str) {
        self.aliases().remove(alias);
    }

    /// Every reference configured, in order.
    pub fn references(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// Whether a credential is configured under `reference`. Reads nothing: its value may still be missing.
    #[must_use]
    pub fn has(&self, reference: &str) -> bool {
        if let Some(account) = AccountRef::parse(reference) {
            return self.accounts.as_ref().is_some_and(|accounts| accounts.has(&account));
        }
        let reference = self.real(reference);
        self.sources.contains_key(&reference) || self.token(&reference).is_some()
    }

    /// A copy of the value, read now if it was not read before.
    ///
    /// # Errors
    /// When the reference is not configured, or its value is missing, unreadable or unusable.
    pub fn get(&self, reference: &str) -> Result<Secret, VaultError> {
        if let Some(account) = AccountRef::parse(reference) {
            return self.account(reference, &account);
        }
        let reference = &self.real(reference);
        if let Some(tokens) = self.token(reference) {
            return self.again(reference, tokens);
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
        let all = self.sources.keys().cloned().chain(self.kept());
        all.filter_map(|reference| self.get(&reference).err()).collect()
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

    /// A digest of `text` that only whoever has the credential `reference` can make, in hexadecimal: what this office gave
    /// away and gets back is known by it again. `purpose` keeps the digests of one use from passing for another's.
    ///
    /// # Errors
    /// As [`Vault::get`].
    pub fn mark(&self, reference: &str, purpose: &str, text: &str) -> Result<String, VaultError> {
        let secret = self.get(reference)?;
        Ok(mark(&secret, purpose, text)
            .map(|mac| hex::encode(mac.finalize().into_bytes()))
            .unwrap_or_default())
    }

    /// Whether `given` is the digest that [`Vault::mark`] makes. Takes the same time whatever is given.
    ///
    /// # Errors
    /// As [`Vault::get`].
    pub fn is_mark(
        &self,
        reference: &str,
        purpose: &str,
        text: &str,
        given: &str,
    ) -> Result<bool, VaultError> {
        let secret = self.get(reference)?;
        let mut bytes = [0; 32];
        let formed = hex::decode_to_slice(given, &mut bytes).is_ok();
        let same = mark(&secret, purpose, text).is_some_and(|mac| mac.verify_slice(&bytes).is_ok());
        Ok(formed && same)
    }

    /// What `reference` is a name of: what is there under the name itself comes first.
    fn real(&self, reference: &str) -> String {
        if self.sources.contains_key(reference) || self.token(reference).is_some() {
            return reference.to_owned();
        }
        self.aliases().get(reference).cloned().unwrap_or_else(|| reference.to_owned())
    }

    /// Where a token is kept under `reference`; nothing for what the operator keeps, which comes first.
    fn token(&self, reference: &str) -> Option<&Tokens> {
        let tokens = self.tokens.as_ref().filter(|_| !self.sources.contains_key(reference))?;
        Some(tokens).filter(|tokens| tokens.has(reference))
    }

    /// The value in a place that another host may have written meanwhile.
    fn again(&self, reference: &str, tokens: &Tokens) -> Result<Secret, VaultError> {
        let secret = tokens.read(reference)?;
        let copy = secret.copy();
        self.known().entry(reference.to_owned()).or_default().replace(Some(secret));
        Ok(copy)
    }

    fn aliases(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.aliases.lock().unwrap_or_else(PoisonError::into_inner)
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

fn mark(secret: &Secret, purpose: &str, text: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).ok()?;
    mac.update(purpose.as_bytes());
    mac.update(&[0]);
    mac.update(text.as_bytes());
    Some(mac)
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
