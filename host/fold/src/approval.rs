//! Approvals: which calls wait for a person's yes, and what was said. One yes is good for one call with exactly
//! the arguments that were shown, until its moment.
//!
//! Source of the rules: mechanisms, section 5, Approvals.

use crate::projection::{Projection, Row, decode};
use event::{
    ApprovalAsked, ApprovalDenied, ApprovalExpired, ApprovalGiven, ApprovalId, ApprovalSpent, Digest, Event,
    Fact, Origin, Personal, PrincipalId, PrincipalKind, SeatId, StreamName, Timestamp,
};
use serde::{Deserialize, Serialize};

/// Longest reason of a no, in bytes.
pub const REASON_BYTES_MAX: usize = 2 * 1024;

/// Where an approval stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Nobody has answered.
    Asked,
    /// Yes, by this principal; not used yet.
    Given {
        /// Who.
        by: PrincipalId,
    },
    /// No, by this principal.
    Denied {
        /// Who. Why, in their words, stands in the `approval.denied`.
        by: PrincipalId,
    },
    /// Nobody answered in time.
    Expired,
    /// Yes, and the call began.
    Spent {
        /// Who said yes.
        by: PrincipalId,
    },
}

/// One approval. Deliberately absent: the arguments, which may hold a person's words; [`ApprovalRow::asked_as`]
/// leads to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRow {
    /// The approval.
    pub approval: ApprovalId,
    /// The `approval.asked`.
    pub asked_as: event::EventId,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The call, in the try that first asked.
    pub origin: Origin,
    /// The seat that wants it.
    pub seat: SeatId,
    /// The tool.
    pub tool: String,
    /// Digest of the exact arguments.
    pub content: Digest,
    /// Digest of the component that will run.
    pub component: Digest,
    /// When it expires.
    pub expires_at: Timestamp,
    /// Where it stands.
    pub state: ApprovalState,
    /// The person whose yes it is and nobody else's, since it tells others what is theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discloses: Option<PrincipalId>,
}

impl ApprovalRow {
    /// Whether an answer that this person gave in this seat, or in none, counts for it.
    #[must_use]
    pub fn is_answered_by(&self, by: &PrincipalId, seat: Option<&SeatId>) -> bool {
        match &self.discloses {
            Some(owner) => owner == by && seat.is_none(),
            None => seat.is_some(),
        }
    }
}

/// The rows under an approval's id, ranked by when they were asked while nobody has answered. Holds
/// [`ApprovalRow`]s.
pub struct Approvals;

/// The approval of one deed with this content, run by this component: asking twice asks once, and another
/// component is another question.
#[must_use]
pub fn approval_id(origin: &Origin, tool: &str, content: &Digest, component: &Digest) -> ApprovalId {
    ApprovalId::derived(&[&origin.deed(), tool, content.as_str(), component.as_str()])
}

/// The stream an approval stands on: that of its call, so that a call's story reads top to bottom.
#[must_use]
pub fn stream(origin: &Origin) -> StreamName {
    StreamName::new("call", origin.deed())
}

/// How one person answered on one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswersRow {
    /// How often they said yes.
    pub given: u32,
    /// How often they said no.
    pub denied: u32,
}

/// How often each person was asked for a yes, under `person|day`, ranked by the day. Too many is a fault too.
/// Holds [`AnswersRow`]s.
pub struct Answers;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

impl Projection for Answers {
    fn name(&self) -> &'static str {
        "answer"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        let by = match &event.fact {
            Fact::ApprovalGiven(body) => &body.by,
            Fact::ApprovalDenied(body) => &body.by,
            _ => return Vec::new(),
        };
        vec![format!("{by}|{}", event.at.0.div_euclid(DAY_MS))]
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let mut answers: AnswersRow = decode(row.as_ref()).unwrap_or_default();
        match &event.fact {
            Fact::ApprovalGiven(_) => answers.given = answers.given.saturating_add(1),
            _ => answers.denied = answers.denied.saturating_add(1),
        }
        Some(Row::of(&answers, Some(event.at.0.div_euclid(DAY_MS))))
    }
}

fn about(fact: &Fact) -> Option<&ApprovalId> {
    match fact {
        Fact::ApprovalAsked(body) => Some(&body.approval),
        Fact::ApprovalGiven(body) => Some(&body.approval),
        Fact::ApprovalDenied(body) => Some(&body.approval),
        Fact::ApprovalExpired(body) => Some(&body.approval),
        Fact::ApprovalSpent(body) => Some(&body.approval),
        _ => None,
    }
}

