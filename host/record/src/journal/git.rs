//! The program `git`, run for one folder: no shell, no question to anybody, bounded in time, and with none of the
//! host's environment but what reaching a remote takes.

use super::error::GitError;
use super::head::JournalHead;
use super::lines::HEAD;
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

/// What git needs to find its own settings, a key or a proxy. Everything else the host was started with, secrets
/// among it, stays with the host.
const ENVIRONMENT: &[&str] = &[
    "ALL_PROXY",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "USER",
    "XDG_CONFIG_HOME",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Settings of every call: nothing of the operator's own (hooks, signing, line ends) applies here.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.autocrlf=false",
    "core.fsync=committed",
    "commit.gpgSign=false",
    "user.name=chancery",
    "user.email=journal@chancery.invalid",
];

/// How much of what git says is kept.
const SAID_BYTES_MAX: u64 = 16 * 1024;
/// How much of that is shown.
const SHOWN_CHARS_MAX: usize = 300;
/// How long git may take to end when it is asked to.
const END_MS: u64 = 2_000;
/// Where it lies, what it holds.
const ATTRIBUTES: (&str, &str) = (".gitattributes", "* -text\n");

/// Where a journal is pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    url: String,
    branch: String,
}

impl Remote {
    /// The branch `branch` of the repository at `url`, which is whatever `git push` takes.
    ///
    /// # Errors
    /// What is wrong with one of them: a password in the URL, or a name that git or its options would read otherwise.
    pub fn new(url: &str, branch: &str) -> Result<Self, String> {
        let authority = url.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(rest));
        let login = authority.rsplit_once('@').map_or("", |(login, _)| login);
        if login.contains(':') {
            return Err(
                "the remote's address holds a password; let git's credential settings know it instead".into(),
            );
        }
        if url.is_empty() || url.starts_with('-') || url.contains(char::is_control) {
            return Err(format!("`{url}` is not the address of a repository"));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        let odd = branch.contains("..") || branch.contains("//") || branch.ends_with(".lock");
        let edge = branch.starts_with(['-', '/', '.']) || branch.ends_with(['/', '.']) || branch.is_empty();
        if odd || edge || !branch.chars().all(plain) {
            return Err(format!("`{branch}` is not the name of a branch"));
        }
        Ok(Self { url: url.to_owned(), branch: branch.to_owned() })
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }
}

/// What came of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Done,
    /// The remote's branch has a commit that is not known here.
    Behind,
}

/// The repository in a journal's folder.
#[derive(Debug)]
pub(super) struct Repository {
    folder: PathBuf,
    remote: Remote,
    step_ms_max: u64,
    /// What changes the index or the branch happens one after the other.
    changing: Mutex<()>,
}

/// What a finished git said.
struct Said {
    ok: bool,
    out: String,
    err: String,
}

impl Repository {
    pub(super) fn new(folder: &Path, remote: Remote, step_ms_max: u64) -> Self {
        Self { folder: folder.to_owned(), remote, step_ms_max, changing: Mutex::new(()) }
    }

    /// Commits the files as they are: nobody may write them meanwhile. Makes the repository when there is none.
    pub(super) async fn commit(&self, head: &JournalHead) -> Result<(), GitError> {
        let _alone = self.changing.lock().await;
        self.prepare().await?;
        self.must("add", &["add", "--", HEAD, ATTRIBUTES.0, ":(glob)*.jsonl"]).await?;
        self.commit_index(head).await
    }

    async fn commit_index(&self, head: &JournalHead) -> Result<(), GitError> {
        if self.run("diff", &["diff", "--cached", "--quiet"]).await?.ok {
            return Ok(());
        }
        let message = format!("journal: up to {}", head.global_position);
        self.must("commit", &["commit", "--quiet", "--message", &message]).await.map(drop)
    }

    async fn prepare(&self) -> Result<(), GitError> {
        self.drop_stale_locks();
        if !self.folder.join(".git").join("HEAD").exists() {
            self.must("init", &["init", "--quiet", "--template="]).await?;
            self.must("symbolic-ref", &["symbolic-ref", "HEAD", &self.remote.reference()]).await?;
        }
        let (name, text) = ATTRIBUTES;
        if !self.folder.join(name).exists() {
            std::fs::write(self.folder.join(name), text)
                .map_err(|e| GitError::Failed { step: "init", said: e.to_string() })?;
        }
        Ok(())
    }

