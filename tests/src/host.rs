//! The real program in a process of its own, for what only a real process can show: how it starts, what it
//! says when it does not, and what is left when it is killed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Where `chancery` is: beside the tests, or where `CHANCERY_BIN` says.
pub fn binary() -> PathBuf {
    let beside = || {
        let tests = std::env::current_exe().unwrap();
        tests.parent().and_then(Path::parent).unwrap().join("chancery")
    };
    let path = std::env::var_os("CHANCERY_BIN").map_or_else(beside, PathBuf::from);
    assert!(path.is_file(), "`{}` is not there: run `cargo build -p app` first", path.display());
    path
}

/// Runs `chancery` with these arguments until it ends.
///
/// An office of the same test goes on meanwhile: were it to stand still in the middle of a commit, the command would
/// wait for a lock that nobody gives back. So a test that calls this has several threads, and panics otherwise.
pub fn run(config: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.arg("--config").arg(config).args(arguments).stdin(Stdio::null());
    match tokio::runtime::Handle::try_current() {
        Ok(_) => tokio::task::block_in_place(|| command.output()).unwrap(),
        Err(_) => command.output().unwrap(),
    }
}

/// A running `chancery serve`.
pub struct Host {
    child: Child,
    /// Where it listens.
    pub url: String,
}

impl Host {
    /// Starts it and waits until it listens.
    pub async fn serve(config: &Path) -> Self {
        let config = config.to_path_buf();
        // On a thread of its own: what the host asks while it starts is answered by servers of the test.
        tokio::task::spawn_blocking(move || Self::started(&config, Command::new(binary()))).await.unwrap()
    }

    /// The same, with what it logs, line by line.
    pub async fn serve_heard(config: &Path) -> (Self, UnboundedReceiver<String>) {
        let config = config.to_path_buf();
        let (says, heard) = unbounded_channel();
        let host = tokio::task::spawn_blocking(move || {
            let mut command = Command::new(binary());
            command.stderr(Stdio::piped());
            let mut child = Self::spawned(&config, command);
            let log = BufReader::new(child.stderr.take().unwrap());
            // From its first line: why a host did not start stands there too.
            std::thread::spawn(move || {
                for line in log.lines().map_while(Result::ok) {
                    eprintln!("{line}");
                    // Nobody listens any more once the test has heard enough.
                    let _ = says.send(line);
                }
            });
            Self::listening(child)
        });
        (host.await.unwrap(), heard)
    }

    /// The same, with every line it logs, at every level, in the file `log`.
    pub async fn serve_logging(config: &Path, log: &Path) -> Self {
        let (config, log) = (config.to_path_buf(), std::fs::File::create(log).unwrap());
        let mut command = Command::new(binary());
        command.env("CHANCERY_LOG", "trace").stderr(log);
        tokio::task::spawn_blocking(move || Self::started(&config, command)).await.unwrap()
    }

    fn started(config: &Path, command: Command) -> Self {
        Self::listening(Self::spawned(config, command))
    }

    fn spawned(config: &Path, mut command: Command) -> Child {
        command
            .arg("--config")
            .arg(config)
            .arg("serve")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn listening(mut child: Child) -> Self {
        let out = BufReader::new(child.stdout.take().unwrap());
        let url = out
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
        let Some(url) = url else { panic!("chancery ended before it listened: {}", child.wait().unwrap()) };
        Self { child, url }
    }

    /// SIGKILL: no goodbye.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
