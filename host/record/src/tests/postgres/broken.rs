//! Connections that break at the worst moment, and a server that goes and comes.

use super::hosts::hold_the_lock;
use crate::tests::kit::{Place, START, append_each, count, positions, said, stream};
use crate::{Error, Record, SystemClock};
use event::Expected;
use sqlx::{Executor, PgConnection};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tests_postgres::{Schema, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);

/// Ends whoever waits for a lock in this record, once somebody does.
async fn end_who_waits(place: &Place) {
    let mut other = place.raw_postgres().await;
    let end = "select count(pg_terminate_backend(pid)) from pg_locks where not granted and \
               ((locktype = 'advisory' and objid = 'event'::regclass::oid) or relation = 'event'::regclass)";
    for _ in 0..500 {
        let ended: i64 = sqlx::query_scalar(end).fetch_one(&mut other).await.unwrap();
        if ended > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nobody waits");
}

async fn keep_from_writing(place: &Place) -> PgConnection {
    let mut other = place.raw_postgres().await;
    other.execute("begin").await.unwrap();
    other.execute("lock table event in exclusive mode").await.unwrap();
    other
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_breaks_before_the_transaction_has_begun_is_not_noticed() {
    let place = Place::postgres();
    let record = place.open().await;
    append_each(&record, &["one"]).await;
    let other = hold_the_lock(&place).await;
    let appending = tokio::spawn(async move { append_each(&record, &["two"]).await });
    end_who_waits(&place).await;
    drop(other);
    assert_eq!(positions(&timeout(PATIENCE, appending).await.unwrap().unwrap()), [2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_breaks_in_the_middle_of_an_append_leaves_nothing_and_the_retry_stands() {
    let place = Place::postgres();
    let record = place.open().await;
    append_each(&record, &["one"]).await;
    let other = keep_from_writing(&place).await;
    let again = record.clone();
    let appending =
        tokio::spawn(async move { again.append(stream("a"), Expected::Any, vec![said("two")]).await });
    end_who_waits(&place).await;
    let broken = timeout(PATIENCE, appending).await.unwrap().unwrap();
    assert!(matches!(broken, Err(Error::Unavailable { .. })), "{broken:?}");
    drop(other);
    assert_eq!(positions(&append_each(&record, &["two"]).await), [2]);
    record.verify(None).await.unwrap();
}

/// A way to the server that takes in a commit and never says what came of it.
async fn silent_way(to: String, breaks: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(&to).await.unwrap();
            tokio::spawn(pass(client, server, Arc::clone(&breaks)));
        }
    });
    port
}

async fn pass(client: TcpStream, server: TcpStream, breaks: Arc<AtomicBool>) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let mut asked = vec![0; 65_536];
    let mut answered = vec![0; 65_536];
    loop {
        tokio::select! {
            read = from_client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let message = &asked[..length];
                to_server.write_all(message).await.unwrap();
                let is_commit = message.windows(8).any(|part| part == b"; commit");
                if is_commit && breaks.swap(false, Ordering::SeqCst) {
                    // The server has taken it in when it answers.
                    let _ = from_server.read(&mut answered).await;
                    return;
                }
            }
            read = from_server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if to_client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_unavailable_and_the_retry_gives_the_stored_event() {
    let place = Place::postgres();
    drop(place.open().await);
    let url = place.address();
    let (user, rest) = url.split_once('@').unwrap();
    let (server, path) = rest.split_once('/').unwrap();
    let breaks = Arc::new(AtomicBool::new(false));
    let port = silent_way(server.to_owned(), Arc::clone(&breaks)).await;
    let url = format!("{user}@127.0.0.1:{port}/{path}");
    let record = Record::open_postgres(&url, Arc::new(SystemClock)).await.unwrap();
    append_each(&record, &["one"]).await;

    breaks.store(true, Ordering::SeqCst);
    let send = || record.append(stream("b"), Expected::NoStream, vec![said("two")]);
    let lost = send().await;
    assert!(matches!(lost, Err(Error::Unavailable { .. })), "{lost:?}");
    assert_eq!(count(&record).await, 2, "it was committed, and nobody said so");
    let stored = send().await.unwrap();
    assert_eq!(stored, record.read_all(event::GlobalPosition(1), 9).await.unwrap());
    assert_eq!(count(&record).await, 2);
    record.verify(None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_and_comes_back_has_every_acknowledged_event_and_is_used_again() {
    let server = Arc::new(Server::start().unwrap_or_else(|why| panic!("{why}")));
    let place = Place::in_schema(Schema::on(&server).unwrap());
    let record = place.open().await;
    let mut follower = record.follow(START);
    let before = append_each(&record, &["one", "two"]).await;
    assert_eq!(timeout(PATIENCE, follower.next(9)).await.unwrap().unwrap(), before);

    let crashing = Arc::clone(&server);
    tokio::task::spawn_blocking(move || crashing.crash()).await.unwrap().unwrap();
    let send = || record.append(stream("b"), Expected::NoStream, vec![said("three")]);
    let gone = timeout(PATIENCE, send()).await.unwrap();
    assert!(matches!(gone, Err(Error::Unavailable { .. })), "{gone:?}");

    tokio::task::spawn_blocking(move || server.start_again()).await.unwrap().unwrap();
    let after = timeout(PATIENCE, send()).await.unwrap().unwrap();
    assert_eq!(positions(&after), [3]);
    assert_eq!(record.read_all(START, 2).await.unwrap(), before);
    // A follower is told that the record could not be read, or is not, and asks again.
    let seen = loop {
        match timeout(PATIENCE, follower.next(9)).await.expect("news") {
            Ok(events) => break events,
            Err(Error::Unavailable { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(seen, after);
    record.verify(None).await.unwrap();
}
