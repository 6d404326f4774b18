//! Following, while others append.

use super::kit::{Place, START, append_each, on_every_store, positions, said, stream};
use crate::{Follower, Record};
use event::{Expected, GlobalPosition};
use std::time::Duration;
use tokio::time::timeout;

const EVENTS: usize = 300;
/// Long enough for a loaded machine; a follower that is stuck takes all of it.
const PATIENCE: Duration = Duration::from_secs(20);

async fn collect(mut follower: Follower, limit: usize) -> Vec<u64> {
    let mut seen = Vec::new();
    while seen.len() < EVENTS {
        let events = timeout(PATIENCE, follower.next(limit)).await.expect("news").unwrap();
        assert!(!events.is_empty() && events.len() <= limit);
        seen.extend(positions(&events));
        assert_eq!(Some(&follower.after().0), seen.last());
    }
    seen
}

async fn append_all(records: Vec<Record>) {
    let writers: Vec<_> = (0..EVENTS)
        .map(|n| {
            let record = records[n % records.len()].clone();
            tokio::spawn(async move {
                let to = stream(&format!("{}", n % 7));
                record.append(to, Expected::Any, vec![said(&n.to_string())]).await.unwrap();
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

async fn followers_see_every_event_once_and_in_order_while_two_handles_append(place: Place) {
    let records = vec![place.open().await, place.open().await];
    let reading = place.open_read_only().await;
    let followers: Vec<_> = [(&records[0], 1), (&records[0], 64), (&records[1], 7), (&reading, 500)]
        .into_iter()
        .map(|(record, limit)| tokio::spawn(collect(record.follow(START), limit)))
        .collect();
    append_all(records).await;
    for follower in followers {
        assert_eq!(follower.await.unwrap(), (1..=EVENTS as u64).collect::<Vec<_>>());
    }
}

async fn a_follower_that_looks_while_a_commit_lands_does_not_sleep_through_it(place: Place) {
    let record = place.open().await;
    let mut follower = record.follow(START);
    // The look begins at another moment of the commit each time; nothing later would wake a follower that missed it.
    for n in 0..400 {
        let (appending, name) = (record.clone(), n.to_string());
        let append = tokio::spawn(async move { append_each(&appending, &[&name]).await });
        std::thread::sleep(Duration::from_micros(n * 37 % 1_500));
        let events = timeout(PATIENCE, follower.next(9)).await.expect("news").unwrap();
        assert_eq!(events, append.await.unwrap());
    }
}

async fn a_follower_starts_after_its_place_and_loses_nothing_when_its_wait_is_dropped(place: Place) {
    let record = place.open().await;
    append_each(&record, &["one", "two", "three"]).await;
    let mut follower = record.follow(GlobalPosition(1));
    assert_eq!(positions(&follower.next(1).await.unwrap()), [2]);
    assert_eq!(positions(&follower.next(0).await.unwrap()), [3], "no limit of none: that would never end");
    assert!(timeout(Duration::from_millis(20), follower.next(9)).await.is_err(), "it waits at the end");
    append_each(&record, &["four"]).await;
    assert_eq!(positions(&timeout(PATIENCE, follower.next(9)).await.unwrap().unwrap()), [4]);
}

async fn news_tell_of_commits_here_at_once_and_elsewhere_soon(place: Place) {
    let (here, elsewhere) = (place.open().await, place.open().await);
    let mut news = here.news();
    append_each(&here, &["one"]).await;
    assert_eq!(*news.borrow_and_update(), GlobalPosition(1), "told before the append is answered");
    append_each(&elsewhere, &["two"]).await;
    timeout(PATIENCE, news.changed()).await.unwrap().unwrap();
    assert_eq!(*news.borrow(), GlobalPosition(2));
}

on_every_store! {
    followers_see_every_event_once_and_in_order_while_two_handles_append,
    a_follower_that_looks_while_a_commit_lands_does_not_sleep_through_it,
    a_follower_starts_after_its_place_and_loses_nothing_when_its_wait_is_dropped,
    news_tell_of_commits_here_at_once_and_elsewhere_soon,
}
