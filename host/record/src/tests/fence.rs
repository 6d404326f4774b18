//! Leases in the record, and appends under them.

use super::kit::{Place, count, on_every_store, said, stream};
use crate::{Append, Error};
use event::{Expected, Timestamp};

fn under(lease: &crate::Lease, name: &str) -> Vec<Append> {
    vec![Append::new(stream("a"), Expected::Any, vec![said(name)]).fenced(lease.fence())]
}

async fn an_append_under_a_lease_that_somebody_else_took_is_refused(place: Place) {
    let records = [place.open().await, place.open().await];
    let first = records[0].lease("turn", "node a", 100).await.unwrap().unwrap();
    assert_eq!(records[1].lease("turn", "node b", 100).await.unwrap(), None);
    records[0].append_all(under(&first, "one")).await.unwrap();

    // The holder sleeps past the end of its lease. Until somebody takes it, nothing is lost.
    place.clock.set(150);
    records[0].append_all(under(&first, "two")).await.unwrap();
    let second = records[1].lease("turn", "node b", 100).await.unwrap().unwrap();
    assert_eq!((second.token, second.until), (first.token + 1, Timestamp(250)));

    let late = records[0].append_all(under(&first, "three")).await;
    assert!(
        matches!(&late, Err(Error::LeaseLost { name, token }) if name == "turn" && *token == first.token),
        "{late:?}"
    );
    assert!(matches!(records[0].renew(&first, 100).await, Err(Error::LeaseLost { .. })));
    assert!(matches!(records[0].release(first.clone()).await, Err(Error::LeaseLost { .. })));
    records[1].append_all(under(&second, "three")).await.unwrap();
    assert_eq!(count(&records[0]).await, 3);

    // What was appended under the old lease is still a retry of itself.
    records[0].append_all(under(&first, "two")).await.unwrap();
    assert_eq!(count(&records[0]).await, 3);
}

async fn a_renewed_lease_lasts_and_a_released_one_is_free_at_once(place: Place) {
    let record = place.open().await;
    let lease = record.lease("turn", "a", 100).await.unwrap().unwrap();
    place.clock.set(90);
    let lease = record.renew(&lease, 100).await.unwrap();
    place.clock.set(150);
    assert_eq!(record.lease("turn", "b", 100).await.unwrap(), None);
    record.release(lease.clone()).await.unwrap();
    let released = record.append_all(under(&lease, "one")).await;
    assert!(matches!(released, Err(Error::LeaseLost { .. })), "{released:?}");
    assert!(record.lease("turn", "b", 100).await.unwrap().is_some());
}

async fn a_fence_of_a_lease_that_nobody_ever_took_does_not_hold(place: Place) {
    let record = place.open().await;
    let invented = crate::Fence { name: "turn".into(), token: 0 };
    let append = Append::new(stream("a"), Expected::Any, vec![said("one")]).fenced(invented);
    assert!(matches!(record.append_all(vec![append]).await, Err(Error::LeaseLost { .. })));
}

async fn of_many_who_ask_at_once_one_gets_the_lease(place: Place) {
    let records = [place.open().await, place.open().await];
    let asks = (0..16).map(|n| {
        let record = records[n % 2].clone();
        tokio::spawn(async move { record.lease("turn", "same name", 100).await.unwrap() })
    });
    let mut holders = 0;
    for ask in asks.collect::<Vec<_>>() {
        holders += usize::from(ask.await.unwrap().is_some());
    }
    assert_eq!(holders, 1);
}

on_every_store! {
    an_append_under_a_lease_that_somebody_else_took_is_refused,
    a_renewed_lease_lasts_and_a_released_one_is_free_at_once,
    a_fence_of_a_lease_that_nobody_ever_took_does_not_hold,
    of_many_who_ask_at_once_one_gets_the_lease,
}
