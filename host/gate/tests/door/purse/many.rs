//! Many calls at once on one purse: never more than it holds, and never a deadlock, on every store.

use super::{day, is_done, office, stands, taken};
use crate::kit::{Hands, NOON, Office, seat};
use event::{AppliesTo, NanoUsd, Period};
use gate::Passed;
use record::Record;
use std::sync::Arc;

async fn many_at_once(office: Office) {
    office.limit(AppliesTo::Seat(seat("desk")), Period::Day, "1").await;
    office.pass(office.infer(1_000, 1)).await;
    let one = taken(&office.events().await).remove(0).amount;
    // Room for ten holds at once, of 64 that are asked for.
    let settled = day(&office).await.settled;
    let limit = one.times(10).unwrap().plus(settled).unwrap();
    office.state("ten", crate::kit::budget(AppliesTo::Organisation, Period::Day, limit).into()).await;
    office.world.waits_for_a_sign();
    let office = Arc::new(office);
    let mut tasks = tokio::task::JoinSet::new();
    for step in 1..=64 {
        let office = office.clone();
        tasks.spawn(async move { office.pass(office.infer(step, 1)).await });
    }
    // Whoever is refused comes back; the others wait at the model, with their holds standing.
    let mut no = 0;
    while no < 54 {
        let passed = tasks.join_next().await.unwrap().unwrap();
        assert!(matches!(passed, Passed::Refused(_)), "{passed:?}");
        no += 1;
    }
    let full = day(&office).await;
    assert_eq!((full.held, full.total().unwrap()), (one.times(10).unwrap(), limit));
    office.world.gives_the_sign();
    let mut done = 0;
    while let Some(passed) = tasks.join_next().await {
        assert!(is_done(&passed.unwrap()));
        done += 1;
    }
    assert_eq!(done, 10);
    let after = day(&office).await;
    assert_eq!((after.held, after.unknown), (NanoUsd::ZERO, NanoUsd::ZERO));
    assert_eq!(after.settled, NanoUsd(11 * (50 * 1_000 + 10 * 5_000)));
    assert_eq!(after, stands(&office, "seat:seat_desk-day", "2027-01-15").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_at_once_on_one_purse_never_exceed_it_in_memory() {
    many_at_once(office().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_at_once_on_one_purse_never_exceed_it_on_sqlite() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Hands::at(NOON));
    let record = Record::open_sqlite(&folder.path().join("record.db"), clock.clone()).await.unwrap();
    many_at_once(Office::on(record, clock).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_at_once_on_one_purse_never_exceed_it_on_postgresql() {
    let (schema, clock) = (tests_postgres::Schema::new().unwrap(), Hands::at(NOON));
    let record = Record::open_postgres(schema.url(), clock.clone()).await.unwrap();
    many_at_once(Office::on(record, clock).await).await;
}
