//! A guest that spins, grows, recurses, opens, waits or floods is ended, with the limit in the failure, and
//! nobody else notices.

use super::kit::{component, failure, hostile, kit, output, small};
use crate::{Limits, Pool};
use gate::FailureKind;
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guests_that_spin_are_ended_and_their_neighbours_answer_meanwhile() {
    let mut pool = small();
    pool.tools.cpu_ms = 1_500;
    pool.tools.wall_ms = 20_000;
    let kit = hostile(pool).await;
    output(kit.call("hostile.echo", json!({"text": "warm"})).await);
    let spin = || {
        let (hands, request) = (kit.hands.clone(), kit.request("hostile.spin", json!({})));
        tokio::spawn(async move { hands.run(request).await })
    };
    let spinning = [spin(), spin(), spin()];
    tokio::time::sleep(Duration::from_millis(50)).await;
    for n in 0..10 {
        let began = Instant::now();
        let echoed = output(kit.call("hostile.echo", json!({"text": n.to_string()})).await);
        assert_eq!(echoed.get("text"), Some(&json!(n.to_string())));
        assert!(
            began.elapsed() < Duration::from_secs(1),
            "{:?} beside three spinning guests",
            began.elapsed()
        );
    }
    assert!(
        spinning.iter().all(|spin| !spin.is_finished()),
        "the neighbour answered while they were spinning"
    );
    for spin in spinning {
        let failure = failure(spin.await.unwrap());
        assert_eq!(failure.kind, FailureKind::Guest);
        assert!(failure.message.contains("running for 1500 ms"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_guest_that_grows_is_ended_and_another_has_its_memory_after() {
    let kit = hostile(small()).await;
    for _ in 0..3 {
        let failure = failure(kit.call("hostile.hog", json!({})).await);
        assert_eq!(failure.message, "`hostile.hog` asked for more than 16 MiB of memory and ended");
    }
    output(kit.call("hostile.echo", json!({})).await);
}

#[tokio::test]
async fn a_guest_that_calls_itself_without_end_is_ended() {
    let kit = hostile(small()).await;
    let failure = failure(kit.call("hostile.recurse", json!({})).await);
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Guest, "`hostile.recurse` called itself too deeply and ended")
    );
}

#[tokio::test]
async fn a_guest_that_opens_too_much_is_ended() {
    let kit = hostile(small()).await;
    assert_eq!(output(kit.call("hostile.open", json!({"count": 90})).await), json!({"open": 90}));
    let failure = failure(kit.call("hostile.open", json!({"count": 101})).await);
    assert_eq!(failure.message, "`hostile.open` opened more than 100 host objects and ended");
}

#[tokio::test]
async fn waiting_is_no_running_time_and_ends_with_the_wall_clock() {
    let mut pool = small();
    pool.tools.wall_ms = 900;
    let kit = hostile(pool).await;
    let waited = output(kit.call("hostile.wait", json!({"ms": 500})).await);
    assert_eq!(waited, json!({"waited": 500}), "500 ms of waiting against 300 ms of running time");
    let began = Instant::now();
    let failure = failure(kit.call("hostile.wait", json!({"ms": 600_000})).await);
    assert!(failure.message.contains("ended after 900 ms"), "{}", failure.message);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test]
async fn each_call_has_all_of_its_time_whatever_ran_before_it() {
    let mut pool = small();
    pool.tools.wall_ms = 1_500;
    let kit = hostile(pool).await;
    for _ in 0..3 {
        let waited = output(kit.call("hostile.wait", json!({"ms": 900})).await);
        assert_eq!(waited, json!({"waited": 900}), "three of these take longer than one may");
    }
    failure(kit.call("hostile.spin", json!({})).await);
    assert_eq!(output(kit.call("hostile.wait", json!({"ms": 900})).await), json!({"waited": 900}));
}

#[tokio::test]
async fn a_flood_of_lines_is_dropped_and_a_flood_of_output_is_a_failure() {
    let kit = hostile(small()).await;
    let flooded = output(
        kit.call("hostile.flood", json!({"lines": 10_000, "line_bytes": 10_000, "output_bytes": 60_000}))
            .await,
    );
    assert_eq!(flooded.get("rest").unwrap().as_str().unwrap().len(), 60_000);
    let failure = failure(kit.call("hostile.flood", json!({"output_bytes": 65_536})).await);
    assert_eq!(failure.kind, FailureKind::Guest);
    assert!(failure.message.ends_with("65547 bytes, and 65536 is the most"), "{}", failure.message);
}

#[tokio::test]
async fn more_than_a_host_call_takes_ends_the_guest() {
    let kit = hostile(Pool { tools: Limits { hostcall_bytes: 64 * 1024, ..small().tools }, ..small() }).await;
    let failure = failure(kit.call("hostile.flood", json!({"lines": 1, "line_bytes": 100_000})).await);
    assert_eq!(failure.kind, FailureKind::Guest);
    assert!(failure.message.starts_with("`hostile.flood` ended: "), "{}", failure.message);
}

#[tokio::test]
async fn an_input_longer_than_its_limit_never_reaches_the_guest() {
    let kit = hostile(Pool { tools: Limits { input_bytes: 100, ..small().tools }, ..small() }).await;
    let failure = failure(kit.call("hostile.echo", json!({"text": "x".repeat(100)})).await);
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::InvalidInput, "the input of `hostile.echo` is longer than 100 bytes")
    );
}

#[tokio::test]
async fn whoever_drops_a_call_ends_it_and_frees_its_place() {
    let kit = hostile(Pool { calls: 1, ..small() }).await;
    for tool in ["hostile.wait", "hostile.spin"] {
        let call = kit.call(tool, json!({"ms": 600_000}));
        assert!(tokio::time::timeout(Duration::from_millis(50), call).await.is_err());
        output(kit.call("hostile.echo", json!({})).await);
    }
}

#[tokio::test]
async fn a_call_that_finds_no_place_in_time_says_so() {
    let mut pool = Pool { calls: 1, ..small() };
    pool.models.wall_ms = 200;
    let kit = kit(pool, &[component("hostile"), component("parrot")], &[], &[]).await;
    let waiting = kit.call("hostile.wait", json!({"ms": 1_000}));
    let crowded = kit.hands.run(kit.infer("hello", None));
    let (waited, crowded) = tokio::join!(waiting, crowded);
    output(waited);
    let failure = failure(crowded);
    assert_eq!(failure.kind, FailureKind::Unavailable);
    assert!(failure.message.contains("no free place"), "{}", failure.message);
}

#[tokio::test]
async fn a_machine_that_denies_so_many_addresses_runs_guests_all_the_same() {
    // A million guests at once would need more addresses than there are.
    let kit = hostile(Pool { calls: 1_000_000, ..small() }).await;
    assert!(!kit.engine.is_pooled());
    output(kit.call("hostile.echo", json!({})).await);
    let failure = failure(kit.call("hostile.hog", json!({})).await);
    assert!(failure.message.contains("more than 16 MiB of memory"), "{}", failure.message);
}

#[tokio::test]
async fn memory_is_set_aside_where_the_machine_allows_it_and_starts_empty_every_time() {
    let kit = hostile(Pool { calls: 1, ..small() }).await;
    assert!(kit.engine.is_pooled());
    for _ in 0..3 {
        // One place: each call has the memory of the one before.
        let flooded = kit.call("hostile.flood", json!({"output_bytes": 10_000})).await;
        assert!(flooded.outcome.is_ok());
        assert_eq!(output(kit.call("hostile.dirt", json!({})).await), json!({"dirty_bytes": 0}));
    }
}
