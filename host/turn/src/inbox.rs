//! What people say into a running turn: taken up before each step, and watched for while a call is under way.

use crate::stream::TurnStream;
use crate::talk::author;
use event::{Event, EventId, Fact, GlobalPosition, InboxDrained, InboxItem, Steering, Timestamp, TurnId};
use fold::Projection;
use fold::inbox::{InboxRow, Inboxes, turn_key};
use record::{Record, RowKey, Rows};
use std::sync::Arc;
use tokio::sync::watch;

/// What comes after the inbox `row` was read last; nothing when nothing did, or nothing that counts any more.
pub(crate) fn unread(
    stream: &TurnStream,
    row: Option<&InboxRow>,
    (before_step, left): (u32, u32),
) -> Option<InboxDrained> {
    let row = row?;
    let items = row.after(stream.state.revision());
    let counts = counting(stream, left);
    items.iter().any(counts).then(|| InboxDrained {
        turn: stream.turn.clone(),
        topic: row.topic.clone(),
        before_step,
        revision: row.revision(),
        items: items.to_vec(),
    })
}

/// Which items count: any, until the finish stands or no step is left to read them with; then only a stop.
fn counting(stream: &TurnStream, left: u32) -> impl Fn(&InboxItem) -> bool + use<> {
    let stops_alone = left == 0 || stream.state.accepted.is_some();
    move |item| !stops_alone || item.steering == Steering::Stop
}

/// That nothing lies unread in the inbox of a turn: what is decided on that holds only as long as it is so.
#[derive(Clone)]
pub(crate) struct Unread {
    inbox: String,
    revision: u64,
    counts: Arc<dyn Fn(&InboxItem) -> bool + Send + Sync>,
}

impl Unread {
    /// As `stream` has read it, with `left` steps left.
    pub(crate) fn of(stream: &TurnStream, left: u32) -> Self {
        let (inbox, revision) = (turn_key(&stream.turn), stream.state.revision());
        Self { inbox, revision, counts: Arc::new(counting(stream, left)) }
    }

    pub(crate) fn reads(&self) -> impl Iterator<Item = RowKey> {
        std::iter::once(RowKey::new(Inboxes.name(), &self.inbox))
    }

    /// Whether it is so in `rows`.
    pub(crate) fn stands(&self, rows: &Rows) -> bool {
        let row: Option<InboxRow> = rows.state(Inboxes.name(), &self.inbox);
        !row.is_some_and(|row| row.after(self.revision).iter().any(|item| (self.counts)(item)))
    }
}

/// Whether an item makes what is under way needless.
pub(crate) fn interrupts(item: &InboxItem) -> bool {
    matches!(item.steering, Steering::Replace | Steering::Stop)
}

/// Returns when something lies in the inbox of `turn`, after the first `revision` messages, that interrupts it; never
/// otherwise. Nothing that the record held at `seen` did. `news` must have been subscribed to before.
pub(crate) async fn interrupted(
    record: &Record,
    turn: &TurnId,
    (revision, seen): (u64, GlobalPosition),
    mut news: watch::Receiver<GlobalPosition>,
) {
    let key = turn_key(turn);
    loop {
        if news.changed().await.is_err() {
            // The record has gone: the call under way will say so.
            return std::future::pending().await;
        }
        if *news.borrow_and_update() <= seen {
            continue;
        }
        // What cannot be read now is read with the next news.
        let Ok(row) = record.row(Inboxes.name(), &key).await else { continue };
        let row: Option<InboxRow> = fold::decode(row.as_ref());
        if row.is_some_and(|row| row.after(revision).iter().any(interrupts)) {
            return;
        }
    }
}

/// Who said an item, when, and what it does, in one line of the host. `said_at` is when a message was said that the
/// turn knows, `asked` the message that woke it.
pub(crate) fn introduced(
    item: &InboxItem,
    event: &Event,
    said_at: impl Fn(&EventId) -> Option<Timestamp>,
    asked: &EventId,
) -> String {
    let (who, what) = match &event.fact {
        Fact::MessageReceived(body) => (author(&body.author.external), String::new()),
        Fact::MessageEdited(body) => {
            let what = match said_at(&body.message) {
                _ if body.message == *asked => "the question".to_owned(),
                Some(at) => format!("what they had said at {at}"),
                None => "what they had said".to_owned(),
            };
            (author(&body.author.external), format!(" edited {what} and"))
        }
        Fact::MessageDeleted(_) => {
            return format!(
                "The question was taken back at {}: answer what else was asked, and not that.",
                event.at
            );
        }
        _ => ("someone".to_owned(), String::new()),
    };
    let does = match item.steering {
        Steering::Replace => "asks for this instead of what was asked before",
        Steering::Stop => "wants you to stop",
        Steering::Append | Steering::Ignore if what.is_empty() => "adds",
        Steering::Append | Steering::Ignore => "says now",
    };
    format!("{who} at {}{what} {does}:", event.at)
}
