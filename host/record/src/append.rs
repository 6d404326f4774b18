//! What a caller appends, and the part of the work that needs no state: checks, digests and canonical text.
//!
//! This part runs on the caller's side, so that the one writer only places and links what is ready.

use crate::Error;
use crate::canon::{Content, text};
use crate::lease::Fence;
use crate::seal::Sealing;
use event::canon::is_plain;
use event::{
    Digest, Event, EventId, Expected, Fact, GlobalPosition, Position, PrincipalId, Proposed, StreamName,
    Timestamp, inexact,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use vault::Keyring;

/// The most events of one call: enough for any turn's wishes, few enough that no caller delays a commit much.
pub const APPEND_EVENTS_MAX: usize = 1_000;
/// The largest body, as it is kept, which for what is sealed is a third more than it says: eight times the largest delivery the front lets in. What is larger is kept elsewhere.
pub const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The largest body that stands beside its event; above it the event's row holds a digest (mechanisms, section 1).
pub const INLINE_BYTES_MAX: usize = 64 * 1024;

/// Events for one stream.
#[derive(Clone, Debug)]
pub struct Append {
    /// The stream.
    pub stream: StreamName,
    /// Where the stream must stand. Of several appends of one call to the same stream, each stands on the one before.
    pub expected: Expected,
    /// The events, in order. With none, the append only insists on `expected` and `fence`.
    pub events: Vec<Proposed>,
    /// The lease under which the caller acts.
    pub fence: Option<Fence>,
}

impl Append {
    /// Events for one stream, under no lease.
    #[must_use]
    pub fn new(stream: StreamName, expected: Expected, events: Vec<Proposed>) -> Self {
        Self { stream, expected, events, fence: None }
    }

    /// The same, only as long as `fence` holds.
    #[must_use]
    pub fn fenced(self, fence: Fence) -> Self {
        Self { fence: Some(fence), ..self }
    }
}

/// An [`Append`] that is ready to be placed.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) stream: StreamName,
    pub(crate) expected: Expected,
    pub(crate) fence: Option<Fence>,
    pub(crate) drafts: Vec<Draft>,
}

/// One event that lacks only what the writer gives: place, time and chain.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Its place and time are zero, and its chain is no link yet. The fact is as it reads back, so that a fold sees
    /// today what a rebuild will see: sealed.
    pub(crate) event: Event,
    /// A person without a key, from whose words it derives: it is a retry, or it is refused.
    pub(crate) erased: Option<PrincipalId>,
    pub(crate) actor_text: String,
    pub(crate) label_text: String,
    pub(crate) body_text: String,
    /// The digest of the body, when it is too large to stand beside its event.
    pub(crate) blob: Option<Digest>,
}

/// Checks, seals and encodes a call.
///
/// # Errors
/// [`Error::TooLarge`], [`Error::Inexact`], [`Error::Unreadable`], [`Error::NoKeys`]; [`Error::Unavailable`] when the
/// keys cannot be used; [`Error::IdTaken`] when one id names two of
/// the events.
pub(crate) fn prepare(appends: Vec<Append>, keyring: Option<&Keyring>) -> Result<Vec<Prepared>, Error> {
    let count = appends.iter().map(|append| append.events.len()).sum();
    within("the number of events in one append", count, APPEND_EVENTS_MAX)?;
    let mut ids = HashSet::new();
    for event in appends.iter().flat_map(|append| &append.events) {
        if !ids.insert(&event.id) {
            return Err(Error::IdTaken { id: event.id.clone() });
        }
    }
    let mut sealing = Sealing::with(keyring);
    appends.into_iter().map(|append| ready(append, &mut sealing)).collect()
}

fn ready(append: Append, sealing: &mut Sealing<'_>) -> Result<Prepared, Error> {
    let Append { stream, expected, events, fence } = append;
    let drafts = events.into_iter().map(|event| draft(&stream, event, sealing)).collect::<Result<_, _>>()?;
    Ok(Prepared { stream, expected, fence, drafts })
}

fn draft(stream: &StreamName, mut event: Proposed, sealing: &mut Sealing<'_>) -> Result<Draft, Error> {
    let erased = sealing.seal(stream, &mut event)?;
    let mut body = event.fact.body();
    if let Some(pointer) = inexact(&body) {
        return Err(Error::Inexact { id: event.id, pointer });
    }
    let body_text = text(&body);
    within("the size of a body in bytes", body_text.len(), BODY_BYTES_MAX)?;
    let unreadable = |source| Error::Unreadable { id: event.id.clone(), source };
    if is_plain(&body) {
        // As it reads back, which is in order.
        body.sort_all_objects();
    } else {
        body = serde_json::from_str(&body_text).map_err(|e| unreadable(Arc::new(e)))?;
    }
    let fact =
        Fact::read(event.fact.kind(), event.fact.schema(), body).map_err(|e| unreadable(Arc::new(e)))?;
    let (actor_text, label_text) = (text_of(&event.actor), text_of(&event.label));
    let content = Content {
        stream: stream.as_str(),
        id: event.id.as_str(),
        kind: event.fact.kind(),
        schema: i64::from(event.fact.schema()),
        actor: &actor_text,
        cause: event.cause.as_ref().map(EventId::as_str),
        label: &label_text,
        body: &body_text,
    };
    let digest = content.digest();
    let event = unplaced(stream, Proposed { fact, ..event }, digest);
    let blob = (body_text.len() > INLINE_BYTES_MAX).then(|| Digest::of(body_text.as_bytes()));
    Ok(Draft { event, erased, actor_text, label_text, body_text, blob })
}

/// An event without what only the writer gives: its place and time are zero, and its chain is no link yet.
pub(crate) fn unplaced(stream: &StreamName, event: Proposed, digest: Digest) -> Event {
    Event {
        global_position: GlobalPosition(0),
        stream: stream.clone(),
        position: Position(0),
        id: event.id,
        at: Timestamp(0),
        actor: event.actor,
        cause: event.cause,
        label: event.label,
        fact: event.fact,
        chain: digest.clone(),
        digest,
    }
}

fn within(what: &'static str, size: usize, max: usize) -> Result<(), Error> {
    if size > max { Err(Error::TooLarge { what, size, max }) } else { Ok(()) }
}

fn text_of(value: &impl Serialize) -> String {
    // Actors and labels are strings, options and sets: always expressible.
    text(&serde_json::to_value(value).unwrap_or(Value::Null))
}
