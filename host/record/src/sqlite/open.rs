//! Opening a record on SQLite: the file, its schema, and how durable a commit is.

use super::{
    BUSY, BUSY_MS, CANNOT_OPEN, CORRUPT, NOT_A_DATABASE, READ_ONLY, Reader, STATEMENTS_KEPT, Writer, code,
};
use crate::error::{Cause, Error};
use crate::store;
use rusqlite::{Connection, OpenFlags};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What `pragma application_id` says of every record: `CHRY`, so that no other program's file is taken for one.
const APPLICATION_ID: i64 = 0x4348_5259;

/// The migrations, oldest first. `pragma user_version` counts how many a file has had.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../../migrations/sqlite/0001_record.sql"),
    include_str!("../../../../migrations/sqlite/0002_projections.sql"),
    include_str!("../../../../migrations/sqlite/0003_leases.sql"),
];

/// The log file is cut back to this after a burst: twice what it mostly holds.
const WAL_BYTES_KEPT: i64 = 64 << 20;
/// What the writer keeps of the file in memory, in KiB, below zero as SQLite wants it said: 64 MiB. Ids come in no order, so an append
/// touches pages anywhere; this holds their index up to some hundred thousand events.
const WRITER_CACHE: i64 = -65_536;
/// Two processes that create one file at once can meet at the change of journal mode, which does not wait.
const OPEN_TRIES_MAX: u32 = 20;
const OPEN_RETRY_MS: u64 = 100;

/// What a test may narrow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long a statement waits for another process that writes.
    pub(crate) busy_ms: u64,
    /// How large the file may become, in pages of 4 KiB; SQLite's own limit where there is none.
    pub(crate) pages_max: Option<u32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { busy_ms: BUSY_MS, pages_max: None }
    }
}

/// Opens the record in `path`, creates it when there is none, and applies the migrations it lacks.
///
/// # Errors
/// [`Error::NotOpened`].
pub(crate) async fn open(path: &Path) -> Result<(store::Reader, store::Writer), Error> {
    open_with(path, Limits::default()).await
}

/// The same within other limits.
///
/// # Errors
/// As [`open`].
pub(crate) async fn open_with(path: &Path, limits: Limits) -> Result<(store::Reader, store::Writer), Error> {
    let file = path.to_owned();
    let opening = tokio::task::spawn_blocking(move || create(&file).and_then(|()| to_write(&file, limits)));
    let connection = opening.await.unwrap_or_else(|_| Err(Error::unavailable("the host is stopping")))?;
    Ok((Arc::new(Reader::new(path.to_owned())), Box::new(Writer::new(connection))))
}

/// Opens the record in `path` for reading alone, beside a server or without one.
///
/// # Errors
/// [`Error::NoRecord`]; [`Error::NotOpened`], also when the record is older than this program, since it may not be migrated here.
pub(crate) async fn open_read_only(path: &Path) -> Result<store::Reader, Error> {
    let file = path.to_owned();
    let looking = tokio::task::spawn_blocking(move || is_readable(&file));
    looking.await.unwrap_or_else(|_| Err(Error::unavailable("the host is stopping")))?;
    Ok(Arc::new(Reader::new(path.to_owned())))
}

fn is_readable(path: &Path) -> Result<(), Error> {
    if !path.exists() {
        return Err(Error::NoRecord { place: path.display().to_string() });
    }
    let version = to_read(path).and_then(|connection| version(&connection));
    let applied = known(path, &version.map_err(|error| meant(path, error))?)?;
    if applied < MIGRATIONS.len() {
        let why = "an older version of chancery wrote it; `chancery serve` brings it up to date";
        return Err(not_opened(path, why, None));
    }
    Ok(())
}

/// A connection that cannot write.
pub(super) fn to_read(path: &Path) -> rusqlite::Result<Connection> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, BUSY_MS)
}

/// `access` and nothing else: no name is a URL. A connection is used by one thread at a time, so it needs no lock.
fn connect(path: &Path, access: OpenFlags, busy_ms: u64) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(Duration::from_millis(busy_ms))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    Ok(connection)
}

/// Makes the file when there is none, readable by its owner alone: the system's own errors are clearer than
/// SQLite's, and the log files beside it take over its mode.
///
/// A file that is there already is never opened here: to close it again would drop the locks that this process
/// holds on it through SQLite (https://www.sqlite.org/howtocorrupt.html, section 2.2).
fn create(path: &Path) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let Err(error) = options.open(path) else { return Ok(()) };
    let why = match error.kind() {
        ErrorKind::AlreadyExists if path.is_dir() => "it is a folder; name a file in it",
        ErrorKind::AlreadyExists => return Ok(()),
        ErrorKind::NotFound => "its folder does not exist; create it, or name another file",
        ErrorKind::NotADirectory => "what should be its folder is a file; name another file",
        ErrorKind::PermissionDenied => {
            "chancery may not write there; change the rights, or name another file"
        }
        ErrorKind::ReadOnlyFilesystem => "it lies on a disk that is mounted read-only; name another file",
        _ => "the system does not let chancery create it",
    };
    Err(not_opened(path, why, Some(Arc::new(error))))
}

