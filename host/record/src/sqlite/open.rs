//! Opening a record on SQLite: the file, its schema, and how durable a commit is.

use super::{BUSY, BUSY_MS, CANNOT_OPEN, CORRUPT, NOT_A_DATABASE, READ_ONLY, Reader, Writer, code};
use crate::error::{Cause, Error};
use crate::store;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};
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

/// Readers at once: they hold no lock against the writer, and more than the machine has cores gain nothing.
const READERS_MAX: u32 = 4;
/// How long a caller waits for a reader.
const READER_WAIT_MS: u64 = 5_000;
/// The log file is cut back to this after a burst.
const WAL_BYTES_KEPT: &str = "67108864";
/// Pages of the log before they go back into the file, 16 MiB: a page that many commits change is then written there
/// once, and whoever waits for that waits seldom. A start after a crash reads so much at most.
const WAL_PAGES_MAX: &str = "4000";
/// What the writer keeps of the file in memory, as SQLite wants it said: 64 MiB. Ids come in no order, so an append
/// touches pages anywhere; this holds their index up to some hundred thousand events.
const WRITER_CACHE: &str = "-65536";
/// Two processes that create one file at once can meet at the change of journal mode, which does not wait.
const OPEN_TRIES_MAX: u32 = 20;
const OPEN_RETRY_MS: u64 = 100;

/// Opens the record in `path`, creates it when there is none, and applies the migrations it lacks.
///
/// # Errors
/// [`Error::NotOpened`].
pub(crate) async fn open(path: &Path) -> Result<(store::Reader, store::Writer), Error> {
    open_with(path, writing(path)).await
}

/// The same with other options; tests use it to make a small disk.
pub(crate) async fn open_with(
    path: &Path,
    options: SqliteConnectOptions,
) -> Result<(store::Reader, store::Writer), Error> {
    create(path)?;
    let mut tries = 1;
    let connection = loop {
        match connect(path, &options).await {
            Err(Attempt::Busy(_)) if tries < OPEN_TRIES_MAX => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(OPEN_RETRY_MS)).await;
            }
            Err(Attempt::Busy(error)) => return Err(meant(path, error)),
            Err(Attempt::Final(error)) => return Err(error),
            Ok(connection) => break connection,
        }
    };
    Ok((reader(path), Box::new(Writer::new(connection))))
}

/// Opens the record in `path` for reading alone, beside a server or without one.
///
/// # Errors
/// [`Error::NoRecord`]; [`Error::NotOpened`], also when the record is older than this program, since it may not be migrated here.
pub(crate) async fn open_read_only(path: &Path) -> Result<store::Reader, Error> {
    if !path.exists() {
        return Err(Error::NoRecord { place: path.display().to_string() });
    }
    let failed = |error| meant(path, error);
    let mut connection = options(path).read_only(true).connect().await.map_err(failed)?;
    let version = version(&mut connection).await.map_err(failed)?;
    let version = known(path, version)?;
    connection.close().await.map_err(failed)?;
    if version < MIGRATIONS.len() {
        let why = "an older version of chancery wrote it; `chancery serve` brings it up to date";
        return Err(not_opened(path, why, None));
    }
    Ok(reader(path))
}

/// How the one writer connects.
pub(crate) fn writing(path: &Path) -> SqliteConnectOptions {
    // A commit is acknowledged once it is on the disk, and survives a loss of power.
    options(path)
        .synchronous(SqliteSynchronous::Full)
        .pragma("journal_size_limit", WAL_BYTES_KEPT)
        .pragma("wal_autocheckpoint", WAL_PAGES_MAX)
        .pragma("cache_size", WRITER_CACHE)
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(Duration::from_millis(BUSY_MS))
        .foreign_keys(true)
        .disable_statement_logging()
}

fn reader(path: &Path) -> store::Reader {
    let pool = SqlitePoolOptions::new()
        .max_connections(READERS_MAX)
        .acquire_timeout(Duration::from_millis(READER_WAIT_MS))
        // A file needs no greeting, and a connection to it does not wear out.
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options(path).read_only(true));
    Arc::new(Reader::new(pool))
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

enum Attempt {
    /// Another process is opening or writing the file just now.
    Busy(sqlx::Error),
    Final(Error),
}

impl Attempt {
    fn of(path: &Path, error: sqlx::Error) -> Self {
        match code(&error) {
            Some(BUSY) => Self::Busy(error),
            _ => Self::Final(meant(path, error)),
        }
    }
}

async fn connect(path: &Path, options: &SqliteConnectOptions) -> Result<SqliteConnection, Attempt> {
    let failed = |error| Attempt::of(path, error);
    let mut connection = options.connect().await.map_err(failed)?;
    // Before anything is changed: the file may be another program's.
    let before = version(&mut connection).await.map_err(failed)?;
    known(path, before).map_err(Attempt::Final)?;
    let mode = sqlx::query_scalar("pragma journal_mode = wal").fetch_one(&mut connection);
    let mode: String = mode.await.map_err(failed)?;
    if mode != "wal" {
        let why = "its disk does not support the log that SQLite writes ahead; name a file on a local disk";
        return Err(Attempt::Final(not_opened(path, why, None)));
    }
    sqlx::raw_sql("begin immediate").execute(&mut connection).await.map_err(failed)?;
    migrate(path, &mut connection).await?;
    sqlx::raw_sql("commit").execute(&mut connection).await.map_err(failed)?;
    Ok(connection)
}

/// Applies what is missing, within the transaction that is open. An error drops the connection, and it with it.
async fn migrate(path: &Path, connection: &mut SqliteConnection) -> Result<(), Attempt> {
    let failed = |error| Attempt::of(path, error);
    // Again, now that nobody else writes: another process may have been first.
    let before = version(connection).await.map_err(failed)?;
    let applied = known(path, before).map_err(Attempt::Final)?;
    for migration in MIGRATIONS.iter().skip(applied) {
        sqlx::raw_sql(*migration).execute(&mut *connection).await.map_err(failed)?;
    }
    // Also where nothing was missing: a file that may only be read fails here, and not at the first append.
    let count = MIGRATIONS.len();
    let mark = format!("pragma application_id = {APPLICATION_ID}; pragma user_version = {count}");
    sqlx::raw_sql(AssertSqlSafe(mark)).execute(connection).await.map_err(failed)?;
    Ok(())
}

/// What a file says of itself.
struct Version {
    application: i64,
    migrations: i64,
    tables: i64,
}

async fn version(connection: &mut SqliteConnection) -> Result<Version, sqlx::Error> {
    let (application, migrations, tables) = sqlx::query_as(
        "select (select application_id from pragma_application_id), \
         (select user_version from pragma_user_version), (select count(*) from sqlite_schema)",
    )
    .fetch_one(connection)
    .await?;
    Ok(Version { application, migrations, tables })
}

/// How many migrations the file has had; an error when it is no record, or a newer one.
fn known(path: &Path, version: Version) -> Result<usize, Error> {
    match version {
        Version { application: 0, migrations: 0, tables: 0 } => Ok(0),
        Version { application: APPLICATION_ID, migrations, .. } => match usize::try_from(migrations) {
            Ok(applied) if applied <= MIGRATIONS.len() => Ok(applied),
            _ => Err(not_opened(path, "a newer version of chancery wrote it; update chancery", None)),
        },
        _ => Err(not_opened(path, "it belongs to another program; name another file", None)),
    }
}

fn meant(path: &Path, error: sqlx::Error) -> Error {
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
