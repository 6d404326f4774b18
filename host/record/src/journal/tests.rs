//! The journal against real files, a real git and a process that is killed.

mod compare;
mod crash;
mod git;
mod kit;
mod line;
mod restore;
mod shred;
mod write;
