//! Streams and positions: the events of one subject, and where each stands.

use crate::id::IdError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The events of one subject: `category-name`, such as `turn-turn_01…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StreamName(String);

impl StreamName {
    /// The stream of `name` within `category`.
    #[must_use]
    pub fn new(category: &str, name: impl fmt::Display) -> Self {
        Self(format!("{category}-{name}"))
    }

    /// A stream written down before.
    ///
    /// # Errors
    /// When there is no category and name with a `-` between them.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        Self::try_from(text.to_owned())
    }

    /// What kind of subject this is: all before the first `-`.
    #[must_use]
    pub fn category(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }

    /// The stream as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for StreamName {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        match text.split_once('-') {
            Some((category, name)) if !category.is_empty() && !name.is_empty() => Ok(Self(text)),
            _ => Err(IdError::of(&text, "a stream (`category-name`)")),
        }
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Place within a stream, from 1, gapless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub u64);

/// Place within the record, from 1, gapless, in the order of commits. 0 is before the first event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GlobalPosition(pub u64);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for GlobalPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What an append insists on: the compare of its compare-and-swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The stream has no event yet.
    NoStream,
    /// The stream's last event stands here.
    At(Position),
    /// Anything: for facts that do not depend on what came before, such as a delivery.
    Any,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStream => f.write_str("no event yet"),
            Self::At(position) => write!(f, "position {position}"),
            Self::Any => f.write_str("any position"),
        }
    }
}
