//! The envelope: what the record keeps around every fact.

use crate::canon::canonical_digest;
use crate::{
    Digest, EventId, Fact, GlobalPosition, Label, Position, PrincipalId, SeatId, StreamName, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Who states a fact: a principal, and the seat it acts for when it acts for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The principal.
    pub principal: PrincipalId,
    /// The seat it holds in this act.
    pub seat: Option<SeatId>,
}

/// A fact that somebody wants recorded: an event without time, positions or chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposed {
    /// Its name. A derived name makes an append that is tried again one event.
    pub id: EventId,
    /// Who states it.
    pub actor: Actor,
    /// The event it follows from.
    pub cause: Option<EventId>,
    /// Who may read it, and whether it is trusted.
    pub label: Label,
    /// What happened.
    pub fact: Fact,
}

impl Proposed {
    /// The digest that names this fact on `stream`: over its canonical form without time, positions and
    /// chain, so that an honest retry is the same event.
    #[must_use]
    pub fn digest(&self, stream: &StreamName) -> Digest {
        digest(stream, &self.id, &self.actor, self.cause.as_ref(), &self.label, &self.fact)
    }
}

/// A fact as the record keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Place in the record.
    pub global_position: GlobalPosition,
    /// The subject.
    pub stream: StreamName,
    /// Place in the stream.
    pub position: Position,
    /// Its name.
    pub id: EventId,
    /// When it was appended.
    pub at: Timestamp,
    /// Who stated it.
    pub actor: Actor,
    /// The event it follows from.
    pub cause: Option<EventId>,
    /// Who may read it, and whether it is trusted.
    pub label: Label,
    /// What happened.
    pub fact: Fact,
    /// What names it: see [`Proposed::digest`].
    pub digest: Digest,
    /// Digest over the chain so far, the global position, the time, the digest and the stored bytes.
    pub chain: Digest,
}

impl Event {
    /// The fact as somebody wanted it recorded, to be appended elsewhere under the same name.
    #[must_use]
    pub fn proposed(&self) -> Proposed {
        Proposed {
            id: self.id.clone(),
            actor: self.actor.clone(),
            cause: self.cause.clone(),
            label: self.label.clone(),
            fact: self.fact.clone(),
        }
    }

    /// The digest its content has now; differs from [`Event::digest`] when it was tampered with.
    #[must_use]
    pub fn content_digest(&self) -> Digest {
        digest(&self.stream, &self.id, &self.actor, self.cause.as_ref(), &self.label, &self.fact)
    }

    /// The next link of the hash chain.
    #[must_use]
    pub fn link(
        previous: Option<&Digest>,
        at: GlobalPosition,
        when: Timestamp,
        digest: &Digest,
        stored: &[u8],
    ) -> Digest {
        Digest::of_parts(&[
            previous.map_or(b"".as_slice(), |d| d.as_str().as_bytes()),
            &at.0.to_be_bytes(),
            &when.0.to_be_bytes(),
            digest.as_str().as_bytes(),
            stored,
        ])
    }

    /// The event as one JSON object, for people and their programs: words that are open stand bare in it, so its body
    /// is not always what the digest covers.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "global_position": self.global_position,
            "stream": self.stream,
            "position": self.position,
            "id": self.id,
            "kind": self.fact.kind(),
            "schema": self.fact.schema(),
            "at": self.at,
            "actor": self.actor,
            "cause": self.cause,
            "label": self.label,
            "body": self.fact.shown_body(),
            "digest": self.digest,
            "chain": self.chain,
        })
    }
}

fn digest(
    stream: &StreamName,
    id: &EventId,
    actor: &Actor,
    cause: Option<&EventId>,
    label: &Label,
    fact: &Fact,
) -> Digest {
    canonical_digest(&json!({
        "stream": stream,
        "id": id,
        "kind": fact.kind(),
        "schema": fact.schema(),
        "actor": actor,
        "cause": cause,
        "label": label,
        "body": fact.body(),
    }))
}
