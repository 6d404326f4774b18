//! What calls may do outside whose tools do not say: one row for each call that was judged, the same for every try.

use crate::projection::{Projection, Row};
use event::{CallClassified, Digest, Event, Fact, Origin};
use serde::{Deserialize, Serialize};

/// What one call was judged to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassRow {
    /// The effect class; nothing when none was found out.
    pub class: Option<String>,
}

/// The rows under [`key`]. Holds [`ClassRow`]s. What was said first stands.
pub struct Classes;

/// Key of the call of one deed with these arguments to this component.
#[must_use]
pub fn key(origin: &Origin, tool: &str, content: &Digest, component: &Digest) -> String {
    let parts = [&origin.deed(), tool, content.as_str(), component.as_str()];
    Digest::of_parts(&parts.map(str::as_bytes)).as_str().to_owned()
}

impl Projection for Classes {
    fn name(&self) -> &'static str {
        "class"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::CallClassified(CallClassified { origin, tool, content, component, .. }) => {
                vec![key(origin, tool, content, component)]
            }
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        match (&row, &event.fact) {
            (None, Fact::CallClassified(body)) => {
                Some(Row::of(&ClassRow { class: body.class.clone() }, None))
            }
            _ => row,
        }
    }
}
