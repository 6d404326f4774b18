//! Calls of real guests, from the folder that `cargo xtask guests` fills.
//!
//! A permit cannot be made here, so these tests begin where one is unpacked: at [`crate::hands::Request`].

mod canary;
mod connectors;
mod figures;
mod folders;
mod gated;
mod guards;
mod hand_made;
mod kit;
mod languages;
mod lies;
mod limits;
mod load;
mod many;
mod model;
mod plain;
mod server;
mod wasi;
mod way_out;
