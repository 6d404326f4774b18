//! Several hosts on one record: each handle below has its own connections, as a host has.

use crate::Error;
use crate::tests::kit::{Place, START, append_each, count, positions, said, stream};
use event::{Expected, Position};
use sqlx::{Executor, PgConnection};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Long enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Holds the lock of the record as a host does that writes.
pub(super) async fn hold_the_lock(place: &Place) -> PgConnection {
    let mut other = place.raw_postgres().await;
    other.execute("begin").await.unwrap();
    other
        .execute("select pg_advisory_xact_lock(x'43485259'::int4, 'event'::regclass::oid::int4)")
        .await
        .unwrap();
    other
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_host_hears_of_a_commit_without_asking() {
    let place = Place::postgres();
    let (here, elsewhere) = (place.open().await, place.open().await);
    let mut news = elsewhere.news();
    // Until it listens it asks.
    append_each(&here, &["first"]).await;
    timeout(PATIENCE, news.wait_for(|head| head.0 == 1)).await.unwrap().unwrap();
    let began = Instant::now();
    for n in 2..=20_u64 {
        append_each(&here, &[&n.to_string()]).await;
        timeout(PATIENCE, news.wait_for(|head| head.0 == n)).await.unwrap().unwrap();
    }
    // Asked for once a second, they would take nineteen.
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_whose_listening_connection_breaks_misses_nothing() {
    let place = Place::postgres();
    let (here, elsewhere) = (place.open().await, place.open().await);
    let mut follower = elsewhere.follow(START);
    append_each(&here, &["one"]).await;
    assert_eq!(positions(&timeout(PATIENCE, follower.next(9)).await.unwrap().unwrap()), [1]);
    for n in 2..=4_u64 {
        let listening = "select pg_terminate_backend(pid) from pg_stat_activity \
                         where query ilike 'listen %' and query like '%' || 'event'::regclass::oid || '%'";
        place.run(listening).await.unwrap();
        append_each(&here, &[&n.to_string()]).await;
        assert_eq!(positions(&timeout(PATIENCE, follower.next(9)).await.unwrap().unwrap()), [n]);
    }
}

#[tokio::test]
async fn callers_that_wait_together_share_a_commit_and_one_that_is_turned_away_harms_nobody() {
    const CALLERS: usize = 64;
    let place = Place::postgres();
    let record = place.open().await;
    let other = hold_the_lock(&place).await;
    let mut callers = JoinSet::new();
    for n in 0..CALLERS {
        let record = record.clone();
        // One in four is stale.
        let expected = if n % 4 == 0 { Expected::At(Position(77)) } else { Expected::Any };
        callers.spawn(async move { record.append(stream("a"), expected, vec![said(&n.to_string())]).await });
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    drop(other);
    let outcomes = callers.join_all().await;
    let refused = outcomes.iter().filter(|o| matches!(o, Err(Error::Conflict { .. }))).count();
    let appended = outcomes.iter().filter(|o| o.is_ok()).count();
    assert_eq!((refused, appended), (CALLERS / 4, CALLERS * 3 / 4));
    assert_eq!(count(&record).await, appended as u64);
    let commits = place.number("select count(distinct xmin::text) from event").await;
    assert!((1..=3).contains(&commits), "{commits} commits for {appended} appends");
}

#[tokio::test]
async fn a_record_that_another_host_holds_too_long_is_unavailable_and_comes_back() {
    let place = Place::postgres();
    let record = place.open().await;
    let other = hold_the_lock(&place).await;
    let send = || record.append(stream("a"), Expected::NoStream, vec![said("one")]);
    match send().await {
        Err(Error::Unavailable { why, .. }) => assert!(why.contains("another host"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(count(&record).await, 0, "it can still be read");
    drop(other);
    send().await.unwrap();
}

#[tokio::test]
async fn two_records_in_one_database_do_not_wait_for_each_other() {
    let (one, two) = (Place::postgres(), Place::postgres());
    let (here, there) = (one.open().await, two.open().await);
    let other = hold_the_lock(&one).await;
    append_each(&there, &["one"]).await;
    drop(other);
    append_each(&here, &["one"]).await;
}
