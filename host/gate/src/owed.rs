//! What the record is still owed of a call that came to something: what was read, how its hold ended, what became of an
//! effect, and, where it cost more than was held, the refusal of every budget that paid for it.
//!
//! Whoever made the call writes it down in one commit with what the call came to, so that an answer is paid for in the
//! record exactly when the record holds it. A hold has one end, because its end has one name: whoever states another is
//! told so by the record. Whatever else cannot be kept, the end of the hold is.

use crate::begin::HeldCall;
use crate::call::Call;
use crate::outcome::Ended;
use crate::story::Story;
use event::{Event, EventId, Proposed, RefusalSubject, StreamName};
use record::{Append, Error, Record};
use std::time::Duration;

/// How often an outcome is written again when the record does not take it: losing one would leave an effect
/// unknown that is known here.
const TELL_TRIES_MAX: u32 = 5;
/// How long to wait between those tries.
const TELL_WAIT_MS: u64 = 200;

/// What the record is owed of one call.
#[derive(Clone, Debug, Default)]
#[must_use = "what came of a call has to be written down"]
pub struct Owed {
    /// The call's own facts, where there are any.
    own: Option<Append>,
    /// What its seat wished, which stands exactly when its outcome does.
    wishes: Vec<Append>,
    /// The refusals of budgets.
    refusals: Vec<Append>,
    /// The name of the end of its hold.
    end: Option<EventId>,
    can_wait: bool,
}

impl Owed {
    /// Nothing.
    pub fn nothing() -> Self {
        Self { can_wait: true, ..Self::default() }
    }

    /// Facts of `call` that no money and no effect hangs on.
    pub(crate) fn facts(call: &Call, facts: impl Into<Vec<Proposed>>) -> Self {
        let facts: Vec<Proposed> = facts.into();
        let own = (!facts.is_empty()).then(|| append(call, facts));
        Self { own, can_wait: true, ..Self::default() }
    }

    /// What came of `call`, with the end of its hold; `can_wait` where it has no effect.
    pub(crate) fn outcome(
        call: &Call,
        story: &Story,
        mut facts: Vec<Proposed>,
        held: Option<(&HeldCall, Ended)>,
        can_wait: bool,
    ) -> Self {
        let Some((held, ended)) = held else { return Self { can_wait, ..Self::facts(call, facts) } };
        let refusals = ended.blocks.map(|reason| refusals(story, held, &reason)).unwrap_or_default();
        let end = story.hold_ended(ended.end);
        let (name, can_wait) = (end.id.clone(), can_wait && refusals.is_empty());
        facts.push(end);
        Self { own: Some(append(call, facts)), refusals, end: Some(name), can_wait, ..Self::default() }
    }

    /// The same, with what the seat of the call wished.
    pub(crate) fn with_wishes(self, wishes: Vec<Append>) -> Self {
        let can_wait = self.can_wait && wishes.is_empty();
        Self { wishes, can_wait, ..self }
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.own.is_none() && self.wishes.is_empty() && self.refusals.is_empty()
    }

    /// Whether it may wait for the commit with which the next call begins: it can only give room back to the budgets.
    /// What became of an effect may not, nor may a call that cost more than was held.
    #[must_use]
    pub fn can_wait(&self) -> bool {
        self.can_wait
    }

    /// The appends that write it down.
    pub fn appends(&self) -> impl Iterator<Item = &Append> {
        self.own.iter().chain(&self.wishes).chain(&self.refusals)
    }

    /// The end of the hold and nothing else: what is written when the rest cannot be kept.
    fn only_the_end(mut self) -> Self {
        self.wishes.clear();
        let end = self.end.clone();
        self.keep(|event| Some(&event.id) == end.as_ref());
        self
    }

    /// Leaves the end of the hold out, which somebody else has stated, when that is what `id` names.
    fn leave_out(&mut self, id: &EventId) -> bool {
        if self.end.as_ref() != Some(id) {
            return false;
        }
        self.end = None;
        self.keep(|event| event.id != *id);
        true
    }

    fn keep(&mut self, kept: impl Fn(&Proposed) -> bool) {
        if let Some(own) = &mut self.own {
            own.events.retain(kept);
        }
        self.own.take_if(|own| own.events.is_empty());
    }

    /// Tells it without words that were erased meanwhile, when one of its own events is what `id` names.
    fn erase(&mut self, id: &EventId) -> bool {
        let Some(own) = self.own.as_mut().filter(|own| own.events.iter().any(|event| event.id == *id)) else {
            return false;
        };
        let words = own.events.iter_mut().flat_map(|event| event.fact.personal_mut());
        words.for_each(|(_, field)| field.erase());
        true
    }
}

/// Writes down what is owed, and `with` after it, in one commit, as often as a busy disk takes. Says what events stand.
///
/// An end of a hold that somebody else has stated is left out: what was used is not charged a second time.
///
/// # Errors
/// As [`Record::append_all`], and then nothing of it was written unless it is [`Error::Unavailable`]: where `with` is
/// what cannot be kept, [`tell_alone`] writes the rest.
pub async fn tell(record: &Record, mut owed: Vec<Owed>, with: Vec<Append>) -> Result<Vec<Event>, Error> {
    let (mut tries, mut changes) = (1, 0);
    loop {
        let appends: Vec<Append> = owed.iter().flat_map(Owed::appends).chain(&with).cloned().collect();
        if appends.is_empty() {
            return Ok(Vec::new());
        }
        // Each of these changes what is owed, and of each call once.
        let again = changes <= 2 * owed.len();
        changes += 1;
        match record.append_all(appends).await {
            Err(Error::Unavailable { .. }) if tries < TELL_TRIES_MAX => {
                tries += 1;
                changes -= 1;
                tokio::time::sleep(Duration::from_millis(TELL_WAIT_MS)).await;
            }
            Err(Error::IdTaken { id }) if again && owed.iter_mut().any(|one| one.leave_out(&id)) => {}
            Err(Error::Erased { id, .. }) if again && owed.iter_mut().any(|one| one.erase(&id)) => {}
            other => return other,
        }
    }
}

/// Writes down what is owed with nothing else; of what cannot be kept, the ends of the holds.
///
/// # Errors
/// As [`Record::append_all`]; the ends of the holds stand all the same where the record takes them.
pub async fn tell_alone(record: &Record, owed: Vec<Owed>) -> Result<(), Error> {
    match tell(record, owed.clone(), Vec::new()).await {
        Ok(_) => Ok(()),
        Err(why @ (Error::LeaseLost { .. } | Error::Unavailable { .. })) => Err(why),
        Err(why) => {
            let ends = owed.into_iter().map(Owed::only_the_end).collect();
            tell(record, ends, Vec::new()).await?;
            Err(why)
        }
    }
}

fn append(call: &Call, events: Vec<Proposed>) -> Append {
    let stream = Story::stream(&call.origin);
    Append { stream, expected: event::Expected::Any, events, fence: call.fence.clone() }
}

/// A refusal of each budget that paid, until a person has looked.
fn refusals(story: &Story, held: &HeldCall, reason: &str) -> Vec<Append> {
    let budgets = held.accounts.iter().map(|account| RefusalSubject::Budget(account.budget.clone()));
    budgets
        .map(|subject| {
            let stream = StreamName::new("refusal", &subject);
            let raised = story.overrun(&held.hold, subject, reason);
            Append::new(stream, event::Expected::Any, vec![raised])
        })
        .collect()
}
