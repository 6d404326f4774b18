//! The office's own verbs, for one call: what of the record it may look at, and what its seat may wish.
//!
//! A call is given [`Verbs`] where its tool asks for handles that the operator granted. Each handle is one thing that is
//! in play for this call: the conversation it is made in, the seat that makes it, the budgets it is held on. There is no
//! name by which another could be asked for.
//!
//! What always holds: what is read labels what comes of the call, and names the persons whose words it may repeat; of
//! what was said, nothing is shown that a reader of the conversation might not read; a wish is kept in one commit with
//! the outcome of its call, or not at all, and is stated by the holder of the seat, so that authority is asked again.
//! Deliberately absent: any way out, and any read beyond the bounds of each verb.

mod agenda;
mod place;
mod purse;
mod seat;
mod wishes;

pub use agenda::{Agenda, ApprovalWaits, RequestWaits, Waiting};
pub use place::{LINES_MAX, Line, Page, Place};
pub use purse::{Budget, Purse};
pub use seat::{Holding, Seat, TURNS_MAX, Turn};
pub use wishes::{LOOK_AGAIN_MINUTES_MAX, REQUEST_MINUTES_MAX, WISHES_MAX, Wishes};

use crate::call::Call;
use crate::reach::{Failure, FailureKind};
use event::{Audience, EffectId, Event, Handle, Integrity, Label, PrincipalId, Readers, Timestamp, Topic};
use fold::said::conversation_of;
use record::{Append, Record};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What is taken from a source's notation to read it as text.
pub type Readable = fn(&str) -> String;

/// What of the office one call may use.
#[derive(Clone)]
pub struct Verbs(Arc<Given>);

/// What all handles of one call share.
struct Given {
    call: Arc<Call>,
    record: Record,
    readable: Readable,
    /// The call's recorded time.
    at: Timestamp,
    /// The effect that the call is, when it is one: only then it may wish.
    effect: Option<EffectId>,
    handles: Vec<Handle>,
    taken: Mutex<Taken>,
}

/// What came of the handles of one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    /// The labels of what was read.
    labels: Vec<Label>,
    /// The persons whose words were read.
    pub of: BTreeSet<PrincipalId>,
    /// What its seat wished.
    pub wishes: Vec<Append>,
}

impl Taken {
    /// The label of what was made of all that was read.
    pub fn label(&self) -> Label {
        Label::join_all(&self.labels)
    }
}

impl Verbs {
    pub(crate) fn new(
        (call, at, effect): (Arc<Call>, Timestamp, Option<EffectId>),
        handles: Vec<Handle>,
        record: Record,
        readable: Readable,
    ) -> Self {
        Self(Arc::new(Given { call, record, readable, at, effect, handles, taken: Mutex::default() }))
    }

    fn has(&self, handle: Handle) -> Option<Arc<Given>> {
        self.0.handles.contains(&handle).then(|| self.0.clone())
    }

