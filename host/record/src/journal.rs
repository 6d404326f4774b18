//! The record as text: one canonical JSON line for each event, in files that anything can read, and in git.
//!
//! What always holds:
//! - A line holds everything the record keeps of an event, byte for byte, and the same record always gives the same
//!   files, whoever writes them and in however many runs.
//! - An event is written only after it was found to be as the record first kept it and to continue the line before.
//! - `head` names a place only after every line up to it is on the disk. What stands after it, such as a line that
//!   was torn when the machine died, is cut off and written again.
//! - A folder that holds another history than the record is left as it is.
//! - Nothing is pushed by force: a remote that holds another history keeps it, and somebody is told.
//!
//! The folder has `000000000001.jsonl` and so on, each named after the first global position in it, and `head`,
//! which holds `POSITION:CHAIN`. With a remote, the folder is a git repository beside that.
//!
//! Deliberately absent: keys, so that what was sealed for a person stays sealed here; any way to write the record
//! from a journal but into an empty one.

mod compare;
mod error;
mod files;
mod git;
mod head;
mod keep;
mod line;
mod lines;
mod push;
mod restore;
mod segment;
mod write;

#[cfg(test)]
mod tests;

pub use compare::{CompareError, Compared};
pub use error::{GitError, JournalError};
pub use git::Remote;
pub use head::JournalHead;
pub use keep::{Pace, STARTING_PACE, Status, keep};
pub use restore::{RestoreError, Restored};
pub use write::Journal;
