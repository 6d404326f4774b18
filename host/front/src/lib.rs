//! The people: what comes in from Slack and from a terminal, and what a terminal shows.
//!
//! Whatever arrives is checked, put on the record in one append, and only then acknowledged. What it asks is
//! `converse`'s to say; whether a seat looks is `attention`'s. What goes back to people goes through the
//! gate as an effect; a terminal shows what the record says was sent.
//!
//! Deliberately absent: any decision, any turn, any outgoing request, and the value of any secret.

pub mod accounts;
mod crowd;
pub mod health;
pub mod inbox;
pub mod listen;
pub mod serve;
pub mod slack;
pub mod terminal;
pub mod visible;

pub use inbox::{Inbox, Incoming, Taken};
pub use listen::listen;
pub use serve::{Front, router};
pub use terminal::{Answers, ChatError, Look, SILENCE_MS_MAX, Session, Told, chat};
pub use visible::visible;
