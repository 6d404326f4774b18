//! Slack's own library for JavaScript, Bolt, running an app of its own before the other side of these tests.
//!
//! It comes from npm, pinned by `tests/bolt`, into the build folder. Without Node.js or a package registry the tests that
//! need it fail and say what is missing; none is left out in silence.

use crate::office::{guests, repository};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The files that say what is installed.
const PINNED: [&str; 2] = ["package.json", "package-lock.json"];
/// How long it may take to say what a test waits for.
const WAIT: Duration = Duration::from_secs(60);

/// Where the library is; installed when it is not. One test installs, the others wait.
fn installed() -> PathBuf {
    let (pinned, folder) = (repository().join("tests/bolt"), guests().with_file_name("bolt"));
    fs::create_dir_all(&folder).unwrap();
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let stamp = folder.join("installed.json");
    let wanted = fs::read_to_string(pinned.join("package-lock.json")).unwrap();
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return folder;
    }
    for name in PINNED {
        fs::copy(pinned.join(name), folder.join(name)).unwrap();
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
    let status = Command::new("npm").args(arguments).current_dir(&folder).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "Bolt for JavaScript needs Node.js 18 or newer with npm (Debian: sudo apt-get install nodejs npm), and a registry"
    );
    fs::write(stamp, wanted).unwrap();
    folder
}

/// A running app.
pub struct Bolt {
    child: Child,
    heard: UnboundedReceiver<String>,
}

impl Bolt {
    /// Starts one with these arguments of `tests/oracle/bolt.cjs`, and waits until it listens.
    pub async fn start(arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let child = tokio::task::spawn_blocking(move || {
            let mut command = Command::new("node");
            command.arg(repository().join("tests/oracle/bolt.cjs")).args(arguments).current_dir(installed());
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
        });
        let mut child = child.await.unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (says, heard) = unbounded_channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                // Nobody listens any more once the test has heard enough.
                let _ = says.send(line);
            }
        });
        let mut bolt = Self { child, heard };
        bolt.says("listening").await;
        bolt
    }

    /// The next line, which begins so.
    pub async fn says(&mut self, begins: &str) -> String {
        let line = tokio::time::timeout(WAIT, self.heard.recv()).await;
        let line = line.ok().flatten().unwrap_or_else(|| panic!("Bolt never said `{begins}`"));
        assert!(line.starts_with(begins), "Bolt said `{line}`, and `{begins}` was awaited");
        line
    }
}

impl Drop for Bolt {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