/// The one connection that writes, to a file that is there.
fn to_write(path: &Path, limits: Limits) -> Result<Connection, Error> {
    let mut tries = 1;
    loop {
        match try_to_write(path, limits) {
            Err(Attempt::Busy(_)) if tries < OPEN_TRIES_MAX => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(OPEN_RETRY_MS));
            }
            Err(Attempt::Busy(error)) => return Err(meant(path, error)),
            Err(Attempt::Final(error)) => return Err(error),
            Ok(connection) => return Ok(connection),
        }
    }
}

fn try_to_write(path: &Path, limits: Limits) -> Result<Connection, Attempt> {
    let failed = |error| Attempt::of(path, error);
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, limits.busy_ms).map_err(failed)?;
    // Before anything is changed: the file may be another program's.
    let before = version(&connection).map_err(failed)?;
    known(path, &before).map_err(Attempt::Final)?;
    let mode = connection.query_row("pragma journal_mode = wal", [], |row| row.get::<_, String>(0));
    if mode.map_err(failed)? != "wal" {
        let why = "its disk does not support the log that SQLite writes ahead; name a file on a local disk";
        return Err(Attempt::Final(not_opened(path, why, None)));
    }
    durable(&connection, limits).map_err(failed)?;
    // An error drops the connection, and with it the transaction.
    connection.execute_batch("begin immediate").map_err(failed)?;
    migrate(path, &connection)?;
    connection.execute_batch("commit").map_err(failed)?;
    Ok(connection)
}

/// How the writer writes: a commit is acknowledged once it is on the disk, and survives a loss of power.
fn durable(connection: &Connection, limits: Limits) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // These answer with what they are set to.
    let ignored = |_: &rusqlite::Row<'_>| Ok(());
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_BYTES_KEPT, ignored)?;
    connection.pragma_update(None, "cache_size", WRITER_CACHE)?;
    if let Some(pages) = limits.pages_max {
        connection.pragma_update_and_check(None, "max_page_count", pages, ignored)?;
    }
    Ok(())
}

/// Applies what is missing, within the transaction that is open.
fn migrate(path: &Path, connection: &Connection) -> Result<(), Attempt> {
    let failed = |error| Attempt::of(path, error);
    // Again, now that nobody else writes: another process may have been first.
    let before = version(connection).map_err(failed)?;
    let applied = known(path, &before).map_err(Attempt::Final)?;
    for migration in MIGRATIONS.iter().skip(applied) {
        connection.execute_batch(migration).map_err(failed)?;
    }
    // Also where nothing was missing: a file that may only be read fails here, and not at the first append.
    let count = MIGRATIONS.len();
    let mark = format!("pragma application_id = {APPLICATION_ID}; pragma user_version = {count}");
    connection.execute_batch(&mark).map_err(failed)
}

enum Attempt {
    /// Another process is opening or writing the file just now.
    Busy(rusqlite::Error),
    Final(Error),
}

impl Attempt {
    fn of(path: &Path, error: rusqlite::Error) -> Self {
        match code(&error) {
            Some(BUSY) => Self::Busy(error),
            _ => Self::Final(meant(path, error)),
        }
    }
}

/// What a file says of itself.
struct Version {
    application: i64,
    migrations: i64,
    tables: i64,
}

fn version(connection: &Connection) -> rusqlite::Result<Version> {
    connection.query_row(
        "select (select application_id from pragma_application_id), \
         (select user_version from pragma_user_version), (select count(*) from sqlite_schema)",
        [],
        |row| Ok(Version { application: row.get(0)?, migrations: row.get(1)?, tables: row.get(2)? }),
    )
}

/// How many migrations the file has had; an error when it is no record, or a newer one.
fn known(path: &Path, version: &Version) -> Result<usize, Error> {
    match version {
        Version { application: 0, migrations: 0, tables: 0 } => Ok(0),
        Version { application: APPLICATION_ID, migrations, .. } => match usize::try_from(*migrations) {
            Ok(applied) if applied <= MIGRATIONS.len() => Ok(applied),
            _ => Err(not_opened(path, "a newer version of chancery wrote it; update chancery", None)),
        },
        _ => Err(not_opened(path, "it belongs to another program; name another file", None)),
    }
}

fn meant(path: &Path, error: rusqlite::Error) -> Error {
    let why = match code(&error) {
        Some(BUSY) => "another program holds it locked; stop that program",
        Some(READ_ONLY | CANNOT_OPEN) => {
            "chancery may not write it or beside it; change the rights of its folder"
        }
        Some(NOT_A_DATABASE) => "it is not a database; name another file",
        Some(CORRUPT) => "it is damaged; restore it from a copy",
        _ => "the database does not answer as it should",
    };
    not_opened(path, why, Some(Arc::new(error)))
}

fn not_opened(path: &Path, why: &str, source: Option<Cause>) -> Error {
    Error::NotOpened { place: path.display().to_string(), why: why.to_owned(), source }
}
