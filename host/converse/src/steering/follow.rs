//! Following the record: each classified message about a topic with a running turn steers that turn, and so does what
//! somebody changed or took back there.
//!
//! What it does is decided in the transaction of its append, on the turn's inbox as it stands there: a message either
//! comes into the inbox before the turn's finish stands, or it waits for a turn of its own; only a stop comes in
//! afterwards, while the answer waits for a person's yes. Its id is derived from turn
//! and message, so that several hosts, and a host that starts again, say it once.

use crate::manner::Manner;
use crate::reason::Reason;
use crate::steering::{allowed, change, steering};
use event::{
    Actor, Class, DeliveryClassified, Event, EventId, Expected, Fact, GlobalPosition, Label, PrincipalId,
    Proposed, Steering, StreamName, Topic, TurnSteered,
};
use fold::inbox::{InboxRow, Inboxes, RunningRow, message_key, topic_key, turn_key};
use fold::turn::{TurnRow, Turns};
use fold::{Projection, decode};
use record::{Append, Decided, Error, Record, RowKey};
use std::collections::BTreeSet;
use std::convert::Infallible;

/// Name of the cursor that says how far the record has been followed.
pub const STEERING_CURSOR: &str = "steering";

/// Events read in one step.
const FOLLOW_EVENTS_MAX: usize = 256;

/// Who may stop a turn or put another thing in its place, beside the person who asked.
#[derive(Clone, Debug, Default)]
pub struct Steerers {
    /// The principals.
    pub named: BTreeSet<PrincipalId>,
    /// How the office behaves where people talk: which words ask for a drill.
    pub manner: Manner,
}

impl Steerers {
    pub(super) fn may(&self, by: Option<&PrincipalId>, asker: Option<&PrincipalId>) -> bool {
        by.is_some_and(|by| asker == Some(by) || self.named.contains(by))
    }
}

/// Steers the turns that the next classified messages concern. Returns how many events it went past; 0 means that
/// there are none.
///
/// # Errors
/// As the record's. What was said before the error stands; the next step begins at the same cursor.
pub async fn steer(record: &Record, host: &PrincipalId, who: &Steerers) -> Result<usize, Error> {
    let after = record.cursor(STEERING_CURSOR).await?;
    let events = record.read_all(after, FOLLOW_EVENTS_MAX).await?;
    let Some(last) = events.last().map(|event| event.global_position) else { return Ok(0) };
    for event in &events {
        match &event.fact {
            Fact::DeliveryClassified(classified) => {
                concerns(record, host, who, (event, classified)).await?;
            }
            Fact::TurnOpened(opened) => change::opened(record, host, (event, opened)).await?,
            _ => {}
        }
    }
    record.set_cursor(STEERING_CURSOR, last).await?;
    Ok(events.len())
}

/// Whether a running turn was told of `message`: it is that turn's from then on. Nothing while steering has not come as
/// far as `position`.
///
/// # Errors
/// As the record's.
pub async fn is_steered(
    record: &Record,
    message: &EventId,
    position: GlobalPosition,
) -> Result<Option<bool>, Error> {
    if record.cursor(STEERING_CURSOR).await? < position {
        return Ok(None);
    }
    Ok(Some(record.row(Inboxes.name(), &message_key(message)).await?.is_some()))
}

/// Steers each turn that runs about the message's topic.
async fn concerns(
    record: &Record,
    host: &PrincipalId,
    who: &Steerers,
    (event, classified): (&Event, &DeliveryClassified),
) -> Result<(), Error> {
    if classified.reason == Reason::Deletion.word() {
        return change::taken_back(record, host, (event, classified)).await;
    }
    if classified.reason == Reason::Edit.word() {
        return change::edited(record, host, who, (event, classified)).await;
    }
    let (Some(topic), Some(message)) = (&classified.topic, &classified.message) else { return Ok(()) };
    if classified.class == Class::Ignored {
        return Ok(());
    }
    let running = running(record, topic).await?;
    if running.is_empty() {
        return Ok(());
    }
    let Some(said) = record.event(message).await? else { return Ok(()) };
    for inbox in running {
        // What was asked before the turn opened is what the turn looks at.
        if event.global_position <= inbox.opened_at || !inbox.takes_stop(message) {
            continue;
        }
        let asker = asker(record, &inbox.woken_by).await?;
        let Some(steered) = steered(&inbox, &said, classified, (who, asker.as_ref())) else { continue };
        append(record, host, event, steered).await?;
    }
    Ok(())
}

