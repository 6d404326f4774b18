//! A record in a folder of its own, a clock that stands still, and facts to append.

use crate::{Clock, Record, SystemClock};
use event::{
    Account, Actor, DeliveryReceived, Event, EventId, Expected, Fact, GlobalPosition, HoldId, HoldTaken,
    Label, NanoUsd, Origin, Period, PrincipalId, Proposed, StreamName, Timestamp,
};
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

/// A clock that moves when it is told to.
#[derive(Default)]
pub struct StillClock(AtomicI64);

impl StillClock {
    pub fn set(&self, ms: i64) {
        self.0.store(ms, Ordering::SeqCst);
    }
}

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub struct Place {
    _folder: TempDir,
    pub path: PathBuf,
    pub clock: Arc<StillClock>,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.db");
        Self { _folder: folder, path, clock: Arc::default() }
    }

    pub async fn open(&self) -> Record {
        Record::open_sqlite(&self.path, Arc::<StillClock>::clone(&self.clock)).await.unwrap()
    }

    pub async fn open_in_real_time(&self) -> Record {
        Record::open_sqlite(&self.path, Arc::new(SystemClock)).await.unwrap()
    }

    /// The file without the record's rules: what somebody with a database browser has.
    pub async fn raw(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(&self.path).connect().await.unwrap()
    }

    /// Runs statements on the file as somebody with a database browser would.
    pub async fn run(&self, sql: &str) -> Result<(), sqlx::Error> {
        let mut connection = self.raw().await;
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.map(drop)
    }
}

pub fn stream(name: &str) -> StreamName {
    StreamName::new("test", name)
}

pub fn id(name: &str) -> EventId {
    EventId::derived(&[name])
}

pub fn host() -> Actor {
    Actor { principal: PrincipalId::parse("system_host").unwrap(), seat: None }
}

pub fn proposed(name: &str, fact: impl Into<Fact>) -> Proposed {
    Proposed { id: id(name), actor: host(), cause: None, label: Label::host(), fact: fact.into() }
}

/// A fact that no projection folds, with any payload.
pub fn delivery(payload: Value) -> DeliveryReceived {
    DeliveryReceived {
        source: "test".into(),
        kind: "event_callback".into(),
        event: "message".into(),
        subtype: String::new(),
        external_id: String::new(),
        retry: 0,
        payload,
    }
}

/// An event named `name` that carries its name.
pub fn said(name: &str) -> Proposed {
    proposed(name, delivery(Value::String(name.into())))
}

pub fn account() -> Account {
    Account { budget: "test".into(), period: Period::Day, window: "2026-11-30".into() }
}

/// A hold of one nano-dollar on [`account`]: its row counts them.
pub fn hold(name: &str) -> Proposed {
    let origin = Origin::Duty { event: id(name), kind: "probe".into(), attempt: 1 };
    let taken = HoldTaken {
        hold: HoldId::derived(&[name]),
        origin,
        price_key: "test".into(),
        amount: NanoUsd(1),
        accounts: vec![account()],
    };
    proposed(name, taken)
}

/// Appends events of these names to the stream `a`, one call each.
pub async fn append_each(record: &Record, names: &[&str]) -> Vec<Event> {
    let mut events = Vec::new();
    for name in names {
        events.extend(record.append(stream("a"), Expected::Any, vec![said(name)]).await.unwrap());
    }
    events
}

pub async fn count(record: &Record) -> u64 {
    record.head().await.unwrap().0.0
}

pub fn positions(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.global_position.0).collect()
}

pub const START: GlobalPosition = GlobalPosition(0);
