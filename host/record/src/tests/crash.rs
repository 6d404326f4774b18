//! A process that is killed, and a disk that is full. What was acknowledged is there.

use super::kit::{Place, START, count, delivery, on_every_database, proposed, said, stream};
use crate::sqlite as file;
use crate::{Error, Record, SystemClock};
use event::{EventId, Expected};
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const RECORD: &str = "CHANCERY_TEST_RECORD";
const CHILD: &str = "CHANCERY_TEST_CHILD";
const ROUNDS: usize = 5;
const CHILDREN: usize = 2;
/// Acknowledged appends a child makes before it is killed in the middle of the next.
const ACKNOWLEDGED: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child that `no_acknowledged_event_is_lost_when_its_process_is_killed` starts and kills"]
async fn child() {
    let place = std::env::var(RECORD).expect("started by its parent");
    let name = std::env::var(CHILD).expect("started by its parent");
    let record = if place.starts_with("postgres://") {
        Record::open_postgres(&place, Arc::new(SystemClock)).await.unwrap()
    } else {
        Record::open_sqlite(Path::new(&place), Arc::new(SystemClock)).await.unwrap()
    };
    let mut callers = Vec::new();
    for caller in 0..4 {
        let (record, name) = (record.clone(), name.clone());
        callers.push(tokio::spawn(async move {
            for n in 0.. {
                let event = said(&format!("{name} {caller} {n}"));
                let events = record.append(stream("a"), Expected::Any, vec![event]).await.unwrap();
                // Standard output is written line by line.
                println!("acknowledged {}", events[0].id);
            }
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
}

fn start(place: &str, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["tests::crash::child", "--exact", "--ignored", "--nocapture"])
        .env(RECORD, place)
        .env(CHILD, name)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Reads until enough is acknowledged, kills the child with SIGKILL, and reads what it had still said.
fn kill_in_the_middle(mut child: Child) -> Vec<EventId> {
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (mut said, mut line) = (String::new(), String::new());
    while said.matches("acknowledged").count() < ACKNOWLEDGED {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "the child ended by itself: {said}");
        said.push_str(&line);
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    output.read_to_string(&mut said).unwrap();
    let whole_lines = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole_lines.filter_map(|line| EventId::parse(line.trim().strip_prefix("acknowledged ")?).ok()).collect()
}

async fn no_acknowledged_event_is_lost_when_its_process_is_killed(place: Place) {
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        let children: Vec<_> = (0..CHILDREN)
            .map(|n| {
                let address = place.address();
                std::thread::spawn(move || kill_in_the_middle(start(&address, &format!("{round} {n}"))))
            })
            .collect();
        for child in children {
            acknowledged.extend(child.join().unwrap());
        }
        let record = place.open_in_real_time().await;
        for id in &acknowledged {
            assert!(record.event(id).await.unwrap().is_some(), "{id} was acknowledged and is lost");
        }
        let found = record.verify(None).await.unwrap();
        assert!(found.events >= acknowledged.len() as u64);
        let events = record.read_all(START, usize::MAX).await.unwrap();
        assert!(events.iter().all(|event| event.position.0 == event.global_position.0), "one stream, no gap");
    }
    assert!(acknowledged.len() >= ROUNDS * CHILDREN * ACKNOWLEDGED);
}

#[tokio::test]
async fn a_full_disk_turns_an_append_away_whole_and_keeps_what_it_acknowledged() {
    let place = Place::sqlite();
    let small = file::Limits { pages_max: Some(60), ..file::Limits::default() };
    let (reader, database) = file::open_with(place.path(), small).await.unwrap();
    let record = Record::open(reader, Some((database, place.clock.clone()))).await.unwrap();
    let large = || vec![said("small"), proposed("large", delivery(json!("x".repeat(1_000_000))))];
    let full = record.append(stream("a"), Expected::Any, large()).await;
    assert!(matches!(&full, Err(Error::Unavailable { why, .. }) if why.contains("disk is full")), "{full:?}");
    assert_eq!(count(&record).await, 0, "nothing of the call stays");

    record.append(stream("a"), Expected::Any, vec![said("fits")]).await.unwrap();
    let mut appended = 1;
    for n in 0..200 {
        let filling = proposed(&n.to_string(), delivery(json!("x".repeat(4_000))));
        match record.append(stream("a"), Expected::Any, vec![filling]).await {
            Ok(_) => appended += 1,
            Err(Error::Unavailable { .. }) => break,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!((2..200).contains(&appended), "the disk filled up: {appended}");
    assert_eq!(record.verify(None).await.unwrap().events, appended);
    drop(record);

    let record = place.open().await;
    assert_eq!(
        record.append(stream("a"), Expected::Any, large()).await.unwrap().len(),
        2,
        "a retry, with room"
    );
    assert_eq!(record.verify(None).await.unwrap().events, appended + 2);
}

on_every_database! {
    no_acknowledged_event_is_lost_when_its_process_is_killed,
}
