//! Standing noes: one row a subject, while the refusal stands. Raised again, the later one stands; its moment
//! lifts it without anyone acting, so whoever asks says what time it is.

use crate::projection::{Projection, Row, decode};
use event::{Event, Fact, RefusalId, RefusalLifted, RefusalRaised, RefusalSubject, Timestamp};
use serde::{Deserialize, Serialize};

/// Longest reason, in bytes: a paragraph; it is shown in every refusal.
pub const REASON_BYTES_MAX: usize = 2 * 1024;

/// One standing no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalRow {
    /// How it was raised.
    pub raised: RefusalRaised,
    /// When.
    pub since: Timestamp,
}

impl RefusalRow {
    /// Whether it still stands at `now`.
    #[must_use]
    pub fn stands(&self, now: Timestamp) -> bool {
        self.raised.lifts_at.is_none_or(|lifts_at| now < lifts_at)
    }
}

/// The rows under their subject, ranked by when they were raised. Holds [`RefusalRow`]s.
pub struct Refusals;

/// Key of what stands against `subject`.
#[must_use]
pub fn key(subject: &RefusalSubject) -> String {
    subject.to_string()
}

impl Projection for Refusals {
    fn name(&self) -> &'static str {
        "refusal"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::RefusalRaised(body) => vec![key(&body.subject)],
            Fact::RefusalLifted(body) => vec![key(&body.subject)],
            _ => Vec::new(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        match &event.fact {
            Fact::RefusalRaised(body) => {
                let raised = RefusalRow { raised: body.clone(), since: event.at };
                Some(Row::of(&raised, Some(event.at.0)))
            }
            // One that a later refusal replaced no longer stands; lifting it lifts nothing.
            Fact::RefusalLifted(body) => {
                let stands: RefusalRow = decode(row.as_ref())?;
                if stands.raised.refusal == body.refusal { None } else { row }
            }
            _ => row,
        }
    }
}

/// What somebody wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Raise a refusal.
    Raise(RefusalRaised),
    /// Lift what stands, and say why.
    Lift {
        /// Why.
        reason: String,
    },
}

/// Why it cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotRefuse {
    /// It would lift before it stands.
    #[error("the moment {lifts_at} has passed: name one after {now}, or none")]
    MomentPassed {
        /// The moment named.
        lifts_at: Timestamp,
        /// Now.
        now: Timestamp,
    },
    /// A no without a reason teaches nobody.
    #[error("a reason is between 1 and {REASON_BYTES_MAX} bytes, not {0}")]
    Reason(usize),
    /// Nothing stands against the subject.
    #[error("no refusal stands against it")]
    NothingStands,
}

/// What follows from a wish, or why nothing does.
///
/// # Errors
/// [`CannotRefuse`], for whoever wished it.
pub fn decide(row: Option<&RefusalRow>, command: Command, now: Timestamp) -> Result<Fact, CannotRefuse> {
    let fits = |text: &str| match text.trim().len() {
        1..=REASON_BYTES_MAX => Ok(()),
        length => Err(CannotRefuse::Reason(length)),
    };
    match command {
        Command::Raise(raised) => {
            fits(&raised.reason)?;
            match raised.lifts_at {
                Some(lifts_at) if lifts_at <= now => Err(CannotRefuse::MomentPassed { lifts_at, now }),
                _ => Ok(raised.into()),
            }
        }
        Command::Lift { reason } => {
            fits(&reason)?;
            let stands = row.filter(|row| row.stands(now)).ok_or(CannotRefuse::NothingStands)?;
            let (refusal, subject) = (stands.raised.refusal.clone(), stands.raised.subject.clone());
            Ok(RefusalLifted { refusal, subject, reason }.into())
        }
    }
}

/// The name of a refusal of `subject` raised because of `cause`: raising it twice for one cause is one refusal.
#[must_use]
pub fn refusal_id(subject: &RefusalSubject, cause: &str) -> RefusalId {
    RefusalId::derived(&["refusal", &subject.to_string(), cause])
}

#[cfg(test)]
mod tests {
    use super::{CannotRefuse, Command, RefusalRow, decide, refusal_id};
    use event::{Fact, RefusalRaised, RefusalSubject, Timestamp};

    fn raised(lifts_at: Option<i64>) -> RefusalRaised {
        let subject = RefusalSubject::Tool("web.fetch".into());
        let refusal = refusal_id(&subject, "a");
        RefusalRaised { refusal, subject, reason: "too many".into(), lifts_at: lifts_at.map(Timestamp) }
    }

    #[test]
    fn a_refusal_stands_until_its_moment_and_no_longer() {
        let row = RefusalRow { raised: raised(Some(100)), since: Timestamp(1) };
        assert!(row.stands(Timestamp(99)) && !row.stands(Timestamp(100)));
        let lift = || Command::Lift { reason: "mended".into() };
        assert!(matches!(decide(Some(&row), lift(), Timestamp(99)), Ok(Fact::RefusalLifted(_))));
        assert_eq!(decide(Some(&row), lift(), Timestamp(100)), Err(CannotRefuse::NothingStands));
        assert_eq!(decide(None, lift(), Timestamp(1)), Err(CannotRefuse::NothingStands));
    }

    #[test]
    fn a_refusal_has_a_reason_and_a_moment_to_come() {
        let now = Timestamp(100);
        assert!(decide(None, Command::Raise(raised(None)), now).is_ok());
        let past = decide(None, Command::Raise(raised(Some(100))), now);
        assert!(matches!(past, Err(CannotRefuse::MomentPassed { .. })));
        let silent = RefusalRaised { reason: " ".into(), ..raised(None) };
        assert_eq!(decide(None, Command::Raise(silent), now), Err(CannotRefuse::Reason(0)));
    }
}
