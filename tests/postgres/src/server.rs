//! A server in a temporary folder on a free port, with a password nobody else knows.

use crate::Unable;
use crate::programs::{Programs, run};
use std::fs::File;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Its one user, who may do everything.
const USER: &str = "chancery_test";
/// How long a start may take on a busy machine.
const START_S_MAX: u64 = 60;
/// Starts: a port that was free may be taken before the server takes it.
const TRIES_MAX: u32 = 3;

/// A running server. It ends with its last handle, and with the process.
#[derive(Debug)]
pub struct Server {
    programs: Programs,
    folder: TempDir,
    port: u16,
    url: String,
    /// Waits for the server to end; it ends when this thread does.
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Makes and starts one.
    ///
    /// # Errors
    /// What is missing, or what the server says.
    pub fn start() -> Result<Self, Unable> {
        let programs = Programs::server()?;
        let folder = tempfile::Builder::new().prefix("chancery-postgres-").tempdir();
        let folder = folder.map_err(|error| Unable::because("a temporary folder", error))?;
        if let Some((user, group)) = programs.user() {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group))
                .map_err(|error| Unable::because("a folder for the user `postgres`", error))?;
        }
        let password = password()?;
        init(&programs, folder.path(), &password)?;
        let mut tries = 1;
        loop {
            let port = free_port()?;
            let url = format!("postgres://{USER}:{password}@127.0.0.1:{port}/postgres");
            match run_at(&programs, folder.path(), port) {
                Ok(keeper) => {
                    let keeper = Mutex::new(Some(keeper));
                    return Ok(Self { programs, folder, port, url, keeper });
                }
                Err(_) if tries < TRIES_MAX => tries += 1,
                Err(unable) => return Err(unable),
            }
        }
    }

    /// Its database, as the user who may do everything.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Stops it at once, as a crash does: nothing is written that was not.
    ///
    /// # Errors
    /// When it does not stop.
    pub fn crash(&self) -> Result<(), Unable> {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = keeper.take() else { return Ok(()) };
        let mut stop = self.programs.command("pg_ctl", self.folder.path());
        run(stop.args(["stop", "-m", "immediate", "-D"]).arg(data(self.folder.path())))?;
        waiting.join().map_err(|_| Unable("the thread that keeps the server failed".to_owned()))
    }

    /// Starts it again, at the same address, after [`Server::crash`].
    ///
    /// # Errors
    /// What the server says.
    pub fn start_again(&self) -> Result<(), Unable> {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.is_none() {
            *keeper = Some(run_at(&self.programs, self.folder.path(), self.port)?);
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // When it does not stop it still ends with this process.
        let _ = self.crash();
    }
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

fn init(programs: &Programs, folder: &Path, password: &str) -> Result<(), Unable> {
    let secret = folder.join("password");
    std::fs::write(&secret, password).map_err(|error| Unable::because("a file for the password", error))?;
    let mut init = programs.command("initdb", folder);
    // `password`, which sends it as it is, never leaves this machine here; the proofs of `scram-sha-256` take a client
    // that was built for debugging a fifth of a second for each of thousands of connections.
    init.args(["--encoding=UTF8", "--locale=C", "--auth=password", "--no-sync", "--username", USER]);
    run(init.arg("--pwfile").arg(secret).arg("--pgdata").arg(data(folder)))
}

/// Starts the server and waits until it answers; the thread that is returned ends when the server has.
fn run_at(programs: &Programs, folder: &Path, port: u16) -> Result<JoinHandle<()>, Unable> {
    let said = folder.join("said");
    let log =
        File::create(&said).map_err(|error| Unable::because("a file for what the server says", error))?;
    let mut command = programs.mortal("postgres", folder);
    command.arg("-D").arg(data(folder)).arg("-p").arg(port.to_string());
    for setting in ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300"] {
        command.args(["-c", setting]);
    }
    command.stdout(Stdio::null()).stderr(log);
    let (started, start) = mpsc::channel();
    let keeper = std::thread::spawn(move || match command.spawn() {
        Ok(mut server) => {
            // Nobody listens when whoever starts it has given up.
            let _ = started.send(Ok(()));
            let _ = server.wait();
        }
        Err(error) => drop(started.send(Err(error))),
    });
    match start.recv() {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(Unable::because("`postgres` did not start", error)),
        Err(error) => return Err(Unable::because("`postgres` did not start", error)),
    }
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(START_S_MAX) && !keeper.is_finished() {
        let mut ready = programs.command("pg_isready", folder);
        if run(ready.args(["--quiet", "--host", "127.0.0.1", "--port"]).arg(port.to_string())).is_ok() {
            return Ok(keeper);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = std::fs::read_to_string(said).unwrap_or_default();
    Err(Unable::because("`postgres` did not start", said.trim()))
}

fn free_port() -> Result<u16, Unable> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| Unable::because("a free port", error))
}

/// Anybody on this machine can connect: the password keeps them out.
fn password() -> Result<String, Unable> {
    let mut bytes = [0_u8; 16];
    let read = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
    read.map_err(|error| Unable::because("a random password", error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::Server;
    use crate::Schema;
    use std::sync::Arc;

    #[test]
    fn a_server_that_crashed_comes_back_at_its_address_with_what_it_had() {
        let server = Arc::new(Server::start().unwrap_or_else(|why| panic!("{why}")));
        let schema = Schema::on(&server).unwrap();
        let ask = |statement: &str| server.programs().ask(server.url(), statement);
        let table = format!("{}.kept", schema.name());
        ask(&format!("create table {table} (n int)")).unwrap();
        server.crash().unwrap();
        assert!(ask("select 1").is_err(), "it is gone");
        server.start_again().unwrap();
        ask(&format!("select n from {table}")).unwrap();
    }
}
