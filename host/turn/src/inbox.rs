//! What people say into a running turn: taken up before each step, and watched for while a call is under way.

use crate::stream::TurnStream;
use crate::talk::author;
use event::{Event, Fact, GlobalPosition, InboxDrained, InboxItem, Steering, TurnId};
use fold::Projection;
use fold::inbox::{InboxRow, Inboxes, turn_key};
use record::Record;
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

/// Whether an item makes what is under way needless.
pub(crate) fn interrupts(item: &InboxItem) -> bool {
    matches!(item.steering, Steering::Replace | Steering::Stop)
}

/// Returns when something lies in the inbox of `turn`, after the first `revision` messages, that interrupts it; never
/// otherwise. `news` must have been subscribed to before the inbox was read last.
pub(crate) async fn interrupted(
    record: &Record,
    turn: &TurnId,
    revision: u64,
    mut news: watch::Receiver<GlobalPosition>,
) {
    let key = turn_key(turn);
    loop {
        if news.changed().await.is_err() {
            // The record has gone: the call under way will say so.
            return std::future::pending().await;
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
