//! What only PostgreSQL knows: roles and replicas, connections that break, a server that goes, other hosts.

mod broken;
mod guard;
mod hosts;
mod open;
