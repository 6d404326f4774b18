//! Opening a record on PostgreSQL: the connection, the schema, and how durable a commit is.

use super::{
    CONNECT_MS_MAX, IDLE_MS_MAX, LOCK_WAIT_MS, Reader, STATEMENT_MS_MAX, Writer, at_most, code, within,
};
use crate::error::{Cause, Error};
use crate::store;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use std::io::ErrorKind;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The first half of every advisory lock of this program: `CHRY`. The second is the number of the record's table of
/// events, so that each record of a database has a lock of its own; 0 is for making tables.
pub(super) const LOCK_CLASS: i32 = 0x4348_5259;

/// What the comment on the table `event` begins with; the number of migrations it has had follows.
const MARK: &str = "record of chancery, migrations: ";

/// The migrations, oldest first.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../../migrations/postgres/0001_record.sql"),
    include_str!("../../../../migrations/postgres/0002_projections.sql"),
    include_str!("../../../../migrations/postgres/0003_leases.sql"),
];

const INSECURE: &str = "no secure connection comes about; check `sslmode` and `sslrootcert`";

/// Readers at once of one host: a server has a hundred connections for all of them.
const READERS_MAX: u32 = 4;
/// How long a caller waits for a reader, or for a server that is starting anew.
const READER_WAIT_MS: u64 = 5_000;

/// Opens the record at `url`, creates its tables when there are none, and applies the migrations it lacks.
///
/// # Errors
/// [`Error::NotOpened`].
pub(crate) async fn open(url: &str) -> Result<(store::Reader, store::Writer), Error> {
    let server = Server::named(url)?;
    let mut connection = server.connect_to_write().await.map_err(|error| server.meant(error))?;
    let mut found = server.examine(&mut connection).await?;
    if found.migrations < MIGRATIONS.len() {
        found = server.migrate(&mut connection).await?;
    }
    let table = server.usable(&found)?;
    if !found.may_write {
        let why = "the user may not add to it; run migrations/postgres/role.sql as the owner of the tables";
        return Err(server.not_opened(why, None));
    }
    let reader = reader(&server, table);
    Ok((reader, Box::new(Writer::new(server, connection, table))))
}

/// Opens the record at `url` for reading alone.
///
/// # Errors
/// [`Error::NoRecord`]; [`Error::NotOpened`], also when it is older than this program, since it may not be migrated here.
pub(crate) async fn open_read_only(url: &str) -> Result<store::Reader, Error> {
    let server = Server::named(url)?;
    let options = server.reading();
    let connecting = at_most(CONNECT_MS_MAX, options.connect());
    let mut connection = connecting.await.map_err(|error| server.meant(error))?;
    let found = server.examine(&mut connection).await?;
    let table = server.usable(&found)?;
    connection.close().await.map_err(|error| server.meant(error))?;
    Ok(reader(&server, table))
}

fn reader(server: &Server, table: i32) -> store::Reader {
    let pool: PgPool = PgPoolOptions::new()
        .max_connections(READERS_MAX)
        .acquire_timeout(Duration::from_millis(READER_WAIT_MS))
        .connect_lazy_with(server.reading());
    Arc::new(Reader::new(pool, server.reading(), table))
}

/// What a database says of itself.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The number of its table of events.
    table: Option<i32>,
    migrations: usize,
    may_write: bool,
}

/// Where the record lies, and how to get there again.
#[derive(Clone, Debug)]
pub(super) struct Server {
    options: PgConnectOptions,
    /// For people: the address without user and password.
    place: String,
}

impl Server {
    fn named(url: &str) -> Result<Self, Error> {
        let named = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
        let options = PgConnectOptions::from_str(url).ok().filter(|_| named).ok_or_else(|| {
            // Neither the URL nor what reading it says, which repeats it: there may be a password in it.
            let why = "its address is no URL; write it as `postgres://user:password@host:port/database`";
            Error::NotOpened { place: "postgres".to_owned(), why: why.to_owned(), source: None }
        })?;
        let database = options.get_database().unwrap_or(options.get_username());
        let place = format!("postgres://{}:{}/{database}", options.get_host(), options.get_port());
        let options = options
            .application_name("chancery")
            .options([("statement_timeout", STATEMENT_MS_MAX.to_string())])
            .disable_statement_logging();
        Ok(Self { options, place })
    }

    /// How those that read connect.
    fn reading(&self) -> PgConnectOptions {
        self.options.clone().options([("default_transaction_read_only", "on")])
    }

    /// A connection for the one that writes.
    pub(super) async fn connect_to_write(&self) -> Result<PgConnection, sqlx::Error> {
        let options = self.options.clone().options([
            // A commit is acknowledged once it is on the disk, whatever the server's file says.
            ("synchronous_commit", "on".to_owned()),
            ("lock_timeout", LOCK_WAIT_MS.to_string()),
            ("idle_in_transaction_session_timeout", IDLE_MS_MAX.to_string()),
        ]);
        at_most(CONNECT_MS_MAX, options.connect()).await
    }

