//! The hands, no faster than Slack takes it: a call waits for its bucket, or is told when to come again.
//!
//! It stands between the gate and the hands, so that turns, cards and triage share one pace. Deliberately absent: the
//! figures (`converse::rate`), and any retry.

use async_trait::async_trait;
use component::Hands;
use converse::rate::Buckets;
use gate::{Failure, FailureKind, Payload, Permit, Reach, Reached};
use record::Clock;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The hands, and the buckets they go by.
pub struct Paced {
    hands: Arc<Hands>,
    clock: Arc<dyn Clock>,
    buckets: Mutex<Buckets>,
}

impl Paced {
    /// The same hands, paced by `clock`.
    #[must_use]
    pub fn new(hands: Arc<Hands>, clock: Arc<dyn Clock>) -> Self {
        Self { hands, clock, buckets: Mutex::new(Buckets::default()) }
    }

    fn take(&self, tool: &str, (team, channel): (&str, &str)) -> Result<i64, i64> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(tool, (team, channel), self.clock.now())
    }
}

#[async_trait]
impl Reach for Paced {
    async fn reach(&self, permit: Permit) -> Reached {
        let tool = permit.tool().to_owned();
        let channel = match permit.payload() {
            Payload::Tool(input) => {
                let channel = input.get("channel").or_else(|| input.get("to"));
                channel.and_then(|channel| channel.as_str()).unwrap_or_default()
            }
            Payload::Infer(_) => return self.hands.reach(permit).await,
        };
        let channel = channel.to_owned();
        // A call that names no workspace goes to the office's first.
        let team = permit.workspace().unwrap_or_default().to_owned();
        match self.take(&tool, (&team, &channel)) {
            Ok(0) => {}
            Ok(wait_ms) => {
                tokio::time::sleep(Duration::from_millis(u64::try_from(wait_ms).unwrap_or(0))).await;
            }
            Err(wait_ms) => return later(u64::try_from(wait_ms).unwrap_or(0)),
        }
        let reached = self.hands.reach(permit).await;
        if let Err(Failure { kind: FailureKind::RateLimited, retry_after_ms: Some(wait_ms), .. }) =
            &reached.outcome
        {
            let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
            buckets.shut(&tool, (&team, &channel), *wait_ms, self.clock.now());
        }
        reached
    }
}

/// Nothing left the host.
fn later(wait_ms: u64) -> Reached {
    let failure = Failure {
        kind: FailureKind::RateLimited,
        message: format!("Slack takes no more of this for {} s", wait_ms.div_ceil(1_000)),
        retry_after_ms: Some(wait_ms),
    };
    Reached { outcome: Err(failure), request_sent: false, readings: Vec::new() }
}
