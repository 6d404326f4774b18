//! Calls of real guests.
