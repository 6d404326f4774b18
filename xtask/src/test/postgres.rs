//! The PostgreSQL server that all tests of one run share: one that the environment names, or one of our own that is
//! started before the tests and stopped after them.

use std::env;
use std::process::Command;

use tests_postgres::{Programs, SHARED, Server};

use crate::apt;
use crate::stop::Stop;

/// Debian's name for the newest server it has.
const PACKAGE: &str = "postgresql";

/// A server for the tests.
pub enum Postgres {
    /// One that the environment names already, whoever runs it.
    Named,
    /// One of our own, which stops when this is dropped.
    Own(Server),
}

impl Postgres {
    /// Finds or starts one; on Debian installs what is missing.
    ///
    /// # Errors
    /// What to install or set.
    pub fn find() -> Result<Self, Stop> {
        let named = |name: &str| env::var_os(name).is_some_and(|url| !url.is_empty());
        if named(SHARED) || named("DATABASE_URL") {
            return Ok(Self::Named);
        }
        if Programs::server().is_err() && apt::is_here() {
            apt::install(&[PACKAGE]).map_err(|why| {
                Stop::new(format!(
                    "PostgreSQL is not installed, and {why}: run `sudo apt-get install {PACKAGE}`, or set DATABASE_URL \
                     to a database that tests may use"
                ))
            })?;
        }
        let server = Server::start().map_err(|unable| Stop::new(unable.to_string()))?;
        println!("   a PostgreSQL server of our own runs for the tests");
        Ok(Self::Own(server))
    }

    /// Tells `command` where the server is.
    pub fn tell(&self, command: &mut Command) {
        if let Self::Own(server) = self {
            command.env(SHARED, server.url());
        }
    }
}