impl Projection for Approvals {
    fn name(&self) -> &'static str {
        "approval"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        about(&event.fact).map(|approval| approval.as_str().to_owned()).into_iter().collect()
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let before = decode::<ApprovalRow>(row.as_ref());
        let after = match (&event.fact, before) {
            (Fact::ApprovalAsked(body), _) => asked(body, event),
            (_, None) => return row,
            (Fact::ApprovalGiven(body), Some(before))
                if !before.is_answered_by(&body.by, body.seat.as_ref()) =>
            {
                return row;
            }
            (Fact::ApprovalDenied(body), Some(before))
                if !before.is_answered_by(&body.by, body.seat.as_ref()) =>
            {
                return row;
            }
            (Fact::ApprovalGiven(body), Some(before)) => {
                ApprovalRow { state: ApprovalState::Given { by: body.by.clone() }, ..before }
            }
            (Fact::ApprovalDenied(body), Some(before)) => {
                let state = ApprovalState::Denied { by: body.by.clone() };
                ApprovalRow { state, ..before }
            }
            (Fact::ApprovalExpired(_), Some(before)) => {
                ApprovalRow { state: ApprovalState::Expired, ..before }
            }
            (Fact::ApprovalSpent(_), Some(before)) => {
                let ApprovalState::Given { by } = before.state.clone() else { return row };
                ApprovalRow { state: ApprovalState::Spent { by }, ..before }
            }
            _ => return row,
        };
        let rank = (after.state == ApprovalState::Asked).then_some(after.asked_at.0);
        Some(Row::of(&after, rank))
    }
}

fn asked(body: &ApprovalAsked, event: &Event) -> ApprovalRow {
    ApprovalRow {
        approval: body.approval.clone(),
        asked_as: event.id.clone(),
        asked_at: event.at,
        origin: body.origin.clone(),
        seat: body.seat.clone(),
        tool: body.tool.clone(),
        content: body.content.clone(),
        component: body.component.clone(),
        expires_at: body.expires_at,
        state: ApprovalState::Asked,
        discloses: body.discloses.clone(),
    }
}

/// What somebody wants done with an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Say yes, in a seat, to what was shown.
    Give {
        /// Who.
        by: PrincipalId,
        /// In which seat; in none for what is their own.
        seat: Option<SeatId>,
        /// Digest of the arguments that were shown.
        content: Digest,
        /// Ids of the policies that let them.
        policies: Vec<String>,
    },
    /// Say no.
    Deny {
        /// Who.
        by: PrincipalId,
        /// In which seat; in none for what is their own.
        seat: Option<SeatId>,
        /// Why; may be empty.
        reason: String,
    },
    /// Let it expire, since its moment has passed.
    Expire,
    /// Use it, for this call.
    Spend {
        /// The call, in the try that begins.
        origin: Origin,
        /// Digest of the arguments that run.
        content: Digest,
        /// Digest of the component that runs.
        component: Digest,
    },
}

/// Why it cannot be done. Each is something the person at the card, or the gate, does differently about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotApprove {
    /// There is no such approval.
    #[error("there is no such approval")]
    NotAsked,
    /// It was answered, or its moment has passed.
    #[error("it was answered before: {}", told(.0))]
    Answered(ApprovalState),
    /// Its moment has passed.
    #[error("it expired at {0}: the call was not made")]
    Expired(Timestamp),
    /// Its moment has not come.
    #[error("it expires at {0}, and not before")]
    NotDue(Timestamp),
    /// Only a person says yes or no.
    #[error("`{0}` is not a person: only a person answers")]
    NotAPerson(PrincipalId),
    /// Whoever holds the seat that asks cannot answer for it.
    #[error("`{0}` asks, and cannot answer itself")]
    AsksItself(SeatId),
    /// It tells others what is somebody's own.
    #[error("it would tell others what was read with an account of `{0}`: only they answer")]
    OwnersAlone(PrincipalId),
    /// A person answers in a seat.
    #[error("`{0}` answers in no seat")]
    NoSeat(PrincipalId),
    /// Another call than the one that was shown.
    #[error("what was shown is not what would run")]
    AnotherCall,
    /// Nobody said yes.
    #[error("nobody said yes to it")]
    NotGiven,
    /// The reason is too long.
    #[error("a reason is at most {REASON_BYTES_MAX} bytes, not {0}")]
    Reason(usize),
}

