//! Calls of real guests, from the folder that `cargo xtask guests` fills.
//!
//! A permit cannot be made here, so these tests begin where one is unpacked: at [`crate::hands::Request`].

mod guards;
mod kit;
mod lies;
mod limits;
mod load;
mod model;
mod plain;
mod server;
mod wasi;
mod way_out;
