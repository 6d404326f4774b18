//! Opening a record: on SQLite, on PostgreSQL, or in memory. Which one makes no difference afterwards.
//!
//! A record needs a Tokio runtime, on which its writer runs until the last handle is dropped.

use crate::memory::{self, Memory};
use crate::{Clock, Error, Record, postgres, sqlite};
use std::path::Path;
use std::sync::Arc;

impl Record {
    /// Opens the record in the SQLite file `path`; creates it when there is none, and brings an older one up to
    /// date.
    ///
    /// # Errors
    /// [`Error::NotOpened`], saying what to do: the folder is missing, the file cannot be written, is not a
    /// record, or was written by a newer version.
    pub async fn open_sqlite(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let (reader, writer) = sqlite::open(path).await?;
        Self::open(reader, Some((writer, clock))).await
    }

    /// Opens the record in the SQLite file `path` for reading: for the command line beside a running server.
    ///
    /// # Errors
    /// [`Error::NoRecord`] when there is no such file; [`Error::NotOpened`], also when an older version wrote it.
    pub async fn open_sqlite_read_only(path: &Path) -> Result<Self, Error> {
        Self::open(sqlite::open_read_only(path).await?, None).await
    }

    /// Opens the record in the PostgreSQL database at `url`, such as `postgres://user:password@host/office`;
    /// creates its tables when there are none, and brings older ones up to date, for which the user must own them.
    /// Any number of hosts may have one record open.
    ///
    /// # Errors
    /// [`Error::NotOpened`], saying what to do, and never the password.
    pub async fn open_postgres(url: &str, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let (reader, writer) = postgres::open(url).await?;
        Self::open(reader, Some((writer, clock))).await
    }

    /// Opens the record in the PostgreSQL database at `url` for reading.
    ///
    /// # Errors
    /// [`Error::NoRecord`] when the database holds none; [`Error::NotOpened`], also when an older version wrote it.
    pub async fn open_postgres_read_only(url: &str) -> Result<Self, Error> {
        Self::open(postgres::open_read_only(url).await?, None).await
    }

    /// A new record in memory, for simulations: it ends with its last handle.
    ///
    /// # Errors
    /// None in practice; as the others.
    pub async fn open_memory(clock: Arc<dyn Clock>) -> Result<Self, Error> {
        Self::open_memory_in(&Memory::default(), clock).await
    }

    /// Opens the record that `memory` holds, as another host or a later start opens a database.
    ///
    /// # Errors
    /// None in practice; as the others.
    pub async fn open_memory_in(memory: &Memory, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let (reader, writer) = memory::open(memory);
        Self::open(reader, Some((writer, clock))).await
    }

    /// Opens the record that `memory` holds for reading.
    ///
    /// # Errors
    /// None in practice; as the others.
    pub async fn open_memory_read_only(memory: &Memory) -> Result<Self, Error> {
        Self::open(memory::open(memory).0, None).await
    }
}
