//! What came of a call is written down in one commit: what was read, how the hold ended, what became of an effect,
//! and, where the call cost more than was held, the refusal of every budget that paid for it.
//!
//! A hold has one end, because its end has one name: whoever states another is told so by the record. Whatever else
//! cannot be kept, the end of the hold is.

use crate::begin::HeldCall;
use crate::call::Call;
use crate::outcome::Ended;
use crate::pass::{Gate, GateError};
use crate::story::Story;
use event::{Proposed, RefusalSubject, StreamName};
use record::Append;

impl Gate {
    /// Appends `facts` and the end of the hold.
    ///
    /// # Errors
    /// [`GateError::Record`]; the end of the hold stands all the same where the record takes it alone.
    pub(crate) async fn tell_outcome(
        &self,
        call: &Call,
        story: &Story,
        facts: Vec<Proposed>,
        held: Option<(&HeldCall, Ended)>,
    ) -> Result<(), GateError> {
        let Some((held, ended)) = held else { return self.tell(call, facts).await };
        let refusals = ended.blocks.map(|reason| refusals(story, held, &reason)).unwrap_or_default();
        let end = story.hold_ended(ended.end);
        let whole = facts.iter().cloned().chain([end.clone()]).collect();
        match self.append(call, whole, refusals.clone()).await {
            // Somebody has ended it since, in full: what was used is not charged a second time.
            Err(record::Error::IdTaken { id }) if id == end.id => {
                self.append(call, facts, refusals).await.map_err(GateError::Record)
            }
            Err(why @ (record::Error::LeaseLost { .. } | record::Error::Unavailable { .. })) => {
                Err(GateError::Record(why))
            }
            Err(why) => {
                self.append(call, vec![end], refusals).await?;
                Err(GateError::Record(why))
            }
            Ok(()) => Ok(()),
        }
    }

    async fn append(
        &self,
        call: &Call,
        events: Vec<Proposed>,
        others: Vec<Append>,
    ) -> Result<(), record::Error> {
        let stream = Story::stream(&call.origin);
        let own = Append { stream, expected: event::Expected::Any, events, fence: call.fence.clone() };
        let appends = [own].into_iter().filter(|own| !own.events.is_empty()).chain(others).collect();
        self.append_patiently(appends).await
    }
}

/// A refusal of each budget that paid, until a person has looked.
fn refusals(story: &Story, held: &HeldCall, reason: &str) -> Vec<Append> {
    let budgets = held.accounts.iter().map(|account| RefusalSubject::Budget(account.budget.clone()));
    budgets
        .map(|subject| {
            let stream = StreamName::new("refusal", &subject);
            let raised = story.overrun(&held.hold, subject, reason);
            Append::new(stream, event::Expected::Any, vec![raised])
        })
        .collect()
}
