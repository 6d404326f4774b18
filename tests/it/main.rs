//! One binary for every test that needs a whole office. See the kit in `tests/src`.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod accounts;
mod approvals;
mod bolt;
mod boundaries;
mod canary;
mod cards;
mod converse;
mod crash;
mod day;
mod effects;
mod flow;
mod guards;
mod home;
mod hostile;
mod hosts;
mod live;
mod live_oracle;
mod models;
mod noes;
mod office;
mod often_killed;
mod paid;
mod plugins;
mod plugins_compile;
mod plugins_made;
mod plugins_running;
mod plugins_sources;
mod policy;
mod purse;
mod seats;
mod shape;
mod shots;
mod shred;
mod slack_out;
mod slack_socket;
mod start;
mod traces;
mod turn;
mod turn_killed;
mod workspaces;
