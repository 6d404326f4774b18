//! Where a credential is kept, and reading it from there.
//!
//! A value is UTF-8, at most [`SECRET_BYTES_MAX`] bytes, without the one newline that editors and `echo`
//! leave at its end. Empty, or nothing but white space, is missing.

use crate::Secret;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Longest value, in bytes: a token or a key in PEM fits; a path that names the wrong file does not.
pub const SECRET_BYTES_MAX: usize = 16 * 1024;

/// Where a value is kept. Printing it names the place and never the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An environment variable, by name.
    Env(String),
    /// A file that holds the value and nothing else.
    File(PathBuf),
    /// It was given to this process a moment ago, by a service, for one errand.
    Given(Given),
}

/// A value that was given to this process. Printing it says nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Given(Zeroizing<String>);

impl Given {
    /// The value, which is kept nowhere else.
    #[must_use]
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given")
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "environment variable `{name}`"),
            Self::File(path) => write!(f, "file `{}`", path.display()),
            Self::Given(_) => f.write_str("what a service gave"),
        }
    }
}

/// A credential that cannot be had. Each variant names what to change.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The configuration has no such reference.
    #[error("no credential is configured as `{reference}`; add it to the credentials in the configuration")]
    Unknown {
        /// What was asked for.
        reference: String,
    },
    /// The place is absent or holds nothing.
    #[error("credential `{reference}` is missing: {place} is absent or empty; put the value there")]
    Missing {
        /// The credential.
        reference: String,
        /// Where it should be.
        place: Source,
    },
    /// The place exists and cannot be read.
    #[error("credential `{reference}` cannot be read from {place}; let the user this host runs as read it")]
    Unreadable {
        /// The credential.
        reference: String,
        /// Where it should be.
        place: Source,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// The place holds something that is no credential.
    #[error("credential `{reference}` is no credential: {place} {fault}; keep the bare value there")]
    Unusable {
        /// The credential.
        reference: String,
        /// Where it was found.
        place: Source,
        /// What is wrong, such as "is not UTF-8".
        fault: &'static str,
    },
    /// Nobody connected the account, or it was taken away.
    #[error("the account `{reference}` is not connected; whoever owns it can connect it again")]
    NotConnected {
        /// What was asked for.
        reference: String,
    },
    /// The account cannot be used.
    #[error(transparent)]
    Account(Box<crate::AccountError>),
    /// What a service gave cannot be opened.
    #[error(transparent)]
    Token(Box<crate::TokenError>),
    /// There is no signing secret, or more than a rotation needs.
    #[error("{0} signing secrets are configured; configure one, or two while the old one is being replaced")]
    SigningSecrets(usize),
}

/// What reading one place came to, before it is known which credential it was for.
enum Fault {
    Missing,
    Unreadable(io::Error),
    Unusable(&'static str),
}

impl Source {
    /// That this place cannot be read.
    pub(crate) fn unreadable(&self, reference: &str, error: io::Error) -> VaultError {
        let (reference, place) = (reference.to_owned(), self.clone());
        if error.kind() == io::ErrorKind::NotFound {
            VaultError::Missing { reference, place }
        } else {
            VaultError::Unreadable { reference, place, error }
        }
    }

    /// Reads the value for the credential called `reference`.
    pub(crate) fn read(&self, reference: &str) -> Result<Secret, VaultError> {
        let text = match self {
            Self::Env(name) => read_env(name),
            Self::File(path) => File::open(path).map_err(Fault::from).and_then(read_file),
            Self::Given(given) if given.0.len() > SECRET_BYTES_MAX => Err(Fault::Unusable("is too long")),
            Self::Given(given) => Ok(given.0.clone()),
        };
        text.and_then(|text| Secret::new(without_newline(text)).ok_or(Fault::Missing)).map_err(|fault| {
            let (reference, place) = (reference.to_owned(), self.clone());
            match fault {
                Fault::Missing => VaultError::Missing { reference, place },
                Fault::Unreadable(error) => VaultError::Unreadable { reference, place, error },
                Fault::Unusable(fault) => VaultError::Unusable { reference, place, fault },
            }
        })
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Unreadable(error) }
    }
}

fn read_env(name: &str) -> Result<Zeroizing<String>, Fault> {
    // The standard library panics on such names; no variable can have one.
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(Fault::Missing);
    }
    match std::env::var(name) {
        Ok(value) if value.len() > SECRET_BYTES_MAX => Err(Fault::Unusable("is too long")),
        Ok(value) => Ok(Zeroizing::new(value)),
        Err(std::env::VarError::NotPresent) => Err(Fault::Missing),
        Err(std::env::VarError::NotUnicode(_)) => Err(Fault::Unusable("is not UTF-8")),
    }
}

fn read_file(file: File) -> Result<Zeroizing<String>, Fault> {
    // Full capacity from the start: a buffer that grows leaves copies of the value behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(SECRET_BYTES_MAX + 1));
    file.take(SECRET_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > SECRET_BYTES_MAX {
        return Err(Fault::Unusable("is too long"));
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| Fault::Unusable("is not UTF-8"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn without_newline(mut text: Zeroizing<String>) -> Zeroizing<String> {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{SECRET_BYTES_MAX, Source, VaultError};
    use std::io::Write;

    fn read_of(bytes: &[u8]) -> Result<String, VaultError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        Source::File(file.path().to_owned()).read("key").map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn one_newline_at_the_end_is_not_part_of_the_value() {
        for (kept, read) in
            [("a b", "a b"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), (" a ", " a "), ("a\r", "a\r")]
        {
            assert_eq!(read_of(kept.as_bytes()).unwrap(), read, "{kept:?}");
        }
    }

    #[test]
    fn an_empty_file_is_a_missing_credential_that_says_where_and_what_to_do() {
        for empty in ["", "\n", "\r\n", "\n\n", " \t"] {
            let error = read_of(empty.as_bytes()).unwrap_err();
            assert!(matches!(error, VaultError::Missing { .. }), "{error}");
            let said = error.to_string();
            assert!(
                said.contains("`key`") && said.contains("file `") && said.contains("put the value there")
            );
        }
    }

    #[test]
    fn an_absent_variable_is_a_missing_credential() {
        for name in ["CHANCERY_NO_SUCH_VARIABLE", "", "A=B", "A\0B"] {
            let error = Source::Env(name.to_owned()).read("key").err().unwrap();
            assert!(matches!(error, VaultError::Missing { .. }), "{name:?}: {error}");
        }
    }

    #[test]
    fn a_variable_is_read_as_it_is() {
        let read = Source::Env("CARGO_PKG_NAME".to_owned()).read("key").ok().unwrap();
        assert_eq!(read.expose(), "vault");
    }

    #[test]
    fn what_is_too_long_or_not_text_is_no_credential() {
        assert!(read_of(&vec![b'k'; SECRET_BYTES_MAX]).is_ok());
        for wrong in [vec![b'k'; SECRET_BYTES_MAX + 1], vec![0xff, 0xfe, b'k']] {
            assert!(matches!(read_of(&wrong), Err(VaultError::Unusable { .. })));
        }
    }

    #[test]
    fn a_folder_cannot_be_read_as_a_credential() {
        let folder = tempfile::tempdir().unwrap();
        let error = Source::File(folder.path().to_owned()).read("key").err().unwrap();
        assert!(matches!(error, VaultError::Unreadable { .. }), "{error}");
    }
}
