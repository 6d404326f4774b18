//! Requests: who owes what to whom by when. Each ends in one of two ways, and says which.
//!
//! Source of the rules: mechanisms, sections 3 and 4 of the seed's open problems: every wait names a holder and a
//! moment; a lapsed ask leaves the holder's count and goes to whoever must act on it.

use crate::projection::{Projection, Row, taken};
use event::{
    Event, Fact, Personal, RequestAnswered, RequestAsked, RequestId, RequestLapsed, SeatId, Timestamp,
};
use serde::{Deserialize, Serialize};

/// Longest text of what is wanted and of an answer, in bytes: a paragraph or two; more belongs behind a handle.
pub const REQUEST_BYTES_MAX: usize = 8 * 1024;

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// The holder owes an answer.
    Open,
    /// It was answered.
    Answered,
    /// Its moment passed without an answer.
    Lapsed,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRow {
    /// How it was asked.
    pub asked: RequestAsked,
    /// Where it stands.
    pub state: RequestState,
}

/// What somebody wants done with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Ask.
    Ask(RequestAsked),
    /// Answer, as the seat that holds it.
    Answer {
        /// The seat that answers.
        by: SeatId,
        /// Its answer.
        answer: Personal<String>,
    },
    /// Answer, as the seat that works for the one that holds it.
    AnswerInstead {
        /// The seat that answers.
        by: SeatId,
        /// The seat that does the holder's work now, as [`crate::seat::works`] says; nothing when nobody does.
        works: Option<SeatId>,
        /// Its answer.
        answer: Personal<String>,
    },
    /// Let it lapse, since its moment has passed.
    Lapse,
}

/// Why it cannot be done. Each is something another wish would mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotRequest {
    /// The moment is not after now: nobody could meet it.
    #[error("the moment {due_at} has passed: name one after {now}")]
    MomentPassed {
        /// The moment named.
        due_at: Timestamp,
        /// Now.
        now: Timestamp,
    },
    /// A seat asks itself: the wait would have no other end than itself.
    #[error("`{0}` cannot ask itself: set a moment to look again instead")]
    AsksItself(SeatId),
    /// The text is empty or too long.
    #[error("what is wanted, and an answer, is between 1 and {REQUEST_BYTES_MAX} bytes, not {0}")]
    Length(usize),
    /// The request was asked before.
    #[error("the request `{0}` was asked before")]
    AskedBefore(RequestId),
    /// There is no such request.
    #[error("there is no such request")]
    NotAsked,
    /// It has ended.
    #[error("the request has ended: it is {0:?}")]
    Ended(RequestState),
    /// Another seat holds it.
    #[error("the request is `{holder}`'s to answer")]
    NotHolder {
        /// The seat that holds it.
        holder: SeatId,
    },
    /// Its moment has not come.
    #[error("the request lapses at {due_at}, and not before")]
    NotDue {
        /// Its moment.
        due_at: Timestamp,
    },
}

/// What follows from a wish, or why nothing does.
///
/// # Errors
/// [`CannotRequest`], for whoever wished it.
pub fn decide(row: Option<&RequestRow>, command: Command, now: Timestamp) -> Result<Fact, CannotRequest> {
    match command {
        Command::Ask(asked) => ask(row, asked, now),
        Command::Answer { by, answer } => self::answer(open(row)?, by, None, answer),
        Command::AnswerInstead { by, works, answer } => self::answer(open(row)?, by, works, answer),
        Command::Lapse => {
            let open = open(row)?;
            if now < open.due_at {
                return Err(CannotRequest::NotDue { due_at: open.due_at });
            }
            let RequestAsked { request, topic, holder, asker, .. } = open.clone();
            Ok(RequestLapsed { request, topic, holder, asker }.into())
        }
    }
}

fn ask(row: Option<&RequestRow>, asked: RequestAsked, now: Timestamp) -> Result<Fact, CannotRequest> {
    if row.is_some() {
        return Err(CannotRequest::AskedBefore(asked.request));
    }
    if asked.due_at <= now {
        return Err(CannotRequest::MomentPassed { due_at: asked.due_at, now });
    }
    if asked.asker == asked.holder {
        return Err(CannotRequest::AsksItself(asked.asker));
    }
    fits(&asked.wanted)?;
    Ok(asked.into())
}

/// `works` is the seat that does the holder's work, where somebody has looked.
fn answer(
    open: &RequestAsked,
    by: SeatId,
    works: Option<SeatId>,
    answer: Personal<String>,
) -> Result<Fact, CannotRequest> {
    fits(&answer)?;
    let whose = works.unwrap_or_else(|| open.holder.clone());
    if by != whose {
        return Err(CannotRequest::NotHolder { holder: whose });
    }
    let (request, topic, asker) = (open.request.clone(), open.topic.clone(), open.asker.clone());
    Ok(RequestAnswered { request, by, topic, asker, answer }.into())
}

fn open(row: Option<&RequestRow>) -> Result<&RequestAsked, CannotRequest> {
    match row {
        None => Err(CannotRequest::NotAsked),
        Some(row) if row.state == RequestState::Open => Ok(&row.asked),
        Some(row) => Err(CannotRequest::Ended(row.state)),
    }
}

