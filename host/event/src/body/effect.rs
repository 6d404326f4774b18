//! Changes outside and reads of the outside, as facts.

use crate::{Digest, EffectId, Origin, Personal, PrincipalId, ReceiptId, SeatId, Timestamp};
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
    /// The person whose account it uses, if it uses one: it is read back with the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<PrincipalId>,
    /// Whether it changes the record alone, in one commit with its outcome: while no outcome stands, nothing of it does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
    /// The workspace it is made in, where its arguments do not say: it is read back there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
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

/// A call in a drill came as far as its effect, and nothing was sent: no component was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectCaptured {
    /// The effect.
    pub effect: EffectId,
    /// The call.
    pub origin: Origin,
    /// The tool.
    pub tool: String,
    /// The exact arguments: what would have been sent, whole.
    pub input: Personal<Value>,
    /// Digest of the canonical arguments.
    pub content: Digest,
}

/// What reading back an effect says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBack {
    /// It is there.
    Found {
        /// What the other side calls it, such as a channel and timestamp.
        reference: Value,
    },
    /// It is not there now; it may still arrive.
    Absent,
    /// That cannot be told; the event's reason says why.
    CannotSay,
}

/// An effect that nobody knew the outcome of was read back, or it was tried to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectRecalled {
    /// The effect.
    pub effect: EffectId,
    /// The call that read it back.
    pub origin: Origin,
    /// What it says.
    pub said: ReadBack,
    /// Why it says no more, where it does not. The other side may quote what it was sent.
    pub reason: Personal<String>,
    /// When it is read back again. Nothing when its outcome is known by now, or a person is asked.
    pub again_at: Option<Timestamp>,
}

/// A person says whether a change happened that nobody knew the outcome of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectStated {
    /// The effect.
    pub effect: EffectId,
    /// Whether it happened.
    pub happened: bool,
    /// Who says so.
    pub by: PrincipalId,
    /// In which seat.
    pub seat: SeatId,
    /// What they saw.
    pub saw: Personal<String>,
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
