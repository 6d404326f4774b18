//! Where a journal ends, as its file `head` says it: `POSITION:CHAIN`. Kept elsewhere, it is what `record verify`
//! compares with.

use super::error::JournalError;
use super::lines;
use crate::Anchor;
use event::{Digest, GlobalPosition};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The last event of a journal, and the chain there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalHead {
    /// Its place in the record.
    pub global_position: GlobalPosition,
    /// Its chain.
    pub chain: Digest,
}

impl JournalHead {
    /// Where the journal in `folder` says it ends.
    ///
    /// # Errors
    /// [`JournalError::Absent`], [`JournalError::Damaged`], [`JournalError::System`].
    pub fn read(folder: &Path) -> Result<Self, JournalError> {
        lines::head(folder)?.ok_or_else(|| JournalError::Absent(folder.to_owned()))
    }
}

impl From<JournalHead> for Anchor {
    fn from(JournalHead { global_position, chain }: JournalHead) -> Self {
        Self { global_position, chain }
    }
}

impl fmt::Display for JournalHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.global_position, self.chain)
    }
}

/// A text that is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a head is a position, `:` and 64 hexadecimal digits")]
pub struct NoHead;

impl FromStr for JournalHead {
    type Err = NoHead;

    fn from_str(text: &str) -> Result<Self, NoHead> {
        let (position, chain) = text.split_once(':').ok_or(NoHead)?;
        let position = position.parse().map_err(|_| NoHead)?;
        let chain = Digest::parse(chain).ok_or(NoHead)?;
        Ok(Self { global_position: GlobalPosition(position), chain })
    }
}