fn told(state: &ApprovalState) -> String {
    match state {
        ApprovalState::Asked => "nobody has answered".to_owned(),
        ApprovalState::Given { by } => format!("`{by}` said yes"),
        ApprovalState::Denied { by } => format!("`{by}` said no"),
        ApprovalState::Expired => "it expired".to_owned(),
        ApprovalState::Spent { by } => format!("`{by}` said yes, and the call was made"),
    }
}

/// What follows from a wish, or why nothing does.
///
/// # Errors
/// [`CannotApprove`], for whoever wished it.
pub fn decide(row: Option<&ApprovalRow>, command: Command, now: Timestamp) -> Result<Fact, CannotApprove> {
    let row = row.ok_or(CannotApprove::NotAsked)?;
    let (approval, origin) = (row.approval.clone(), row.origin.clone());
    match command {
        Command::Give { by, seat, content, policies } => {
            answers(row, &by, seat.as_ref(), now)?;
            if content != row.content {
                return Err(CannotApprove::AnotherCall);
            }
            Ok(ApprovalGiven { approval, origin, content, by, seat, policies }.into())
        }
        Command::Deny { by, seat, reason } => {
            answers(row, &by, seat.as_ref(), now)?;
            if reason.len() > REASON_BYTES_MAX {
                return Err(CannotApprove::Reason(reason.len()));
            }
            let reason = Personal::of(reason, [by.clone()]);
            Ok(ApprovalDenied { approval, origin, by, seat, reason }.into())
        }
        Command::Expire => {
            open(row)?;
            if now < row.expires_at {
                return Err(CannotApprove::NotDue(row.expires_at));
            }
            Ok(ApprovalExpired { approval, origin }.into())
        }
        Command::Spend { origin, content, component } => {
            if !matches!(row.state, ApprovalState::Given { .. }) {
                return Err(CannotApprove::NotGiven);
            }
            let same_deed = origin.deed() == row.origin.deed();
            if !same_deed || content != row.content || component != row.component {
                return Err(CannotApprove::AnotherCall);
            }
            Ok(ApprovalSpent { approval, origin, content }.into())
        }
    }
}

fn open(row: &ApprovalRow) -> Result<(), CannotApprove> {
    match &row.state {
        ApprovalState::Asked => Ok(()),
        other => Err(CannotApprove::Answered(other.clone())),
    }
}

