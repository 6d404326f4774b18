//! Why there is no answer: one variant for each thing a caller would do differently.

use crate::{AddressClass, UrlError};
use std::error::Error;
use std::io;
use std::net::IpAddr;
use vault::VaultError;

/// A request without an answer that can be used.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// No route allows it. The caller may ask for what is granted, or the operator may grant it.
    #[error("`{method} {address}` is not granted; granted is {granted}")]
    NotGranted {
        /// The method asked for.
        method: String,
        /// Origin and path asked for.
        address: String,
        /// What is granted, for a reader.
        granted: String,
    },
    /// The address has a form that is never reached.
    #[error(transparent)]
    UrlRefused(UrlError),
    /// The name leads to an address that is never dialled.
    #[error("`{host}` leads to `{address}`, a {class} address; only public ones are dialled")]
    AddressRefused {
        /// The name asked for.
        host: String,
        /// The first address that may not be dialled.
        address: IpAddr,
        /// What it is for.
        class: AddressClass,
    },
    /// The name leads nowhere, for now.
    #[error("`{host}` could not be resolved")]
    Unresolvable {
        /// The name asked for.
        host: String,
        /// What the resolver says.
        #[source]
        error: io::Error,
    },
    /// No connection, or no TLS session that can be trusted.
    #[error("no connection to `{origin}`")]
    ConnectFailed {
        /// Where to.
        origin: String,
        /// What the system or TLS says.
        #[source]
        error: io::Error,
    },
    /// A limit of time or the deadline passed.
    #[error("timed out {during}")]
    TimedOut {
        /// What was waited for, such as "connecting".
        during: &'static str,
        /// Whether any byte of the request may have gone.
        left: bool,
    },
    /// The request is longer than the limit.
    #[error("the request's {part} is longer than {bytes_max} bytes")]
    RequestTooLarge {
        /// "head" or "body".
        part: &'static str,
        /// The limit.
        bytes_max: usize,
    },
    /// The answer's body is longer than the limit.
    #[error("the answer is longer than {bytes_max} bytes")]
    BodyTooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// The answer is compressed although none was asked for, so it cannot be looked through.
    #[error("the answer is encoded as `{encoding}`, which cannot be looked through for secrets")]
    Encoded {
        /// The encoding as the answer names it.
        encoding: String,
    },
    /// The route's credential cannot be had: the operator must act.
    #[error(transparent)]
    CredentialMissing(VaultError),
    /// The route's credential has characters that cannot stand in a header: the operator must act.
    #[error("the value of credential `{reference}` cannot stand in a header; check it for line breaks")]
    CredentialUnusable {
        /// The credential.
        reference: String,
    },
    /// The request already holds a credential's value: somebody is carrying it out.
    #[error("the request holds the value of credential `{reference}`")]
    SecretInRequest {
        /// The credential.
        reference: String,
    },
    /// The answer holds a credential's value: the other side sent it back.
    #[error("the answer holds the value of credential `{reference}`")]
    SecretInResponse {
        /// The credential.
        reference: String,
    },
    /// The exchange broke off, or the other side did not speak HTTP.
    #[error("the exchange broke off")]
    Broken {
        /// Whether any byte of the request may have gone.
        left: bool,
        /// What broke.
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
}

impl Refused {
    /// Whether any byte of the request may have reached the other side. If not, it certainly had no effect
    /// there; if so, only the other side knows.
    #[must_use]
    pub fn request_left(&self) -> bool {
        match self {
            Self::TimedOut { left, .. } | Self::Broken { left, .. } => *left,
            Self::BodyTooLarge { .. } | Self::Encoded { .. } | Self::SecretInResponse { .. } => true,
            Self::NotGranted { .. }
            | Self::UrlRefused(_)
            | Self::AddressRefused { .. }
            | Self::Unresolvable { .. }
            | Self::ConnectFailed { .. }
            | Self::RequestTooLarge { .. }
            | Self::CredentialMissing(_)
            | Self::CredentialUnusable { .. }
            | Self::SecretInRequest { .. } => false,
        }
    }
}