fn fits(text: &Personal<String>) -> Result<(), CannotRequest> {
    // What is sealed was measured when it was open.
    let bytes = text.value().map_or(1, |text| text.trim().len());
    if (1..=REQUEST_BYTES_MAX).contains(&bytes) { Ok(()) } else { Err(CannotRequest::Length(bytes)) }
}

/// The rows under a request's id, ranked by its moment while it is open. Holds [`RequestRow`]s.
pub struct Requests;

fn request_of(fact: &Fact) -> Option<&RequestId> {
    match fact {
        Fact::RequestAsked(body) => Some(&body.request),
        Fact::RequestAnswered(body) => Some(&body.request),
        Fact::RequestLapsed(body) => Some(&body.request),
        _ => None,
    }
}

impl Projection for Requests {
    fn name(&self) -> &'static str {
        "request"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        request_of(&event.fact).map(|id| id.as_str().to_owned()).into_iter().collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let after = match &event.fact {
            Fact::RequestAsked(body) => RequestRow { asked: body.clone(), state: RequestState::Open },
            Fact::RequestAnswered(_) => {
                RequestRow { state: RequestState::Answered, ..taken::<RequestRow>(row)? }
            }
            Fact::RequestLapsed(_) => RequestRow { state: RequestState::Lapsed, ..taken::<RequestRow>(row)? },
            _ => return row,
        };
        let rank = (after.state == RequestState::Open).then_some(after.asked.due_at.0);
        Some(Row::of(&after, rank))
    }
}

#[cfg(test)]
mod tests {
    use super::{CannotRequest, Command, RequestRow, RequestState, decide};
    use event::{Fact, RequestAsked, RequestId, SeatId, Timestamp, Topic};
    use proptest::prelude::*;

    fn seat(name: &str) -> SeatId {
        SeatId::parse(&format!("seat_{name}")).unwrap()
    }

    fn asked(due: i64) -> RequestAsked {
        RequestAsked {
            request: RequestId::parse("req_1").unwrap(),
            asker: seat("research"),
            holder: seat("legal"),
            topic: Topic::parse("licence").unwrap(),
            wanted: "read the licence of row 7".into(),
            due_at: Timestamp(due),
        }
    }

    fn row(state: RequestState) -> RequestRow {
        RequestRow { asked: asked(100), state }
    }

    #[test]
    fn a_request_needs_a_moment_that_can_be_met_and_somebody_else() {
        let ask = |asked| decide(None, Command::Ask(asked), Timestamp(50));
        assert!(matches!(ask(asked(51)), Ok(Fact::RequestAsked(_))));
        assert!(matches!(ask(asked(50)), Err(CannotRequest::MomentPassed { .. })));
        assert!(matches!(
            ask(RequestAsked { holder: seat("research"), ..asked(51) }),
            Err(CannotRequest::AsksItself(_))
        ));
        assert_eq!(ask(RequestAsked { wanted: " ".into(), ..asked(51) }), Err(CannotRequest::Length(0)));
        let again = decide(Some(&row(RequestState::Lapsed)), Command::Ask(asked(51)), Timestamp(50));
        assert!(matches!(again, Err(CannotRequest::AskedBefore(_))));
    }

    #[test]
    fn only_the_holder_answers_and_only_while_it_is_open() {
        let answer = |state, by| {
            decide(Some(&row(state)), Command::Answer { by: seat(by), answer: "MIT".into() }, Timestamp(200))
        };
        assert!(matches!(answer(RequestState::Open, "legal"), Ok(Fact::RequestAnswered(_))));
        assert!(matches!(answer(RequestState::Open, "research"), Err(CannotRequest::NotHolder { .. })));
        assert_eq!(
            answer(RequestState::Answered, "legal"),
            Err(CannotRequest::Ended(RequestState::Answered))
        );
        assert_eq!(answer(RequestState::Lapsed, "legal"), Err(CannotRequest::Ended(RequestState::Lapsed)));
    }

    #[test]
    fn a_vacant_seats_request_is_answered_by_the_seat_that_works_for_it() {
        let answer = |by, works: Option<&str>| {
            let works = works.map(seat);
            let command = Command::AnswerInstead { by: seat(by), works, answer: "MIT".into() };
            decide(Some(&row(RequestState::Open)), command, Timestamp(60))
        };
        match answer("counsel", Some("counsel")) {
            Ok(Fact::RequestAnswered(answered)) => {
                assert_eq!((answered.by, answered.asker), (seat("counsel"), seat("research")));
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(answer("counsel", Some("legal")), Err(CannotRequest::NotHolder { .. })));
        assert!(matches!(answer("counsel", None), Err(CannotRequest::NotHolder { .. })));
    }

    proptest! {
        #[test]
        fn a_request_lapses_at_its_moment_and_never_before(now in 0_i64..200) {
            let lapsed = decide(Some(&row(RequestState::Open)), Command::Lapse, Timestamp(now));
            prop_assert_eq!(lapsed.is_ok(), now >= 100);
        }
    }
}
