//! The one history: append, read, follow, lease.
//!
//! What always holds:
//! - An event is never changed and never removed; the database itself refuses it.
//! - Global positions and the positions of each stream are gapless, in the order of commits.
//! - Nobody is told that an append succeeded before it is on the disk.
//! - An append made twice is one event; an append that expected another position, or came under an outdated
//!   lease, wrote nothing.
//! - Every row is folded from events in the transaction that appended them; folding them again gives the same row.
//! - A record opened by two processes at once is one record.
//! - Words of persons are sealed under their keys before the writer sees them; folds, stores and the journal have the
//!   sealed form alone.
//!
//! A call comes in through [`Record`], is checked, sealed and encoded where it is made (`append`, `seal`), waits for the `writer`,
//! is judged by pure code (`admit`) on what a `batch` looked up, is linked to the chain (`stored`) and written
//! (through `store`, which says what `sqlite`, `postgres` and `memory` each offer).
//!
//! Deliberately absent: any way to change or remove an event; any rule about what the events mean (`fold`); any
//! judgement on who may state them (`gate`).

mod admit;
mod append;
mod batch;
mod canon;
mod clock;
mod error;
mod follow;
mod job;
mod journal;
mod lease;
mod memory;
mod open;
mod postgres;
mod record;
mod rows;
mod seal;
mod sqlite;
mod store;
mod stored;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use append::{APPEND_EVENTS_MAX, Append, BODY_BYTES_MAX, INLINE_BYTES_MAX};
pub use clock::{Clock, SystemClock};
pub use error::{Cause, Error};
pub use follow::Follower;
pub use journal::{
    CompareError, Compared, GitError, Journal, JournalError, JournalHead, Pace, Remote, RestoreError,
    Restored, STARTING_PACE, Status, keep,
};
pub use lease::{Fence, LEASE_TTL_MS_MAX, Lease};
pub use memory::Memory;
pub use record::{Decided, Record};
pub use rows::{Foreseen, ROWS_AT_ONCE_MAX, RowKey, Rows};
pub use verify::{Anchor, Fault, Verified, VerifyError};
