//! The files a journal is cut into: their names and their limits.
//!
//! Where a file ends follows from the lines before it alone, so that a journal that is written in many runs has the
//! same files as one that is written at once.

use super::error::JournalError;
use std::path::{Path, PathBuf};

/// A file with this many lines is full: few enough for an editor.
pub(super) const SEGMENT_EVENTS_MAX: u64 = 10_000;
/// A file that has reached this is full: git stores a changed file whole, so each commit costs at most this, unless
/// one line alone is longer.
pub(super) const SEGMENT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Digits of a name; more than any record needs, so that names sort like numbers.
const NAME_DIGITS: usize = 12;
const EXTENSION: &str = "jsonl";

/// Whether a file of so many lines and bytes takes no more.
pub(super) fn is_full(events: u64, bytes: u64) -> bool {
    events >= SEGMENT_EVENTS_MAX || bytes >= SEGMENT_BYTES_MAX
}

/// The file whose first line is the event at `first`.
pub(super) fn path(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:0NAME_DIGITS$}.{EXTENSION}"))
}

/// The first global positions of the files in `folder`, in order.
///
/// # Errors
/// [`JournalError::System`] when the folder cannot be read.
pub(super) fn list(folder: &Path) -> Result<Vec<u64>, JournalError> {
    let failed = || JournalError::system(folder, "read");
    let mut firsts = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        let first = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        if let Some(first) = first.filter(|first| *first > 0 && self::path(folder, *first) == path) {
            firsts.push(first);
        }
    }
    firsts.sort_unstable();
    Ok(firsts)
}
