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
//! Deliberately absent: any call that does not pass the gate, any clock but [`Pace`], the inbox of a running
//! turn and compaction. Source of the rules: mechanisms, section 4.

mod context;
mod door;
mod erased;
mod error;
mod finish;
mod manner;
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
pub use pace::{ATTEMPTS_MAX, Pace, RealPace, STEPS_MAX_CEILING, STEPS_MAX_DEFAULT, TRIES_MAX};
pub use parts::{DeltasFor, TurnParts};
pub use run::{Ran, run};

#[cfg(test)]
mod tests;
