//! What the front has seen since it started: counts for `/healthz`, kept in memory alone.
//!
//! What was accepted is on the record; what was rejected is nowhere else, so that nobody can fill the record
//! without a signature. Deliberately absent: anything about content or people.

use event::Timestamp;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

macro_rules! rejections {
    ($($(#[$doc:meta])+ $name:ident $word:literal,)+) => {
        /// Why a request was turned away.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rejection {
            $($(#[$doc])+ $name,)+
        }

        impl Rejection {
            /// Every rejection.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The stable word for it.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }
        }
    };
}

rejections! {
    /// The body is larger than the cap.
    TooLarge "too-large",
    /// The body did not arrive, or not in time.
    Incomplete "incomplete",
    /// A signature header is missing or has not its form.
    MalformedSignature "malformed-signature",
    /// Signed too long ago.
    StaleTimestamp "stale-timestamp",
    /// Signed in the future.
    FutureTimestamp "future-timestamp",
    /// Signed by somebody else.
    WrongSignature "wrong-signature",
    /// Slack's, and unreadable.
    Unparsable "unparsable",
    /// The record could not take it.
    RecordUnavailable "record-unavailable",
}

const REJECTIONS: usize = Rejection::ALL.len();

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counts {
    accepted: AtomicU64,
    duplicates: AtomicU64,
    rejections: [AtomicU64; REJECTIONS],
    /// Milliseconds; 0 before the first.
    last_delivery_at: AtomicI64,
    /// Whether the record refused the newest delivery that reached it.
    is_refusing: AtomicBool,
}

impl Counts {
    /// A delivery is on the record.
    pub fn accepted(&self, now: Timestamp) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        self.last_delivery_at.fetch_max(now.0, Ordering::Relaxed);
        self.is_refusing.store(false, Ordering::Relaxed);
    }

    /// A delivery was on the record before.
    pub fn duplicate(&self, now: Timestamp) {
        self.duplicates.fetch_add(1, Ordering::Relaxed);
        self.last_delivery_at.fetch_max(now.0, Ordering::Relaxed);
    }

    /// A request was turned away.
    pub fn rejected(&self, why: Rejection) {
        if let Some(count) = self.rejections.get(why as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if why == Rejection::RecordUnavailable {
            self.is_refusing.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the record refused the newest delivery, so that what can be read says nothing about what can be
    /// written.
    #[must_use]
    pub fn is_refusing(&self) -> bool {
        self.is_refusing.load(Ordering::Relaxed)
    }

    /// How many requests were turned away for this reason.
    #[must_use]
    pub fn rejections(&self, why: Rejection) -> u64 {
        self.rejections.get(why as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// The counts as JSON: `accepted`, `duplicates`, `rejections` by word, `last_delivery_at` in milliseconds or
    /// null.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let rejections: Map<String, Value> =
            Rejection::ALL.iter().map(|why| (why.word().to_owned(), json!(self.rejections(*why)))).collect();
        let last = self.last_delivery_at.load(Ordering::Relaxed);
        Map::from_iter([
            ("accepted".to_owned(), json!(self.accepted.load(Ordering::Relaxed))),
            ("duplicates".to_owned(), json!(self.duplicates.load(Ordering::Relaxed))),
            ("rejections".to_owned(), Value::Object(rejections)),
            ("last_delivery_at".to_owned(), if last == 0 { Value::Null } else { json!(last) }),
        ])
    }
}
