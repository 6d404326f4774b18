//! What the guests of this repository share: a tool plugin as plain values, one HTTP exchange, and pages as text.
//!
//! A plugin's logic is written against [`Tools`], [`Host`] and [`http::Wire`], builds for any target and is
//! tested there; only `bindings` knows the component model, and it exists on `wasm32` alone. With the feature
//! `model` the same for plugins that offer models. The truth is `wit/`: a plugin in another language needs nothing from this crate.
//!
//! Absent on purpose: retries, timeouts, redirects and credentials. The host has them.

// A component is of one world.
#[cfg(all(target_arch = "wasm32", not(feature = "model")))]
pub mod bindings;
mod failure;
#[cfg(feature = "file")]
pub mod file;
#[cfg(feature = "html")]
pub mod html;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "model")]
pub mod model;
mod tool;

pub use failure::{Failure, Kind, excerpt};
pub use tool::{Call, Definition, Effect, Host, Level, Memory, Tools};