    async fn examine(&self, connection: &mut PgConnection) -> Result<Found, Error> {
        // `pg_namespace` is asked for more than the schema: to look into a table is what makes the server heed what
        // was changed while this transaction waited for a lock; `to_regclass` alone may answer from before.
        let asked = sqlx::query_as(
            "select to_regclass('event')::oid::int4, obj_description(to_regclass('event'), 'pg_class'), \
             coalesce(has_table_privilege(to_regclass('event'), 'insert') \
             and has_table_privilege(to_regclass('row'), 'delete'), true), \
             current_setting('server_encoding'), current_setting('fsync') = 'on' \
             from pg_namespace where nspname = current_schema()",
        );
        let answer = within(asked.fetch_optional(connection)).await.map_err(|error| self.meant(error))?;
        let Some(answer) = answer else {
            let why = "its search path names no schema that is there, or none for this user; create one";
            return Err(self.not_opened(why, None));
        };
        let (table, comment, may_write, encoding, flushes): (_, Option<String>, _, String, bool) = answer;
        if encoding != "UTF8" {
            let why = format!("its text is {encoding}; create a database with the encoding UTF8");
            return Err(self.not_opened(&why, None));
        }
        if !flushes {
            tracing::warn!(
                place = self.place,
                "the server runs with fsync off: a loss of power loses events"
            );
        }
        let mark = comment.as_deref().and_then(|comment| comment.strip_prefix(MARK)?.parse().ok());
        let migrations = match (table, mark) {
            (None, _) => 0,
            (Some(_), Some(migrations)) => migrations,
            (Some(_), None) => {
                let why = "it has a table `event` of another program; name another database";
                return Err(self.not_opened(why, None));
            }
        };
        if migrations > MIGRATIONS.len() {
            let why = "a newer version of chancery wrote it; update chancery";
            return Err(self.not_opened(why, None));
        }
        Ok(Found { table, migrations, may_write })
    }

    /// The number of the table of events, in a record that is up to date.
    fn usable(&self, found: &Found) -> Result<i32, Error> {
        match found.table {
            Some(table) if found.migrations == MIGRATIONS.len() => Ok(table),
            Some(_) => {
                let why = "an older version of chancery wrote it; `chancery serve` brings it up to date";
                Err(self.not_opened(why, None))
            }
            None => Err(Error::NoRecord { place: self.place.clone() }),
        }
    }

    /// Applies what is missing, in one transaction.
    async fn migrate(&self, connection: &mut PgConnection) -> Result<Found, Error> {
        let meant = |error| match code(&error).as_deref() {
            Some("42501") => {
                let why = "the user may not make or change its tables; start once as their owner";
                self.not_opened(why, Some(Arc::new(error)))
            }
            _ => self.meant(error),
        };
        let begin =
            format!("begin isolation level read committed; select pg_advisory_xact_lock({LOCK_CLASS}, 0)");
        within(sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut *connection)).await.map_err(meant)?;
        // Again, now that nobody else does: another host may have been first.
        let found = self.examine(connection).await?;
        for migration in MIGRATIONS.iter().skip(found.migrations) {
            within(sqlx::raw_sql(*migration).execute(&mut *connection)).await.map_err(meant)?;
        }
        if found.migrations < MIGRATIONS.len() {
            let mark = format!("comment on table event is '{MARK}{}'", MIGRATIONS.len());
            within(sqlx::raw_sql(AssertSqlSafe(mark)).execute(&mut *connection)).await.map_err(meant)?;
        }
        within(sqlx::raw_sql("commit").execute(&mut *connection)).await.map_err(meant)?;
        self.examine(connection).await
    }

    fn meant(&self, error: sqlx::Error) -> Error {
        let why = match (code(&error).as_deref(), &error) {
            (Some("28P01" | "28000"), _) => "the server does not let this user in; check user and password",
            (Some("3D000"), _) => "there is no such database; create it with `createdb`",
            (Some("53300"), _) => "the server has no connection left; raise its `max_connections`",
            (Some("55P03"), _) => "another host has been making its tables for too long; try again",
            (Some("57P03"), _) => "the server is starting or stopping; try again",
            (None, sqlx::Error::Tls(_)) => INSECURE,
            // What a certificate is refused with.
            (None, sqlx::Error::Io(error)) if error.kind() == ErrorKind::InvalidData => INSECURE,
            (None, sqlx::Error::Io(_)) => "the server does not answer; start it, or check host and port",
            _ => "the database does not answer as it should",
        };
        self.not_opened(why, Some(Arc::new(error)))
    }

    fn not_opened(&self, why: &str, source: Option<Cause>) -> Error {
        Error::NotOpened { place: self.place.clone(), why: why.to_owned(), source }
    }
}
