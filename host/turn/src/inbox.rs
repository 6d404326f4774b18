//! What people say into a running turn: taken up before each step, and watched for while a call is under way.

use crate::stream::TurnStream;
use crate::talk::author;
use event::{Event, Fact, GlobalPosition, InboxDrained, InboxItem, Steering, TurnId};
use fold::Projection;
use fold::inbox::{InboxRow, Inboxes, turn_key};
use record::{Record, RowKey, Rows};
use tokio::sync::watch;

/// What comes after the inbox `row` was read last; nothing when nothing did.
pub(crate) fn unread(stream: &TurnStream, row: Option<&InboxRow>, before_step: u32) -> Option<InboxDrained> {
    let row = row?;
    let items = row.after(stream.state.revision());
    (!items.is_empty()).then(|| InboxDrained {
        turn: stream.turn.clone(),
        topic: row.topic.clone(),
        before_step,
        revision: row.revision(),
        items: items.to_vec(),
    })
}

/// That nothing lies unread in the inbox of a turn: what is decided on that holds only as long as it is so.
#[derive(Clone, Debug)]
pub(crate) struct Unread {
    /// Nothing where nothing comes in any more.
    inbox: Option<(String, u64)>,
    /// Whether only a stop counts: no step is left to read anything else with.
    stops_alone: bool,
}

impl Unread {
    /// As `stream` has read it, with `left` steps left.
    pub(crate) fn of(stream: &TurnStream, left: u32) -> Self {
        let open = stream.state.accepted.is_none();
        let inbox = open.then(|| (turn_key(&stream.turn), stream.state.revision()));
        Self { inbox, stops_alone: left == 0 }
    }

    pub(crate) fn reads(&self) -> impl Iterator<Item = RowKey> {
        self.inbox.iter().map(|(key, _)| RowKey::new(Inboxes.name(), key))
    }

    /// Whether it is so in `rows`.
    pub(crate) fn stands(&self, rows: &Rows) -> bool {
        let Some((key, revision)) = &self.inbox else { return true };
        let row: Option<InboxRow> = rows.state(Inboxes.name(), key);
        let counts = |item: &InboxItem| !self.stops_alone || item.steering == Steering::Stop;
        !row.is_some_and(|row| row.after(*revision).iter().any(counts))
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

/// Who said an item, when, and what it does, in one line of the host.
pub(crate) fn introduced(item: &InboxItem, event: &Event) -> String {
    let who = match &event.fact {
        Fact::MessageReceived(body) => author(&body.author.external),
        _ => "someone".to_owned(),
    };
    let does = match item.steering {
        Steering::Replace => "asks for this instead of what was asked before",
        Steering::Stop => "wants you to stop",
        Steering::Append | Steering::Ignore => "adds",
    };
    format!("{who} at {} {does}:", event.at)
}
