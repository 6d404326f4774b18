//! The whole: configuration, wiring, the run loop, the command line. It holds no rule of its own.

pub mod cli;
pub mod config;
pub mod doctor;
pub mod journal;
pub mod look;
pub mod place;
pub mod progress;
pub mod run;
pub mod seed;
pub mod serve;
pub mod show;
pub mod wire;

pub use config::Config;
pub use wire::{Office, Ports};