/// The inboxes of the turns that run about `topic`.
pub(super) async fn running(record: &Record, topic: &Topic) -> Result<Vec<InboxRow>, Error> {
    let row = record.row(Inboxes.name(), &topic_key(topic)).await?;
    let running: RunningRow = decode(row.as_ref()).unwrap_or_default();
    let mut inboxes = Vec::with_capacity(running.turns.len());
    for turn in running.turns {
        let row = record.row(Inboxes.name(), &turn_key(&turn)).await?;
        inboxes.extend(decode::<InboxRow>(row.as_ref()));
    }
    Ok(inboxes)
}

/// The person whose message woke a turn.
pub(super) async fn asker(record: &Record, woken_by: &EventId) -> Result<Option<PrincipalId>, Error> {
    Ok(record.event(woken_by).await?.and_then(|event| match event.fact {
        Fact::MessageReceived(message) => message.author.principal,
        _ => None,
    }))
}

/// What the message `said` does to the turn of `inbox`; nothing when it is no message of somebody.
fn steered(
    inbox: &InboxRow,
    said: &Event,
    classified: &DeliveryClassified,
    (who, asker): (&Steerers, Option<&PrincipalId>),
) -> Option<TurnSteered> {
    let Fact::MessageReceived(message) = &said.fact else { return None };
    if message.author.bot {
        return None;
    }
    let by = message.author.principal.clone();
    let (steering, reason) = match of_class(classified) {
        Some(reason) => (Steering::Ignore, reason),
        None => allowed(steering(&words(message.text.text())), who.may(by.as_ref(), asker)),
    };
    // Who addresses the office asks its seat, also where triage would have weighed it first.
    let untold =
        classified.asks.is_none() && classified.class == Class::Explicit && steering != Steering::Ignore;
    let asks = classified.asks.clone().or_else(|| untold.then(|| inbox.seat.clone()));
    Some(TurnSteered {
        turn: inbox.turn.clone(),
        topic: inbox.topic.clone(),
        message: said.id.clone(),
        at: said.global_position,
        by,
        steering,
        reason: reason.to_owned(),
        asks,
        untold,
    })
}

/// Why a message concerns no turn whatever it says: it was for somebody else, from somebody who has no say here, or asks
/// for a drill, which is a turn of its own: nothing of it may be done by one that sends.
pub(super) fn of_class(classified: &DeliveryClassified) -> Option<&'static str> {
    if classified.reason == Reason::Drill.word() {
        return Some(Reason::Drill.word());
    }
    [Reason::AddressedToAnother, Reason::ExternalPerson, Reason::IdentityUnknown]
        .into_iter()
        .map(Reason::word)
        .find(|word| classified.class == Class::Context && classified.reason == *word)
}

/// The message's words as a person reads them, without a mention at either end.
pub(super) fn words(text: &str) -> String {
    let text = text.trim();
    let text = match crate::notation::leads_with(text) {
        Some(_) => text.split_once('>').map_or(text, |(_, rest)| rest),
        None => text,
    };
    let text = match text.trim_end().strip_suffix('>').and_then(|text| text.rsplit_once("<@")) {
        Some((before, _)) => before,
        None => text,
    };
    crate::readable(text)
}

pub(super) async fn append(
    record: &Record,
    host: &PrincipalId,
    classified: &Event,
    steered: TurnSteered,
) -> Result<(), Error> {
    let (key, turn) = (turn_key(&steered.turn), steered.turn.as_str().to_owned());
    let reads = vec![RowKey::new(Inboxes.name(), &key), RowKey::new(Turns.name(), &turn)];
    let event = Proposed {
        id: EventId::derived(&["turn.steered", steered.turn.as_str(), steered.message.as_str()]),
        actor: Actor { principal: host.clone(), seat: None },
        cause: Some(classified.id.clone()),
        // Ids and words of the host's own: nothing of what was said.
        label: Label::host(),
        fact: steered.clone().into(),
    };
    let stream = StreamName::new("inbox", &steered.turn);
    let decided = record
        .decide(reads, move |rows, _| {
            let inbox: Option<InboxRow> = rows.state(Inboxes.name(), &key);
            let row: Option<TurnRow> = rows.state(Turns.name(), &turn);
            let waits = row.is_some_and(|row| !row.waits_for.is_empty());
            let stops = waits && steered.steering == Steering::Stop;
            // The finish may have come to stand, or another host may have said it.
            let takes = inbox.is_some_and(|inbox| {
                inbox.takes(&steered.message) || (stops && inbox.takes_stop(&steered.message))
            });
            let append = takes.then(|| Append::new(stream, Expected::Any, vec![event]));
            Ok::<_, Infallible>((append.into_iter().collect(), ()))
        })
        .await;
    match decided {
        Ok(Decided::Appended { .. }) | Err(Error::IdTaken { .. }) => Ok(()),
        Ok(Decided::Rejected(never)) => match never {},
        Err(error) => Err(error),
    }
}
