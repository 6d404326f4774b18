//! The thinking: one bounded run of one seat.
//!
//! A turn opens for a wake ([`open`](fn@open)) and runs ([`run`](fn@run)) as a plain loop over the record:
//! read the turn's own events, decide by a pure function what comes next, record that it starts, pass the
//! gate, record how it ended, again. Those events are the checkpoint: after a crash, steps that ended return
//! what was recorded and run nothing; the first step with no end runs again as its next attempt.
//!
//! What the model writes is seen by nobody. An answer gets out in one way: the model calls `finish`, and the
//! host turns it into a send through the gate to the address the turn opened with. A turn that ends otherwise
//! publishes nothing, but for the plain report of a refusal.
//!
//! What people say while it runs lies in its inbox, which it takes up before each step and before its finish stands;
//! a stop, or another wish, lets go of the call that is under way. A conversation that no longer fits is said shortly
//! by a step of its own.
//!
//! Deliberately absent: any call that does not pass the gate, any clock but [`Pace`] and the times of its own events,
//! and what a message into a running turn asks, which `converse` says. Source of the rules: mechanisms, section 4.

mod act;
mod compact;
mod context;
mod door;
mod erased;
mod error;
mod finish;
mod inbox;
mod manner;
mod media;
mod next;
mod open;
mod pace;
mod parts;
mod run;
mod scene;
mod shown;
mod step;
mod stream;
mod talk;
mod tools;
mod trail;

pub use context::OUTPUT_TOKENS_MAX;
pub use door::Door;
pub use error::Error;
pub use finish::{FINISH, TEXT_CHARS_MAX};
pub use open::{Opening, open, turn_stream};
pub use pace::{
    ATTEMPTS_MAX, Pace, RealPace, STEPS_MAX_CEILING, STEPS_MAX_DEFAULT, TOOLS_AT_ONCE_MAX, TRIES_MAX,
    WORK_MS_MAX_DEFAULT,
};
pub use parts::{DeltasFor, Files, TurnParts};
pub use run::{Ran, run};
pub use tools::{ENABLE_TOOLS, SCHEMA_TOKENS_MAX};

#[cfg(test)]
mod tests;
