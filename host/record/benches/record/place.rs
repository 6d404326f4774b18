//! Records and bare databases to measure, all on one disk.

use crate::Order;
use crate::bare::{Bare, Rows};
use anyhow::{Context, Result};
use record::{Record, SystemClock};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, PgConnection};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;
use tests_postgres::Schema;

/// Where one record is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Place {
    File(PathBuf),
    Server(String),
}

impl Place {
    /// Opens the record there for writing.
    pub async fn open(&self) -> Result<Record> {
        let clock = Arc::new(SystemClock);
        Ok(match self {
            Self::File(path) => Record::open_sqlite(path, clock).await?,
            Self::Server(url) => Record::open_postgres(url, clock).await?,
        })
    }
}

/// A folder that goes away with all that was measured in it.
pub struct Desk {
    folder: TempDir,
    postgres: bool,
    schemas: Mutex<Vec<Schema>>,
    count: AtomicU32,
}

impl Desk {
    pub fn new(order: &Order) -> Result<Self> {
        let folder = match &order.folder {
            Some(folder) => {
                std::fs::create_dir_all(folder)?;
                TempDir::new_in(folder)?
            }
            None => TempDir::new()?,
        };
        Ok(Self { folder, postgres: order.postgres, schemas: Mutex::default(), count: AtomicU32::new(0) })
    }

    pub fn store(&self) -> &'static str {
        if self.postgres { "postgres" } else { "sqlite" }
    }

    /// A name in the folder that nothing has yet.
    pub fn path(&self, name: &str) -> PathBuf {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(format!("{count}-{name}"))
    }

    /// Room for a record.
    pub fn place(&self) -> Result<Place> {
        if !self.postgres {
            return Ok(Place::File(self.path("record.db")));
        }
        let schema = Schema::new()?;
        let url = schema.url().to_owned();
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner).push(schema);
        Ok(Place::Server(url))
    }

    /// A database with one plain table, as durable as the record.
    pub async fn bare(&self) -> Result<Bare> {
        match self.place()? {
            Place::File(path) => Bare::sqlite(bare_file(&path).await?).await,
            Place::Server(url) => {
                Bare::postgres(PgConnection::connect(&url).await.context("PostgreSQL")?).await
            }
        }
    }

    /// The same on SQLite by calls; nothing on PostgreSQL, which is a server.
    pub fn library(&self) -> Result<Option<Bare>> {
        self.connection()?.map(Bare::library).transpose()
    }

    /// The table of events on SQLite by calls.
    pub fn rows(&self) -> Result<Option<Rows>> {
        self.connection()?.map(Rows::new).transpose()
    }

    fn connection(&self) -> Result<Option<rusqlite::Connection>> {
        if self.postgres {
            return Ok(None);
        }
        let connection = rusqlite::Connection::open(self.path("library.db"))?;
        let mode: String = connection.query_row("pragma journal_mode = wal", [], |row| row.get(0))?;
        anyhow::ensure!(mode == "wal", "no log is written ahead here");
        connection.execute_batch(
            "pragma synchronous = full; pragma foreign_keys = on; pragma wal_autocheckpoint = 8000; \
             pragma cache_size = -65536",
        )?;
        Ok(Some(connection))
    }
}

/// As the record opens its own, so that both flush alike.
async fn bare_file(path: &Path) -> Result<sqlx::SqliteConnection> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .pragma("wal_autocheckpoint", "8000")
        .pragma("cache_size", "-65536")
        .disable_statement_logging();
    Ok(options.connect().await?)
}
