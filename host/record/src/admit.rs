//! Whether a call may be appended, decided from what the writer looked up for it. Pure: it writes nothing, so a
//! call that is turned away leaves no trace in the batch it came with.

use crate::Error;
use crate::append::{Draft, Prepared};
use crate::lease::Fence;
use crate::seal::is_erased;
use crate::stored::Stored;
use event::{Event, Expected, Position, StreamName};
use std::collections::HashMap;

/// What stands in the record about one call.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Those of its events that are stored already, by id.
    pub(crate) stored: HashMap<String, Stored>,
    /// Where its streams stand; 0 for a stream without an event.
    pub(crate) streams: HashMap<StreamName, u64>,
    /// The present tokens of its leases; none for a lease that nobody ever took.
    pub(crate) tokens: HashMap<String, u64>,
}

/// A call that may be appended.
#[derive(Debug)]
pub(crate) enum Admitted {
    /// It was, before: these are its events.
    Already(Vec<Event>),
    /// It is new: each event with its place in its stream.
    New(Vec<(Position, Draft)>),
}

/// Judges a call.
///
/// A retry is recognised first, before `expected` and the fence, which an honest retry no longer meets.
///
/// # Errors
/// [`Error::IdTaken`], [`Error::HalfStored`], [`Error::Erased`], [`Error::LeaseLost`], [`Error::Conflict`]; [`Error::Corrupt`] when a
/// stored event of the call does not read.
pub(crate) fn admit(call: Vec<Prepared>, mut known: Known) -> Result<Admitted, Error> {
    if let Some(events) = already(&call, &mut known.stored)? {
        return Ok(Admitted::Already(events));
    }
    for draft in call.iter().flat_map(|append| &append.drafts) {
        if let Some(subject) = draft.erased.clone() {
            return Err(Error::Erased { id: draft.event.id.clone(), subject });
        }
    }
    for fence in call.iter().filter_map(|append| append.fence.as_ref()) {
        holds(fence, &known.tokens)?;
    }
    let mut placed = Vec::new();
    for append in call {
        let stands = known.streams.entry(append.stream.clone()).or_default();
        expect(&append, *stands)?;
        for draft in append.drafts {
            *stands += 1;
            placed.push((Position(*stands), draft));
        }
    }
    Ok(Admitted::New(placed))
}

/// The stored events of a call that was appended before; nothing for a new one.
fn already(call: &[Prepared], stored: &mut HashMap<String, Stored>) -> Result<Option<Vec<Event>>, Error> {
    let (mut events, mut missing) = (Vec::new(), None);
    let drafts = call.iter().flat_map(|append| append.drafts.iter().map(|draft| (&append.stream, draft)));
    for (stream, draft) in drafts {
        match stored.remove(draft.event.id.as_str()) {
            Some(twin) if twin.digest == draft.event.digest.as_str() => events.push(twin.read()?),
            Some(twin) if is_erased(&twin, stream, draft) => events.push(twin.read()?),
            Some(_) => return Err(Error::IdTaken { id: draft.event.id.clone() }),
            None => missing = Some(draft.event.id.clone()),
        }
    }
    match (events.first(), missing) {
        (None, _) => Ok(None),
        (Some(_), None) => Ok(Some(events)),
        (Some(stored), Some(missing)) => Err(Error::HalfStored { stored: stored.id.clone(), missing }),
    }
}

fn holds(fence: &Fence, tokens: &HashMap<String, u64>) -> Result<(), Error> {
    match tokens.get(&fence.name) {
        Some(token) if *token == fence.token => Ok(()),
        _ => Err(Error::LeaseLost { name: fence.name.clone(), token: fence.token }),
    }
}

fn expect(append: &Prepared, stands: u64) -> Result<(), Error> {
    let met = match append.expected {
        Expected::NoStream => stands == 0,
        Expected::At(position) => position.0 == stands && stands > 0,
        Expected::Any => true,
    };
    if met {
        return Ok(());
    }
    Err(Error::Conflict {
        stream: append.stream.clone(),
        expected: append.expected,
        actual: (stands > 0).then_some(Position(stands)),
    })
}
