//! An event as it is stored: columns of text, from which the event, its digest and its link are all read.
//!
//! The digest is computed here from the columns and not from the event that was read, so that a body with an
//! older shape, which is upcast on reading, keeps the digest it was written with.

use crate::Error;
use crate::append::Draft;
use crate::canon::Content;
use event::canon::canonical_digest;
use event::{Digest, Event, EventId, Fact, GlobalPosition, Position, StreamName, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

/// The columns of one event. Text that is not UTF-8 was made so by reading, and no longer matches its chain.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) global_position: u64,
    pub(crate) stream: String,
    pub(crate) position: u64,
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) schema: i64,
    pub(crate) at: Timestamp,
    pub(crate) actor: String,
    pub(crate) cause: Option<String>,
    pub(crate) label: String,
    /// Wherever it is kept; nothing when its blob is gone.
    pub(crate) body: Option<String>,
    /// The digest under which the body is kept, when it does not stand beside the event.
    pub(crate) blob: Option<String>,
    pub(crate) digest: String,
    pub(crate) chain: String,
}

/// Where the record ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) global_position: u64,
    pub(crate) at: Timestamp,
    pub(crate) chain: Option<Digest>,
}

/// Gives `draft` its place directly after `head`, and moves `head` onto it.
pub(crate) fn chained(draft: Draft, position: Position, at: Timestamp, head: &mut Head) -> (Event, Stored) {
    let Draft { mut event, actor_text, label_text, body_text, blob, .. } = draft;
    event.global_position = GlobalPosition(head.global_position + 1);
    (event.position, event.at) = (position, at);
    let mut stored = Stored {
        global_position: event.global_position.0,
        stream: event.stream.as_str().to_owned(),
        position: position.0,
        id: event.id.as_str().to_owned(),
        kind: event.fact.kind().to_owned(),
        schema: i64::from(event.fact.schema()),
        at,
        actor: actor_text,
        cause: event.cause.as_ref().map(|id| id.as_str().to_owned()),
        label: label_text,
        body: Some(body_text),
        blob: blob.map(|digest| digest.as_str().to_owned()),
        digest: event.digest.as_str().to_owned(),
        chain: String::new(),
    };
    event.chain = Event::link(
        head.chain.as_ref(),
        event.global_position,
        at,
        &event.digest,
        stored.columns().as_str().as_bytes(),
    );
    event.chain.as_str().clone_into(&mut stored.chain);
    *head = Head { global_position: event.global_position.0, at, chain: Some(event.chain.clone()) };
    (event, stored)
}

impl Stored {
    /// The stored bytes that the chain covers: every column that is not a part of the link itself.
    fn columns(&self) -> Digest {
        Digest::of_parts(&[
            self.stream.as_bytes(),
            &self.position.to_be_bytes(),
            self.id.as_bytes(),
            self.kind.as_bytes(),
            &self.schema.to_be_bytes(),
            self.actor.as_bytes(),
            self.cause.as_deref().unwrap_or_default().as_bytes(),
            self.label.as_bytes(),
            self.body.as_deref().unwrap_or_default().as_bytes(),
        ])
    }

    /// The link these columns make onto `previous`; nothing when the digest column is no digest.
    pub(crate) fn link(&self, previous: Option<&Digest>) -> Option<Digest> {
        let digest = Digest::parse(&self.digest)?;
        let columns = self.columns();
        let at = GlobalPosition(self.global_position);
        Some(Event::link(previous, at, self.at, &digest, columns.as_str().as_bytes()))
    }

    /// Where a record that ends with this event ends.
    pub(crate) fn end(&self) -> Head {
        Head { global_position: self.global_position, at: self.at, chain: Digest::parse(&self.chain) }
    }

    /// The digest these columns have, by the rule of [`event::Proposed::digest`].
    ///
    /// # Errors
    /// [`Error::Corrupt`] when a column is not JSON.
    pub(crate) fn content_digest(&self) -> Result<Digest, Error> {
        // As it was made, from the text: nothing has to be parsed as long as nothing was changed.
        if let Some(digest) = self.digest_of_text().filter(|digest| digest.as_str() == self.digest) {
            return Ok(digest);
        }
        Ok(canonical_digest(&json!({
            "stream": self.stream,
            "id": self.id,
            "kind": self.kind,
            "schema": self.schema,
            "actor": self.json::<Value>("actor", &self.actor)?,
            "cause": self.cause,
            "label": self.json::<Value>("label", &self.label)?,
            "body": self.json::<Value>("body", self.body_text()?)?,
        })))
    }

    fn digest_of_text(&self) -> Option<Digest> {
        let content = Content {
            stream: &self.stream,
            id: &self.id,
            kind: &self.kind,
            schema: self.schema,
            actor: &self.actor,
            cause: self.cause.as_deref(),
            label: &self.label,
            body: self.body.as_deref()?,
        };
        Some(content.digest())
    }

    /// The event.
    ///
    /// # Errors
    /// As [`Stored::event`].
    pub(crate) fn event(&self) -> Result<Event, Error> {
        self.clone().read()
    }

    /// The event.
    ///
    /// # Errors
    /// [`Error::Corrupt`], naming the global position and what does not read.
    pub(crate) fn read(self) -> Result<Event, Error> {
        let at = self.global_position;
        let schema = u16::try_from(self.schema).map_err(|_| unread(at, "the schema number"))?;
        let fact = Fact::read_text(&self.kind, schema, self.body_text()?).map_err(|source| {
            let why = format!("an event of kind `{}` does not read", self.kind);
            Error::corrupt(at, why, Some(Arc::new(source)))
        })?;
        let (actor, label) = (self.json("actor", &self.actor)?, self.json("label", &self.label)?);
        let cause = self.cause.map(EventId::try_from).transpose();
        Ok(Event {
            global_position: GlobalPosition(at),
            stream: StreamName::try_from(self.stream).map_err(|_| unread(at, "the stream"))?,
            position: Position(self.position),
            id: EventId::try_from(self.id).map_err(|_| unread(at, "the id"))?,
            at: self.at,
            actor,
            cause: cause.map_err(|_| unread(at, "the cause"))?,
            label,
            fact,
            digest: Digest::written(self.digest).ok_or_else(|| unread(at, "the digest"))?,
            chain: Digest::written(self.chain).ok_or_else(|| unread(at, "the chain"))?,
        })
    }

    fn body_text(&self) -> Result<&str, Error> {
        self.body.as_deref().ok_or_else(|| Error::corrupt(self.global_position, "the body is gone", None))
    }

    fn json<T: DeserializeOwned>(&self, column: &str, text: &str) -> Result<T, Error> {
        serde_json::from_str(text).map_err(|source| {
            Error::corrupt(
                self.global_position,
                format!("the {column} does not read"),
                Some(Arc::new(source)),
            )
        })
    }
}

fn unread(at: u64, what: &str) -> Error {
    Error::corrupt(at, format!("{what} does not read"), None)
}
