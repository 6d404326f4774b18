//! The bare costs: a flush of the disk, and a transaction that writes one row of about an event's size.

use anyhow::Result;
use sqlx::{PgConnection, SqliteConnection};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// About what the columns of an event come to.
const ROW_BYTES: usize = 600;

/// A database with one plain table: a number, a unique name and text.
pub enum Bare {
    Sqlite(SqliteConnection, String),
    Postgres(PgConnection, String),
}

impl Bare {
    pub async fn sqlite(mut connection: SqliteConnection) -> Result<Self> {
        let table = "create table t (n integer primary key, a text not null unique, b text not null) strict";
        sqlx::raw_sql(table).execute(&mut connection).await?;
        Ok(Self::Sqlite(connection, "x".repeat(ROW_BYTES)))
    }

    pub async fn postgres(mut connection: PgConnection) -> Result<Self> {
        let table = "create table t (n bigint primary key, a text not null unique, b text not null)";
        sqlx::raw_sql(table).execute(&mut connection).await?;
        Ok(Self::Postgres(connection, "x".repeat(ROW_BYTES)))
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
