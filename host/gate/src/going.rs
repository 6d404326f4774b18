//! A call that has begun, and what it comes to. Its permit is made here and spent at once.

use crate::begin::Begun;
use crate::call::Call;
use crate::deltas::Deltas;
use crate::office::{Taken, Verbs};
use crate::outcome::{held_outcome, is_known, owners, source_label};
use crate::owed::{Owed, tell_alone};
use crate::pass::{Gate, GateError, Passed};
use crate::permit::{Admission, Permit};
use crate::reach::{Failure, FailureKind, Output, Reached};
use crate::ready::Ready;
use crate::story::Story;
use crate::verdict::{Denial, Refusal};
use event::ReceiptId;
use std::fmt;
use std::sync::Arc;

/// A call that has begun: what it holds and what it intends stand in the record. Whoever has one makes it with
/// [`Gate::go`], once.
pub struct Going {
    pub(crate) call: Arc<Call>,
    pub(crate) admission: Admission,
    pub(crate) begun: Begun,
    pub(crate) story: Story,
}

impl fmt::Debug for Going {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Going").field("origin", &self.call.origin).finish_non_exhaustive()
    }
}

/// What came of a call, and what the record is owed of it.
#[derive(Clone, Debug)]
pub struct Came {
    /// What came of it.
    pub passed: Passed,
    /// What has to be written down.
    pub owed: Owed,
}

impl Came {
    pub(crate) fn denied(ready: &Ready, denial: Denial) -> Self {
        let owed = Owed::facts(&ready.call, ready.story.denied(&denial));
        Self { passed: Passed::Denied(denial), owed }
    }

    pub(crate) fn refused(ready: &Ready, refusal: Refusal) -> Self {
        let owed = Owed::facts(&ready.call, ready.story.refused(&refusal));
        Self { passed: Passed::Refused(refusal), owed }
    }
}

impl Gate {
    /// Makes a call that has begun. What comes back has to be written down: until then its hold is open, and its effect
    /// is one of which nobody knows.
    pub async fn go(&self, going: Going, deltas: Option<Arc<dyn Deltas>>) -> Came {
        let verbs = self.verbs(&going);
        let permit = Permit {
            call: going.call.clone(),
            admission: going.admission.clone(),
            effect_id: going.begun.effect.clone(),
            at: going.begun.at,
            deltas,
            verbs: verbs.clone(),
        };
        let began = self.parts.clock.now();
        let reached = self.parts.reach.reach(permit).await;
        let lasted_ms = self.parts.clock.now().since_ms(began);
        let taken = verbs.map(|verbs| verbs.taken()).unwrap_or_default();
        came(&going, reached, lasted_ms, taken)
    }

    /// What of the office the call is given, where it is given anything.
    fn verbs(&self, going: &Going) -> Option<Verbs> {
        let Going { call, admission, begun, .. } = going;
        let record = self.parts.record.clone();
        let of = (call.clone(), begun.at, begun.effect.clone());
        let given = !admission.handles.is_empty();
        given.then(|| Verbs::new(of, admission.handles.clone(), record, self.readable))
    }

    /// Writes down what came of a call, by itself.
    pub(crate) async fn settle(&self, came: Came) -> Result<Passed, GateError> {
        tell_alone(&self.parts.record, vec![came.owed]).await?;
        Ok(came.passed)
    }
}

/// What `reached` means for a call that had begun, and `taken` by the handles it was given.
fn came(going: &Going, reached: Reached, lasted_ms: i64, taken: Taken) -> Came {
    let Going { call, admission, begun, story } = going;
    let receipts: Vec<ReceiptId> = (0..reached.readings.len()).map(|n| story.receipt_id(n)).collect();
    let mut facts = story.receipts(&reached.readings);
    let held = begun.hold.as_ref().map(|held| (held, held_outcome(held, call, &reached, lasted_ms)));
    let label = source_label(admission, &reached).join(&taken.label()).join(&call.label);
    let Taken { of, wishes, .. } = taken;
    // What failed wished nothing.
    let wishes = if begun.effect.is_some() && reached.outcome.is_ok() { wishes } else { Vec::new() };
    let outcome_known = is_known(&reached);
    if let (Err(Failure { kind: FailureKind::NoAccount(_), .. }), Some(lacking)) =
        (&reached.outcome, &admission.connectable)
    {
        facts.push(story.account_wanted(lacking));
    }
    let passed = match (&begun.effect, reached.outcome) {
        (None, Ok(Output::Unusable { failure, .. })) => Passed::Failed { failure, label, receipts, of },
        (None, Ok(output)) => Passed::Done { output, label, receipts, of },
        (None, Err(failure)) => Passed::Failed { failure, label, receipts, of },
        (Some(effect), Ok(output)) => {
            facts.push(story.effect_sent(effect, &output, owners(&call.label, admission.account.as_ref())));
            Passed::Done { output, label, receipts, of }
        }
        (Some(effect), Err(failure)) if outcome_known => {
            facts.push(story.effect_failed(effect, &failure.message));
            Passed::Failed { failure, label, receipts, of }
        }
        (Some(effect), Err(failure)) => {
            let reason = format!("the request left, and then: {}", failure.message);
            facts.push(story.effect_unknown(effect, &reason));
            Passed::Unknown { reason }
        }
    };
    let owed = Owed::outcome(call, story, facts, held, begun.effect.is_none()).with_wishes(wishes);
    Came { passed, owed }
}
