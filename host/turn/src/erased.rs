//! A turn whose words are erased while it runs, or before it could: it ends, and takes none of them with it.
//!
//! It is asked before each step. What is written down after an erasure and before this notices it is refused by the
//! record, or sealed under a key that is gone by then, so nothing outlives the erasure in between either.

use crate::error::Error;
use crate::scene::Scene;
use crate::stream::TurnStream;
use event::{Event, PrincipalId, StepEnded, StepStarted};
use fold::subject::{SubjectRow, Subjects};
use fold::turn::StepState;
use fold::{Projection, decode};
use record::Record;
use std::collections::BTreeSet;

/// What such a turn comes to. It is the office's own sentence and holds nobody's words.
pub(crate) const WHY: &str = "what it is about was erased";

/// Whether words that the turn needs are gone: the message that woke it, or what a step of it was given or gave; or
/// whether a person whose words it was shown was erased since it began.
pub(crate) async fn is_erased(
    record: &Record,
    scene: &Scene,
    stream: &TurnStream,
    of: &BTreeSet<PrincipalId>,
) -> Result<bool, Error> {
    if scene.woken_by_erased || stream.state.steps.values().any(is_step_erased) {
        return Ok(true);
    }
    for subject in of {
        let row = record.row(Subjects.name(), subject.as_str()).await?;
        if decode::<SubjectRow>(row.as_ref()).is_some_and(|row| row.shredded_at >= stream.began) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_step_erased(step: &StepState) -> bool {
    let given = |started: &StepStarted| started.input.value().is_none();
    let gave = |ended: &StepEnded| ended.output.value().is_none();
    given(&step.started) || step.ended.as_ref().is_some_and(gave)
}

/// Whether a personal field of `event` is sealed, so that its words cannot be shown.
pub(crate) fn is_sealed(event: &Event) -> bool {
    event.fact.personal().iter().any(|(_, field)| field.sealed().is_some())
}
