//! A record of its own on any of the stores, a clock that stands still, and facts to append.

use crate::store::StoredRow;
use crate::{Clock, Memory, Record, SystemClock};
use event::{
    Account, Actor, DeliveryReceived, Event, EventId, Expected, Fact, GlobalPosition, HoldId, HoldTaken,
    Label, NanoUsd, Origin, Period, PrincipalId, Proposed, StreamName, Timestamp,
};
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, SqliteConnection};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;
use tests_postgres::Schema;

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

/// Where a record is kept.
enum Store {
    Sqlite { _folder: TempDir, path: PathBuf },
    Postgres(Schema),
    Memory(Memory),
}

/// A record of its own for one test, on one of the stores.
pub struct Place {
    store: Store,
    pub clock: Arc<StillClock>,
}

impl Place {
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.db");
        Self { store: Store::Sqlite { _folder: folder, path }, clock: Arc::default() }
    }

    pub fn postgres() -> Self {
        Self::in_schema(Schema::new().unwrap_or_else(|why| panic!("{why}")))
    }

    pub fn in_schema(schema: Schema) -> Self {
        Self { store: Store::Postgres(schema), clock: Arc::default() }
    }

    pub fn memory() -> Self {
        Self { store: Store::Memory(Memory::default()), clock: Arc::default() }
    }

    pub async fn open(&self) -> Record {
        self.open_by(Arc::<StillClock>::clone(&self.clock)).await
    }

    pub async fn open_in_real_time(&self) -> Record {
        self.open_by(Arc::new(SystemClock)).await
    }

    async fn open_by(&self, clock: Arc<dyn Clock>) -> Record {
        match &self.store {
            Store::Sqlite { path, .. } => Record::open_sqlite(path, clock).await.unwrap(),
            Store::Postgres(schema) => Record::open_postgres(schema.url(), clock).await.unwrap(),
            Store::Memory(memory) => Record::open_memory_in(memory, clock).await.unwrap(),
        }
    }

    pub async fn open_read_only(&self) -> Record {
        match &self.store {
            Store::Sqlite { path, .. } => Record::open_sqlite_read_only(path).await.unwrap(),
            Store::Postgres(schema) => Record::open_postgres_read_only(schema.url()).await.unwrap(),
            Store::Memory(memory) => Record::open_memory_read_only(memory).await.unwrap(),
        }
    }

    /// Path or URL.
    pub fn address(&self) -> String {
        match &self.store {
            Store::Sqlite { path, .. } => path.to_str().unwrap().to_owned(),
            Store::Postgres(schema) => schema.url().to_owned(),
            Store::Memory(_) => panic!("memory has no address"),
        }
    }

    pub fn path(&self) -> &Path {
        match &self.store {
            Store::Sqlite { path, .. } => path,
            _ => panic!("only SQLite is a file"),
        }
    }

    /// The file without the record's rules: what somebody with a database browser has.
    pub async fn raw(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.path()).connect().await.unwrap()
    }

    /// The same of a PostgreSQL database, as the owner of the tables.
    pub async fn raw_postgres(&self) -> PgConnection {
        PgConnection::connect(&self.address()).await.unwrap()
    }

    /// Runs statements on the database as somebody with a database browser would.
    pub async fn run(&self, sql: &str) -> Result<(), sqlx::Error> {
        let statements = sqlx::raw_sql(AssertSqlSafe(sql));
        match &self.store {
            Store::Sqlite { .. } => statements.execute(&mut self.raw().await).await.map(drop),
            Store::Postgres(_) => statements.execute(&mut self.raw_postgres().await).await.map(drop),
            Store::Memory(_) => panic!("memory takes no statements"),
        }
    }

    /// The same, with what keeps events from being changed out of the way.
    pub async fn run_unguarded(&self, sql: &str) -> Result<(), sqlx::Error> {
        let first = match &self.store {
            Store::Sqlite { .. } => {
                "pragma foreign_keys = off; drop trigger if exists event_update; \
                 drop trigger if exists event_delete; drop trigger if exists event_insert; \
                 drop trigger if exists blob_update; drop trigger if exists blob_delete"
            }
            _ => {
                "alter table event disable trigger user; alter table blob disable trigger user; \
                 alter table event drop constraint if exists event_blob_fkey"
            }
        };
        self.run(&format!("{first}; {sql}")).await
    }

    /// What a statement counts.
    pub async fn number(&self, sql: &str) -> i64 {
        let statement = AssertSqlSafe(sql);
        match &self.store {
            Store::Sqlite { .. } => {
                sqlx::query_scalar(statement).fetch_one(&mut self.raw().await).await.unwrap()
            }
            Store::Postgres(_) => {
                sqlx::query_scalar(statement).fetch_one(&mut self.raw_postgres().await).await.unwrap()
            }
            Store::Memory(_) => panic!("memory takes no statements"),
        }
    }

    /// Writes a row over what stands, past all folds.
    pub async fn write_row(&self, projection: &str, key: &str, value: &str) {
        match &self.store {
            Store::Memory(memory) => memory.write_row(projection, key, value),
            _ => {
                let row = format!("'{projection}', '{key}', '{value}', 2");
                let address = format!("projection = '{projection}' and key = '{key}'");
                self.run(&format!("delete from row where {address}; insert into row values ({row})"))
                    .await
                    .unwrap();
            }
        }
    }

    /// Changes the body of an event.
    pub async fn write_body(&self, at: u64, body: &str) {
        match &self.store {
            Store::Memory(memory) => memory.change(at, |event| event.body = Some(body.to_owned())),
            _ => {
                let change = format!("update event set body = '{body}' where global_position = {at}");
                self.run_unguarded(&change).await.unwrap();
            }
        }
    }

    /// Changes the kind of an event.
    pub async fn write_kind(&self, at: u64, kind: &str) {
        match &self.store {
            Store::Memory(memory) => memory.change(at, |event| event.kind = kind.to_owned()),
            _ => {
                let change = format!("update event set kind = '{kind}' where global_position = {at}");
                self.run_unguarded(&change).await.unwrap();
            }
        }
    }

    /// Cuts events off the end and puts the guard back.
    pub async fn cut_tail(&self, from: u64) {
        let delete = format!("delete from event where global_position >= {from}");
        let cut = match &self.store {
            Store::Sqlite { .. } => format!(
                "drop trigger event_delete; {delete}; create trigger event_delete before delete on event \
                 begin select raise(abort, 'an event is never removed'); end"
            ),
            _ => format!(
                "alter table event disable trigger event_delete; {delete}; \
                 alter table event enable always trigger event_delete"
            ),
        };
        self.run(&cut).await.unwrap();
    }

    /// What a record in memory is kept in.
    pub fn held(&self) -> &Memory {
        match &self.store {
            Store::Memory(memory) => memory,
            _ => panic!("it is kept elsewhere"),
        }
    }
}

/// Each of these tests once on every store.
macro_rules! on_every_store {
    ($($name:ident),* $(,)?) => {
        $crate::tests::kit::on_store!(sqlite: $($name),*);
        $crate::tests::kit::on_store!(postgres: $($name),*);
        $crate::tests::kit::on_store!(memory: $($name),*);
    };
}

/// Each of these tests once on every store that others can reach past the record.
macro_rules! on_every_database {
    ($($name:ident),* $(,)?) => {
        $crate::tests::kit::on_store!(sqlite: $($name),*);
        $crate::tests::kit::on_store!(postgres: $($name),*);
    };
}

macro_rules! on_store {
    ($store:ident: $($name:ident),*) => {
        mod $store {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name($crate::tests::kit::Place::$store()).await;
                }
            )*
        }
    };
}

pub(crate) use {on_every_database, on_every_store, on_store};

/// All rows of all projections, as they are stored.
pub async fn rows(record: &Record) -> Vec<StoredRow> {
    record.reader().rows(("", ""), usize::MAX).await.unwrap()
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
        payload: payload.into(),
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
        worst: None,
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
