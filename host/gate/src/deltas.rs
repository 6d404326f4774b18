//! Where text goes while a model writes it: shown, never recorded. And how a call of a model is stopped.

/// Receives text as a model writes it, and says when nobody waits for the rest.
#[async_trait::async_trait]
pub trait Deltas: Send + Sync {
    /// More text, in order. Must return at once.
    fn write(&self, text: &str);

    /// Returns once nobody waits for the answer any more: the call then ends with [`crate::FailureKind::Stopped`]. Its
    /// request may have left, and what it cost by then is not known. Never returns by default. May be asked again and
    /// again, and is dropped while it waits.
    async fn stopped(&self) {
        std::future::pending().await
    }
}
