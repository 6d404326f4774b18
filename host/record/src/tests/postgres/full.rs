//! A disk that is full under PostgreSQL: a real one, small, that only root can make.

use crate::tests::kit::{delivery, proposed, said, stream};
use crate::{Error, Record, SystemClock};
use event::Expected;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tests_postgres::Server;

/// A file system in memory, gone with its handle.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    fn mount(at: &'a Path, options: &str) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(at))
    }

    fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        assert!(Command::new("mount").args(["-o", &options]).arg(self.0).status().unwrap().success());
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_under_the_server_turns_an_append_away_whole_and_room_makes_it_good() {
    let folder = tempfile::Builder::new().prefix("chancery-full-").tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path(), "size=14m,mode=0777") else {
        eprintln!(
            "SKIPPED: only root can make a small disk; run this test as root to see PostgreSQL run out of one"
        );
        return;
    };
    // After `disk`: the server goes first.
    let server = Server::start().unwrap_or_else(|why| panic!("{why}"));
    let place = folder.path().join("space");
    let made = Command::new("install").args(["-d", "-o", "postgres", "-m", "700"]).arg(&place).status();
    assert!(made.unwrap().success(), "root runs the server as the user `postgres`");
    let mut raw = PgConnection::connect(server.url()).await.unwrap();
    let space = format!("create tablespace small location '{}'", place.display());
    sqlx::raw_sql(AssertSqlSafe(space)).execute(&mut raw).await.unwrap();
    sqlx::raw_sql("create database small tablespace small").execute(&mut raw).await.unwrap();
    let (before, _) = server.url().rsplit_once('/').unwrap();
    let record = Record::open_postgres(&format!("{before}/small"), Arc::new(SystemClock)).await.unwrap();
    record.append(stream("a"), Expected::Any, vec![said("fits")]).await.unwrap();

    // Random digits, so that nothing is compressed away.
    let noise = |n: usize| {
        let digits = (0..12_000).map(|m| event::Digest::of(format!("{n}/{m}").as_bytes()).to_string());
        proposed(&format!("large {n}"), delivery(json!(digits.collect::<String>())))
    };
    let mut appended = 1;
    let full = loop {
        match record.append(stream("a"), Expected::Any, vec![noise(appended)]).await {
            Ok(_) => appended += 1,
            Err(error) => break error,
        }
        assert!(appended < 100, "the disk does not fill up");
    };
    assert!(matches!(&full, Error::Unavailable { .. }), "{full:?}");
    assert!(format!("{full:?}").contains("No space left"), "{full:?}");
    let verified = record.verify(None).await.unwrap();
    assert_eq!(verified.events, appended as u64, "nothing of what was turned away stays");

    disk.grow("200m");
    record.append(stream("a"), Expected::Any, vec![noise(appended)]).await.unwrap();
    assert_eq!(record.verify(None).await.unwrap().events, appended as u64 + 1);
    record.ended().await;
    drop(server);
    drop(disk);
}
