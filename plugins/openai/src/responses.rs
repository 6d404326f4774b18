//! Responses.

pub(crate) mod answer;
pub(crate) mod ask;
