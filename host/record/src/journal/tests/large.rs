//! How much memory a long history takes: measured, and printed for whoever asks.

use super::kit::{Desk, append, delivery, open};
use serde_json::json;
use std::time::Instant;
use tokio::sync::watch;

const EVENTS: &str = "CHANCERY_TEST_EVENTS";
const EVENTS_DEFAULT: u64 = 200_000;
/// Far above what pages need, far below what a whole history would take.
const PEAK_MIB_MAX: u64 = 256;

/// The most memory this process has had so far, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() / 1_024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; CHANCERY_TEST_EVENTS says how many events"]
async fn memory_stays_bounded_while_a_long_history_is_exported_compared_and_restored() {
    let wanted = std::env::var(EVENTS).ok().and_then(|n| n.parse().ok()).unwrap_or(EVENTS_DEFAULT);
    let desk = Desk::new();
    let record = desk.open().await;
    let mut told = Told { since: Instant::now(), events: wanted };
    for page in 0..wanted / 1_000 {
        let events = (0..1_000).map(|n| delivery(&format!("{page} {n}"), json!({ "n": n, "text": "small" })));
        append(&record, &format!("{}", page % 97), events.collect()).await;
    }
    told.step("append");
    desk.export(&record).await;
    told.step("export");
    record.verify_with_journal(&desk.journal).await.unwrap();
    told.step("compare");
    let target = open(&desk.path("target.sqlite")).await;
    target.restore(&desk.journal, &watch::Sender::new(0), watch::Sender::new(0)).await.unwrap();
    told.step("restore");
    target.rebuild().await.unwrap();
    told.step("rebuild");
    assert_eq!(target.head().await.unwrap(), record.head().await.unwrap());
    assert!(peak_mib() < PEAK_MIB_MAX, "{} MiB", peak_mib());
}

struct Told {
    since: Instant,
    events: u64,
}

impl Told {
    fn step(&mut self, name: &str) {
        let took = self.since.elapsed().as_secs_f64();
        let rate = self.events as f64 / took;
        println!(
            "{name}: {} events in {took:.1} s, {rate:.0} a second; peak {} MiB",
            self.events,
            peak_mib()
        );
        self.since = Instant::now();
    }
}
