//! A call that nobody waits for any more: whoever made it was told to stop, and let go of it.
//!
//! What had begun may have been charged, so its hold is unknown and counts in full; what had not is given back. What
//! its outcome would have been is never written: a call that may change something outside is not let go of.

use crate::begin::hold_id;
use crate::call::Call;
use crate::pass::{Gate, GateError};
use crate::story::Story;
use event::Expected;
use fold::Projection;
use fold::purse::{HoldRow, Holds};
use record::{Append, RowKey};
use std::convert::Infallible;

impl Gate {
    /// Ends what `call` holds by what is known, after its caller has dropped it.
    ///
    /// # Errors
    /// [`GateError::Record`]; the hold is then ended when it is overdue.
    pub async fn abandon(&self, call: &Call) -> Result<(), GateError> {
        let (story, fence) = (Story::of(call), call.fence.clone());
        let stream = Story::stream(&call.origin);
        let hold = hold_id(&call.origin.deed(), call.origin.attempt());
        let reads = vec![RowKey::new(Holds.name(), hold.as_str())];
        self.parts
            .record
            .decide(reads, move |rows, _| {
                let row: Option<HoldRow> = rows.state(Holds.name(), hold.as_str());
                let end = row.and_then(|row| story.hold_abandoned(&hold, &row));
                let append = |end| Append { stream, expected: Expected::Any, events: vec![end], fence };
                Ok::<_, Infallible>((end.map(append).into_iter().collect(), ()))
            })
            .await?;
        Ok(())
    }
}
