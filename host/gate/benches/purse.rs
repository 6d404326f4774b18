//! What the purse costs: a hold and its settling beside one bare append, on SQLite. `cargo xtask bench purse` builds
//! and runs this, and says whether the target is met.
//!
//! Everything is measured in turns within one run, so that whatever else the machine does slows all of it: only the
//! ratios mean something. The component behind the door answers at once. The figures go to standard output as one JSON
//! object; the one argument is the folder whose disk is measured.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a measurement stops where it fails"
)]

#[path = "../tests/door/kit.rs"]
#[allow(dead_code, reason = "the kit of the door has more than a measurement needs")]
mod kit;

use event::{
    Actor, AppliesTo, EventId, Expected, Fact, Label, NodeStarted, Period, PrincipalId, Proposed, StreamName,
};
use kit::{Hands, NOON, Office};
use record::Record;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: u32 = 1_000;
/// Before anything counts: statements are prepared, files have their first pages.
const WARM_UP_ROUNDS: u32 = 100;

fn main() {
    let folder = std::env::args().skip(1).find(|argument| argument.starts_with('/')).map(PathBuf::from);
    let folder = match folder {
        Some(folder) => {
            std::fs::create_dir_all(&folder).unwrap();
            tempfile::TempDir::new_in(folder).unwrap()
        }
        None => tempfile::TempDir::new().unwrap(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    println!("{}", runtime.block_on(measure(&folder.path().join("record.db"))));
}

async fn measure(path: &std::path::Path) -> serde_json::Value {
    let clock = Hands::at(NOON);
    let record = Record::open_sqlite(path, clock.clone()).await.unwrap();
    let office = Office::on(record, clock).await;
    office.limit(AppliesTo::Organisation, Period::Day, "1000000").await;
    office.limit(AppliesTo::Organisation, Period::Month, "1000000").await;
    let (mut append, mut ask, mut paid) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..ROUNDS + WARM_UP_ROUNDS {
        let began = Instant::now();
        bare(&office.record, n).await;
        append.push(began.elapsed());
        let call = office.infer(n + 1, 1);
        let began = Instant::now();
        office.gate.ask(&call).await.unwrap();
        ask.push(began.elapsed());
        let began = Instant::now();
        assert!(matches!(office.gate.pass(call, None).await.unwrap(), gate::Passed::Done { .. }));
        paid.push(began.elapsed());
        if n + 1 == WARM_UP_ROUNDS {
            [&mut append, &mut ask, &mut paid].into_iter().for_each(Vec::clear);
        }
    }
    serde_json::json!({"rounds": ROUNDS, "append_us": us(append), "ask_us": us(ask), "paid_us": us(paid)})
}

/// One event that folds nothing, alone, on one of a few streams.
async fn bare(record: &Record, n: u32) {
    let fact = Fact::from(NodeStarted { node: format!("node-{n}"), version: "bench".to_owned() });
    let event = Proposed {
        id: EventId::derived(&["bare", &n.to_string()]),
        actor: Actor { principal: PrincipalId::host(), seat: None },
        cause: None,
        label: Label::host(),
        fact,
    };
    record.append(StreamName::new("bench", n % 10), Expected::Any, vec![event]).await.unwrap();
}

/// The median, in microseconds.
fn us(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
