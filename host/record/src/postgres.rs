//! Every statement the record makes of PostgreSQL, and nothing else: no rule of the record stands here.
//!
//! Several hosts share one record by this: the first statement of a transaction that writes takes an advisory lock,
//! so that one host at a time writes and the order of positions is the order of commits. Under read committed the
//! next statement sees what was committed while the lock was waited for; under any stricter level it would not.
//!
//! Needs a connection of its own for as long as it lasts: behind a proxy that hands out connections by transaction,
//! `listen` does not work and other hosts' commits are seen a second late.

mod hear;
mod names;
mod open;
mod read;
mod write;

pub(crate) use open::{open, open_read_only};
use read::Reader;
use write::Writer;

use crate::Error;
use sqlx::postgres::{PgDatabaseError, PgSeverity};
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long the commit of another host may stay unseen when its notice is lost.
const POLL_MS: u64 = 1_000;
/// How long a transaction waits for another host that writes.
const LOCK_WAIT_MS: u64 = 5_000;
/// How long a host may do nothing in the middle of a transaction before the server ends it: it is gone, and the
/// others wait for its lock.
const IDLE_MS_MAX: u64 = 10_000;
/// How long one statement may take; the longest is the one that empties all rows.
const STATEMENT_MS_MAX: u64 = 60_000;
/// How long this host waits for an answer: longer than the server works on one, so that only a server that is gone
/// is given up.
const ANSWER_MS_MAX: u64 = STATEMENT_MS_MAX + 5_000;
/// How long a connection may take to come about.
const CONNECT_MS_MAX: u64 = 5_000;

/// Waits for the server's answer, and not for ever: a network that swallows packets ends no connection.
async fn within<T>(answer: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    at_most(ANSWER_MS_MAX, answer).await
}

async fn at_most<T>(ms: u64, answer: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    match tokio::time::timeout(Duration::from_millis(ms), answer).await {
        Ok(answer) => answer,
        Err(_) => Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"))),
    }
}

/// The SQLSTATE behind `error`, when the server gave one:
/// https://www.postgresql.org/docs/15/errcodes-appendix.html.
fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error()?.code().map(|code| code.into_owned())
}

/// Whether the connection on which `error` came is of no more use.
fn lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(told) => told
            .try_downcast_ref::<PgDatabaseError>()
            .is_some_and(|told| matches!(told.severity(), PgSeverity::Fatal | PgSeverity::Panic)),
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::ColumnNotFound(_) | sqlx::Error::RowNotFound => false,
        _ => true,
    }
}

/// What a failed statement means to a caller.
fn failed(error: sqlx::Error) -> Error {
    let code = code(&error).unwrap_or_default();
    let class = code.get(..2).unwrap_or_default();
    let why = match (class, code.as_str(), &error) {
        // The class of our own `raise exception`, and of every broken constraint.
        ("23", ..) | (_, "P0001", _) => {
            return corrupt("the database refuses what the record's checks let pass", error);
        }
        ("XX", "XX001" | "XX002", _) => return corrupt("the database is damaged", error),
        (_, "55P03", _) => "another host has been writing for too long",
        (_, "42501", _) => "the user may not do this; see migrations/postgres/role.sql",
        (_, "25006", _) => "the server may only be read: it stands by for another",
        (_, "53100", _) => "the server's disk is full",
        (_, "53300", _) => "the server has no connection left",
        ("57" | "08", ..) => "the server ended the connection",
        ("58", ..) => "the server's disk does not answer as it should",
        (_, _, sqlx::Error::ColumnDecode { .. } | sqlx::Error::ColumnNotFound(_)) => {
            return corrupt("a column holds another type", error);
        }
        (_, _, sqlx::Error::PoolTimedOut) => "the server does not answer, or too many readers wait",
        (_, _, sqlx::Error::Io(_)) => "the server does not answer",
        _ => "the database does not answer as it should",
    };
    Error::Unavailable { why, source: Some(Arc::new(error)) }
}

fn corrupt(why: &str, error: sqlx::Error) -> Error {
    Error::corrupt(0, why, Some(Arc::new(error)))
}