    /// A git that was killed leaves its lock files behind. Once they are older than any git here may become, nobody
    /// holds them.
    fn drop_stale_locks(&self) {
        let git = self.folder.join(".git");
        let branch = format!("{}.lock", self.remote.reference());
        for lock in ["index.lock", "HEAD.lock", branch.as_str()] {
            let path = git.join(lock);
            let age = path.metadata().and_then(|m| m.modified()).ok();
            let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_some_and(|age| age > Duration::from_millis(self.step_ms_max + END_MS)) {
                tracing::warn!(lock, "a lock that a killed git left in the journal is removed");
                // When it cannot be removed, git says so by itself.
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// Pushes the last commit. Never by force.
    pub(super) async fn push(&self) -> Result<Pushed, GitError> {
        let target = format!("HEAD:{}", self.remote.reference());
        let said = self.run("push", &["push", "--porcelain", "--", &self.remote.url, &target]).await?;
        let behind = ["(fetch first)", "(non-fast-forward)"].iter().any(|why| said.out.contains(why));
        match said.ok {
            true => Ok(Pushed::Done),
            false if behind => Ok(Pushed::Behind),
            false => Err(said.failed("push")),
        }
    }

    /// Fetches the remote's branch and says where the journal in it ends.
    pub(super) async fn fetch(&self) -> Result<JournalHead, GitError> {
        let reference = self.remote.reference();
        self.must("fetch", &["fetch", "--quiet", "--no-tags", "--", &self.remote.url, &reference]).await?;
        let said = self.run("show", &["show", &format!("FETCH_HEAD:{HEAD}")]).await?;
        let head = if said.ok { said.out.trim_end().parse().ok() } else { None };
        head.ok_or_else(|| self.foreign("holds something that is no journal"))
    }

    /// Puts what is committed here on top of what was fetched.
    pub(super) async fn adopt(&self, head: &JournalHead) -> Result<(), GitError> {
        let _alone = self.changing.lock().await;
        self.must("reset", &["reset", "--quiet", "--soft", "FETCH_HEAD"]).await?;
        self.commit_index(head).await
    }

    pub(super) fn foreign(&self, why: &str) -> GitError {
        GitError::Foreign { branch: self.remote.branch.clone(), why: why.to_owned() }
    }

    async fn must(&self, step: &'static str, arguments: &[&str]) -> Result<Said, GitError> {
        let said = self.run(step, arguments).await?;
        if said.ok { Ok(said) } else { Err(said.failed(step)) }
    }

    async fn run(&self, step: &'static str, arguments: &[&str]) -> Result<Said, GitError> {
        let mut child = self.command(arguments).spawn().map_err(GitError::NotStarted)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let ended = async { tokio::join!(child.wait(), some(out), some(err)) };
        match tokio::time::timeout(Duration::from_millis(self.step_ms_max), ended).await {
            Ok((status, out, err)) => {
                let ok = status.map_err(GitError::NotStarted)?.success();
                Ok(Said { ok, out, err })
            }
            Err(_) => {
                end(&mut child).await;
                Err(GitError::TimedOut { step, seconds: self.step_ms_max.div_ceil(1_000) })
            }
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.env_clear().env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        for name in ENVIRONMENT {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.current_dir(&self.folder).arg("--git-dir=.git");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that what git starts ends with it.
        command.process_group(0).kill_on_drop(true);
        command
    }
}

impl Said {
    /// The last line that says something, which is where git names the reason.
    fn failed(&self, step: &'static str) -> GitError {
        let told = |line: &&str| !line.trim().is_empty() && !line.starts_with("hint:");
        let fatal =
            |line: &&str| line.starts_with("fatal:") || line.starts_with("error:") || line.starts_with("! ");
        let lines = || self.err.lines().filter(told);
        let said = lines().find(fatal).or_else(|| lines().next_back()).unwrap_or("it did not say why");
        GitError::Failed { step, said: said.trim().chars().take(SHOWN_CHARS_MAX).collect() }
    }
}

/// The first of what `pipe` says; the rest is read and dropped, so that git never waits for a reader.
async fn some(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else { return String::new() };
    let mut kept = Vec::new();
    // A pipe that breaks has said what it said.
    let _ = (&mut pipe).take(SAID_BYTES_MAX).read_to_end(&mut kept).await;
    let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}

/// Ends git and whatever it started: asked first, since it then removes its lock files.
async fn end(child: &mut Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let Some(group) = group else { return };
    for signal in [Signal::TERM, Signal::KILL] {
        // It fails when the group has ended.
        let _ = kill_process_group(group, signal);
        if tokio::time::timeout(Duration::from_millis(END_MS), child.wait()).await.is_ok() {
            break;
        }
    }
    let _ = kill_process_group(group, Signal::KILL);
}
