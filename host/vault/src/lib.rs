//! Credentials by reference, and the keys that persons' words are sealed under ([`Keyring`]).
//!
//! The rest of the host speaks of a credential by its reference, such as `slack-bot`; the value is read
//! here, at first use, from where the operator keeps it. A [`Secret`] shows its value to `egress` alone,
//! which writes it into one header of one request; signatures are checked inside ([`SigningKeys`]), so that
//! who verifies never holds a key; [`Vault::scan`] says whether a value is in what leaves or comes back.
//!
//! No value is ever part of an error, a log line or a `Debug` output, and memory that held one is wiped when
//! it is dropped. What people connect while the office runs is kept sealed ([`Accounts`]); what a service gives to the
//! office itself ([`Vault::keep`]) goes into a folder of its own; what an operator configures is only read.

mod accounts;
mod keyring;
mod scan;
mod secret;
mod signers;
mod signing;
mod source;
mod tokens;
mod vault;

pub use accounts::{AccountError, AccountRef, Accounts, Kept};
pub use keyring::{About, KeyId, Keyring, KeyringError, Keys, Missing, Opened, key_ids};
pub use secret::Secret;
pub use signers::{Signed, Signers};
pub use signing::{SIGNATURE_AGE_MS_MAX, SIGNING_SECRETS_MAX, SignatureError, SigningKeys};
pub use source::{Given, SECRET_BYTES_MAX, Source, VaultError};
pub use tokens::TokenError;
pub use vault::{RETIRED_MAX, Vault};

pub use scan::SCANNED_BYTES_MIN;
