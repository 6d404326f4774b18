//! A process that is killed while it writes the journal.

use super::kit::{Desk, append, count, delivery, export, files, open};
use crate::Journal;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const RECORD: &str = "CHANCERY_TEST_JOURNAL_RECORD";
const FOLDER: &str = "CHANCERY_TEST_JOURNAL_FOLDER";
/// Kills at most; each lets the child write some pages first.
const KILLS_MAX: usize = 40;
const EVENTS: u64 = 12_000;

#[tokio::test]
#[ignore = "the child that `a_journal_whose_writer_is_killed_again_and_again_is_whole` starts and kills"]
async fn child() {
    let record = open(Path::new(&std::env::var_os(RECORD).expect("started by its parent"))).await;
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("started by its parent"));
    let mut journal = Journal::open(&folder, &record).await.unwrap();
    println!("resumed {}", journal.end());
    // Standard output is written line by line.
    journal.catch_up(&record, |end| println!("written {end}")).await.unwrap();
    println!("ended");
}

fn start(desk: &Desk) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["journal::tests::crash::child", "--exact", "--ignored", "--nocapture"])
        .env(RECORD, &desk.file)
        .env(FOLDER, &desk.journal)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a child said.
struct Life {
    resumed: u64,
    written: u64,
    ended: bool,
}

/// Lets a child write `pages` pages, and kills it in the middle of the next.
fn live(desk: &Desk, pages: usize) -> Life {
    let mut child = start(desk);
    let mut life = Life { resumed: 0, written: 0, ended: false };
    let mut seen = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        // The harness writes on the same line.
        let said = |word: &str| line.split(word).nth(1).and_then(|rest| rest.trim().parse().ok());
        life.resumed = said("resumed ").unwrap_or(life.resumed);
        if let Some(end) = said("written ") {
            (life.written, seen) = (end, seen + 1);
        }
        life.ended |= line.contains("ended");
        if seen == pages {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    life
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_whose_writer_is_killed_again_and_again_is_whole() {
    let desk = Desk::new();
    let record = desk.open().await;
    for page in 0..EVENTS / 1_000 {
        let events =
            (0..1_000).map(|n| delivery(&format!("{page} {n}"), json!("z".repeat(n % 900)))).collect();
        append(&record, "a", events).await;
    }
    assert_eq!(count(&record).await, EVENTS);
    let (mut kills, mut before) = (0, 0);
    loop {
        let life = live(&desk, 3 + kills % 3);
        assert!(life.resumed >= before, "what was written is kept: {} after {before}", life.resumed);
        if life.ended {
            break;
        }
        before = life.written;
        kills += 1;
        assert!(kills < KILLS_MAX);
    }
    assert!(kills >= 5, "the child was killed {kills} times");
    export(&record, &desk.path("undisturbed")).await;
    assert!(files(&desk.journal) == files(&desk.path("undisturbed")), "the same files as without a kill");
    record.verify_with_journal(&desk.journal).await.unwrap();
}
