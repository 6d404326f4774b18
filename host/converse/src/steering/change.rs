//! What it does to a running turn that somebody changes or takes back what they had said.
//!
//! The question in another text is another wish; what the turn was told beside it, or found in the thread, adds to what
//! it knows. What changed nothing that is read, came late, or was nothing to the turn before, is ignored. Whose question
//! is taken back waits for no answer any more, unless somebody else asked with it.

use crate::change::is_slight;
use crate::reason::Reason;
use crate::steering::follow::{Steerers, append, asker, of_class, running, words};
use crate::steering::{allowed, steering};
use event::{
    Class, DeliveryClassified, Event, EventId, Fact, GlobalPosition, Integrity, MessageEdited,
    MessageReceived, PlaceKind, Position, PrincipalId, Steering, TurnOpened, TurnSteered,
};
use fold::inbox::InboxRow;
use fold::message::{MessageRow, Messages, TopicRow, Topics};
use fold::{Projection, decode};
use record::{Error, Record};

/// How many events of a message are looked at for what it said before an edit: the newest are.
const EDITS_LOOKED_AT: u64 = 50;
/// Why a turn goes on or stops whose question is gone.
const TAKEN_BACK: &str = "taken-back";
/// Why it takes up an edit.
const EDIT: &str = "edit";
/// Why it does not: nothing that is read is another.
const EDIT_SLIGHT: &str = "edit-slight";
/// Why it does not: a newer edit of the same message came before.
const EDIT_OVERTAKEN: &str = "edit-overtaken";

/// Tells each turn about the topic of what somebody changed.
pub(super) async fn edited(
    record: &Record,
    host: &PrincipalId,
    who: &Steerers,
    (event, classified): (&Event, &DeliveryClassified),
) -> Result<(), Error> {
    let Some(topic) = &classified.topic else { return Ok(()) };
    let running = running(record, topic).await?;
    if running.is_empty() {
        return Ok(());
    }
    let id = EventId::derived(&["message.edited", classified.delivery.as_str()]);
    let Some(said) = record.event(&id).await? else { return Ok(()) };
    let Fact::MessageEdited(body) = &said.fact else { return Ok(()) };
    let original = record.event(&body.message).await?;
    let row: Option<TopicRow> = decode(record.row(Topics.name(), topic.as_str()).await?.as_ref());
    let change = Change {
        said: &said,
        body,
        before: text_before(record, &said).await?,
        class: class_of(record, original.as_ref()).await?,
        original,
        overtaken: row.is_some_and(|row| row.is_overtaken(body)),
    };
    for inbox in running {
        // What was changed before the turn opened is what it looks at.
        if event.global_position <= inbox.opened_at || !inbox.takes_stop(&said.id) {
            continue;
        }
        let asker = asker(record, &inbox.woken_by).await?;
        let (steering, reason) = change.steering(&inbox, who, asker.as_ref());
        let by = body.author.principal.clone();
        let steered = told(&inbox, (&said.id, said.global_position), by, (steering, reason));
        append(record, host, event, steered).await?;
    }
    Ok(())
}

/// One edit, and what it was made of.
struct Change<'a> {
    said: &'a Event,
    body: &'a MessageEdited,
    /// What its message said before, as the record has it.
    before: Option<String>,
    /// Its message as it was said first; nothing where that has not come.
    original: Option<Event>,
    /// The class that had.
    class: Option<DeliveryClassified>,
    overtaken: bool,
}

impl Change<'_> {
    /// What it does to the turn of `inbox`, and why.
    fn steering(
        &self,
        inbox: &InboxRow,
        who: &Steerers,
        asker: Option<&PrincipalId>,
    ) -> (Steering, &'static str) {
        let asks = self.body.message == inbox.woken_by;
        let told = inbox.items.iter().find(|item| item.message == self.body.message);
        let before = |event: &Event| event.global_position <= inbox.opened_at;
        let is_known = asks || told.is_some() || self.original.as_ref().is_some_and(before);
        if let Some(reason) = self.ignored(is_known) {
            return (Steering::Ignore, reason);
        }
        // A turn that sends does nothing of what is only to be tried.
        if who.manner.asks_a_drill(self.body.text.text()) {
            let steering = if asks { Steering::Stop } else { Steering::Ignore };
            return (steering, Reason::Drill.word());
        }
        let may = self.is_its_authors() && who.may(self.body.author.principal.as_ref(), asker);
        let replaces = asks || told.is_some_and(|item| item.steering == Steering::Replace);
        match steering(&words(self.body.text.text())) {
            stop @ (Steering::Stop, _) => allowed(stop, may),
            _ if replaces => allowed((Steering::Replace, EDIT), may),
            correction @ (Steering::Replace, _) => allowed(correction, may),
            ignored @ (Steering::Ignore, _) if !is_known => ignored,
            _ => (Steering::Append, EDIT),
        }
    }

    /// Why it concerns no turn, whatever it says now.
    fn ignored(&self, is_known: bool) -> Option<&'static str> {
        if self.said.label.integrity == Integrity::Untrusted {
            return Some(Reason::ExternalPerson.word());
        }
        if self.overtaken {
            return Some(EDIT_OVERTAKEN);
        }
        // By what the office knew of it: what Slack says it was may have come by no delivery, or come later.
        if self.before.as_ref().is_some_and(|before| is_slight(before, self.body.text.text())) {
            return Some(EDIT_SLIGHT);
        }
        // What was nothing to the turn as it was said first stays that.
        self.class.as_ref().filter(|_| !is_known).and_then(of_class)
    }

    fn is_its_authors(&self) -> bool {
        let author = |event: &Event| match &event.fact {
            Fact::MessageReceived(first) => first.author == self.body.author,
            _ => false,
        };
        self.original.as_ref().is_none_or(author)
    }
}

