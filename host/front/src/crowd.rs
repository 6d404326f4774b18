//! Who is connected, so that somebody who holds every place cannot keep out the one it is kept for.
//!
//! Connecting needs no signature, and a peer that says nothing, or little at a time, keeps its place for as
//! long as the limits of a head and a body allow. So a full house asks one to leave: of those who were never of
//! use whoever came first, and when all were of use, whoever was so the longest ago. Of use is a POST that was
//! answered with success, which takes a signature. Nobody is asked within [`PATIENCE_MS`]: many who come at
//! once and are answered at once need no room made for them.
//!
//! Deliberately absent: addresses of peers, which a proxy in front makes all the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long each may stay after it came, or after it was of use: an answer takes a few milliseconds, and Slack
/// gives up after three seconds.
pub(crate) const PATIENCE_MS: u64 = 1_000;

/// Where a peer stands: whether it was of use, and since when. The lowest leaves first.
type Rank = (bool, u64);

/// Everybody who is connected.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    /// Counts arrivals and deeds: what happened later has the higher number.
    order: AtomicU64,
    peers: Mutex<BTreeMap<Rank, Peer>>,
}

#[derive(Debug)]
struct Peer {
    /// When it came, or was last of use.
    since: Instant,
    leave: Arc<Notify>,
}

/// One place in the crowd; it is given up when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    crowd: Arc<Crowd>,
    rank: Mutex<Rank>,
    leave: Arc<Notify>,
}

impl Crowd {
    /// Lets one more in.
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        let leave = Arc::new(Notify::new());
        let rank = (false, self.order.fetch_add(1, Ordering::Relaxed));
        locked(&self.peers).insert(rank, Peer { since: Instant::now(), leave: Arc::clone(&leave) });
        Place { crowd: Arc::clone(self), rank: Mutex::new(rank), leave }
    }

    /// Asks the one to leave who is of the least use, unless it may still stay at `now`.
    pub(crate) fn make_room(&self, now: Instant) {
        let mut peers = locked(&self.peers);
        if let Some(least) = peers.first_entry()
            && now.duration_since(least.get().since) >= Duration::from_millis(PATIENCE_MS)
        {
            least.remove().leave.notify_one();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Place {
    /// Notes that this peer was of use just now.
    pub(crate) fn was_of_use(&self) {
        let (mut rank, mut peers) = (locked(&self.rank), locked(&self.crowd.peers));
        // Whoever was asked to leave stays asked.
        if let Some(peer) = peers.remove(&*rank) {
            *rank = (true, self.crowd.order.fetch_add(1, Ordering::Relaxed));
            peers.insert(*rank, Peer { since: Instant::now(), ..peer });
        }
    }

    /// Returns when this peer is asked to leave.
    pub(crate) async fn asked_to_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let rank = *locked(&self.rank);
        locked(&self.crowd.peers).remove(&rank);
    }
}

#[cfg(test)]
mod tests {
    use super::{Crowd, PATIENCE_MS};
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::time::{Instant, timeout};

    #[tokio::test]
    async fn whoever_was_never_of_use_leaves_first_and_each_is_asked_once() {
        let crowd = Arc::new(Crowd::default());
        let (slack, idle, newest) = (crowd.enter(), crowd.enter(), crowd.enter());
        slack.was_of_use();
        let came = Instant::now();
        crowd.make_room(came);
        assert_eq!(crowd.peers.lock().unwrap().len(), 3, "each may stay for a while");
        for leaves in [&idle, &newest, &slack] {
            crowd.make_room(came + Duration::from_millis(PATIENCE_MS));
            timeout(Duration::from_secs(5), leaves.asked_to_leave()).await.unwrap();
            leaves.was_of_use();
        }
        let late = crowd.enter();
        assert_eq!(crowd.peers.lock().unwrap().len(), 1);
        drop(late);
        assert!(crowd.peers.lock().unwrap().is_empty());
    }
}
