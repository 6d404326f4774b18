//! Slack's side of the front: is it Slack's, what is it, and what of it may be kept.

pub mod install;
pub mod keep;
pub mod parse;
pub mod socket;
pub mod verify;