/// What the message said on the record before `edit`; nothing where it had not come.
async fn text_before(record: &Record, edit: &Event) -> Result<Option<String>, Error> {
    let from = Position(edit.position.0.saturating_sub(EDITS_LOOKED_AT).max(1));
    let looked = usize::try_from(EDITS_LOOKED_AT).unwrap_or(usize::MAX);
    let events = record.read_stream(&edit.stream, from, looked).await?;
    let before = events.iter().rev().filter(|event| event.position < edit.position);
    let text = before.map(|event| match &event.fact {
        Fact::MessageReceived(body) => Some(body.text.text().to_owned()),
        Fact::MessageEdited(body) => Some(body.text.text().to_owned()),
        _ => None,
    });
    Ok(text.flatten().next())
}

/// The class of the first delivery of a message.
async fn class_of(record: &Record, message: Option<&Event>) -> Result<Option<DeliveryClassified>, Error> {
    let Some(delivery) = message.and_then(|message| message.cause.as_ref()) else { return Ok(None) };
    let id = EventId::derived(&["delivery.classified", delivery.as_str()]);
    Ok(record.event(&id).await?.and_then(|event| match event.fact {
        Fact::DeliveryClassified(body) => Some(body),
        _ => None,
    }))
}

/// Tells each turn whose question was taken back. What else somebody takes back, the turn has read or not.
pub(super) async fn taken_back(
    record: &Record,
    host: &PrincipalId,
    (event, classified): (&Event, &DeliveryClassified),
) -> Result<(), Error> {
    let Some(topic) = &classified.topic else { return Ok(()) };
    let running = running(record, topic).await?;
    if running.is_empty() {
        return Ok(());
    }
    let id = EventId::derived(&["message.deleted", classified.delivery.as_str()]);
    let Some(gone) = record.event(&id).await? else { return Ok(()) };
    for inbox in running {
        gone_from(record, host, event, (&inbox, &gone)).await?;
    }
    Ok(())
}

/// A turn opened: its question may have been taken back before.
pub(super) async fn opened(
    record: &Record,
    host: &PrincipalId,
    (event, body): (&Event, &TurnOpened),
) -> Result<(), Error> {
    let Some(woke) = record.event(&body.woken_by).await? else { return Ok(()) };
    let Fact::MessageReceived(message) = &woke.fact else { return Ok(()) };
    let Some(gone) = row_of(record, message).await?.and_then(|row| row.deleted) else { return Ok(()) };
    let Some(gone) = record.event(&gone).await? else { return Ok(()) };
    for inbox in running(record, &body.topic).await?.into_iter().filter(|inbox| inbox.turn == body.turn) {
        gone_from(record, host, event, (&inbox, &gone)).await?;
    }
    Ok(())
}

/// Stops the turn whose question is `gone`; where more was asked with it, that is what it is asked from now on.
async fn gone_from(
    record: &Record,
    host: &PrincipalId,
    event: &Event,
    (inbox, gone): (&InboxRow, &Event),
) -> Result<(), Error> {
    if !matches!(&gone.fact, Fact::MessageDeleted(body) if body.message == inbox.woken_by) {
        return Ok(());
    }
    let steering = if is_asked_more(record, inbox).await? { Steering::Replace } else { Steering::Stop };
    let steered = told(inbox, (&gone.id, gone.global_position), None, (steering, TAKEN_BACK));
    append(record, host, event, steered).await
}

/// Whether anybody asked anything else since the office last answered about the topic, before the turn opened or into it.
async fn is_asked_more(record: &Record, inbox: &InboxRow) -> Result<bool, Error> {
    if inbox.items.iter().any(|item| item.asks.is_some()) {
        return Ok(true);
    }
    let row: Option<TopicRow> = decode(record.row(Topics.name(), inbox.topic.as_str()).await?.as_ref());
    let mut said = record.events_at(&row.map(|row| row.messages).unwrap_or_default()).await?;
    said.sort_by_key(|event| event.global_position);
    for event in said.iter().rev().filter(|event| event.global_position <= inbox.opened_at) {
        match &event.fact {
            Fact::TurnEnded(_) => return Ok(false),
            Fact::MessageReceived(message)
                if event.id != inbox.woken_by && stands_and_asks(record, event, message).await? =>
            {
                return Ok(true);
            }
            _ => {}
        }
    }
    Ok(false)
}

/// Whether a person's message asks the office something, and was not taken back.
async fn stands_and_asks(record: &Record, event: &Event, message: &MessageReceived) -> Result<bool, Error> {
    let Some(row) = row_of(record, message).await?.filter(|row| row.deleted.is_none()) else {
        return Ok(false);
    };
    if message.author.bot || event.label.integrity == Integrity::Untrusted {
        return Ok(false);
    }
    let addressed = row.mentions_office || message.place.kind == PlaceKind::Im;
    Ok(addressed || class_of(record, Some(event)).await?.is_some_and(|body| body.class == Class::Explicit))
}

async fn row_of(record: &Record, message: &MessageReceived) -> Result<Option<MessageRow>, Error> {
    Ok(decode(record.row(Messages.name(), &message.place.key()).await?.as_ref()))
}

fn told(
    inbox: &InboxRow,
    (message, at): (&EventId, GlobalPosition),
    by: Option<PrincipalId>,
    (steering, reason): (Steering, &str),
) -> TurnSteered {
    TurnSteered {
        turn: inbox.turn.clone(),
        topic: inbox.topic.clone(),
        message: message.clone(),
        at,
        by,
        steering,
        reason: reason.to_owned(),
        asks: None,
        untold: false,
    }
}