    /// The conversation it is made in, where it is given that and is made in one.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        let given = self.has(Handle::Place)?;
        let here = Here::of(given.call.topic.as_ref()?)?;
        Some(Place { given, here })
    }

    /// The seat that makes it.
    #[must_use]
    pub fn seat(&self) -> Option<Seat> {
        self.has(Handle::Seat).map(|given| Seat { given })
    }

    /// The budgets it is held on.
    #[must_use]
    pub fn purse(&self) -> Option<Purse> {
        self.has(Handle::Purse).map(|given| Purse { given })
    }

    /// What waits in the conversation.
    #[must_use]
    pub fn agenda(&self) -> Option<Agenda> {
        self.has(Handle::Agenda).map(|given| Agenda { given })
    }

    /// What its seat may wish; nothing for a call that is no effect.
    #[must_use]
    pub fn wishes(&self) -> Option<Wishes> {
        let given = self.has(Handle::Wishes)?;
        let effect = given.effect.clone()?;
        Some(Wishes { given, effect })
    }

    /// What came of them.
    pub(crate) fn taken(&self) -> Taken {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Given {
    fn take(&self, change: impl FnOnce(&mut Taken)) {
        change(&mut self.taken.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts in that something so labelled was read.
    fn read(&self, label: &Label) {
        self.take(|taken| {
            if !taken.labels.contains(label) {
                taken.labels.push(label.clone());
            }
        });
    }

    /// Counts in that `event` was read, with all words in it.
    fn read_event(&self, event: &Event) {
        self.read(&event.label);
        let of = event.fact.personal().into_iter().flat_map(|(_, field)| field.subjects().clone());
        self.take(|taken| taken.of.extend(of));
    }

    fn topic(&self) -> Option<&Topic> {
        self.call.topic.as_ref()
    }
}

/// A conversation, and who reads there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Here {
    /// Such as `slack:T1:C1`.
    conversation: String,
    audience: Audience,
}

impl Here {
    fn of(topic: &Topic) -> Option<Self> {
        let conversation = conversation_of(topic)?;
        let mut parts = conversation.split(':');
        let audience = match (parts.next()?, parts.next()?, parts.next()?) {
            ("terminal", _, session) => Audience::Terminal(session.to_owned()),
            (_, team, channel) => {
                Audience::SlackChannel { team: team.to_owned(), channel: channel.to_owned() }
            }
        };
        Some(Self { conversation, audience })
    }

    /// Whether `topic` is about what was said here.
    fn is_about(&self, topic: &Topic) -> bool {
        conversation_of(topic).is_some_and(|conversation| conversation == self.conversation)
    }

    /// Whether everyone who reads here may read what is so labelled. What is not known is not shown.
    fn may_read(&self, label: &Label) -> bool {
        match &label.readers {
            Readers::Within(audiences) => audiences.iter().all(|audience| *audience == self.audience),
            Readers::Unknown | Readers::UnknownWithin(_) => false,
        }
    }
}

/// The label of what the office's rows say about seats, budgets and what waits: the host's own.
fn rows_label() -> Label {
    Label::within(Audience::Operators, Integrity::Trusted)
}

fn no(kind: FailureKind, message: impl Into<String>) -> Failure {
    Failure { kind, message: message.into(), retry_after_ms: None }
}

fn unread(error: &record::Error) -> Failure {
    no(FailureKind::Unavailable, format!("the record cannot be read now: {error}"))
}

#[cfg(test)]
mod tests {
    use super::Here;
    use event::{Audience, Integrity, Label, Topic};

    fn here(topic: &str) -> Option<Here> {
        Here::of(&Topic::parse(topic).unwrap())
    }

    fn channel(name: &str) -> Audience {
        Audience::SlackChannel { team: "T1".into(), channel: name.into() }
    }

    #[test]
    fn a_reader_of_the_conversation_reads_what_is_said_there_or_everywhere_and_nothing_else() {
        let public = here("slack:T1:C1:1.0").unwrap();
        let within = |audience| Label::within(audience, Integrity::Unknown);
        assert!(public.may_read(&within(channel("C1"))) && public.may_read(&Label::public_untrusted()));
        let both = within(channel("C1")).join(&within(channel("C2")));
        for not in [within(channel("C2")), both, Label::unknown(), Label::host()] {
            assert!(!public.may_read(&not), "{not:?}");
        }
        let other = Audience::SlackChannel { team: "T2".into(), channel: "C1".into() };
        assert!(!public.may_read(&within(other)), "a channel of another workspace that is called the same");
    }

    #[test]
    fn only_a_conversation_is_a_place() {
        assert_eq!(here("terminal:local:main:7").unwrap().audience, Audience::Terminal("main".into()));
        assert_eq!(here("effect:effect_1"), None);
        let direct = here("slack:T1:D1:1.0").unwrap();
        assert!(direct.is_about(&Topic::parse("slack:T1:D1:2.0").unwrap()));
        assert!(!direct.is_about(&Topic::parse("slack:T1:D10:2.0").unwrap()));
    }
}
