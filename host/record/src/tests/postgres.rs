//! What only PostgreSQL knows: roles and replicas, connections that break, a server that goes, other hosts.

mod broken;
mod full;
mod guard;
mod hosts;
mod open;
