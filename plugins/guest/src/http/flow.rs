//! An exchange whose response is read as it comes.

use super::Ask;
#[cfg(not(target_arch = "wasm32"))]
use super::Outgoing;
use crate::Failure;

/// How long a guest waits. The host may wait less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// For the head of the response, in milliseconds.
    pub first_byte_ms: u64,
    /// Between two pieces of its body, in milliseconds.
    pub between_bytes_ms: u64,
}

/// Whoever can open such an exchange: [`super::Outgoing`] in a component, a fake in a test.
pub trait Flows {
    /// Sends `ask` once and reads the head of the response. `reply_bytes_max` is the caller's to keep.
    ///
    /// # Errors
    /// As [`super::Wire::exchange`].
    fn open(&self, ask: &Ask, waits: Waits) -> Result<Box<dyn Flow>, Failure>;
}

/// A response whose body is still to come. Whoever drops it hangs up.
pub trait Flow {
    /// The status.
    fn status(&self) -> u16;

    /// The headers, as they came.
    fn headers(&self) -> &[(String, Vec<u8>)];

    /// The next piece of the body, never empty; nothing at its end.
    ///
    /// # Errors
    /// When it broke off, or was silent for too long.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure>;

    /// The first header of this name, read as UTF-8 with anything else replaced.
    fn header(&self, name: &str) -> Option<String> {
        let (_, value) = self.headers().iter().find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Flows for Outgoing {
    fn open(&self, _ask: &Ask, _waits: Waits) -> Result<Box<dyn Flow>, Failure> {
        Err(Failure::new(crate::Kind::Unavailable, "only a component has a way out"))
    }
}
