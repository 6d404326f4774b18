//! Everything a guest can do to others, all at once: each ends as its limit says, ten neighbours lose nothing, and
//! what the host had before it has after.

use super::kit::{Kit, component, failure, granted, kit, output, route};
use super::server::{Manner, Server};
use crate::{Limits, Pool};
use gate::FailureKind;
use serde_json::{Value, json};

/// How many neighbours call beside each hostile guest.
const NEIGHBOURS: usize = 10;
/// How much more the process may hold after all of it than after a first round: no hostile guest's worth of it.
const KEPT_BYTES_MAX: usize = 48 * 1024 * 1024;

/// The limits of a small machine, with less time for those that take all of it.
fn pool() -> Pool {
    let tools = Limits { cpu_ms: 700, wall_ms: 12_000, ..Limits::for_tools() };
    Pool { tools, ..Pool::for_small_machine() }
}

/// What each does, and the words of its end.
fn deeds(silent: &str) -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("hostile.spin", json!({}), "running for 700 ms"),
        ("hostile.hog", json!({}), "asked for more than 64 MiB of memory"),
        ("hostile.hog", json!({"at_once": 2_147_483_648_u64}), "asked for more than 64 MiB of memory"),
        ("hostile.recurse", json!({}), "called itself too deeply"),
        ("hostile.flood", json!({"output_bytes": 104_857_600}), "asked for more than 64 MiB of memory"),
        ("hostile.flood", json!({"output_bytes": 6_000_000}), "ended: "),
        ("hostile.flood", json!({"lines": u64::MAX, "line_bytes": 100}), "running for 700 ms"),
        ("hostile.open", json!({"count": 100_000}), "opened more than 1000 host objects"),
        ("hostile.wait", json!({"ms": 600_000}), "ended after 12000 ms"),
        ("hostile.push", json!({"url": silent, "method": "POST"}), ""),
        ("hostile.push", json!({"url": silent, "header_count": 100_000}), "ended: "),
        ("hostile.lie", json!({"how": "panic"}), "trapped: "),
        ("hostile.lie", json!({"how": "json"}), "what should be JSON is not"),
    ]
}

/// One hostile call, and ten of neighbours that all answer.
async fn beside(kit: &Kit, tool: &str, input: Value, words: &str) {
    let hostile = {
        let (hands, request) = (kit.hands.clone(), kit.request(tool, input.clone()));
        tokio::spawn(async move { hands.run(request).await })
    };
    for n in 0..NEIGHBOURS {
        let echoed = output(kit.call("hostile.echo", json!({"text": n.to_string()})).await);
        assert_eq!(echoed.get("text"), Some(&json!(n.to_string())), "beside `{tool}` {input}");
    }
    let ended = hostile.await.unwrap();
    if words.is_empty() {
        // It waits for an answer, is told that none came in time, and says so itself.
        let said = output(ended);
        assert!(said.get("error").and_then(Value::as_str).is_some_and(|e| e.contains("Timeout")), "{said}");
        return;
    }
    let failure = failure(ended);
    assert_eq!(failure.kind, FailureKind::Guest, "`{tool}` {input}");
    assert!(failure.message.contains(words), "`{tool}` {input}: {}", failure.message);
}

/// What this process holds in memory.
fn held_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_guest_does_its_neighbours_answer_and_the_host_has_its_memory_again() {
    let server = Server::start(Manner::IsSilent).await;
    let routes = vec![route(&["GET", "POST"], &server.origin, "/", None)];
    let kit = kit(pool(), &[component("hostile")], &[granted(routes)], &[&server.origin]).await;
    let mut after = Vec::new();
    for _ in 0..3 {
        let mut all = Vec::new();
        for (tool, input, words) in deeds(&server.origin) {
            all.push(beside(&kit, tool, input, words));
        }
        // All of them at once, a hundred and thirty neighbours among them.
        futures_util::future::join_all(all).await;
        assert_eq!(kit.engine.free_places(), pool().calls as usize, "every place is free again");
        after.push(held_bytes());
    }
    let [first, .., last] = after.as_slice() else { panic!("{after:?}") };
    assert!(last.saturating_sub(*first) < KEPT_BYTES_MAX, "{after:?}");
    assert_eq!(kit.engine.memories_in_use(), Some(0), "no memory of a guest is in use");
}
