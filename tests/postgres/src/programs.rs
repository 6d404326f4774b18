//! PostgreSQL's own programs, wherever they are installed.

use crate::Unable;
use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest server that is tried.
pub const VERSION_MIN: u32 = 15;

/// Where Debian and its kin keep each version: on no search path.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder of the programs, and as whom they run.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
    /// For root, as whom the server refuses to run: user and group of `postgres`.
    user: Option<(u32, u32)>,
}

impl Programs {
    /// The programs of a server, the newest.
    ///
    /// # Errors
    /// What to install.
    pub fn server() -> Result<Self, Unable> {
        let found = Self::folders().into_iter().find(|folder| folder.join("initdb").is_file());
        let folder = found.ok_or_else(|| {
            Unable(format!(
                "the tests of the record need PostgreSQL {VERSION_MIN} or newer, and there is no `initdb`: install it \
                 (Debian: sudo apt-get install postgresql), or set DATABASE_URL to a database that tests may use"
            ))
        })?;
        Ok(Self { folder, user: user()? })
    }

    /// `psql`, which is enough to use a server that somebody else runs.
    ///
    /// # Errors
    /// What to install.
    pub fn client() -> Result<Self, Unable> {
        let found = Self::folders().into_iter().find(|folder| folder.join("psql").is_file());
        let folder = found.ok_or_else(|| {
            Unable(
                "there is no `psql`: install it (Debian: sudo apt-get install postgresql-client)".to_owned(),
            )
        })?;
        Ok(Self { folder, user: None })
    }

    /// Every folder that may hold them, the newest version first.
    fn folders() -> Vec<PathBuf> {
        let listing = std::fs::read_dir(DEBIAN).into_iter().flatten().filter_map(Result::ok);
        let mut versions: Vec<u32> =
            listing.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        versions.retain(|version| *version >= VERSION_MIN);
        versions.sort_unstable_by(|a, b| b.cmp(a));
        let debian =
            versions.into_iter().map(|version| Path::new(DEBIAN).join(version.to_string()).join("bin"));
        let path = env::var_os("PATH").unwrap_or_default();
        debian.chain(env::split_paths(&path)).collect()
    }

    /// As whom they run, when not as whoever runs the tests.
    pub(crate) fn user(&self) -> Option<(u32, u32)> {
        self.user
    }

    /// One of the programs, to be run in `folder`.
    pub(crate) fn command(&self, program: &str, folder: &Path) -> Command {
        self.as_user(Command::new(self.folder.join(program)), folder)
    }

    /// One of the programs that ends when the thread that starts it does, where the system can promise that:
    /// a test that is killed leaves no server behind.
    pub(crate) fn mortal(&self, program: &str, folder: &Path) -> Command {
        let setpriv = Path::new("/usr/bin/setpriv");
        if !setpriv.is_file() {
            return self.command(program, folder);
        }
        let mut command = Command::new(setpriv);
        command.args(["--pdeathsig", "QUIT", "--"]).arg(self.folder.join(program));
        self.as_user(command, folder)
    }

    fn as_user(&self, mut command: Command, folder: &Path) -> Command {
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.current_dir(folder).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Runs statements with `psql`.
    ///
    /// # Errors
    /// What `psql` says.
    pub fn ask(&self, url: &str, statements: &str) -> Result<(), Unable> {
        let mut psql = Command::new(self.folder.join("psql"));
        psql.args([
            "--no-psqlrc",
            "--quiet",
            "--set",
            "ON_ERROR_STOP=1",
            "--command",
            statements,
            "--dbname",
        ]);
        // `client_min_messages`: that a schema was not there to be dropped is no news.
        psql.arg(url).env("PGOPTIONS", "-c client_min_messages=warning").env("PGCONNECT_TIMEOUT", "10");
        run(psql.stdin(Stdio::null()))
    }
}

/// Runs a program to its end.
///
/// # Errors
/// What it says on its standard error.
pub(crate) fn run(command: &mut Command) -> Result<(), Unable> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Unable::because(format_args!("`{program}`"), error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Unable::because(format_args!("`{program}` ended with {}", output.status), said.trim()))
}

/// The user `postgres`, when whoever runs this is root.
fn user() -> Result<Option<(u32, u32)>, Unable> {
    let number = |arguments: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(arguments).stderr(Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse().ok()
    };
    if number(&["-u"]) != Some(0) {
        return Ok(None);
    }
    let user = number(&["-u", "postgres"]).zip(number(&["-g", "postgres"]));
    user.map(Some).ok_or_else(|| {
        Unable(
            "PostgreSQL refuses to run as root, and there is no user `postgres` to run it: make one"
                .to_owned(),
        )
    })
}
