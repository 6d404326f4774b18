//! A turn whose words are erased while it runs, or before it could: it ends, and takes none of them with it.
//!
//! What can no longer be read is noticed before each step; who was erased meanwhile, before each append, also when that
//! person has spoken again and has a new key. The record refuses what slips through.

use crate::error::Error;
use crate::scene::Scene;
use event::{Event, EventId, Fact, StepEnded, StepStarted, Timestamp};
use fold::subject::{SubjectRow, Subjects};
use fold::turn::{StepState, TurnState};
use fold::{Projection, decode};
use record::Record;
use std::collections::BTreeSet;

/// What such a turn comes to. It is the office's own sentence and holds nobody's words.
pub(crate) const WHY: &str = "what it is about was erased";

/// Whether words that the turn needs are gone: what woke it, or what a step of it was given or gave.
pub(crate) fn is_erased(scene: &Scene, state: &TurnState) -> bool {
    scene.woken_by_erased || state.steps.values().any(is_step_erased)
}

/// Lets `fact` pass, unless it holds words of a person who was erased since `began`.
///
/// # Errors
/// [`record::Error::Erased`], as the record says it of a person without a key.
pub(crate) async fn none_erased(
    record: &Record,
    began: Timestamp,
    id: &EventId,
    fact: &Fact,
) -> Result<(), Error> {
    let subjects: BTreeSet<_> =
        fact.personal().iter().flat_map(|(_, field)| field.subjects()).cloned().collect();
    for subject in subjects {
        let row = record.row(Subjects.name(), subject.as_str()).await?;
        if decode::<SubjectRow>(row.as_ref()).is_some_and(|row| row.shredded_at >= began) {
            return Err(record::Error::Erased { id: id.clone(), subject }.into());
        }
    }
    Ok(())
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
