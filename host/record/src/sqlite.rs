//! Every statement the record makes of SQLite, and nothing else: no rule of the record stands here.
//!
//! SQLite is a library and no server: a statement is a call, done by whoever makes it. So its writer has a thread of its
//! own, on which a whole transaction runs without a message to anybody, and its readers borrow a thread each.

mod columns;
mod open;
mod read;
mod write;

#[cfg(test)]
pub(crate) use open::{Limits, open_with};
pub(crate) use open::{open, open_read_only};
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

/// Statements a connection keeps prepared: more than there are.
const STATEMENTS_KEPT: usize = 64;

/// The primary result code behind `error`, when the database gave one.
fn code(error: &rusqlite::Error) -> Option<u32> {
    u32::try_from(error.sqlite_error()?.extended_code & 0xff).ok()
}

/// What a failed statement means to a caller.
fn failed(error: rusqlite::Error) -> Error {
    let why = match (code(&error), &error) {
        (Some(BUSY | LOCKED), _) => "another program holds it locked",
        (Some(READ_ONLY), _) => "it may not be written",
        (Some(FULL), _) => "the disk is full",
        (Some(IO | CANNOT_OPEN), _) => "the disk does not answer as it should",
        (Some(CORRUPT | NOT_A_DATABASE), _) => return corrupt("the database file is damaged", error),
        (Some(CONSTRAINT), _) => {
            return corrupt("the database refuses what the record's checks let pass", error);
        }
        (
            _,
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..),
        ) => {
            return corrupt("a column holds another type", error);
        }
        _ => "the database does not answer as it should",
    };
    Error::Unavailable { why, source: Some(Arc::new(error)) }
}

fn corrupt(why: &str, error: rusqlite::Error) -> Error {
    Error::corrupt(0, why, Some(Arc::new(error)))
}
