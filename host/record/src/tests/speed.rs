//! What an append costs beside a bare transaction of the database. Run by hand: a loaded machine says little.

use super::kit::{Place, hold, said, stream};
use crate::Record;
use event::{Expected, Proposed};
use sqlx::{PgConnection, SqliteConnection};
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const ROUNDS: usize = 400;

async fn timed(once: impl Future<Output = ()>) -> Duration {
    let begun = Instant::now();
    once.await;
    begun.elapsed()
}

fn median(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}

/// A fresh file with one plain table and the record's durability.
async fn bare_file(place: &Place) -> SqliteConnection {
    let options = crate::sqlite::writing(place.path()).create_if_missing(true);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    let setup = "pragma journal_mode = wal; create table t (n integer primary key, a text unique, b text)";
    sqlx::raw_sql(setup).execute(&mut connection).await.unwrap();
    connection
}

/// One row of about an event's size.
async fn bare(connection: &mut SqliteConnection, n: usize) {
    sqlx::query("begin immediate").execute(&mut *connection).await.unwrap();
    sqlx::query("insert into t values (?, ?, ?)")
        .bind(i64::try_from(n).unwrap())
        .bind(n.to_string())
        .bind("x".repeat(600))
        .execute(&mut *connection)
        .await
        .unwrap();
    sqlx::query("commit").execute(&mut *connection).await.unwrap();
}

async fn appended(record: &Record, n: usize, event: Proposed) {
    record.append(stream(&(n % 10).to_string()), Expected::Any, vec![event]).await.unwrap();
}

async fn together(place: Place) -> Duration {
    const EVENTS: u32 = 4_000;
    let record = place.open_in_real_time().await;
    let mut callers = JoinSet::new();
    let begun = Instant::now();
    for caller in 0..64 {
        let record = record.clone();
        callers.spawn(async move {
            for n in 0..EVENTS / 64 {
                let name = format!("{caller} {n}");
                record.append(stream(&caller.to_string()), Expected::Any, vec![said(&name)]).await.unwrap();
            }
        });
    }
    callers.join_all().await;
    begun.elapsed() / EVENTS
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn an_append_costs_at_most_twice_a_bare_transaction() {
    let (here, there) = (Place::sqlite(), Place::sqlite());
    let (mut connection, record) = (bare_file(&here).await, there.open_in_real_time().await);
    let (mut bares, mut plain, mut folded) = (Vec::new(), Vec::new(), Vec::new());
    // In turns, so that whatever else the disk does slows all three.
    for n in 0..ROUNDS {
        bares.push(timed(bare(&mut connection, n)).await);
        plain.push(timed(appended(&record, n, said(&format!("said {n}")))).await);
        folded.push(timed(appended(&record, n, hold(&format!("hold {n}")))).await);
    }
    let (bare, plain, folded) = (median(bares), median(plain), median(folded));
    println!("median: bare transaction {bare:?}, append {plain:?}, append that folds two rows {folded:?}");
    println!("of 64 callers at once, each event {:?}", together(Place::sqlite()).await);
    assert!(plain <= bare * 2, "{plain:?} against {bare:?}");
}

/// The same row in PostgreSQL, in as few messages as a program that thinks of nothing needs.
async fn bare_postgres(connection: &mut PgConnection, n: usize) {
    sqlx::query("begin").execute(&mut *connection).await.unwrap();
    sqlx::query("insert into t values ($1, $2, $3)")
        .bind(i64::try_from(n).unwrap())
        .bind(n.to_string())
        .bind("x".repeat(600))
        .execute(&mut *connection)
        .await
        .unwrap();
    sqlx::query("commit").execute(&mut *connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn an_append_on_postgres_beside_a_bare_transaction() {
    let place = Place::postgres();
    let record = place.open_in_real_time().await;
    let mut connection = place.raw_postgres().await;
    let table = "create table t (n bigint primary key, a text unique, b text)";
    sqlx::raw_sql(table).execute(&mut connection).await.unwrap();
    let (mut bares, mut plain, mut folded) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..ROUNDS {
        bares.push(timed(bare_postgres(&mut connection, n)).await);
        plain.push(timed(appended(&record, n, said(&format!("said {n}")))).await);
        folded.push(timed(appended(&record, n, hold(&format!("hold {n}")))).await);
    }
    let (bare, plain, folded) = (median(bares), median(plain), median(folded));
    println!("median: bare transaction {bare:?}, append {plain:?}, append that folds two rows {folded:?}");
    println!("of 64 callers at once, each event {:?}", together(Place::postgres()).await);
    assert!(plain <= bare * 4, "{plain:?} against {bare:?}");
}
