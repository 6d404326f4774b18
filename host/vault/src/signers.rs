//! Whose signature a request bears: of the office's one app, or of an app that is one workspace's own.
//!
//! A secret speaks for the workspaces it is configured for and for no other, so that whoever holds the secret of one
//! workspace's app cannot speak as another's people. Which workspaces a request is about stands in its body, which is
//! read after the signature: so every secret is tried, and what matched is held against the body then.

use crate::signing::{SignatureError, SigningKeys};
use event::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The signing secrets of all apps.
pub struct Signers {
    /// Of the app that is installed in every workspace without one of its own.
    app: Option<SigningKeys>,
    /// Of apps that are one workspace's own, by that.
    own: BTreeMap<String, SigningKeys>,
    /// Workspaces whose own app signs nothing: it speaks over a socket.
    unsigned: BTreeSet<String>,
}

/// Who signed a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    by_app: bool,
    by: BTreeSet<String>,
}

impl Signers {
    /// The secrets of the one app, and of those that are a workspace's own; nothing when there are none at all.
    #[must_use]
    pub fn new(app: Option<SigningKeys>, own: BTreeMap<String, SigningKeys>) -> Option<Self> {
        (app.is_some() || !own.is_empty()).then_some(Self { app, own, unsigned: BTreeSet::new() })
    }

    /// The same, where the apps of these workspaces speak over a socket: no signature speaks for them.
    #[must_use]
    pub fn with_unsigned(self, unsigned: BTreeSet<String>) -> Self {
        Self { unsigned, ..self }
    }

    /// Who signed `body`. Every secret is tried, whichever matches.
    ///
    /// # Errors
    /// As [`SigningKeys::verify_v0`].
    pub fn verify_v0(
        &self,
        timestamp_header: &str,
        signature_header: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Signed, SignatureError> {
        let mut no = SignatureError::Mismatch;
        let mut matches = |keys: &SigningKeys| {
            let judged = keys.verify_v0(timestamp_header, signature_header, body, now);
            judged.map_err(|error| no = error).is_ok()
        };
        let by_app = self.app.as_ref().is_some_and(&mut matches);
        let by = self.own.iter().filter(|(_, keys)| matches(keys)).map(|(team, _)| team.clone());
        let by: BTreeSet<String> = by.collect();
        if by_app || !by.is_empty() { Ok(Signed { by_app, by }) } else { Err(no) }
    }

    /// Whether who signed a request speaks for the workspace `team`; nothing is a request that is of no workspace.
    #[must_use]
    pub fn speaks_for(&self, signed: &Signed, team: Option<&str>) -> bool {
        match team {
            None => true,
            Some(team) if self.own.contains_key(team) => signed.by.contains(team),
            Some(team) if self.unsigned.contains(team) => false,
            Some(_) => signed.by_app,
        }
    }
}

impl From<SigningKeys> for Signers {
    fn from(app: SigningKeys) -> Self {
        Self { app: Some(app), own: BTreeMap::new(), unsigned: BTreeSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::Signers;
    use crate::{Given, SignatureError, SigningKeys, Source};
    use event::Timestamp;
    use hmac::{Hmac, KeyInit, Mac};
    use std::collections::BTreeMap;

    fn keys(secret: &str) -> SigningKeys {
        SigningKeys::load(&[Source::Given(Given::new(secret.to_owned()))]).unwrap()
    }

    fn signature(secret: &str) -> String {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(b"v0:1000:body");
        format!("v0={}", hex::encode(mac.finalize().into_bytes()))
    }

    #[test]
    fn a_secret_speaks_for_the_workspaces_it_is_configured_for_and_for_no_other() {
        let own = BTreeMap::from([("T2".to_owned(), keys("second")), ("T3".to_owned(), keys("third"))]);
        let signers = Signers::new(Some(keys("first")), own).unwrap();
        let speaks = |secret: &str| {
            let signed =
                signers.verify_v0("1000", &signature(secret), b"body", Timestamp(1_000_000)).unwrap();
            ["T1", "T2", "T3"].map(|team| signers.speaks_for(&signed, Some(team)))
        };
        assert_eq!(speaks("first"), [true, false, false]);
        assert_eq!(speaks("second"), [false, true, false]);
        assert_eq!(speaks("third"), [false, false, true]);
        let no = signers.verify_v0("1000", &signature("fourth"), b"body", Timestamp(1_000_000));
        assert_eq!(no, Err(SignatureError::Mismatch));
        let late = signers.verify_v0("1000", &signature("first"), b"body", Timestamp(9_000_000));
        assert_eq!(late, Err(SignatureError::Stale));
        assert!(Signers::new(None, BTreeMap::new()).is_none());
    }
}
