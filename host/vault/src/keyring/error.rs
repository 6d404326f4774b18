//! What can go wrong with keys, one variant for each thing a caller would do differently.

use event::PrincipalId;
use std::io;
use std::path::PathBuf;

/// Why the keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The words derive from what was erased.
    #[error("what `{subject}` said is erased, and so is what derives from it")]
    Erased {
        /// The person without a key.
        subject: PrincipalId,
    },
    /// A file is not the key it is named after.
    #[error(
        "`{}` is not the key it is named after; put it back from a backup of the keys folder", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The folder cannot be read or written.
    #[error("the keys folder cannot be used at `{}`; let the user this host runs as read and write it", path.display())]
    Folder {
        /// The folder, or the file in it.
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
    /// Everyone on the machine may read the folder.
    #[error("everyone on this machine may read the keys folder; run `chmod o-rwx {}`", path.display())]
    Exposed {
        /// The folder.
        path: PathBuf,
    },
    /// The keys stand, and the sealed bytes are not what was sealed in this field.
    #[error("a sealed value was changed, or is not of this field")]
    Changed,
    /// Too long to be sealed: hundreds of gigabytes.
    #[error("a value is too long to be sealed")]
    TooLong,
    /// The system gives no random numbers to make a key of.
    #[error("the system gives no random numbers to make a key of")]
    NoEntropy(#[source] getrandom::Error),
}
