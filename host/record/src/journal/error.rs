//! What can go wrong with a journal, one variant for each thing an operator would do differently.

use crate::Error;
use crate::verify::Fault;
use event::GlobalPosition;
use std::io;
use std::path::{Path, PathBuf};

/// Why a journal was not written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system does not let it: a full disk, a missing folder, missing rights. Trying again may help.
    #[error("the journal's `{}` cannot be {tried}", path.display())]
    System {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, such as `written`.
        tried: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Another process writes it: one is enough.
    #[error("another process writes the journal in `{}`; stop that one, or name another folder", .0.display())]
    InUse(PathBuf),
    /// There is no journal.
    #[error(
        "`{}` holds no journal: it has no file `head`; `chancery record export` writes one, and the remote's newest \
         commit has one",
        .0.display()
    )]
    Absent(PathBuf),
    /// What stands in it was never written so: take it from the remote, or write it again from the record.
    #[error("the journal's `{}` is damaged{}: {why}", path.display(), at_line(*line))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1; 0 for the file as a whole.
        line: u64,
        /// What does not hold.
        why: String,
    },
    /// The record ends before the journal: it was cut, or an old copy was put in its place. Restore the record from
    /// the journal, or begin another journal.
    #[error(
        "the record ends at global position {record}, before its journal at {journal}: its end was cut off"
    )]
    Cut {
        /// Where the record ends.
        record: GlobalPosition,
        /// Where the journal ends.
        journal: GlobalPosition,
    },
    /// The record is not the one this journal was written from, or was written anew: `record verify --journal` names
    /// the first event that differs.
    #[error("the record and the journal hold different events at global position {0}")]
    Differs(GlobalPosition),
    /// An event of the record is not as it was written; the journal ends before it.
    #[error("the event at global position {global_position} (`{id}`) is not as it was written: {fault}")]
    Event {
        /// Where it stands.
        global_position: GlobalPosition,
        /// Its id, as stored.
        id: String,
        /// What is wrong.
        fault: Fault,
    },
    /// The record does not answer.
    #[error("the record could not be read")]
    Record(#[source] Error),
    /// Git does not do its part; the files are written all the same.
    #[error("the journal is not in git")]
    Git(#[source] GitError),
}

impl JournalError {
    pub(super) fn system(path: &Path, tried: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { path: path.to_owned(), tried, source }
    }

    pub(super) fn damaged(path: &Path, line: u64, why: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), line, why: why.into() }
    }
}

fn at_line(line: u64) -> String {
    if line == 0 { String::new() } else { format!(" at line {line}") }
}

/// Why a commit or a push did not happen. Each is tried again later.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program does not start.
    #[error("`git` does not start; install it, or take `remote` out of `[journal]`")]
    NotStarted(#[source] io::Error),
    /// It took too long and was stopped.
    #[error("`git {step}` took longer than {seconds} seconds and was stopped")]
    TimedOut {
        /// The subcommand.
        step: &'static str,
        /// How long it was given.
        seconds: u64,
    },
    /// It said no.
    #[error("`git {step}` failed: {said}")]
    Failed {
        /// The subcommand.
        step: &'static str,
        /// The last of what it wrote, on one line.
        said: String,
    },
    /// The remote's branch holds another history: name another branch, or find out who wrote there.
    #[error("the branch `{branch}` of the journal's remote {why}; nothing there was changed")]
    Foreign {
        /// The branch.
        branch: String,
        /// What it holds.
        why: String,
    },
}
