//! The PostgreSQL server that all tests of one run share: one that the environment names, or one of our own that is
//! started before the tests and stopped after them.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use tests_postgres::{Programs, SHARED, Server};

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
        if Programs::server().is_err() && Path::new("/etc/debian_version").is_file() {
            install()?;
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

fn install() -> Result<(), Stop> {
    println!("   installing {PACKAGE} with apt-get");
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    for args in [&["update", "--quiet"][..], &["install", "--yes", "--no-install-recommends", PACKAGE]] {
        let mut command = if is_root { Command::new("apt-get") } else { Command::new("sudo") };
        if !is_root {
            // Without asking: a prompt in the middle of a build is easily missed.
            command.args(["-n", "apt-get"]);
        }
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        let passed = command.status().is_ok_and(|status| status.success());
        if !passed {
            return Err(Stop::new(format!(
                "PostgreSQL is not installed, and apt-get could not install it: run `sudo apt-get install {PACKAGE}`, or \
                 set DATABASE_URL to a database that tests may use"
            )));
        }
    }
    Ok(())
}
