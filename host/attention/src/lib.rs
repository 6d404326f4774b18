//! The wake: which seat looks, at what, and when.
//!
//! What reaches a seat about a topic is one row of signal, folded in the transaction of the event itself.
//! [`pressure`](fn@pressure) says how heavy a row is now, `w × (1 + ln n) × r × a`; a row over [`WAKE_LINE`]
//! wakes its seat, or the one that works for it while it is vacant, unless a turn on the same topic stands open or
//! began less than [`BURST_WINDOW_MS`] ago.
//!
//! Whatever has a moment stands in one queue ([`pass_moments`]): there is no timer anywhere else.
//!
//! No model takes part, nothing here says what a message asks, and nothing here opens a turn.
//!
//! Source of the rules and figures: mechanisms, section 3.

pub mod moment;
pub mod pressure;
pub mod wake;

pub use moment::{MOMENTS_MAX, next_moment, pass_moments, recalls, renewals};
pub use pressure::{WAKE_LINE, pressure};
pub use wake::{BURST_WINDOW_MS, Wake, is_in_window, open_turns, waiting, wake, works};

#[cfg(test)]
mod tests;
