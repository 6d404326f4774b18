//! The whole: configuration, wiring, the run loop, the command line. It holds no rule of its own.

pub mod approval;
pub mod cards;
pub mod cli;
pub mod config;
pub mod doctor;
pub mod effect;
pub mod effects;
pub mod journal;
mod lease;
pub mod look;
pub mod owner;
pub mod paced;
pub mod place;
pub mod plugin;
pub mod policy;
pub mod progress;
pub mod purse;
pub mod refusal;
pub mod run;
pub mod seat;
pub mod seed;
pub mod serve;
pub mod show;
pub mod slack;
pub mod socket;
pub mod speak;
pub mod steering;
pub mod subject;
pub mod table;
pub mod telemetry;
pub mod triage;
pub mod turn;
pub mod wire;

pub use config::Config;
pub use wire::{Office, Ports};
