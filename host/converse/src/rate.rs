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

/// One bucket that a tool goes by.
struct Of {
    name: &'static str,
    pace: Pace,
    /// Whether there is one for each channel.
    by_channel: bool,
}

const fn of_team(name: &'static str, pace: Pace) -> Of {
    Of { name, pace, by_channel: false }
}

/// The buckets a tool of Slack's goes by: of its method, of the channel it speaks in, and, for what is only shown while
/// a turn works, one that leaves most of the method's to others. The nearest is the last.
fn paces(tool: &str) -> Vec<Of> {
    let posts = || of_team("chat.postMessage", a_minute(240));
    let updates = || of_team("chat.update", a_minute(50));
    // A message a second to one channel, a few at once; a workspace takes several hundred a minute.
    let channel =
        || Of { name: "chat.postMessage", pace: Pace { burst: 2, every_ms: 1_000 }, by_channel: true };
    match tool {
        "slack.post" | "slack.card" | "slack.ask" | "slack.begin" => vec![posts(), channel()],
        "slack.progress" => vec![posts(), of_team("progress", a_minute(60)), channel()],
        "slack.card-update" | "slack.ask-update" | "slack.complete" => vec![updates()],
        "slack.progress-change" => vec![of_team("progress-change", a_minute(25)), updates()],
        "slack.progress-end" => vec![of_team("chat.delete", a_minute(50))],
        "slack.status" => vec![of_team("assistant.threads.setStatus", a_minute(300))],
        "slack.assistant-thread" => vec![of_team("assistant.threads", a_minute(50))],
        "slack.whisper" => vec![of_team("chat.postEphemeral", a_minute(100))],
        "slack.react" => vec![of_team("reactions.add", a_minute(50))],
        "slack.home" => vec![of_team("views.publish", a_minute(100))],
        "slack.form" => vec![of_team("views.open", a_minute(100))],
        "slack.emoji" => vec![of_team("emoji.list", a_minute(20))],
        _ => Vec::new(),
    }
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
        let paces = paces(tool);
        if paces.is_empty() {
            return Ok(0);
        }
        self.forget(now);
        let wanted: Vec<_> = paces.iter().map(|of| (key(of, (team, channel)), of.pace)).collect();
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
        // A limit of a channel is told like one of the method: where there is one, it is the nearer cause.
        let Some(of) = paces(tool).pop() else { return };
        let wait = i64::try_from(wait_ms).unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX);
        let bucket =
            self.buckets.entry(key(&of, (team, channel))).or_insert(Bucket { full_at: now.0, shut_until: 0 });
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

fn key(of: &Of, (team, channel): (&str, &str)) -> (String, String) {
    let whose = if of.by_channel { format!("{team}:{channel}") } else { team.to_owned() };
    (of.name.to_owned(), whose)
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

    #[test]
    fn what_is_only_shown_leaves_room_for_what_is_said() {
        let mut buckets = Buckets::default();
        let mut changed = 0;
        while let Ok(0) = buckets.take("slack.progress-change", ("T1", "C1"), Timestamp(0)) {
            changed += 1;
        }
        assert_eq!(changed, 7, "a quarter of its own minute");
        assert_eq!(buckets.take("slack.card-update", ("T1", "C1"), Timestamp(0)), Ok(0));
        // What Slack asks of one shuts the method for all.
        buckets.shut("slack.progress-change", ("T1", "C1"), 30_000, Timestamp(0));
        assert_eq!(buckets.take("slack.card-update", ("T1", "C1"), Timestamp(0)), Err(30_000));
    }

    /// Two hundred threads, each with a line that changes whenever it may, for ten minutes.
    #[test]
    fn a_storm_of_two_hundred_threads_stays_below_what_slack_takes_of_a_workspace() {
        let mut buckets = Buckets::default();
        let (mut updates, mut posts) = (Vec::new(), std::collections::BTreeMap::<usize, Vec<i64>>::new());
        for at in (0..600_000).step_by(500) {
            for thread in 0..200_usize {
                let channel = format!("C{}", thread % 10);
                let mut take =
                    |tool: &str| buckets.take(tool, ("T1", &channel), Timestamp(at)).map(|wait| at + wait);
                updates.extend(take("slack.progress-change").ok());
                if thread % 20 == 0 {
                    updates.extend(take("slack.card-update").ok());
                }
                posts.entry(thread % 10).or_default().extend(take("slack.post").ok());
            }
        }
        let most = |mut made: Vec<i64>, ms: i64| {
            made.sort_unstable();
            let within = |n: usize| made[n..].iter().take_while(|at| **at < made[n] + ms).count();
            (0..made.len()).map(within).max().unwrap()
        };
        assert!(most(updates, 60_000) <= 50 + 13);
        assert!(posts.into_values().all(|posts| most(posts, 1_000) <= 1 + 2));
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
