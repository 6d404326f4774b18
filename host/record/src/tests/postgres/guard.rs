//! What the owner of the tables, a replica and the runtime role may not do.

use crate::tests::kit::{Place, append_each, hold, stream};
use crate::tests::tamper::{Tried, copied, plain_ways, refuses, three};
use crate::{Error, Record, SystemClock, VerifyError};
use event::Expected;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use std::sync::Arc;

fn ways_of_postgres() -> Vec<Tried> {
    let merge =
        "merge into event using (select 1) one on global_position = 1 when matched then update set at = 1";
    vec![
        ("truncate event".to_owned(), "never removed"),
        ("truncate event cascade".to_owned(), "never removed"),
        ("truncate blob cascade".to_owned(), "never removed"),
        (merge.to_owned(), "never changed"),
        ("update blob set bytes = '\\x00'".to_owned(), "never changed"),
        ("with gone as (delete from event returning *) select * from gone".to_owned(), "never removed"),
    ]
}

#[tokio::test]
async fn the_owner_of_the_tables_changes_no_event_also_as_a_replica() {
    let place = Place::postgres();
    let record = place.open().await;
    three(&record).await;
    let before = record.verify(None).await.unwrap();
    let ways = || plain_ways().into_iter().chain(ways_of_postgres());
    let as_replica = ways().map(|(way, why)| (format!("set session_replication_role = replica; {way}"), why));
    refuses(&place, ways().chain(as_replica).collect()).await;
    assert_eq!(record.verify(None).await.unwrap(), before);
}

#[tokio::test]
async fn a_temporary_table_of_the_same_name_deceives_no_trigger() {
    let place = Place::postgres();
    let record = place.open().await;
    three(&record).await;
    let schema: String = sqlx::query_scalar("select current_schema()::text")
        .fetch_one(&mut place.raw_postgres().await)
        .await
        .unwrap();
    let real = copied("5, stream, 5, 'evt_x'").replace("into event", &format!("into {schema}.event"));
    let real = real.replace("from event", &format!("from {schema}.event"));
    let deceit = "create temporary table event (global_position bigint, stream text, position bigint, id text); \
                  insert into event values (4, 'test-a', 4, 'evt_y')";
    refuses(&place, vec![(format!("{deceit}; {real}"), "directly after the last of the record")]).await;
}

#[tokio::test]
async fn a_trigger_that_sleeps_for_replicas_is_missed() {
    let place = Place::postgres();
    let record = place.open().await;
    three(&record).await;
    place.run("alter table event enable trigger event_truncate").await.unwrap();
    let found = record.verify(None).await;
    assert!(matches!(found, Err(VerifyError::Unguarded("event_truncate"))), "{found:?}");
}

/// A role made by the script that operators are given, under another name; dropped at the end.
struct Role {
    name: String,
    url: String,
}

impl Role {
    async fn new(place: &Place) -> Self {
        let script = include_str!("../../../../../migrations/postgres/role.sql");
        Self::made_by(place, script).await
    }

    async fn made_by(place: &Place, script: &str) -> Self {
        let owner = place.address();
        let (host, schema) = owner.split_once('@').map(|(_, rest)| rest.split_once('?').unwrap()).unwrap();
        let name = format!("role_{}", schema.rsplit('=').next().unwrap());
        let script = script.replace("chancery", &name);
        place.run(&script).await.unwrap();
        place.run(&format!("alter role {name} password 'secret'")).await.unwrap();
        let url = format!("postgres://{name}:secret@{host}?{schema}");
        Self { name, url }
    }

    async fn drop(self, place: &Place) {
        place.run(&format!("drop owned by {0}; drop role {0}", self.name)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_runtime_role_runs_a_host_and_may_change_nothing() {
    let place = Place::postgres();
    let stranger = "create role chancery login; \
                    do $$ begin execute format('grant usage on schema %I to chancery', current_schema()); end $$";
    let early = Role::made_by(&place, stranger).await;
    let record = Record::open_postgres(&early.url, Arc::new(SystemClock)).await;
    assert!(record.unwrap_err().to_string().contains("start once as their owner"));
    early.drop(&place).await;

    three(&place.open().await).await;
    drop(Role::new(&place).await);
    let role = Role::new(&place).await; // The script can be run again.
    let record = Record::open_postgres(&role.url, Arc::new(SystemClock)).await.unwrap();
    append_each(&record, &["four"]).await;
    record.append(stream("b"), Expected::Any, vec![hold("held")]).await.unwrap();
    record.set_cursor("a", record.head().await.unwrap().0).await.unwrap();
    let lease = record.lease("turn", "a", 1_000).await.unwrap().unwrap();
    record.release(lease).await.unwrap();
    record.rebuild().await.unwrap();
    let before = record.verify(None).await.unwrap();

    let mut raw = PgConnection::connect(&role.url).await.unwrap();
    for (tried, refused_with) in [
        ("update event set at = 1", "permission denied"),
        ("delete from event", "permission denied"),
        ("truncate event", "permission denied"),
        ("update blob set bytes = '\\x00'", "permission denied"),
        ("delete from blob", "permission denied"),
        ("truncate blob cascade", "permission denied"),
        ("set session_replication_role = replica", "permission denied"),
        ("alter table event disable trigger event_update", "must be owner"),
        ("drop trigger event_update on event", "must be owner"),
        ("drop table event", "must be owner"),
        (
            "create or replace function refuse() returns trigger language plpgsql as 'begin return new; end'",
            "permission denied",
        ),
    ] {
        let outcome = sqlx::raw_sql(AssertSqlSafe(tried)).execute(&mut raw).await;
        let refused = outcome.expect_err(tried).to_string();
        assert!(refused.contains(refused_with), "{tried}: {refused}");
    }
    assert_eq!(record.verify(None).await.unwrap(), before);
    drop(raw);
    drop(record);
    role.drop(&place).await;
}

#[tokio::test]
async fn a_role_that_may_only_read_is_told_what_it_lacks() {
    let place = Place::postgres();
    three(&place.open().await).await;
    let role = Role::new(&place).await;
    place.run(&format!("revoke insert on event from {}", role.name)).await.unwrap();
    match Record::open_postgres(&role.url, Arc::new(SystemClock)).await {
        Err(error @ Error::NotOpened { .. }) => assert!(error.to_string().contains("role.sql"), "{error}"),
        other => panic!("{other:?}"),
    }
    let reading = Record::open_postgres_read_only(&role.url).await.unwrap();
    assert_eq!(reading.verify(None).await.unwrap().events, 3);
    drop(reading);
    role.drop(&place).await;
}
