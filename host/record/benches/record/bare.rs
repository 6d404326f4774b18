//! The bare costs: a flush of the disk, and a transaction that writes one row of about an event's size.

use anyhow::Result;
use event::{Digest, EventId};
use rusqlite::{Connection, params};
use sqlx::{PgConnection, SqliteConnection};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// About what the columns of an event come to.
const ROW_BYTES: usize = 600;

/// More than the log of a database holds before it is written from its beginning again.
const LOG_BYTES: usize = 40 << 20;
/// Of one row that is written for that: as few rows as a statement bears.
const SETTLING_BYTES: usize = 1 << 20;

/// A database with one plain table: a number, a unique name and text.
pub enum Bare {
    /// By the driver of programs that wait for nothing: each statement is a message to a thread.
    Sqlite(SqliteConnection, String),
    /// By calls, on the caller's own thread: no program can have it for less.
    Library(Connection, String),
    Postgres(PgConnection, String),
}

impl Bare {
    pub async fn sqlite(mut connection: SqliteConnection) -> Result<Self> {
        let table = "create table t (n integer primary key, a text not null unique, b text not null) strict";
        sqlx::raw_sql(table).execute(&mut connection).await?;
        Ok(Self::Sqlite(connection, "x".repeat(ROW_BYTES)))
    }

    pub fn library(connection: Connection) -> Result<Self> {
        let table = "create table t (n integer primary key, a text not null unique, b text not null) strict";
        connection.execute_batch(table)?;
        Ok(Self::Library(connection, "x".repeat(ROW_BYTES)))
    }

    pub async fn postgres(mut connection: PgConnection) -> Result<Self> {
        let table = "create table t (n bigint primary key, a text not null unique, b text not null)";
        sqlx::raw_sql(table).execute(&mut connection).await?;
        Ok(Self::Postgres(connection, "x".repeat(ROW_BYTES)))
    }

    /// Writes the log once from end to end. A log that still grows costs more to flush than one that is written over,
    /// as it is ever after: so what is compared is compared after this.
    pub async fn settle(&mut self) -> Result<()> {
        let large = "x".repeat(SETTLING_BYTES);
        for n in 0..LOG_BYTES / SETTLING_BYTES {
            let row = (-1 - i64::try_from(n)?, format!("settling {n}"));
            match self {
                Self::Sqlite(connection, _) => {
                    let insert = sqlx::query("insert into t values (?, ?, ?)");
                    insert.bind(row.0).bind(row.1).bind(&large).execute(connection).await?;
                }
                Self::Library(connection, _) => {
                    connection.execute("insert into t values (?, ?, ?)", params![row.0, row.1, large])?;
                }
                // Its log is made of files that are there before they are needed.
                Self::Postgres(..) => {}
            }
        }
        Ok(())
    }

    /// One transaction, in as few messages as a program that thinks of nothing needs.
    pub async fn transaction(&mut self, n: u64) -> Result<()> {
        let number = i64::try_from(n)?;
        match self {
            Self::Sqlite(connection, text) => {
                sqlx::query("begin immediate").execute(&mut *connection).await?;
                let insert = sqlx::query("insert into t values (?, ?, ?)");
                insert.bind(number).bind(n.to_string()).bind(&*text).execute(&mut *connection).await?;
                sqlx::query("commit").execute(connection).await?;
            }
            Self::Library(connection, text) => {
                connection.prepare_cached("begin immediate")?.execute([])?;
                let mut insert = connection.prepare_cached("insert into t values (?, ?, ?)")?;
                insert.execute(params![number, n.to_string(), &*text])?;
                connection.prepare_cached("commit")?.execute([])?;
            }
            Self::Postgres(connection, text) => {
                sqlx::query("begin").execute(&mut *connection).await?;
                let insert = sqlx::query("insert into t values ($1, $2, $3)");
                insert.bind(number).bind(n.to_string()).bind(&*text).execute(&mut *connection).await?;
                sqlx::query("commit").execute(connection).await?;
            }
        }
        Ok(())
    }
}

/// The table of events with all that guards it, written by hand: what a record pays for sharing a transaction before it
/// has judged, linked or folded anything.
pub struct Rows {
    connection: Connection,
    text: String,
    written: u64,
    /// Where each stream stands.
    streams: Vec<u64>,
}

impl Rows {
    pub fn new(connection: Connection) -> Result<Self> {
        connection.execute_batch(include_str!("../../../../migrations/sqlite/0001_record.sql"))?;
        Ok(Self { connection, text: "x".repeat(ROW_BYTES), written: 0, streams: Vec::new() })
    }

    /// One row on each of the first `streams` streams, in one transaction.
    pub fn transaction(&mut self, streams: u32) -> Result<()> {
        let streams = usize::try_from(streams)?;
        self.streams.resize(self.streams.len().max(streams), 0);
        self.connection.prepare_cached("begin immediate")?.execute([])?;
        let mut insert = self.connection.prepare_cached(
            "insert into event values (?1, ?2, ?3, ?4, 'row.written', 1, 0, '{}', null, '{}', ?5, null, ?6, ?6)",
        )?;
        for (n, stands) in self.streams.iter_mut().enumerate().take(streams) {
            (*stands, self.written) = (*stands + 1, self.written + 1);
            let id = EventId::derived(&["row", &self.written.to_string()]);
            let (global_position, position) = (i64::try_from(self.written)?, i64::try_from(*stands)?);
            let digest = Digest::of(id.as_str().as_bytes());
            let columns = params![
                global_position,
                format!("bench-{n}"),
                position,
                id.as_str(),
                self.text,
                digest.as_str()
            ];
            insert.execute(columns)?;
        }
        self.connection.prepare_cached("commit")?.execute([])?;
        Ok(())
    }
}

/// A file that grows by a row's bytes, flushed each time.
pub struct Flushed(File);

impl Flushed {
    pub fn new(path: &Path) -> Result<Self> {
        Ok(Self(File::create_new(path)?))
    }

    pub fn flush(&mut self) -> Result<()> {
        self.0.write_all(&[b'x'; ROW_BYTES])?;
        Ok(self.0.sync_data()?)
    }
}
