//! From a delivery to the record: one append, durable before anybody is told.
//!
//! A delivery is stored once, whatever comes again under its name. A message is stored once by (team, channel,
//! ts): its first delivery is `message.received`; every other one is `message.merged`, so that a mention which
//! arrives second is not lost. Which came first is decided inside the append, by the record's one writer. What
//! somebody makes of a message later is `message.edited` or `message.deleted` of it.

use converse::{Arrival, Edit, Whose, label_of, own, own_keys, own_of, whose};
use event::{
    Actor, Audience, ConnectionIdentified, DeliveryReceived, EventId, Expected, Fact, GlobalPosition,
    Integrity, Label, MessageDeleted, MessageEdited, MessageMerged, MessageReceived, Personal, Place,
    PrincipalId, Proposed, StreamName,
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
        let place = Said::of(&arrival, None).map(|said| said.place().key());
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

/// What a delivery says of one message.
enum Said {
    /// It was said.
    New(MessageReceived),
    /// It has another text.
    Edited(Edit),
    /// It was taken back.
    Deleted(Place),
}

impl Said {
    fn of(arrival: &Arrival<'_>, own: Option<&ConnectionIdentified>) -> Option<Self> {
        let new = arrival.message(own).map(Self::New);
        let edited = || arrival.edit(own).map(Self::Edited);
        new.or_else(edited).or_else(|| arrival.deletion(own).map(Self::Deleted))
    }

    fn place(&self) -> &Place {
        match self {
            Self::New(message) => &message.place,
            Self::Edited(edit) => &edit.place,
            Self::Deleted(place) => place,
        }
    }

    /// The event that it is, by what the record knows of the message. A change may overtake what it changes, whose name
    /// is known before it comes; a message that nobody has is not taken back.
    fn event(
        self,
        delivery: &Incoming,
        known: Option<MessageRow>,
        repeated: &BTreeSet<PrincipalId>,
    ) -> Option<(EventId, Fact)> {
        let first = EventId::derived(&["message.received", &self.place().key()]);
        let of = known.as_ref().map_or_else(|| first.clone(), |row| row.event.clone());
        let named = |kind: &str| EventId::derived(&[kind, delivery.id.as_str()]);
        match (self, known) {
            (Self::New(message), None) => Some((first, of_its_author(message, repeated).into())),
            (Self::New(message), Some(_)) => {
                let merged = MessageMerged {
                    message: of,
                    place: message.place,
                    via: delivery.delivery.event.clone(),
                    mentions_office: message.mentions_office,
                };
                Some((named("message.merged"), merged.into()))
            }
            (Self::Edited(Edit { place, author, text, edited }), _) => {
                let fact = MessageEdited { message: of, place, author, text, edited };
                Some((named("message.edited"), fact.into()))
            }
            (Self::Deleted(place), Some(_)) => {
                Some((named("message.deleted"), MessageDeleted { message: of, place }.into()))
            }
            (Self::Deleted(_), None) => None,
        }
    }
}

/// What goes on the record: the delivery, and right behind it what it says of a message.
fn appends(
    incoming: &Incoming,
    host: &PrincipalId,
    own: Option<&ConnectionIdentified>,
    whose: &Whose,
    rows: &Rows,
) -> Vec<Append> {
    let arrival = Arrival::of(&incoming.delivery);
    let said = Said::of(&arrival, own);
    let repeated = repeated(whose, rows);
    let label = label(&arrival, said.as_ref(), own);
    let proposed = |id: EventId, cause: Option<EventId>, fact: Fact| Proposed {
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
    let Some(said) = said else { return appends };
    let key = said.place().key();
    let stream = StreamName::new("message", &key);
    if let Some((id, fact)) = said.event(incoming, rows.state(MESSAGES, &key), &repeated) {
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
fn label(arrival: &Arrival<'_>, said: Option<&Said>, own: Option<&ConnectionIdentified>) -> Label {
    let outside = own.is_some_and(|own| arrival.is_outside(own));
    match (said, arrival.channel()) {
        (Some(Said::New(message)), _) => label_of(&message.place, &message.author, outside),
        (Some(Said::Edited(edit)), _) => label_of(&edit.place, &edit.author, outside),
        (_, Some(channel)) => {
            let audience =
                Audience::SlackChannel { team: arrival.team().to_owned(), channel: channel.to_owned() };
            Label::within(audience, if outside { Integrity::Untrusted } else { Integrity::Unknown })
        }
        (None | Some(Said::Deleted(_)), None) => Label::unknown(),
    }
}
