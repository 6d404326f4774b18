//! The door as a whole, over a record in memory: what it writes down, and that nothing is reached but through it.
//!
//! What is reached here counts its calls and answers what a test says; real components are reached in the tests
//! of the whole office.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod approvals;
mod children;
mod classify;
mod effects;
mod kit;
mod office;
mod purse;
mod refusals;
mod together;