fn answers(
    row: &ApprovalRow,
    by: &PrincipalId,
    seat: Option<&SeatId>,
    now: Timestamp,
) -> Result<(), CannotApprove> {
    open(row)?;
    if now >= row.expires_at {
        return Err(CannotApprove::Expired(row.expires_at));
    }
    if by.kind() != PrincipalKind::Person {
        return Err(CannotApprove::NotAPerson(by.clone()));
    }
    match (&row.discloses, seat) {
        _ if row.is_answered_by(by, seat) => {}
        (Some(owner), _) => return Err(CannotApprove::OwnersAlone(owner.clone())),
        (None, _) => return Err(CannotApprove::NoSeat(by.clone())),
    }
    if seat == Some(&row.seat) {
        return Err(CannotApprove::AsksItself(row.seat.clone()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ApprovalRow, ApprovalState, CannotApprove, Command, approval_id, decide};
    use event::{Digest, EventId, Fact, Origin, PrincipalId, SeatId, Timestamp, TurnId};
    use proptest::prelude::*;

    fn origin(attempt: u32) -> Origin {
        Origin::Step { turn: TurnId::derived(&["t"]), step: 3, attempt }
    }

    fn row(state: ApprovalState) -> ApprovalRow {
        let content = Digest::of(b"arguments");
        ApprovalRow {
            approval: approval_id(&origin(1), "mail.send", &content, &Digest::of(b"component")),
            asked_as: EventId::derived(&["asked"]),
            asked_at: Timestamp(10),
            origin: origin(1),
            seat: SeatId::parse("seat_front-desk").unwrap(),
            tool: "mail.send".into(),
            content,
            component: Digest::of(b"component"),
            expires_at: Timestamp(100),
            state,
            discloses: None,
        }
    }

    fn person(name: &str) -> PrincipalId {
        PrincipalId::parse(name).unwrap()
    }

    fn give(by: &str, seat: &str, content: &[u8]) -> Command {
        let (by, seat) = (person(by), SeatId::parse(seat).ok());
        Command::Give { by, seat, content: Digest::of(content), policies: vec!["owner-approves".into()] }
    }

    fn spend(attempt: u32, content: &[u8], component: &[u8]) -> Command {
        let (content, component) = (Digest::of(content), Digest::of(component));
        Command::Spend { origin: origin(attempt), content, component }
    }

    #[test]
    fn a_person_in_another_seat_says_yes_to_exactly_what_was_shown() {
        let asked = row(ApprovalState::Asked);
        let said = |command| decide(Some(&asked), command, Timestamp(50));
        assert!(matches!(said(give("person_a", "seat_owner", b"arguments")), Ok(Fact::ApprovalGiven(_))));
        assert_eq!(said(give("person_a", "seat_owner", b"others")), Err(CannotApprove::AnotherCall));
        assert!(matches!(
            said(give("agent_a", "seat_owner", b"arguments")),
            Err(CannotApprove::NotAPerson(_))
        ));
        assert!(matches!(
            said(give("system_a", "seat_owner", b"arguments")),
            Err(CannotApprove::NotAPerson(_))
        ));
        assert!(matches!(
            said(give("person_a", "seat_front-desk", b"arguments")),
            Err(CannotApprove::AsksItself(_))
        ));
        let late = decide(Some(&asked), give("person_a", "seat_owner", b"arguments"), Timestamp(100));
        assert_eq!(late, Err(CannotApprove::Expired(Timestamp(100))));
        assert_eq!(decide(None, Command::Expire, Timestamp(100)), Err(CannotApprove::NotAsked));
    }

    #[test]
    fn what_is_somebodys_own_is_told_on_their_word_alone_and_other_calls_on_no_word_without_a_seat() {
        let asked = row(ApprovalState::Asked);
        let own = ApprovalRow { discloses: Some(person("person_a")), ..asked.clone() };
        let give = |by: &str, seat: &str| give(by, seat, b"arguments");
        let said = |row: &ApprovalRow, command| decide(Some(row), command, Timestamp(50));
        assert!(matches!(said(&own, give("person_a", "")), Ok(Fact::ApprovalGiven(_))));
        let alone = Err(CannotApprove::OwnersAlone(person("person_a")));
        assert_eq!(said(&own, give("person_b", "")), alone);
        assert_eq!(said(&own, give("person_a", "seat_owner")), alone, "in their own name");
        assert_eq!(said(&own, give("person_b", "seat_owner")), alone);
        let (by, reason) = (person("person_b"), String::new());
        assert_eq!(said(&own, Command::Deny { by, seat: None, reason }), alone);
        assert_eq!(said(&asked, give("person_a", "")), Err(CannotApprove::NoSeat(person("person_a"))));
    }

    #[test]
    fn one_yes_is_good_for_one_call_of_the_same_deed_and_component() {
        let given = row(ApprovalState::Given { by: person("person_a") });
        let spent = |command| decide(Some(&given), command, Timestamp(500));
        assert!(matches!(spent(spend(2, b"arguments", b"component")), Ok(Fact::ApprovalSpent(_))));
        assert_eq!(spent(spend(2, b"others", b"component")), Err(CannotApprove::AnotherCall));
        assert_eq!(spent(spend(2, b"arguments", b"another")), Err(CannotApprove::AnotherCall));
        for state in [
            ApprovalState::Asked,
            ApprovalState::Expired,
            ApprovalState::Spent { by: person("person_a") },
            ApprovalState::Denied { by: person("person_a") },
        ] {
            let again = decide(Some(&row(state)), spend(2, b"arguments", b"component"), Timestamp(50));
            assert_eq!(again, Err(CannotApprove::NotGiven));
        }
    }

    proptest! {
        #[test]
        fn it_expires_at_its_moment_and_never_before(now in 0_i64..200) {
            let expired = decide(Some(&row(ApprovalState::Asked)), Command::Expire, Timestamp(now));
            prop_assert_eq!(expired.is_ok(), now >= 100);
        }

        #[test]
        fn an_answer_is_given_once(first in any::<bool>(), now in 11_i64..100) {
            let state = if first {
                ApprovalState::Given { by: person("person_a") }
            } else {
                ApprovalState::Denied { by: person("person_a") }
            };
            let again = decide(Some(&row(state)), give("person_b", "seat_owner", b"arguments"), Timestamp(now));
            prop_assert!(matches!(again, Err(CannotApprove::Answered(_))));
        }
    }
}
