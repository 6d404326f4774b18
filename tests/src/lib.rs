//! The kit: a whole office on a record of its own, with everything real but the people, Slack and the web,
//! which are servers on this machine.
//!
//! A test says what people do, waits for what the record says, and reads the record. Nothing is asserted on
//! what a part thinks; only on what was written down and what arrived outside.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

pub mod bolt;
pub mod courier;
pub mod day;
pub mod emulate;
pub mod host;
pub mod installs;
pub mod office;
pub mod provider;
pub mod python;
pub mod registry;
pub mod signing;
pub mod site;
pub mod slack;
pub mod socket;
pub mod story;
pub mod variant;
pub mod visit;

pub use host::Host;
pub use office::{Kit, Office};
pub use provider::Provider;
pub use site::Site;
pub use slack::Slack;
