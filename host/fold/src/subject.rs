//! Persons whose words are erased. No other projection does anything on `subject.shredded`: a fold has only ever had
//! the sealed form, so there is nothing that it could forget.

use crate::projection::{Projection, Row, decode};
use event::{Event, Fact, PrincipalId, Timestamp};
use serde::{Deserialize, Serialize};

/// The newest key ids a row keeps. Whoever erases anew first destroys what an earlier erasure left, so one is enough;
/// the others are for looking at.
pub const SUBJECT_KEYS_MAX: usize = 16;

/// One person whose words were erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectRow {
    /// The person.
    pub subject: PrincipalId,
    /// When it was last stated.
    pub shredded_at: Timestamp,
    /// Ids of the keys that are no more, oldest first, at most [`SUBJECT_KEYS_MAX`].
    pub keys: Vec<String>,
}

/// The rows under a person's id, ranked by when their words were last erased. Holds [`SubjectRow`]s.
pub struct Subjects;

impl Projection for Subjects {
    fn name(&self) -> &'static str {
        "subject"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::SubjectShredded(body) => vec![body.subject.as_str().to_owned()],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let Fact::SubjectShredded(body) = &event.fact else { return row };
        let before = decode::<SubjectRow>(row.as_ref());
        let mut keys = before.map(|before| before.keys).unwrap_or_default();
        keys.extend(body.keys.iter().cloned());
        let surplus = keys.len().saturating_sub(SUBJECT_KEYS_MAX);
        keys.drain(..surplus);
        let after = SubjectRow { subject: body.subject.clone(), shredded_at: event.at, keys };
        Some(Row::of(&after, Some(event.at.0)))
    }
}
