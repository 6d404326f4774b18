//! Many callers at once, in one process and in several.

use super::kit::{Place, START, count, on_every_store, positions, said, stream};
use crate::{Error, Record};
use event::{Event, Expected, Position};
use std::path::Path;
use tokio::task::JoinSet;

const CALLERS: usize = 64;

/// Appends as an honest caller does: at the position it knows, and again at the one it is told.
async fn insist(record: &Record, name: &str) -> (Event, usize) {
    let (mut expected, mut conflicts) = (Expected::NoStream, 0);
    loop {
        match record.append(stream("a"), expected, vec![said(name)]).await {
            Ok(events) => return (events[0].clone(), conflicts),
            Err(Error::Conflict { actual: Some(actual), .. }) => {
                conflicts += 1;
                expected = Expected::At(actual);
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

async fn all_insist(records: &[Record]) -> (Vec<u64>, usize) {
    let mut callers = JoinSet::new();
    for n in 0..CALLERS {
        let record = records[n % records.len()].clone();
        callers.spawn(async move { insist(&record, &format!("caller {n}")).await });
    }
    let (mut places, mut conflicts) = (Vec::new(), 0);
    for (event, met) in callers.join_all().await {
        assert_eq!(event.global_position.0, event.position.0);
        places.push(event.position.0);
        conflicts += met;
    }
    places.sort_unstable();
    (places, conflicts)
}

async fn callers_that_contend_for_one_stream_all_get_a_place_without_a_gap(place: Place) {
    let record = place.open().await;
    let (places, conflicts) = all_insist(std::slice::from_ref(&record)).await;
    assert_eq!(places, (1..=CALLERS as u64).collect::<Vec<_>>());
    assert!(conflicts >= CALLERS - 1, "all began with the same expectation, and one was right: {conflicts}");
    record.verify(None).await.unwrap();
}

async fn two_hosts_that_append_to_one_stream_are_one_record(place: Place) {
    let records = [place.open().await, place.open().await];
    let (places, _) = all_insist(&records).await;
    assert_eq!(places, (1..=CALLERS as u64).collect::<Vec<_>>());
    for record in &records {
        assert_eq!(positions(&record.read_all(START, 100).await.unwrap()), places);
        record.verify(None).await.unwrap();
    }
}

/// The commits in a write-ahead log: frames whose header says how large the database is after them.
/// Source of the layout: https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
fn commits(path: &Path) -> usize {
    let log = std::fs::read(path.with_extension("db-wal")).unwrap();
    let word = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let frame = 24 + word(8) as usize;
    let frames = (32..log.len()).step_by(frame);
    frames.filter(|at| log[at + 8..at + 16] == log[16..24] && word(at + 4) > 0).count()
}

#[tokio::test]
async fn callers_that_wait_together_share_a_commit_and_one_that_is_turned_away_harms_nobody() {
    let place = Place::sqlite();
    let record = place.open().await;
    let mut other = place.raw().await;
    sqlx::raw_sql("begin immediate").execute(&mut other).await.unwrap();
    let before = commits(place.path());

    let mut callers = JoinSet::new();
    for n in 0..CALLERS {
        let record = record.clone();
        // One in four is stale.
        let expected = if n % 4 == 0 { Expected::At(Position(77)) } else { Expected::Any };
        callers.spawn(async move { record.append(stream("a"), expected, vec![said(&n.to_string())]).await });
    }
    for _ in 0..CALLERS {
        tokio::task::yield_now().await;
    }
    sqlx::raw_sql("commit").execute(&mut other).await.unwrap();
    let outcomes = callers.join_all().await;

    let refused = outcomes.iter().filter(|o| matches!(o, Err(Error::Conflict { .. }))).count();
    let appended = outcomes.iter().filter(|o| o.is_ok()).count();
    assert_eq!((refused, appended), (CALLERS / 4, CALLERS * 3 / 4));
    assert_eq!(count(&record).await, appended as u64);
    let commits = commits(place.path()) - before;
    assert!((1..=3).contains(&commits), "{commits} commits for {appended} appends");
}

async fn the_same_append_sent_twice_at_once_is_one_event(place: Place) {
    let record = place.open().await;
    let send = || record.append(stream("a"), Expected::NoStream, vec![said("one")]);
    let (first, second) = tokio::join!(send(), send());
    assert_eq!(first.unwrap(), second.unwrap());
    assert_eq!(count(&record).await, 1);
}

#[tokio::test]
async fn a_record_that_another_program_holds_locked_is_unavailable_and_comes_back() {
    let place = Place::sqlite();
    let short = crate::sqlite::Limits { busy_ms: 50, ..crate::sqlite::Limits::default() };
    let (reader, database) = crate::sqlite::open_with(place.path(), short).await.unwrap();
    let record = Record::open(reader, Some((database, place.clock.clone()))).await.unwrap();
    let mut other = place.raw().await;
    sqlx::raw_sql("begin immediate").execute(&mut other).await.unwrap();
    let send = || record.append(stream("a"), Expected::NoStream, vec![said("one")]);
    let locked = send().await;
    assert!(matches!(locked, Err(Error::Unavailable { .. })), "{locked:?}");
    assert_eq!(count(&record).await, 0, "it can still be read");
    sqlx::raw_sql("rollback").execute(&mut other).await.unwrap();
    send().await.unwrap();
}

#[test]
fn a_writer_that_is_gone_is_unavailable_and_not_a_panic() {
    let place = Place::sqlite();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let record = first.block_on(place.open());
    drop(first);
    let outcome = runtime().block_on(record.append(stream("a"), Expected::Any, vec![said("one")]));
    assert!(matches!(outcome, Err(Error::Unavailable { .. })), "{outcome:?}");
}

on_every_store! {
    callers_that_contend_for_one_stream_all_get_a_place_without_a_gap,
    two_hosts_that_append_to_one_stream_are_one_record,
    the_same_append_sent_twice_at_once_is_one_event,
}
