//! The one door. Whatever a seat wants done outside passes here, and nothing else reaches the world.
//!
//! A [`Call`] is *admitted* by pure functions ([`admit`]): shape, grant, policy, then what the guards said, standing
//! refusal, budget, in this order, and the first no is the answer. Only then does [`Gate::pass`] act: it takes the hold,
//! records the intent of an effect, spends the [`Permit`] on [`Reach`], and writes down what came of it.
//!
//! A [`Permit`] cannot be made outside this crate and is spent by value, so a call that did not pass the
//! gate does not compile. The gate knows neither wasmtime nor any vendor: it defines [`Reach`],
//! [`Catalogue`] and [`Guards`], which `component` implements.

mod abandon;
pub mod account;
pub mod admit;
pub mod approval;
mod begin;
pub mod call;
pub mod catalogue;
pub mod classify;
pub mod deltas;
pub mod effect;
pub mod entities;
mod going;
pub mod guard;
mod in_force;
mod known;
mod look;
pub mod model;
pub mod office;
mod outcome;
mod owed;
pub mod pass;
pub mod permit;
pub mod policy;
pub mod purse;
pub mod reach;
mod ready;
mod request;
pub mod schema;
mod story;
mod together;
pub mod verdict;

pub use account::{AccountKind, Lacking, Own, how_to_connect};
pub use approval::{Answer, AnswerError, ApprovalTimes};
pub use call::{Call, Payload};
pub use catalogue::{
    Catalogue, EffectClass, ModelSpec, Resource, ToolSpec, Touches, recall_spec, recall_tool,
};
pub use classify::Classifier;
pub use deltas::Deltas;
pub use effect::{Reader, Recalled, StateError, captured};
pub use going::{Came, Going};
pub use guard::{GUARDS_MAX, GuardFault, GuardSaid, GuardSpec, GuardedCall, Guards, Sees};
pub use model::{
    InferRequest, InferResponse, Media, Message, Part, Role, StopReason, ToolCall, ToolOffer, ToolResult,
};
pub use office::{Readable, Verbs};
pub use owed::{Owed, tell, tell_alone};
pub use pass::{Gate, GateError, GateParts, Passed};
pub use permit::Permit;
pub use reach::{Failure, FailureKind, Output, Reach, Reached, Reading};
pub use request::ModelRequest;
pub use together::{Began, Begins, Carried, Condition};
pub use verdict::{Asking, Denial, Refusal, Verdict};
