//! A turn whose words are erased while it runs, or before it could: it ends, and takes none of them with it.
//!
//! What can no longer be read is noticed before each step; who was erased meanwhile, before each append, also when that
//! person has spoken again and has a new key. The record refuses what slips through.

use crate::error::Error;
use crate::scene::Scene;
use event::{Event, EventId, PrincipalId, Proposed, StepEnded, StepStarted, Timestamp};
use fold::Projection;
use fold::subject::{SubjectRow, Subjects};
use fold::turn::{StepState, TurnState};
use record::{Record, RowKey, Rows};
use std::collections::BTreeMap;

/// What such a turn comes to. It is the office's own sentence and holds nobody's words.
pub(crate) const WHY: &str = "what it is about was erased";

/// Whether words that the turn needs are gone: what woke it, or what a step of it was given or gave.
pub(crate) fn is_erased(scene: &Scene, state: &TurnState) -> bool {
    scene.woken_by_erased || state.steps.values().any(is_step_erased)
}

/// That nobody whose words events may repeat was erased since the turn began, also where that person has spoken again
/// and has a new key.
#[derive(Clone, Debug)]
pub(crate) struct Alive {
    began: Timestamp,
    /// By person, the first event that may repeat their words.
    subjects: BTreeMap<PrincipalId, EventId>,
}

impl Alive {
    pub(crate) fn of<'a>(began: Timestamp, events: impl Iterator<Item = &'a Proposed>) -> Self {
        let mut subjects = BTreeMap::new();
        for event in events {
            for subject in event.fact.personal().iter().flat_map(|(_, field)| field.subjects()) {
                subjects.entry(subject.clone()).or_insert_with(|| event.id.clone());
            }
        }
        Self { began, subjects }
    }

    pub(crate) fn reads(&self) -> impl Iterator<Item = RowKey> {
        self.subjects.keys().map(|subject| RowKey::new(Subjects.name(), subject.as_str()))
    }

    /// Whether it is so in `rows`.
    pub(crate) fn stands(&self, rows: &Rows) -> bool {
        self.erased(rows).is_none()
    }

    fn erased(&self, rows: &Rows) -> Option<(&PrincipalId, &EventId)> {
        let since = |row: SubjectRow| row.shredded_at >= self.began;
        let is_erased =
            |subject: &PrincipalId| rows.state(Subjects.name(), subject.as_str()).is_some_and(since);
        self.subjects.iter().find(|(subject, _)| is_erased(subject))
    }

    /// The same of what the record holds now.
    ///
    /// # Errors
    /// [`record::Error::Erased`], as the record says it of a person without a key.
    pub(crate) async fn check(&self, record: &Record) -> Result<(), Error> {
        if self.subjects.is_empty() {
            return Ok(());
        }
        let rows = record.rows(self.reads().collect()).await?;
        match self.erased(&rows) {
            Some((subject, id)) => {
                Err(record::Error::Erased { id: id.clone(), subject: subject.clone() }.into())
            }
            None => Ok(()),
        }
    }
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
