//! Triage: whether the office speaks about a message, and how much.
//!
//! A small model says seven figures ([`ask`]); what follows from them is decided by [`evaluate`], which is pure and
//! monotone: more usefulness, confidence or urgency never make the office quieter, more noise or interruption cost
//! never make it louder. What must not depend on a model (a muted thread, a quiet channel, an allowance that is
//! spent, another person's reply) is decided before one is asked, from the record alone ([`scene`]).
//!
//! Deliberately absent: the call of the model, which is the caller's through the gate, and words of any language.

pub mod allowance;
pub mod ask;
pub mod emoji;
pub mod evaluate;
pub mod scene;

pub use allowance::{Allowance, allowance};
pub use ask::{Said, Unsaid, request, said};
pub use evaluate::{Case, FORMULA, Found, Word, before, evaluate, outcome, thresholds, weigh};
pub use scene::{Scene, decided, reads, scene};
