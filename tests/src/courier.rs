//! The way between Slack and the office, at its worst: what is delivered comes twice, late, in another order, several at a
//! time, and again and again until it is taken.
//!
//! It does what Slack's page on its Events API says and what a bad proxy adds. A retry carries the same event and the same
//! signature's rules, with `x-slack-retry-num`; what nobody took is brought again.

use crate::day::Dice;
use crate::office::post;
use crate::slack::{SECRET, signed};
use record::{Clock, SystemClock};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// How far a delivery may overtake another, in deliveries.
const WINDOW: usize = 8;
/// Deliveries on their way at once.
const AT_ONCE: usize = 4;
/// The longest that one is held up, in milliseconds.
const DELAY_MS_MAX: usize = 40;
/// Between two tries of what was not taken, in milliseconds: Slack takes minutes, and a test does not.
const AGAIN_MS: u64 = 100;

/// One delivery on its way.
#[derive(Clone, Debug)]
struct Parcel {
    payload: Arc<Value>,
    retry: u32,
    delay_ms: usize,
}

/// What was brought.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brought {
    /// Requests that were made.
    pub requests: usize,
    /// Those that were made again though the one before was taken.
    pub again: usize,
    /// Those that nobody took, and that were brought later.
    pub failed: usize,
}

/// Brings deliveries to wherever the office is.
pub struct Courier {
    queue: Arc<Mutex<VecDeque<Parcel>>>,
    brought: Arc<Mutex<Brought>>,
    /// Where the office is; nothing while it is nowhere.
    office: watch::Sender<Option<String>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Courier {
    /// A courier with these deliveries, disordered by `dice`.
    pub fn new(deliveries: Vec<Value>, dice: &mut Dice) -> Self {
        let mut order: Vec<(usize, Parcel)> = Vec::new();
        for (at, payload) in deliveries.into_iter().enumerate() {
            let payload = Arc::new(payload);
            // One in six comes again, up to three times: Slack did not hear the answer.
            let again = if dice.once_in(6) { 1 + dice.roll(3) } else { 0 };
            for retry in 0..=again {
                let place = at + dice.roll(WINDOW) + retry * WINDOW;
                let delay_ms = dice.roll(DELAY_MS_MAX);
                let retry = u32::try_from(retry).unwrap();
                order.push((place, Parcel { payload: payload.clone(), retry, delay_ms }));
            }
        }
        order.sort_by_key(|(place, _)| *place);
        let queue = order.into_iter().map(|(_, parcel)| parcel).collect();
        let (office, _) = watch::channel(None);
        Self { queue: Arc::new(Mutex::new(queue)), brought: Arc::default(), office, tasks: Vec::new() }
    }

    /// The office is at `url` now, or nowhere.
    pub fn office_is(&self, url: Option<&str>) {
        self.office.send_replace(url.map(str::to_owned));
    }

    /// How many are still to be brought.
    pub fn left(&self) -> usize {
        self.queue.lock().unwrap().len()
    }

    /// What was brought so far.
    pub fn brought(&self) -> Brought {
        *self.brought.lock().unwrap()
    }

    /// Begins to bring them.
    pub fn start(&mut self) {
        for _ in 0..AT_ONCE {
            let (queue, brought, mut office) =
                (self.queue.clone(), self.brought.clone(), self.office.subscribe());
            self.tasks.push(tokio::spawn(async move {
                loop {
                    let Some(parcel) = queue.lock().unwrap().pop_front() else { return };
                    tokio::time::sleep(Duration::from_millis(u64::try_from(parcel.delay_ms).unwrap())).await;
                    let url = match office.wait_for(Option::is_some).await {
                        Ok(url) => url.clone().unwrap(),
                        Err(_) => return,
                    };
                    let taken = bring(&url, &parcel).await;
                    let mut counts = brought.lock().unwrap();
                    counts.requests += 1;
                    if taken {
                        counts.again += usize::from(parcel.retry > 0);
                        continue;
                    }
                    counts.failed += 1;
                    drop(counts);
                    let again = Parcel {
                        retry: (parcel.retry + 1).min(3),
                        delay_ms: usize::try_from(AGAIN_MS).unwrap(),
                        ..parcel
                    };
                    queue.lock().unwrap().push_back(again);
                }
            }));
        }
    }

    /// Waits until everything was taken.
    pub async fn done(&mut self) {
        loop {
            for task in self.tasks.drain(..) {
                task.await.unwrap();
            }
            if self.left() == 0 {
                return;
            }
            // One that was not taken came back after the others had gone home.
            self.start();
        }
    }
}

async fn bring(url: &str, parcel: &Parcel) -> bool {
    let body = parcel.payload.to_string();
    let mut headers = signed(SECRET, SystemClock.now().0 / 1_000, &body).to_vec();
    if parcel.retry > 0 {
        headers.push(("x-slack-retry-num", parcel.retry.to_string()));
        headers.push(("x-slack-retry-reason", "http_timeout".to_owned()));
    }
    post(url, &headers, body).await == Some(200)
}
