//! One HTTP exchange: a request out, a bounded response back.
//!
//! The host stands between: it sends only what an operator granted, adds the credential, follows no
//! redirect and bounds time. What it does not let out comes back as a [`Failure`] with a sentence.

mod address;
mod api;
mod fault;
mod flow;
#[cfg(target_arch = "wasm32")]
mod outgoing;

pub use address::Address;
pub use api::{base, encoded};
pub use fault::failure_of;
pub use flow::{Flow, Flows, Waits};

use crate::Failure;

/// Whoever can make an exchange: [`Outgoing`] in a component, a fake in a test.
pub trait Wire {
    /// Sends `ask` once and reads the response.
    ///
    /// # Errors
    /// When no whole response came; the kind and the sentence are those of [`failure_of`].
    fn exchange(&self, ask: &Ask) -> Result<Reply, Failure>;
}

/// The way out of a component: `wasi:http`. Anywhere else there is none, and every exchange fails.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing;

#[cfg(not(target_arch = "wasm32"))]
impl Wire for Outgoing {
    fn exchange(&self, _ask: &Ask) -> Result<Reply, Failure> {
        Err(Failure::new(crate::Kind::Unavailable, "only a component has a way out"))
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The method.
    pub method: Method,
    /// Where to.
    pub address: Address,
    /// Headers. `host` and `content-length` are not among them.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// How much of the response's body is read; the rest is left.
    pub reply_bytes_max: usize,
}

/// The methods that guests use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
}

/// A response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers, as they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, at most `reply_bytes_max` bytes.
    pub body: Vec<u8>,
    /// Whether there was more body than that.
    pub cut: bool,
}

impl Reply {
    /// The first header of this name, read as UTF-8 with anything else replaced.
    pub fn header(&self, name: &str) -> Option<String> {
        let (_, value) = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// How long it asks to wait, in milliseconds: `retry-after` in whole seconds (RFC 9110, section 10.2.3), at most
    /// `max_ms`; `default_ms` when it does not say, or names a date.
    pub fn wait_ms(&self, default_ms: u64, max_ms: u64) -> u64 {
        let seconds = self.header("retry-after").and_then(|text| text.trim().parse::<u64>().ok());
        seconds.map_or(default_ms, |seconds| seconds.saturating_mul(1_000)).min(max_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_whatever_their_case() {
        let reply =
            Reply { headers: vec![("Content-Type".to_owned(), b"text/html".to_vec())], ..Reply::default() };
        assert_eq!(reply.header("content-type").as_deref(), Some("text/html"));
        assert_eq!(reply.header("location"), None);
    }

    #[test]
    fn a_wait_is_whole_seconds_and_never_longer_than_is_believed() {
        let wait = |value: &str| {
            let headers = vec![("Retry-After".to_owned(), value.as_bytes().to_vec())];
            Reply { headers, ..Reply::default() }.wait_ms(60_000, 3_600_000)
        };
        assert_eq!([wait(" 2 "), wait("soon"), wait("18446744073709551615")], [2_000, 60_000, 3_600_000]);
        assert_eq!(Reply::default().wait_ms(60_000, 3_600_000), 60_000);
    }
}
