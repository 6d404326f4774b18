//! From a delivery to the record: one append, durable before anybody is told.
//!
//! A delivery is stored once, whatever comes again under its name. A message is stored once by (team, channel,
//! ts): its first delivery is `message.received`; every other one is `message.merged`, so that a mention which
//! arrives second is not lost. Which came first is decided inside the append, by the record's one writer.

use converse::{Arrival, Whose, label_of, own, own_keys, own_of, whose};
use event::{
    Actor, Audience, ConnectionIdentified, DeliveryReceived, EventId, Expected, GlobalPosition, Integrity,
    Label, MessageMerged, MessageReceived, Personal, PrincipalId, Proposed, StreamName,
};
use fold::message::{MessageRow, SpeakersRow};
use record::{Append, Decided, Error, Record, RowKey, Rows};
use std::collections::BTreeSet;
use std::convert::Infallible;

/// Projection of the rows that deduplicate messages, by [`event::Place::key`].
const MESSAGES: &str = "message";
/// Projection of the rows that say whose words a program may repeat.
const SPEAKERS: &str = "speaker";
/// Projection of the rows that say who the office is.
const SETTINGS: &str = "setting";

/// A delivery and its one name.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// Derived from what it is, so that it comes again under the same name.
    pub id: EventId,
    /// The delivery.
    pub delivery: DeliveryReceived,
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is on the record now, up to this place.
    Accepted(GlobalPosition),
    /// It was on the record before.
    Duplicate,
}

/// Takes deliveries in.
#[derive(Clone)]
pub struct Inbox {
    record: Record,
    host: PrincipalId,
}

impl Inbox {
    /// An inbox of `record`, which states what arrives as `host`.
    #[must_use]
    pub fn new(record: Record, host: PrincipalId) -> Self {
        Self { record, host }
    }

    /// Puts `incoming` on the record. Once this returns, it is durable.
    ///
    /// # Errors
    /// As the record's. After any of them it may be tried again.
    pub async fn take(&self, incoming: Incoming) -> Result<Taken, Error> {
        let id = incoming.id.clone();
        if self.record.event(&id).await?.is_some() {
            return Ok(Taken::Duplicate);
        }
        match self.append(incoming).await {
            Ok(at) => Ok(Taken::Accepted(at)),
            // The same delivery may have been taken in between, and then nothing is wrong.
            Err(error) => match self.record.event(&id).await {
                Ok(Some(_)) => Ok(Taken::Duplicate),
                _ => Err(error),
            },
        }
    }

    async fn append(&self, incoming: Incoming) -> Result<GlobalPosition, Error> {
        let arrival = Arrival::of(&incoming.delivery);
        let keys = own_keys(&arrival);
        let place = arrival.message(None).map(|message| message.place.key());
        let own = own(&self.record, &arrival).await?;
        let whose = whose(&arrival, own.as_ref());
        let mut reads: Vec<RowKey> = keys.iter().map(|key| RowKey::new(SETTINGS, key)).collect();
        reads.extend(place.map(|key| RowKey::new(MESSAGES, key)));
        reads.extend(whose.echoes.iter().map(|key| RowKey::new(SPEAKERS, key)));
        let host = self.host.clone();
        let decide = move |rows: &Rows, _| -> Result<_, Infallible> {
            let own = own_of(&keys, |key| rows.get(SETTINGS, key).map(|row| row.value.as_ref().clone()));
            Ok((appends(&incoming, &host, own.as_ref(), &whose, rows), ()))
        };
        match self.record.decide(reads, decide).await? {
            Decided::Appended { events, .. } => {
                Ok(events.last().map(|event| event.global_position).unwrap_or_default())
            }
            Decided::Rejected(never) => match never {},
        }
    }
}

/// What goes on the record: the delivery, and right behind it the message it carries.
fn appends(
    incoming: &Incoming,
    host: &PrincipalId,
    own: Option<&ConnectionIdentified>,
    whose: &Whose,
    rows: &Rows,
) -> Vec<Append> {
    let arrival = Arrival::of(&incoming.delivery);
    let message = arrival.message(own);
    let repeated = repeated(whose, rows);
    let label = label(&arrival, message.as_ref(), own);
    let proposed = |id: EventId, cause: Option<EventId>, fact: event::Fact| Proposed {
        id,
        actor: Actor { principal: host.clone(), seat: None },
        cause,
        label: label.clone(),
        fact,
    };
    let stream = StreamName::new("delivery", &incoming.id);
    let subjects = whose.persons.union(&repeated).cloned();
    let payload = Personal::of(incoming.delivery.payload.json().clone(), subjects);
    let delivery = DeliveryReceived { payload, ..incoming.delivery.clone() };
    let delivery = proposed(incoming.id.clone(), None, delivery.into());
    let mut appends = vec![Append::new(stream, Expected::Any, vec![delivery])];
    if let Some(message) = message {
        let key = message.place.key();
        let stream = StreamName::new("message", &key);
        let (id, fact) = match rows.state::<MessageRow>(MESSAGES, &key) {
            None => (EventId::derived(&["message.received", &key]), of_its_author(message, &repeated).into()),
            Some(row) => {
                let merged = MessageMerged {
                    message: row.event,
                    place: message.place,
                    via: incoming.delivery.event.clone(),
                    mentions_office: message.mentions_office,
                };
                (EventId::derived(&["message.merged", incoming.id.as_str()]), merged.into())
            }
        };
        appends.push(Append::new(stream, Expected::Any, vec![proposed(id, Some(incoming.id.clone()), fact)]));
    }
    appends
}

/// The persons whose words programs may have repeated in a delivery.
fn repeated(whose: &Whose, rows: &Rows) -> BTreeSet<PrincipalId> {
    let spoke = |key: &String| rows.state::<SpeakersRow>(SPEAKERS, key);
    whose.echoes.iter().filter_map(spoke).flat_map(|row| row.persons).collect()
}

/// What a person said is theirs already; what a program said is of those whose words it may repeat.
fn of_its_author(message: MessageReceived, repeated: &BTreeSet<PrincipalId>) -> MessageReceived {
    if message.author.principal.is_some() {
        return message;
    }
    let text = Personal::of(message.text.text().to_owned(), repeated.iter().cloned());
    MessageReceived { text, ..message }
}

/// The label of a delivery and of its message. A delivery without a message is at best readable where it
/// happened; without a place nothing is known.
fn label(
    arrival: &Arrival<'_>,
    message: Option<&MessageReceived>,
    own: Option<&ConnectionIdentified>,
) -> Label {
    let outside = own.is_some_and(|own| arrival.is_outside(own));
    match (message, arrival.channel()) {
        (Some(message), _) => label_of(&message.place, &message.author, outside),
        (None, Some(channel)) => {
            let audience =
                Audience::SlackChannel { team: arrival.team().to_owned(), channel: channel.to_owned() };
            Label::within(audience, if outside { Integrity::Untrusted } else { Integrity::Unknown })
        }
        (None, None) => Label::unknown(),
    }
}
