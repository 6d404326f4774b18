//! What can go wrong, one variant for each thing a caller would do differently.

use event::{EventId, Expected, GlobalPosition, Position, PrincipalId, StreamName};
use std::sync::Arc;

/// What lies behind an error. Shared, because one failed commit is told to every caller that was part of it.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Why the record did not do what was asked. Whatever the variant, nothing of the call was written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Somebody appended first: read the stream again and decide anew.
    #[error("the stream `{stream}` stands at {}, and the append expected {expected}", place(*actual))]
    Conflict {
        /// The stream.
        stream: StreamName,
        /// What the append insisted on.
        expected: Expected,
        /// Where the stream stands; nothing when it has no event.
        actual: Option<Position>,
    },
    /// The id names another event: the caller derives ids from too little. Trying again cannot help.
    #[error("the id `{id}` names another event")]
    IdTaken {
        /// The id.
        id: EventId,
    },
    /// Of the events of one append some stand in the record and some do not, so it is neither new nor a retry.
    #[error("`{stored}` stands in the record and `{missing}` of the same append does not")]
    HalfStored {
        /// One that stands.
        stored: EventId,
        /// One that does not.
        missing: EventId,
    },
    /// The lease has another holder or none: stop, and append nothing more under it.
    #[error("the lease `{name}` is no longer held with token {token}")]
    LeaseLost {
        /// The lease.
        name: String,
        /// The token that no longer counts.
        token: u64,
    },
    /// The actor may not state this: it is for whoever asked for it to hear why.
    #[error("the event `{id}` is not the actor's to state")]
    NoAuthority {
        /// The event.
        id: EventId,
        /// Why.
        source: fold::authority::NoAuthority,
    },
    /// It derives from words that are erased, and must not outlive them: end what it was part of.
    #[error("the event `{id}` derives from what `{subject}` said, which is erased")]
    Erased {
        /// The event.
        id: EventId,
        /// The person who has no key any more.
        subject: PrincipalId,
    },
    /// It holds words of persons, and this record was opened without their keys: it would keep them open.
    #[error("the event `{id}` holds words of persons, and the record was opened without their keys")]
    NoKeys {
        /// The event.
        id: EventId,
    },
    /// A number in the body would be changed by canonical form: refuse what brought it.
    #[error(
        "the event `{id}` holds an integer at `{pointer}` that JSON does not keep exactly; send it as a string"
    )]
    Inexact {
        /// The event.
        id: EventId,
        /// JSON pointer into the body.
        pointer: String,
    },
    /// The body would not read back, for example because it is nested too deeply: refuse what brought it.
    #[error("the event `{id}` would not read back as it was written")]
    Unreadable {
        /// The event.
        id: EventId,
        /// What reading says.
        source: Cause,
    },
    /// A limit of this crate is passed: split it, or keep it elsewhere by digest.
    #[error("{what} is {size}, above the limit of {max}")]
    TooLarge {
        /// What was measured, with its unit.
        what: &'static str,
        /// How large it is.
        size: usize,
        /// The limit.
        max: usize,
    },
    /// Only an empty record takes in another one: name another target.
    #[error("the record holds {end} events already; only an empty one takes in another")]
    NotEmpty {
        /// Where it ends.
        end: GlobalPosition,
    },
    /// A decision looked at a row that it did not name, so what it saw was not the record's state.
    #[error("a decision looked at the row `{key}` of `{projection}` without naming it")]
    RowNotNamed {
        /// The projection.
        projection: String,
        /// The key.
        key: String,
    },
    /// Nothing can be written or read just now, or the outcome is not known: try again later with the same
    /// ids. The front answers 503.
    #[error("the record is unavailable: {why}")]
    Unavailable {
        /// What is wrong, for the operator.
        why: &'static str,
        /// What the database said.
        source: Option<Cause>,
    },
    /// What is stored cannot be what was written, or was written by a newer host: a person has to look.
    #[error("the record is corrupt at global position {global_position}: {why}")]
    Corrupt {
        /// The event; 0 when it is no single one.
        global_position: GlobalPosition,
        /// What does not hold.
        why: String,
        /// What reading said.
        source: Option<Cause>,
    },
    /// There is no record yet, and it was to be opened for reading alone.
    #[error("there is no record at `{place}`; `chancery serve` creates it, and so does `chancery chat`")]
    NoRecord {
        /// Its file, or its database without user and password.
        place: String,
    },
    /// The record does not open: the operator has to change something first.
    #[error("the record `{place}` does not open: {why}")]
    NotOpened {
        /// Its file, or its database without user and password.
        place: String,
        /// What is wrong and what to do about it.
        why: String,
        /// What the system said.
        source: Option<Cause>,
    },
}

impl Error {
    pub(crate) fn unavailable(why: &'static str) -> Self {
        Self::Unavailable { why, source: None }
    }

    pub(crate) fn corrupt(at: u64, why: impl Into<String>, source: Option<Cause>) -> Self {
        Self::Corrupt { global_position: GlobalPosition(at), why: why.into(), source }
    }
}

fn place(position: Option<Position>) -> String {
    position.map_or_else(|| "no event yet".to_owned(), |position| format!("position {position}"))
}
