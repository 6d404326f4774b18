//! Commits and pushes, with the program `git` and bare repositories on the disk.

use super::kit::{Desk, export, files, open, say};
use crate::{Journal, Pace, Record, Remote, STARTING_PACE, Status, keep};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Fast enough for a test.
pub const QUICK: Pace = Pace {
    write_ms: 20,
    commit_ms: 50,
    retry_ms_min: 50,
    retry_ms_max: 200,
    git_ms_max: 20_000,
    ..STARTING_PACE
};
const WAIT_MS: u64 = 60_000;

pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub fn bare(path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    git(path, &["init", "--quiet", "--bare"]);
}

pub fn remote(path: &Path) -> Remote {
    Remote::new(path.to_str().unwrap(), "journal").unwrap()
}

/// The journal as somebody who clones it has it.
fn cloned(desk: &Desk, bare: &Path, name: &str) -> PathBuf {
    let folder = desk.path(name);
    let (from, to) = (bare.to_str().unwrap(), folder.to_str().unwrap());
    git(&desk.path("."), &["clone", "--quiet", "--branch", "journal", from, to]);
    folder
}

/// A journal that is kept.
pub struct Kept {
    status: watch::Receiver<Status>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Kept {
    pub async fn start(record: &Record, folder: &Path, remote: Remote, pace: Pace) -> Self {
        let journal = Journal::open(folder, record).await.unwrap();
        let (sender, status) = watch::channel(Status::default());
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(keep(journal, record.clone(), Some(remote), pace, sender, stopped));
        Self { status, stop, task }
    }

    async fn until(&mut self, what: impl FnMut(&Status) -> bool) -> Status {
        let limit = Duration::from_millis(WAIT_MS);
        let found = tokio::time::timeout(limit, self.status.wait_for(what)).await;
        found.expect("it came to that in time").unwrap().clone()
    }

    pub async fn pushed(&mut self, end: u64) -> Status {
        self.until(|status| status.pushed.0 >= end).await
    }

    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_appended_is_written_committed_and_pushed() {
    let desk = Desk::new();
    let (record, origin) = (desk.open().await, desk.path("origin.git"));
    bare(&origin);
    say(&record, &["one", "two"]).await;
    let mut kept = Kept::start(&record, &desk.journal, remote(&origin), QUICK).await;
    kept.pushed(2).await;
    say(&record, &["three"]).await;
    let status = kept.pushed(3).await;
    assert_eq!((status.written.0, status.committed.0, status.problem), (3, 3, None));
    // What comes last is pushed before it stops.
    say(&record, &["four"]).await;
    kept.stop().await;
    let clone = cloned(&desk, &origin, "clone");
    assert!(files(&clone) == files(&desk.journal));
    assert_eq!(record.verify_with_journal(&clone).await.unwrap().journal.global_position.0, 4);
    let messages = git(&clone, &["log", "--format=%s %an"]);
    assert!(messages.starts_with("journal: up to 4 chancery\n"), "{messages}");
    assert!(messages.lines().count() >= 3, "{messages}");
    assert!(!git(&clone, &["ls-files"]).contains("lock"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_that_fails_is_shown_and_tried_again_until_the_remote_works() {
    let desk = Desk::new();
    let (record, origin) = (desk.open().await, desk.path("origin.git"));
    say(&record, &["one"]).await;
    let mut kept = Kept::start(&record, &desk.journal, remote(&origin), QUICK).await;
    let failing = kept.until(|status| status.push_problem.is_some() && status.committed.0 == 1).await;
    let problem = failing.push_problem.unwrap();
    assert!(problem.contains("git push") && problem.contains("origin.git"), "{problem}");
    assert_eq!(failing.pushed.0, 0);
    // The files and the commits go on meanwhile.
    say(&record, &["two"]).await;
    let behind = kept.until(|status| status.committed.0 == 2).await;
    assert_eq!((behind.pushed.0, behind.problem), (0, None));
    bare(&origin);
    kept.pushed(2).await;
    kept.until(|status| status.push_problem.is_none()).await;
    kept.stop().await;
    assert!(files(&cloned(&desk, &origin, "clone")) == files(&desk.journal));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_host_with_a_folder_of_its_own_builds_on_what_the_first_pushed() {
    let desk = Desk::new();
    let (record, origin) = (desk.open().await, desk.path("origin.git"));
    bare(&origin);
    say(&record, &["one"]).await;
    let mut first = Kept::start(&record, &desk.journal, remote(&origin), QUICK).await;
    first.pushed(1).await;
    say(&record, &["two"]).await;
    first.pushed(2).await;
    let mut second = Kept::start(&record, &desk.path("second"), remote(&origin), QUICK).await;
    second.pushed(2).await;
    say(&record, &["three"]).await;
    first.pushed(3).await;
    second.pushed(3).await;
    first.stop().await;
    second.stop().await;
    let clone = cloned(&desk, &origin, "clone");
    assert!(files(&clone) == files(&desk.journal) && files(&clone) == files(&desk.path("second")));
    let commits = git(&clone, &["rev-list", "--count", "HEAD"]);
    assert!(commits.trim().parse::<u32>().unwrap() >= 3, "no commit was lost: {commits}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remote_that_holds_something_else_keeps_it() {
    let desk = Desk::new();
    let record = desk.open().await;
    say(&record, &["one"]).await;
    let other = open(&desk.path("other.sqlite")).await;
    say(&other, &["another"]).await;
    export(&other, &desk.path("other journal")).await;
    for (name, said) in [("journal.git", "another history"), ("readme.git", "no journal")] {
        let origin = desk.path(name);
        bare(&origin);
        let work = if name == "readme.git" { desk.path("work") } else { desk.path("other journal") };
        std::fs::create_dir_all(&work).unwrap();
        std::fs::write(work.join("README"), "mine").unwrap();
        git(&work, &["init", "--quiet"]);
        git(&work, &["add", "."]);
        git(&work, &["-c", "user.name=x", "-c", "user.email=x@x.invalid", "commit", "--quiet", "-m", "mine"]);
        git(&work, &["push", "--quiet", origin.to_str().unwrap(), "HEAD:refs/heads/journal"]);
        let before = git(&origin, &["rev-parse", "journal"]);
        let mut kept = Kept::start(&record, &desk.path(&format!("for {name}")), remote(&origin), QUICK).await;
        let status = kept.until(|status| status.push_problem.is_some()).await;
        let problem = status.push_problem.unwrap();
        assert!(problem.contains(said) && problem.contains("nothing there was changed"), "{problem}");
        kept.stop().await;
        assert_eq!(git(&origin, &["rev-parse", "journal"]), before);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remote_that_never_answers_is_given_up_in_time() {
    let desk = Desk::new();
    let record = desk.open().await;
    say(&record, &["one"]).await;
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("git://{}/journal", silent.local_addr().unwrap());
    let pace = Pace { git_ms_max: 1_500, stop_ms_max: 100, ..QUICK };
    let remote = Remote::new(&address, "journal").unwrap();
    let mut kept = Kept::start(&record, &desk.journal, remote, pace).await;
    let status = kept.until(|status| status.push_problem.is_some()).await;
    assert_eq!(status.push_problem.as_deref(), Some("`git push` took longer than 2 seconds and was stopped"));
    kept.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_of_a_git_that_was_killed_long_ago_is_removed() {
    let desk = Desk::new();
    let (record, origin) = (desk.open().await, desk.path("origin.git"));
    bare(&origin);
    say(&record, &["one"]).await;
    let mut kept = Kept::start(&record, &desk.journal, remote(&origin), QUICK).await;
    kept.pushed(1).await;
    kept.stop().await;
    let lock = desk.journal.join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    say(&record, &["two"]).await;
    let mut kept = Kept::start(&record, &desk.journal, remote(&origin), QUICK).await;
    let held = kept.until(|status| status.problem.is_some()).await;
    assert!(held.problem.unwrap().contains("index.lock"), "a young lock may be somebody's");
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(600);
    std::fs::File::options().write(true).open(&lock).unwrap().set_modified(long_ago).unwrap();
    kept.pushed(2).await;
    kept.stop().await;
}

#[test]
fn a_remote_with_a_password_or_an_option_for_a_name_is_refused() {
    for good in [
        "git@example.org:office/journal.git",
        "https://example.org/j.git",
        "ssh://git@example.org/j",
        "/srv/j.git",
    ] {
        Remote::new(good, "main").unwrap();
    }
    let said = Remote::new("https://me:hunter2@example.org/j.git", "main").unwrap_err();
    assert!(said.contains("password") && !said.contains("hunter2"), "{said}");
    for bad in ["", "--upload-pack=sh", "a\nb"] {
        Remote::new(bad, "main").unwrap_err();
    }
    for bad in ["", "-f", "a b", "a..b", "x.lock", "/a", "a/", ":main", "+main"] {
        Remote::new("/srv/j.git", bad).unwrap_err();
    }
}
