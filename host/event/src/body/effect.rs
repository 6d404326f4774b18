//! Changes outside and reads of the outside, as facts.

use crate::{Digest, EffectId, Origin, Personal, ReceiptId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change outside is about to be tried. Its id is its meaning and content: the same words to the same
/// place for the same deed are one effect however a retry words them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectIntended {
    /// The effect.
    pub effect: EffectId,
    /// The call.
    pub origin: Origin,
    /// The tool.
    pub tool: String,
    /// The exact arguments.
    pub input: Personal<Value>,
    /// Digest of the canonical arguments.
    pub content: Digest,
}

/// The change happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectSent {
    /// The effect.
    pub effect: EffectId,
    /// What the other side calls it, such as a channel and timestamp.
    pub reference: Value,
}

/// The change did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectFailed {
    /// The effect.
    pub effect: EffectId,
    /// Why. The other side may quote what it was sent.
    pub reason: Personal<String>,
}

/// Whether the change happened is not known. It is never tried again blind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectLeftUnknown {
    /// The effect.
    pub effect: EffectId,
    /// Why.
    pub reason: Personal<String>,
}

/// What one read left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptRecorded {
    /// The receipt.
    pub receipt: ReceiptId,
    /// The call it was read in.
    pub origin: Origin,
    /// HTTP method.
    pub method: String,
    /// The address, without credentials.
    pub address: Personal<String>,
    /// HTTP status.
    pub status: u16,
    /// SHA-256 of the body as it arrived.
    pub sha256: Digest,
    /// Length of the body.
    pub bytes: u64,
    /// When the answer was complete.
    pub read_at: Timestamp,
    /// Always true: what comes from outside is never instruction.
    pub untrusted: bool,
}
