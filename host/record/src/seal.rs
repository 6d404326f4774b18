//! Words of persons: sealed on the way in, opened on the way out, field by field.
//!
//! What is sealed is the event: its digest, its link, its rows and its line in the journal are made of the sealed form,
//! so a rebuild, a verification and a restored journal need no key, and see after an erasure what they saw before it.
//! A field whose keys are gone stays sealed; every reader takes that for erased.

use crate::Error;
use crate::append::Draft;
use crate::stored::Stored;
use event::{Event, Fact, Field, PrincipalId, Proposed, StreamName, canonical, inexact};
use serde_json::Value;
use std::sync::Arc;
use vault::{About, Keyring, KeyringError, Keys, Missing, Opened, key_ids};

/// Stands for what cannot be sealed because a key is gone: sealed under no key, so nothing that is kept equals it.
const UNDER_NO_KEY: &str = "";

/// Sealing the events of one call.
pub(crate) struct Sealing<'a> {
    keys: Option<Keys<'a>>,
}

impl<'a> Sealing<'a> {
    pub(crate) fn with(keyring: Option<&'a Keyring>) -> Self {
        Self { keys: keyring.map(Keyring::keys) }
    }

    /// Seals the personal fields of `event`. Says who has no key, when it derives from what they said: such an event
    /// may be a retry, and is no new one.
    ///
    /// # Errors
    /// [`Error::NoKeys`], [`Error::Inexact`], [`Error::Unreadable`]; [`Error::Unavailable`] when the keys cannot be
    /// used.
    pub(crate) fn seal(
        &mut self,
        stream: &StreamName,
        event: &mut Proposed,
    ) -> Result<Option<PrincipalId>, Error> {
        let brings_words = event.fact.brings_words();
        let (id, kind, actor) = (event.id.clone(), event.fact.kind(), event.actor.principal.clone());
        let mut erased = None;
        for (field, personal) in event.fact.personal_mut() {
            let Some(value) = personal.to_seal() else { continue };
            let Some(keys) = &mut self.keys else { return Err(Error::NoKeys { id }) };
            if let Some(pointer) = inexact(&value) {
                return Err(Error::Inexact { id, pointer: format!("/{field}{pointer}") });
            }
            let plain = canonical(&value);
            let unreadable = |source| Error::Unreadable { id: id.clone(), source };
            // What nests too deeply to be read again is refused here, as it is in the open.
            serde_json::from_slice::<Value>(&plain).map_err(|e| unreadable(Arc::new(e)))?;
            // What is of nobody but the person who states it derives from nothing that was said before.
            let own = personal.subjects().iter().eq([&actor]);
            let missing = if brings_words || own { Missing::Make } else { Missing::Refuse };
            let about = About { stream: stream.as_str(), event: id.as_str(), kind, field };
            match keys.seal(personal.subjects(), &about, &plain, missing) {
                Ok(sealed) => personal.seal(sealed),
                Err(KeyringError::Erased { subject }) => {
                    personal.seal(UNDER_NO_KEY.to_owned());
                    erased = Some(subject);
                }
                Err(error @ KeyringError::TooLong) => return Err(unreadable(Arc::new(error))),
                Err(error) => return Err(unusable(error)),
            }
        }
        Ok(erased)
    }
}

/// Opens what can be opened in `events`.
///
/// # Errors
/// [`Error::Unavailable`] when the keys cannot be used; [`Error::Corrupt`] when they stand and a field holds something
/// else than was sealed in it.
pub(crate) fn open(mut events: Vec<Event>, keyring: Option<&Keyring>) -> Result<Vec<Event>, Error> {
    let Some(keyring) = keyring else { return Ok(events) };
    let mut keys = keyring.keys();
    for event in &mut events {
        open_one(event, &mut keys)?;
    }
    Ok(events)
}

fn open_one(event: &mut Event, keys: &mut Keys<'_>) -> Result<(), Error> {
    let (at, kind) = (event.global_position.0, event.fact.kind());
    let changed = |field: &str, source| {
        Error::corrupt(at, format!("its `{field}` is not what was sealed there"), Some(source))
    };
    for (field, personal) in event.fact.personal_mut() {
        let Some(sealed) = personal.sealed() else { continue };
        let about = About { stream: event.stream.as_str(), event: event.id.as_str(), kind, field };
        let plain = match keys.open(personal.subjects(), &about, sealed) {
            Ok(Opened::Plain(plain)) => plain,
            Ok(Opened::Erased) => continue,
            Err(error @ KeyringError::Changed) => return Err(changed(field, Arc::new(error))),
            Err(error) => return Err(unusable(error)),
        };
        let value = serde_json::from_slice(&plain).map_err(|e| changed(field, Arc::new(e)))?;
        personal.open(value).map_err(|e| changed(field, Arc::new(e)))?;
    }
    Ok(())
}

fn unusable(error: KeyringError) -> Error {
    Error::Unavailable { why: "the keys of persons cannot be used", source: Some(Arc::new(error)) }
}

/// Whether `twin` is `draft` as it was stored under keys that are no more. An honest retry is not the same to the byte
/// then: its words are sealed under a newer key, or under none.
pub(crate) fn is_erased(twin: &Stored, stream: &StreamName, draft: &Draft) -> bool {
    let cause = draft.event.cause.as_ref().map(event::EventId::as_str);
    let same_envelope = twin.stream == stream.as_str()
        && twin.kind == draft.event.fact.kind()
        && twin.schema == i64::from(draft.event.fact.schema())
        && twin.actor == draft.actor_text
        && twin.cause.as_deref() == cause
        && twin.label == draft.label_text;
    if !same_envelope {
        return false;
    }
    let Ok(event) = twin.clone().read() else { return false };
    let (mut theirs, mut ours) = (event.fact, draft.event.fact.clone());
    let fields = |fact: &Fact| -> Vec<_> { fact.personal().iter().map(|(_, field)| under(*field)).collect() };
    let (old, new) = (fields(&theirs), fields(&ours));
    let mut other_keys = false;
    for (i, (old, new)) in old.iter().zip(&new).enumerate() {
        // The keys that stand are those of the draft, so words under other keys are erased.
        if old.is_some() && new.is_some() && old != new {
            other_keys = true;
            for fact in [&mut theirs, &mut ours] {
                if let Some((_, field)) = fact.personal_mut().into_iter().nth(i) {
                    field.seal(UNDER_NO_KEY.to_owned());
                }
            }
        }
    }
    other_keys && theirs == ours
}

/// Under which keys a field is sealed, none for a draft that has no key; nothing when it is open.
fn under(field: &dyn Field) -> Option<Vec<vault::KeyId>> {
    let sealed = field.sealed()?;
    Some(key_ids(sealed, field.subjects().len()).unwrap_or_default())
}
