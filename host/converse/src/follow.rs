//! From a delivery and what was appended with it to its `delivery.classified`.
//!
//! Pure, and the same whenever it is done: the event's id is derived from the delivery's, so following a
//! delivery twice states its class once. The record decides which delivery of a message came first; here it
//! is only read.

use crate::arrival::Arrival;
use crate::classify::classify;
use crate::manner::Manner;
use crate::reason::Reason;
use event::{
    Actor, Class, ConnectionIdentified, DeliveryClassified, Event, EventId, Fact, Integrity, Label,
    MessageReceived, PlaceKind, PrincipalId, Proposed, SeatId, Topic,
};

/// Who the office is, as far as deciding what is asked of it needs it.
#[derive(Clone, Debug)]
pub struct Office {
    /// The principal that states classes: the host.
    pub host: PrincipalId,
    /// The seat that people who address the office reach.
    pub desk: SeatId,
    /// Who the office is on Slack; nothing while that is not known.
    pub own: Option<ConnectionIdentified>,
    /// How it behaves where people talk.
    pub manner: Manner,
}

/// The class of `delivery`, to be appended to its own stream; nothing when the event is no delivery.
///
/// `carried` is the event right behind it in the record, which is the message it carried when it names the
/// delivery as its cause. `before` is what stands in the message's stream before a `message.merged`.
#[must_use]
pub fn follow(
    delivery: &Event,
    carried: Option<&Event>,
    before: &[Event],
    office: &Office,
) -> Option<Proposed> {
    let Fact::DeliveryReceived(received) = &delivery.fact else { return None };
    let arrival = Arrival::of(received);
    let carried = carried.filter(|event| event.cause.as_ref() == Some(&delivery.id));
    let found = match carried.map(|event| (event, &event.fact)) {
        Some((event, Fact::MessageReceived(message))) => first(&arrival, event, message, office),
        Some((_, Fact::MessageMerged(merged))) => {
            again(&arrival, &merged.message, merged.mentions_office, before, office)
        }
        _ => alone(&arrival, office),
    };
    Some(classified(delivery, found, office))
}

/// What was found out about one delivery.
struct Found {
    reason: Reason,
    message: Option<EventId>,
    topic: Option<Topic>,
}

/// The first delivery of a message.
fn first(arrival: &Arrival<'_>, event: &Event, message: &MessageReceived, office: &Office) -> Found {
    let reason = classify(arrival, message.mentions_office, office.own.as_ref(), &office.manner);
    Found { reason, message: Some(event.id.clone()), topic: message.place.topic() }
}

/// Another delivery of a message: it asks only when it is the one that makes the message address the office.
fn again(
    arrival: &Arrival<'_>,
    message: &EventId,
    mentions: bool,
    before: &[Event],
    office: &Office,
) -> Found {
    let original = before.iter().find_map(|event| match &event.fact {
        Fact::MessageReceived(body) => Some((body, event.label.integrity)),
        _ => None,
    });
    let reason = match (original, classify(arrival, mentions, office.own.as_ref(), &office.manner)) {
        // A message that its first delivery showed to be a program's or an outsider's stays that.
        (Some((_, integrity)), reason)
            if integrity > Integrity::Untrusted && reason.class() == Class::Explicit && !asked(before) =>
        {
            reason
        }
        _ => Reason::Duplicate,
    };
    let topic = original.and_then(|(body, _)| body.place.topic()).or_else(|| arrival.topic());
    Found { reason, message: Some(message.clone()), topic }
}

/// Whether what stands in a message's stream already addressed the office.
fn asked(before: &[Event]) -> bool {
    before.iter().any(|event| match &event.fact {
        Fact::MessageReceived(body) => {
            body.mentions_office || matches!(body.place.kind, PlaceKind::Im | PlaceKind::Terminal)
        }
        Fact::MessageMerged(body) => body.mentions_office,
        _ => false,
    })
}

/// A delivery that carried no message. It cannot ask a seat: there would be nothing to answer. An answer on a card
/// asks none.
fn alone(arrival: &Arrival<'_>, office: &Office) -> Found {
    let reason = match reason_of(arrival, office) {
        reason @ (Reason::ApprovalAnswer | Reason::EffectAnswer | Reason::FormQuestion) => reason,
        reason if reason.class() == Class::Explicit => Reason::IncompleteMessage,
        reason => reason,
    };
    Found { reason, message: None, topic: arrival.topic() }
}

fn reason_of(arrival: &Arrival<'_>, office: &Office) -> Reason {
    let own = office.own.as_ref();
    classify(arrival, arrival.names_office(own), own, &office.manner)
}

/// Whether a message with this reason is weighed before it asks anybody. A terminal is with one person, who waits.
fn is_weighed(reason: Reason, manner: &Manner) -> bool {
    match reason {
        Reason::BotMention => true,
        Reason::Terminal | Reason::ApprovalAnswer | Reason::EffectAnswer => false,
        _ => manner.weighs && manner.weighs_asked,
    }
}

fn classified(delivery: &Event, found: Found, office: &Office) -> Proposed {
    let class = found.reason.class();
    let asks = class == Class::Explicit && found.topic.is_some() && !is_weighed(found.reason, &office.manner);
    let asks = asks.then(|| office.desk.clone());
    Proposed {
        id: EventId::derived(&["delivery.classified", delivery.id.as_str()]),
        actor: Actor { principal: office.host.clone(), seat: None },
        cause: Some(delivery.id.clone()),
        // Ids and a word of the host's own: nothing of what was said.
        label: Label::host(),
        fact: Fact::DeliveryClassified(DeliveryClassified {
            delivery: delivery.id.clone(),
            message: found.message,
            class,
            reason: found.reason.word().to_owned(),
            topic: found.topic,
            asks,
        }),
    }
}

#[cfg(test)]
mod tests;
