//! The words: every fact the host can state, and nothing that acts.
//!
//! An [`Event`] is a fact in the past tense. Its body is one of the [`Fact`]s in the closed table of
//! [`fact`]; its [`Label`] says who may read it and whether it is trusted; its [`Digest`] covers its
//! canonical form, so the same fact always has the same name.
//!
//! Nothing here reads a clock, draws a random number or does I/O: time and entropy are arguments.

pub mod body;
pub mod canon;
pub mod digest;
pub mod envelope;
pub mod fact;
pub mod id;
pub mod label;
pub mod money;
pub mod origin;
pub mod personal;
mod route;
pub mod stream;
pub mod time;
mod upcast;

pub use body::*;
pub use canon::{canonical, inexact};
pub use digest::Digest;
pub use envelope::{Actor, Event, Proposed};
pub use fact::{Fact, UnknownKind};
pub use id::{
    ApprovalId, EffectId, EventId, HoldId, IdError, PrincipalId, PrincipalKind, ReceiptId, RefusalId,
    RequestId, SeatId, Topic, TurnId,
};
pub use label::{Audience, Integrity, Label, Readers};
pub use money::NanoUsd;
pub use origin::Origin;
pub use personal::{ERASED, Field, Personal};
pub use route::RoutePath;
pub use stream::{Expected, GlobalPosition, Position, StreamName};
pub use time::Timestamp;
