//! Where text goes while a model writes it: shown, never recorded.

/// Receives text as a model writes it.
pub trait Deltas: Send + Sync {
    /// More text, in order. Must return at once.
    fn write(&self, text: &str);
}
