//! How often Slack is called: a bucket for each method of a workspace, and one for each channel that is posted to.
//!
//! A bucket holds what may be done at once and fills evenly; when Slack asks to wait, its bucket waits that long and
//! the others go on. Pure: the moment is an argument.
//!
//! Source of the figures: Slack's page of rate limits (tiers 1 to 4: 1, 20, 50 and 100 a minute) and that of each
//! method; a message a second to one channel.

use event::Timestamp;
use std::collections::BTreeMap;

/// The most buckets that are kept; beyond, those that are full are forgotten.
const BUCKETS_MAX: usize = 4_096;
/// The longest wait that a bucket is told, in milliseconds: a day.
const WAIT_MS_MAX: i64 = 86_400_000;
/// The longest that a call waits for its bucket, in milliseconds; beyond, it fails and says how long to wait.
pub const PATIENCE_MS: i64 = 5_000;

/// What a bucket allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    /// How many at once.
    burst: i64,
    /// How long one more takes, in milliseconds.
    every_ms: i64,
}

/// A minute's count, with a burst of a quarter of it: what was not used is not saved up.
const fn a_minute(count: i64) -> Pace {
    Pace { burst: count / 4 + 1, every_ms: 60_000 / count }
}

/// The paces a tool of Slack's goes by: of its method, and of the channel it speaks in.
fn paces(tool: &str) -> Option<(&'static str, Pace, Option<Pace>)> {
    // A message a second to one channel, a few at once; a workspace takes several hundred a minute.
    let channel = Pace { burst: 2, every_ms: 1_000 };
    Some(match tool {
        "slack.post" | "slack.card" => ("chat.postMessage", a_minute(240), Some(channel)),
        "slack.card-update" => ("chat.update", a_minute(50), None),
        "slack.whisper" => ("chat.postEphemeral", a_minute(100), None),
        "slack.react" => ("reactions.add", a_minute(50), None),
        "slack.emoji" => ("emoji.list", a_minute(20), None),
        _ => return None,
    })
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// When it will have been filled, were nothing more taken.
    full_at: i64,
    /// Slack asked to wait until then.
    shut_until: i64,
}

/// Every bucket of one host.
#[derive(Debug, Default)]
pub struct Buckets {
    buckets: BTreeMap<(String, String), Bucket>,
}

impl Buckets {
    /// Takes one call of `tool` in `channel` of `team` at `now`: how long it has to wait, in milliseconds. Nothing is
    /// taken when it would wait longer than [`PATIENCE_MS`]; then that is when to come again.
    pub fn take(&mut self, tool: &str, (team, channel): (&str, &str), now: Timestamp) -> Result<i64, i64> {
        let Some((method, of_method, of_channel)) = paces(tool) else { return Ok(0) };
        self.forget(now);
        let mut wanted = vec![((method.to_owned(), team.to_owned()), of_method)];
        wanted.extend(of_channel.map(|pace| ((method.to_owned(), format!("{team}:{channel}")), pace)));
        let wait = wanted.iter().map(|(key, pace)| self.wait(key, *pace, now)).max().unwrap_or(0);
        if wait > PATIENCE_MS {
            return Err(wait);
        }
        for (key, pace) in wanted {
            let bucket = self.buckets.entry(key).or_insert(Bucket { full_at: now.0, shut_until: 0 });
            bucket.full_at = bucket.full_at.max(now.0).saturating_add(pace.every_ms);
        }
        Ok(wait)
    }

    /// Slack asked to wait before `tool` is called again.
    pub fn shut(&mut self, tool: &str, (team, channel): (&str, &str), wait_ms: u64, now: Timestamp) {
        let Some((method, _, of_channel)) = paces(tool) else { return };
        let wait = i64::try_from(wait_ms).unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX);
        // A limit of a channel is told like one of the method: where there is one, it is the nearer cause.
        let of = if of_channel.is_some() { format!("{team}:{channel}") } else { team.to_owned() };
        let bucket =
            self.buckets.entry((method.to_owned(), of)).or_insert(Bucket { full_at: now.0, shut_until: 0 });
        bucket.shut_until = bucket.shut_until.max(now.0.saturating_add(wait));
    }

    fn wait(&self, key: &(String, String), pace: Pace, now: Timestamp) -> i64 {
        let Some(bucket) = self.buckets.get(key) else { return 0 };
        let room = pace.every_ms.saturating_mul(pace.burst - 1);
        let filled = bucket.full_at.saturating_sub(now.0).saturating_sub(room);
        filled.max(bucket.shut_until.saturating_sub(now.0)).max(0)
    }

    fn forget(&mut self, now: Timestamp) {
        if self.buckets.len() >= BUCKETS_MAX {
            self.buckets.retain(|_, bucket| bucket.full_at > now.0 || bucket.shut_until > now.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Buckets, PATIENCE_MS};
    use event::Timestamp;
    use proptest::prelude::*;

    #[test]
    fn a_channel_hears_a_message_a_second_and_another_does_not_wait_for_it() {
        let mut buckets = Buckets::default();
        let mut post = |channel: &str, at| buckets.take("slack.post", ("T1", channel), Timestamp(at));
        assert_eq!([post("C1", 0), post("C1", 0), post("C1", 0)], [Ok(0), Ok(0), Ok(1_000)]);
        assert_eq!(post("C2", 0), Ok(0));
        assert_eq!(post("C1", 5_000), Ok(0));
    }

    #[test]
    fn when_slack_asks_to_wait_one_bucket_waits_and_the_others_go_on() {
        let mut buckets = Buckets::default();
        buckets.shut("slack.post", ("T1", "C1"), 30_000, Timestamp(0));
        assert_eq!(buckets.take("slack.post", ("T1", "C1"), Timestamp(0)), Err(30_000));
        assert_eq!(buckets.take("slack.post", ("T1", "C2"), Timestamp(0)), Ok(0));
        assert_eq!(buckets.take("slack.react", ("T1", "C1"), Timestamp(0)), Ok(0));
        buckets.shut("slack.react", ("T1", "C1"), u64::MAX, Timestamp(0));
        assert!(buckets.take("slack.react", ("T1", "C9"), Timestamp(0)).is_err());
        assert_eq!(buckets.take("slack.react", ("T2", "C1"), Timestamp(0)), Ok(0));
        assert_eq!(buckets.take("web.fetch", ("T1", "C1"), Timestamp(0)), Ok(0));
        assert_eq!(buckets.take("slack.post", ("T1", "C1"), Timestamp(26_000)), Ok(4_000));
    }

    proptest! {
        #[test]
        fn no_minute_of_a_workspace_has_more_updates_than_slack_takes(gaps in proptest::collection::vec(0_i64..800, 1..400)) {
            let mut buckets = Buckets::default();
            let (mut now, mut made) = (0, Vec::new());
            for gap in gaps {
                now += gap;
                if let Ok(wait) = buckets.take("slack.card-update", ("T1", "C1"), Timestamp(now)) {
                    prop_assert!((0..=PATIENCE_MS).contains(&wait));
                    made.push(now + wait);
                }
            }
            made.sort_unstable();
            for (n, at) in made.iter().enumerate() {
                let within = made[n..].iter().take_while(|other| **other < at + 60_000).count();
                // Fifty a minute, and the burst that was saved up before.
                prop_assert!(within <= 50 + 13, "{within}");
            }
        }
    }
}
