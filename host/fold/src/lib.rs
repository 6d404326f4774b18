//! The meaning: state from events, by pure functions.
//!
//! A [`Projection`] turns events into rows, one key at a time, inside the transaction that appends them;
//! throwing the rows away and folding the record again gives the same rows. A `decide` function turns a
//! wish and a state into facts or a reason why not.
//!
//! Nothing here reads a clock, does I/O or draws a random number.

pub mod account;
pub mod ahead;
pub mod approval;
pub mod authority;
pub mod channel;
pub mod class;
pub mod disclosure;
pub mod effect;
pub mod inbox;
pub mod message;
pub mod moment;
pub mod plugin;
pub mod projection;
pub mod purse;
pub mod refusal;
pub mod request;
pub mod said;
pub mod seat;
pub mod setting;
pub mod signal;
pub mod subject;
pub mod turn;

pub use projection::{Projection, Row, decode, taken};

/// Every projection, in the order in which they fold one event. They never read each other.
#[must_use]
pub fn all() -> &'static [&'static dyn Projection] {
    &[
        &setting::Settings,
        &seat::Seats,
        &message::Messages,
        &message::Topics,
        &message::Speakers,
        &signal::Signals,
        &turn::Turns,
        &inbox::Inboxes,
        &request::Requests,
        &refusal::Refusals,
        &approval::Approvals,
        &approval::Answers,
        &ahead::Ahead,
        &moment::Moments,
        &purse::Budgets,
        &purse::Holds,
        &purse::Accounts,
        &effect::Effects,
        &effect::TurnEffects,
        &effect::Receipts,
        &subject::Subjects,
        &class::Classes,
        &channel::Channels,
        &channel::Triages,
        &account::Wanted,
        &disclosure::Disclosures,
        &said::Said,
    ]
}
