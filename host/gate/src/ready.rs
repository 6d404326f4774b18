//! A call with what is worked out of it once: a request to a model is long, and its digest is asked for again and again.

use crate::call::Call;
use crate::story::Story;
use std::sync::Arc;

/// A call that is about to be judged.
pub(crate) struct Ready {
    /// Shared by all that it goes through: nobody changes it any more.
    pub(crate) call: Arc<Call>,
    pub(crate) story: Story,
}

impl Ready {
    pub(crate) fn of(call: Call) -> Self {
        let story = Story::with(&call, call.content());
        Self { call: Arc::new(call), story }
    }
}
