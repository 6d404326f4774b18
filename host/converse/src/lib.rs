//! When to speak: what an arrival asks of the office, and where an answer to it would go.
//!
//! Every delivery on the record gets exactly one class and one reason, by the rungs of one ladder
//! ([`classify`]), from the delivery alone, so that any past decision can be made again. [`follow`] turns
//! a delivery and what was appended with it into its `delivery.classified`; [`step`] does so for the whole
//! record from a cursor of its own. What a message says into a running turn, [`steer`] tells that turn.
//!
//! Whether the office speaks about a message that nobody addressed to it is weighed in [`triage`]: a small model gives
//! seven figures, and a pure evaluator decides by the channel's mode and what it has said there lately.
//!
//! Nothing here calls Slack, wakes a seat or calls a model: requests to one are composed and answers read, and the call
//! is made by whoever runs the office, through the gate.

mod arrival;
pub mod assistant;
pub mod card;
mod change;
mod classify;
mod click;
pub mod command;
mod files;
#[cfg(test)]
mod fixture;
mod follow;
pub mod form;
pub mod home;
pub mod live;
mod manner;
pub mod mute;
mod notation;
mod own;
mod progress;
pub mod question;
pub mod rate;
mod readable;
mod reason;
mod reply;
mod sender;
mod shortcut;
mod steering;
mod step;
pub mod triage;
mod whose;

pub use arrival::{
    Arrival, DRILL, ID_PART_BYTES_MAX, SOURCE_SLACK, SOURCE_TERMINAL, TERMINAL_ROOT, TERMINAL_TEAM,
    asks_a_drill, is_plain,
};
pub use change::Edit;
pub use classify::classify;
pub use click::{ACTION_NO, ACTION_YES, Click, Saw, Says, click};
pub use files::{SLACK_FILE_ARGUMENT, TOOL_SLACK_FILE, attached};
pub use follow::{Office, follow};
pub use manner::Manner;
pub use notation::escaped;
pub use own::{own, own_in, own_keys, own_of};
pub use progress::is_progress;
pub use readable::readable;
pub use reason::Reason;
pub use reply::{TOOL_SLACK, TOOL_TERMINAL, label_of, reply_to};
pub use sender::Sender;
pub use shortcut::{SHORTCUT_ASK, SHORTCUT_DRILL};
pub use steering::{STEERING_CURSOR, Steerers, is_steered, steer, steering};
pub use step::{CURSOR, FOLLOW_EVENTS_MAX, lag, step};
pub use whose::{PERSONS_MAX, Whose, whose};
