//! Temporary.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#[path = "../it/policy.rs"]
mod policy;
