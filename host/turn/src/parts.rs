//! What turns are run with.

use crate::pace::Pace;
use event::{DeliveryReceived, TurnId};
use fold::message::Attached;
use gate::{Catalogue, Deltas};
use record::Record;
use std::sync::Arc;

/// Makes what receives the text of one step of a turn as a model writes it.
pub type DeltasFor = Arc<dyn Fn(&TurnId, u32) -> Arc<dyn Deltas> + Send + Sync>;

/// How a turn learns of files that came with messages, and what reads one.
#[derive(Clone, Copy)]
pub struct Files {
    /// The tool that reads one. A model may call it for files that came with what its turn is shown, and for no other:
    /// whoever can name a file could have the office read it to them otherwise.
    pub tool: &'static str,
    /// Where its input names the file.
    pub argument: &'static str,
    /// The files that came with a delivery.
    pub of: fn(&DeliveryReceived) -> Vec<Attached>,
}

/// What turns are run with.
pub struct TurnParts<D: ?Sized> {
    /// The one history.
    pub record: Record,
    /// What can be called.
    pub catalogue: Arc<dyn Catalogue>,
    /// How a turn waits.
    pub pace: Arc<dyn Pace>,
    /// The office's name, as its model is told.
    pub office: String,
    /// The tools that answers go out by, wherever a turn replies to. They are never on offer: a model that could
    /// call them would speak where nobody asked.
    pub answer_tools: &'static [&'static str],
    /// Families of tools that a model sees once it has asked for them.
    pub hidden_families: Vec<String>,
    /// Turns a source's own notation into plain text for a model.
    pub readable: fn(&str) -> String,
    /// Whether a text only says that somebody is at work: such a text is no answer.
    pub is_progress: fn(&str) -> bool,
    /// Files that came with messages; nothing where none are read.
    pub files: Option<Files>,
    /// Where text goes as a model writes it; nobody sees it otherwise.
    pub deltas: Option<DeltasFor>,
    /// The one door.
    pub door: Arc<D>,
}
