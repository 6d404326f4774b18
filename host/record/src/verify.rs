//! Verification: walks the whole record and names the first event that is not as it was written.
//!
//! The chain shows that nothing was changed since a head that is kept elsewhere. Without such a head somebody who
//! may write the file could have written all of it anew, so the finding is then "consistent, not anchored".

use crate::stored::Stored;
use crate::{Error, sqlite};
use event::{Digest, GlobalPosition, Timestamp};
use std::collections::HashMap;
use std::fmt;

/// Events read at a time.
const VERIFY_EVENTS: usize = 500;

/// What the database must refuse by itself; a record without one of these was opened to change.
const GUARDS: &[&str] =
    &["blob_delete", "blob_insert", "blob_update", "event_delete", "event_insert", "event_update"];

/// A place in the record and its chain, kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The place.
    pub global_position: GlobalPosition,
    /// The chain of the event there.
    pub chain: Digest,
}

/// A record that is consistent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many events it has: the global position of the last.
    pub events: u64,
    /// The chain of the last event.
    pub chain: Option<Digest>,
    /// Whether it holds the anchor that was given. Without one: consistent, not anchored.
    pub anchored: bool,
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let anchored = if self.anchored { "anchored" } else { "not anchored" };
        write!(f, "{} events: consistent, {anchored}", self.events)
    }
}

/// What is wrong with one event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Events between the one before and this one are gone, or this one stands in another's place.
    #[error("the event before it is missing")]
    Gap,
    /// Its place in its stream does not follow the stream's last event.
    #[error("its position in `{stream}` does not follow {before}")]
    StreamGap {
        /// The stream.
        stream: String,
        /// The position of the stream's event before it; 0 when there is none.
        before: u64,
    },
    /// It is older than the event before.
    #[error("it is older than the event before it")]
    Time,
    /// Its body is kept by digest, and is gone or another.
    #[error("the body kept for it is gone or another")]
    Blob,
    /// A column does not read.
    #[error("it does not read: {0}")]
    Unreadable(String),
    /// Its content is not what its digest names.
    #[error("its content is not what its digest names")]
    Digest,
    /// It does not continue the chain: its place, time or a stored byte was changed, or an event before it.
    #[error("it does not continue the chain")]
    Chain,
}

/// Why a record is not verified.
#[derive(Clone, Debug, thiserror::Error)]
pub enum VerifyError {
    /// The first event that is not as it was written.
    #[error("the event at global position {global_position} (`{id}`) is not as it was written: {fault}")]
    Event {
        /// Where it stands.
        global_position: GlobalPosition,
        /// Its id, as stored.
        id: String,
        /// What is wrong.
        fault: Fault,
    },
    /// The record ends before the anchor: its tail was cut off.
    #[error("the record ends at global position {end}, before the anchor at {anchor}")]
    Cut {
        /// Where it ends.
        end: GlobalPosition,
        /// The anchor's place.
        anchor: GlobalPosition,
    },
    /// The record has another event at the anchor's place: it was written anew.
    #[error("the record at global position {0} is not the one that was anchored")]
    Differs(GlobalPosition),
    /// The database no longer refuses changes by itself.
    #[error("the trigger `{0}`, which keeps events from being changed, is gone")]
    Unguarded(&'static str),
    /// The record could not be read to its end.
    #[error("the record could not be read")]
    Unread(#[source] Error),
}

/// Walks the whole record.
pub(crate) async fn verify(
    reader: &sqlite::Reader,
    anchor: Option<&Anchor>,
) -> Result<Verified, VerifyError> {
    let mut walk = Walk::default();
    loop {
        let page = reader.all(GlobalPosition(walk.last), VERIFY_EVENTS).await.map_err(VerifyError::Unread)?;
        if page.is_empty() {
            break;
        }
        for event in page {
            walk.step(&event)?;
            meets(anchor, &walk)?;
        }
    }
    if let Some(anchor) = anchor.filter(|anchor| anchor.global_position.0 > walk.last) {
        let end = GlobalPosition(walk.last);
        return Err(VerifyError::Cut { end, anchor: anchor.global_position });
    }
    // Last, so that a changed event is named rather than the trigger that had to go first.
    let standing = reader.triggers().await.map_err(VerifyError::Unread)?;
    if let Some(gone) = GUARDS.iter().find(|guard| !standing.iter().any(|name| name == *guard)) {
        return Err(VerifyError::Unguarded(gone));
    }
    Ok(Verified { events: walk.last, chain: walk.chain, anchored: anchor.is_some() })
}

fn meets(anchor: Option<&Anchor>, walk: &Walk) -> Result<(), VerifyError> {
    match anchor {
        Some(anchor)
            if anchor.global_position.0 == walk.last && walk.chain.as_ref() != Some(&anchor.chain) =>
        {
            Err(VerifyError::Differs(anchor.global_position))
        }
        _ => Ok(()),
    }
}

/// How far a walk has come.
#[derive(Default)]
struct Walk {
    last: u64,
    at: Timestamp,
    chain: Option<Digest>,
    streams: HashMap<String, u64>,
}

impl Walk {
    fn step(&mut self, event: &Stored) -> Result<(), VerifyError> {
        let fault = |fault| VerifyError::Event {
            global_position: GlobalPosition(event.global_position),
            id: event.id.clone(),
            fault,
        };
        self.check(event).map_err(fault)?;
        self.last = event.global_position;
        self.at = event.at;
        self.chain = Digest::parse(&event.chain);
        self.streams.insert(event.stream.clone(), event.position);
        Ok(())
    }

    fn check(&self, event: &Stored) -> Result<(), Fault> {
        if event.global_position != self.last + 1 {
            return Err(Fault::Gap);
        }
        if let Some(digest) = &event.blob {
            let kept = event.body.as_ref().map(|body| Digest::of(body.as_bytes()));
            if kept.as_ref().map(Digest::as_str) != Some(digest) {
                return Err(Fault::Blob);
            }
        }
        let unreadable = |error: Error| Fault::Unreadable(error.to_string());
        if event.content_digest().map_err(unreadable)?.as_str() != event.digest {
            return Err(Fault::Digest);
        }
        let link = event.link(self.chain.as_ref());
        if link.as_ref().map(Digest::as_str) != Some(event.chain.as_str()) {
            return Err(Fault::Chain);
        }
        let before = self.streams.get(&event.stream).copied().unwrap_or(0);
        if event.position != before + 1 {
            return Err(Fault::StreamGap { stream: event.stream.clone(), before });
        }
        if event.at < self.at {
            return Err(Fault::Time);
        }
        event.clone().read().map_err(unreadable)?;
        Ok(())
    }
}
