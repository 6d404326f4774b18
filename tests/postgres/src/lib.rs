//! PostgreSQL for tests: a server of our own in a temporary folder, or the one that the environment names; and a
//! schema of its own for each test.
//!
//! In order: `CHANCERY_TEST_POSTGRES` (set by `cargo xtask test`, which starts one server for all tests),
//! `DATABASE_URL`, a server that this process starts and stops. When none of these is to be had a test fails and
//! says what to install: it is never left out.
//!
//! Works through PostgreSQL's own programs, so that it knows no driver. Deliberately absent: anything but Unix.

mod programs;
mod server;

pub use programs::{Programs, VERSION_MIN};
pub use server::Server;

use std::env;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Names the server that all tests of a run share.
pub const SHARED: &str = "CHANCERY_TEST_POSTGRES";

/// Why there is no server, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unable(String);

impl Unable {
    fn because(doing: impl std::fmt::Display, source: impl std::fmt::Display) -> Self {
        Self(format!("{doing}: {source}"))
    }
}

/// The server of this process, as long as a test uses it.
static OWN: Mutex<Weak<Server>> = Mutex::new(Weak::new());
static SCHEMAS: AtomicU32 = AtomicU32::new(0);

/// An empty schema of its own, dropped at the end.
#[derive(Debug)]
pub struct Schema {
    programs: Programs,
    name: String,
    /// The database it is in.
    database: String,
    url: String,
    _server: Option<Arc<Server>>,
}

impl Schema {
    /// Makes one.
    ///
    /// # Errors
    /// When there is no server: what to install or set.
    pub fn new() -> Result<Self, Unable> {
        let named = [SHARED, "DATABASE_URL"].into_iter().find_map(|name| env::var(name).ok());
        match named.filter(|url| !url.is_empty()) {
            Some(url) => Self::within(Programs::client()?, url, None),
            None => Self::on(&own()?),
        }
    }

    /// Makes one on a certain server.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn on(server: &Arc<Server>) -> Result<Self, Unable> {
        Self::within(server.programs().clone(), server.url().to_owned(), Some(Arc::clone(server)))
    }

    fn within(programs: Programs, database: String, server: Option<Arc<Server>>) -> Result<Self, Unable> {
        let count = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let name = format!("chancery_test_{}_{count}", std::process::id());
        // One that an earlier process of the same number left behind holds nothing that counts.
        programs.ask(&database, &format!("drop schema if exists {name} cascade; create schema {name}"))?;
        let sign = if database.contains('?') { '&' } else { '?' };
        let url = format!("{database}{sign}options[search_path]={name}");
        Ok(Self { programs, name, database, url, _server: server })
    }

    /// Where it is: everything that connects there finds itself in this schema.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // A server that was stopped takes its schemas with it.
        let _ = self.programs.ask(&self.database, &format!("drop schema {} cascade", self.name));
    }
}

fn own() -> Result<Arc<Server>, Unable> {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = own.upgrade() {
        return Ok(server);
    }
    let server = Arc::new(Server::start()?);
    *own = Arc::downgrade(&server);
    Ok(server)
}
