//! A record with events worth keeping, and folders compared byte by byte.

use crate::{INLINE_BYTES_MAX, Journal, Record, SystemClock};
use event::{
    Account, Actor, DeliveryReceived, EventId, Expected, Fact, GlobalPosition, HoldId, HoldTaken, Label,
    NanoUsd, Origin, Period, PrincipalId, Proposed, StreamName,
};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A folder with a record in it and room for a journal.
pub struct Desk {
    folder: TempDir,
    pub file: PathBuf,
    pub journal: PathBuf,
}

impl Desk {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (file, journal) = (folder.path().join("record.sqlite"), folder.path().join("journal"));
        Self { folder, file, journal }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub async fn open(&self) -> Record {
        open(&self.file).await
    }

    /// Writes the journal up to the record's end.
    pub async fn export(&self, record: &Record) {
        export(record, &self.journal).await;
    }

    /// Runs `sql` on the database with its triggers out of the way. Returns what puts them back.
    pub async fn tamper(&self, sql: &str) -> String {
        let mut raw = raw(&self.file).await;
        let triggers: Vec<(String, String)> =
            sqlx::query_as("select name, sql from sqlite_schema where type = 'trigger'")
                .fetch_all(&mut raw)
                .await
                .unwrap();
        let drops: String = triggers.iter().map(|(name, _)| format!("drop trigger {name}; ")).collect();
        self.run(&format!("pragma foreign_keys = off; {drops}{sql}")).await;
        triggers.into_iter().map(|(_, sql)| format!("{sql}; ")).collect()
    }

    /// Runs `sql` on the database as somebody with a database browser would.
    pub async fn run(&self, sql: &str) {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut raw(&self.file).await).await.unwrap();
    }
}

pub async fn open(file: &Path) -> Record {
    Record::open_sqlite(file, Arc::new(SystemClock)).await.unwrap()
}

pub async fn raw(file: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(file).connect().await.unwrap()
}

pub async fn export(record: &Record, folder: &Path) {
    Journal::open(folder, record).await.unwrap().catch_up(record, |_| ()).await.unwrap();
}

pub fn delivery(name: &str, payload: Value) -> Proposed {
    let fact = DeliveryReceived {
        source: "test".into(),
        kind: "event_callback".into(),
        event: "message".into(),
        subtype: String::new(),
        external_id: String::new(),
        retry: 0,
        payload: payload.into(),
    };
    proposed(name, fact)
}

fn proposed(name: &str, fact: impl Into<Fact>) -> Proposed {
    let actor = Actor { principal: PrincipalId::parse("system_host").unwrap(), seat: None };
    Proposed { id: EventId::derived(&[name]), actor, cause: None, label: Label::host(), fact: fact.into() }
}

/// A hold of one nano-dollar: it has a row.
fn hold(name: &str) -> Proposed {
    let origin = Origin::Duty { event: EventId::derived(&[name]), kind: "probe".into(), attempt: 1 };
    let account = Account { budget: "test".into(), period: Period::Day, window: "2026-11-30".into() };
    let hold = HoldId::derived(&[name]);
    let fact = HoldTaken {
        hold,
        origin,
        price_key: "test".into(),
        amount: NanoUsd(1),
        accounts: vec![account],
        worst: None,
    };
    proposed(name, fact)
}

pub async fn append(record: &Record, stream: &str, events: Vec<Proposed>) {
    record.append(StreamName::new("test", stream), Expected::Any, events).await.unwrap();
}

/// Events of `names`, one append each.
pub async fn say(record: &Record, names: &[&str]) {
    for name in names {
        append(record, "a", vec![delivery(name, json!(name))]).await;
    }
}

/// Six events on three streams: with and without rows and causes, one large, one that is hard to write.
pub async fn fill(record: &Record) {
    say(record, &["one"]).await;
    let mut answer =
        delivery("two", json!({"ü\u{2028}\u{0}": [1e-7, 0.1, -0.5, null, "\u{1F600}\\\""], "A": {}}));
    answer.cause = Some(EventId::derived(&["one"]));
    append(record, "b", vec![answer, hold("three")]).await;
    append(record, "a", vec![delivery("four", json!("x".repeat(INLINE_BYTES_MAX + 1)))]).await;
    append(record, "c", vec![hold("five")]).await;
    append(record, "c", vec![delivery("six", json!("last"))]).await;
}

pub async fn count(record: &Record) -> u64 {
    record.head().await.unwrap().0.0
}

/// The newest file of a journal.
pub fn last_file(folder: &Path) -> PathBuf {
    files(folder).into_keys().rfind(|name| name.ends_with(".jsonl")).map(|name| folder.join(name)).unwrap()
}

/// Every file of a journal that has to be the same whoever wrote it.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_file() && name != ".lock" && name != ".gitattributes" {
            found.insert(name, std::fs::read(path).unwrap());
        }
    }
    found
}

/// Puts `text` at the end of a file.
pub fn add(path: &Path, text: &str) {
    use std::io::Write;
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Every column of every event and body, as the database holds them.
pub async fn columns(file: &Path) -> Vec<String> {
    let mut raw = raw(file).await;
    let events = "select json_array(global_position, stream, position, id, kind, schema, at, actor, cause, label, body, \
                  blob, digest, chain) from event order by global_position";
    let mut found: Vec<String> = sqlx::query_scalar(events).fetch_all(&mut raw).await.unwrap();
    let blobs = "select json_array(digest, hex(bytes)) from blob order by digest";
    found.extend(sqlx::query_scalar::<_, String>(blobs).fetch_all(&mut raw).await.unwrap());
    found
}

pub const START: GlobalPosition = GlobalPosition(0);
