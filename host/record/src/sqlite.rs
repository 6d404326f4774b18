//! Every statement the record makes of SQLite, and nothing else: no rule of the record stands here.

mod open;
mod page;
mod read;
mod write;

pub(crate) use open::{open, open_read_only};
#[cfg(test)]
pub(crate) use open::{open_with, writing};
use read::Reader;
use write::Writer;

use crate::Error;
use std::sync::Arc;

/// How long the commit of another process may stay unseen: a file tells nobody that it was written.
const POLL_MS: u64 = 250;
/// How long a statement waits for another process that writes.
const BUSY_MS: u64 = 5_000;

// Primary result codes of SQLite: https://www.sqlite.org/rescode.html.
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const READ_ONLY: u32 = 8;
const IO: u32 = 10;
const CORRUPT: u32 = 11;
const FULL: u32 = 13;
const CANNOT_OPEN: u32 = 14;
const CONSTRAINT: u32 = 19;
const NOT_A_DATABASE: u32 = 26;

/// The primary result code behind `error`, when the database gave one.
fn code(error: &sqlx::Error) -> Option<u32> {
    let extended: u32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

/// What a failed statement means to a caller.
fn failed(error: sqlx::Error) -> Error {
    let why = match (code(&error), &error) {
        (Some(BUSY | LOCKED), _) => "another program holds it locked",
        (Some(READ_ONLY), _) => "it may not be written",
        (Some(FULL), _) => "the disk is full",
        (Some(IO | CANNOT_OPEN), _) => "the disk does not answer as it should",
        (Some(CORRUPT | NOT_A_DATABASE), _) => return corrupt("the database file is damaged", error),
        (Some(CONSTRAINT), _) => {
            return corrupt("the database refuses what the record's checks let pass", error);
        }
        (_, sqlx::Error::ColumnDecode { .. } | sqlx::Error::ColumnNotFound(_)) => {
            return corrupt("a column holds another type", error);
        }
        (_, sqlx::Error::PoolTimedOut) => "too many readers wait",
        _ => "the database does not answer as it should",
    };
    Error::Unavailable { why, source: Some(Arc::new(error)) }
}

fn corrupt(why: &str, error: sqlx::Error) -> Error {
    Error::corrupt(0, why, Some(Arc::new(error)))
}
