//! The purse: what is settled, held and unknown on each account, which budgets a call is held on, and whether one
//! more hold fits.
//!
//! An account is one budget in one period. `available = limit - settled - held - unknown`. Unknown is never zero.
//! A call that cost more than its hold is an overrun: the gate refuses its budgets until a person has looked, so
//! nothing here blocks them a second time.

mod account;
mod budget;
mod cost;
mod fits;
mod hold;
mod window;

pub use account::{AccountRow, Accounts};
pub use budget::{BudgetRow, Budgets, Spending, channel_of};
pub use cost::{Worst, cost, worst};
pub use fits::{InPlay, NoRoom, Short, accounts, fits};
pub use hold::{HOLD_OPEN_MS_MAX, HoldRow, HoldState, Holds, is_overdue};
pub use window::{NoWindow, Window, is_time_zone, window};
