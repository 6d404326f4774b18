//! Whole turns: over a real record in a temporary folder, through a door that answers from a script.

mod chance;
mod commits;
mod compact;
mod endings;
mod erased;
mod kit;
mod live;
mod noes;
mod pace;
mod replay;
mod script;
mod story;
mod time;
mod tools;
