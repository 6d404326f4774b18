//! The contract of the record, held against a real file: what every database behind it has to pass.

mod concurrent;
mod contract;
mod crash;
mod decide;
mod fence;
mod follow;
mod kit;
mod open;
mod rebuild;
mod speed;
mod tamper;
