//! When to speak: what an arrival asks of the office, and where an answer to it would go.
//!
//! Every delivery on the record gets exactly one class and one reason, by the rungs of one ladder
//! ([`classify`]), from the delivery alone, so that any past decision can be made again. [`follow`] turns
//! a delivery and what was appended with it into its `delivery.classified`; [`step`] does so for the whole
//! record from a cursor of its own.
//!
//! Nothing here calls Slack, wakes a seat or asks a model. Deliberately absent so far: triage, modes and
//! allowances of channels, and steering; at this depth a message that does not address the office gets
//! nothing.

mod arrival;
pub mod card;
mod classify;
mod click;
mod follow;
mod notation;
mod readable;
mod reason;
mod reply;
mod sender;
mod step;
mod whose;

pub use arrival::{
    DRILL, Arrival, ID_PART_BYTES_MAX, SOURCE_SLACK, SOURCE_TERMINAL, TERMINAL_ROOT, TERMINAL_TEAM,
    asks_a_drill, is_plain,
};
pub use classify::classify;
pub use click::{ACTION_NO, ACTION_YES, Click, click};
pub use follow::{Office, follow};
pub use notation::escaped;
pub use readable::readable;
pub use reason::Reason;
pub use reply::{TOOL_SLACK, TOOL_TERMINAL, label_of, reply_to};
pub use sender::Sender;
pub use step::{CURSOR, FOLLOW_EVENTS_MAX, lag, step};
pub use whose::{PERSONS_MAX, Whose, whose};
