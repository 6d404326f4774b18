//! Verification: walks the whole record and names the first event that is not as it was written.
//!
//! The chain shows that nothing was changed since a head that is kept elsewhere. Without such a head somebody who
//! may write the file could have written all of it anew, so the finding is then "consistent, not anchored".

use crate::Error;
use crate::store::Reads;
use crate::stored::{Head, Stored};
use event::{Digest, GlobalPosition};
use std::collections::HashMap;
use std::fmt;

/// Events read at a time.
const VERIFY_EVENTS: usize = 500;

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
    #[error("the trigger `{0}`, which keeps events from being changed, does not stand")]
    Unguarded(&'static str),
    /// The record could not be read to its end.
    #[error("the record could not be read")]
    Unread(#[source] Error),
}

/// Walks the whole record.
pub(crate) async fn verify(reader: &dyn Reads, anchor: Option<&Anchor>) -> Result<Verified, VerifyError> {
    let mut walk = Walk::default();
    loop {
        let page = walk.page(reader).await?;
        if page.is_empty() {
            break;
        }
        for event in page {
            walk.step(&event)?;
            meets(anchor, &event)?;
        }
    }
    let end = walk.end;
    if let Some(anchor) = anchor.filter(|anchor| anchor.global_position.0 > end.global_position) {
        let end = GlobalPosition(end.global_position);
        return Err(VerifyError::Cut { end, anchor: anchor.global_position });
    }
    // Last, so that a changed event is named rather than the trigger that had to go first.
    guarded(reader).await?;
    Ok(Verified { events: end.global_position, chain: end.chain, anchored: anchor.is_some() })
}

/// Whether the database still refuses changes by itself.
pub(crate) async fn guarded(reader: &dyn Reads) -> Result<(), VerifyError> {
    match reader.missing_guard().await.map_err(VerifyError::Unread)? {
        Some(gone) => Err(VerifyError::Unguarded(gone)),
        None => Ok(()),
    }
}

fn meets(anchor: Option<&Anchor>, event: &Stored) -> Result<(), VerifyError> {
    match anchor {
        Some(Anchor { global_position, chain })
            if global_position.0 == event.global_position && chain.as_str() != event.chain =>
        {
            Err(VerifyError::Differs(*global_position))
        }
        _ => Ok(()),
    }
}

/// How far a walk has come.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) end: Head,
    streams: HashMap<String, u64>,
}

impl Walk {
    /// The next events, each for [`Walk::step`]; none at the end.
    pub(crate) async fn page(&self, reader: &dyn Reads) -> Result<Vec<Stored>, VerifyError> {
        let after = GlobalPosition(self.end.global_position);
        reader.all(after, VERIFY_EVENTS).await.map_err(VerifyError::Unread)
    }

    /// Goes on to `event`, when it is as it was written.
    pub(crate) fn step(&mut self, event: &Stored) -> Result<(), VerifyError> {
        let fault = |fault| VerifyError::Event {
            global_position: GlobalPosition(event.global_position),
            id: event.id.clone(),
            fault,
        };
        self.check(event).map_err(fault)?;
        self.end = event.end();
        self.streams.insert(event.stream.clone(), event.position);
        Ok(())
    }

    fn check(&self, event: &Stored) -> Result<(), Fault> {
        continues(&self.end, event)?;
        let before = self.streams.get(&event.stream).copied().unwrap_or(0);
        if event.position != before + 1 {
            return Err(Fault::StreamGap { stream: event.stream.clone(), before });
        }
        Ok(())
    }
}

/// Whether `event` is as it was written and stands directly after `end`. Its place in its stream is not looked at,
/// which would take the memory of all streams.
pub(crate) fn continues(end: &Head, event: &Stored) -> Result<(), Fault> {
    if event.global_position != end.global_position + 1 {
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
    let link = event.link(end.chain.as_ref());
    if link.as_ref().map(Digest::as_str) != Some(event.chain.as_str()) {
        return Err(Fault::Chain);
    }
    if event.at < end.at {
        return Err(Fault::Time);
    }
    event.event().map_err(unreadable)?;
    Ok(())
}
