//! What the operator decides about going out. Nothing here has a default: a knob that nobody set is a hole.

use crate::{Injection, Origin};
use std::collections::BTreeMap;

/// How one host goes out.
#[derive(Clone, Debug)]
pub struct EgressConfig {
    /// Exact origins on this machine that may be reached, with or without TLS: for demos, emulators and
    /// services the operator runs. Only from the operator's own configuration; never from a manifest, a policy
    /// or a message.
    pub loopback: Vec<Origin>,
    /// How a credential is written, by its reference; [`Injection::Bearer`] for those not named.
    pub injections: BTreeMap<String, Injection>,
    /// How long and how much.
    pub limits: Limits,
}

/// Limits of one request. All of them also end at the request's own deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For resolving the name, connecting, and the TLS handshake together.
    pub connect_ms: u64,
    /// For sending the request and receiving the answer's head.
    pub head_ms: u64,
    /// Between two pieces of the answer's body.
    pub idle_ms: u64,
    /// Longest head, of a request and of an answer.
    pub head_bytes_max: usize,
    /// Longest body of a request.
    pub request_bytes_max: usize,
    /// Longest body of an answer.
    pub body_bytes_max: usize,
}

/// Limits to start from: a network that is there connects within ten seconds, a model may think for minutes
/// before its first byte, a page and a model's answer are far below eight mebibytes. An answer is held in
/// memory whole and looked through, so the last one bounds memory per call.
pub const STARTING_LIMITS: Limits = Limits {
    connect_ms: 10_000,
    head_ms: 300_000,
    idle_ms: 60_000,
    head_bytes_max: 32 * 1024,
    request_bytes_max: 4 * 1024 * 1024,
    body_bytes_max: 8 * 1024 * 1024,
};

/// A configuration that does not stand.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An entry of the loopback list is somewhere else.
    #[error(
        "`{entry}` in the loopback list is not on this machine; name `127.0.0.1`, `[::1]` or `localhost` with a \
         scheme and a port, and reach other hosts by a granted route"
    )]
    NotLoopback {
        /// The entry.
        entry: Origin,
    },
    /// TLS could not be set up.
    #[error("TLS cannot be set up; this build of the host lacks its cryptography")]
    Tls(#[source] rustls::Error),
}
