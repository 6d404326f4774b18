//! A call with what is worked out of it once: a request to a model is long, and its digest is asked for again and again.

use crate::call::Call;
use crate::story::Story;
use serde_json::Value;
use std::sync::Arc;

/// A call that is about to be judged.
pub(crate) struct Ready {
    /// Shared by all that it goes through: nobody changes it any more.
    pub(crate) call: Arc<Call>,
    pub(crate) story: Story,
    /// As [`Call::input`] has it.
    pub(crate) input: Value,
}

impl Ready {
    pub(crate) fn of(call: Call) -> Self {
        let input = call.input();
        let story = Story::with(&call, event::canon::canonical_digest(&input));
        Self { call: Arc::new(call), story, input }
    }
}
