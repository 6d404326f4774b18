//! The contract of the record: each of its tests runs on SQLite, on PostgreSQL and in memory. What only one of them
//! knows stands apart, in files or tests named after it.

mod authority;
mod batch;
mod beside;
mod concurrent;
mod contract;
mod crash;
mod decide;
mod fence;
mod follow;
mod kit;
mod open;
mod postgres;
mod rebuild;
mod shred;
mod tamper;
