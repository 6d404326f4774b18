//! One credential's value in memory.
//!
//! It is wiped when dropped, and cannot be printed, serialised or cloned, nor compared with `==`,
//! which tells an attacker how far it got.

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// A value that must not be seen. Never blank.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes the value; `None` when it is empty or white space.
    pub(crate) fn new(value: Zeroizing<String>) -> Option<Self> {
        (!value.trim().is_empty()).then_some(Self(value))
    }

    /// A value that was given to this process a moment ago; nothing when it is blank or longer than
    /// [`crate::SECRET_BYTES_MAX`] bytes.
    #[must_use]
    pub fn given(value: String) -> Option<Self> {
        let value = Zeroizing::new(value);
        if value.len() > crate::SECRET_BYTES_MAX { None } else { Self::new(value) }
    }

    /// The value itself, **for `egress` alone**, which puts it into one header of a request it has judged.
    /// A test of the workspace's shape holds every other crate to that.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The value for the checks made inside this crate.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Another copy, wiped like the first.
    pub(crate) fn copy(&self) -> Self {
        Self(Zeroizing::new(String::clone(&self.0)))
    }

    /// Whether both hold the same value. Takes the same time for values of the same length.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        self.bytes().ct_eq(other.bytes()).into()
    }
}
