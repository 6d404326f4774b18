//! A click on a card, as an answer to the call it shows; and the owner's answer at a terminal.
//!
//! Whoever clicked is told, alone, when the answer is not taken. The same click twice, or the same answer of the same
//! person twice, is one answer.

use super::Desk;
use super::duty::{Duty, done, told};
use super::show::CARD;
use crate::wire::Office;
use anyhow::Result;
use converse::{Arrival, Click, Says, card};
use event::{ApprovalId, DeliveryClassified, Event, Fact, PrincipalId};
use fold::approval::{ApprovalState, CannotApprove};
use gate::{Answer, AnswerError};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What a word to one person is to the gate: the kind of the duty.
const WHISPER: &str = "whisper";

/// Takes the click that `classified` found in a delivery.
pub(super) async fn click(desk: &Desk<'_>, event: &Event, classified: &DeliveryClassified) -> Result<()> {
    let record = &desk.office.record;
    let Some(Event { fact: Fact::DeliveryReceived(delivery), label, id, .. }) =
        record.event(&classified.delivery).await?
    else {
        return Ok(());
    };
    let arrival = Arrival::of(&delivery);
    let own = converse::own(record, &arrival).await?;
    let Ok(click) = converse::click(&delivery, own.as_ref()) else { return Ok(()) };
    let why = match &click.says {
        Says::Approval { approval, yes } => taken(desk, &click, (approval, *yes)).await?,
        Says::Effect { effect, saw } => {
            super::unknown::clicked(desk, &classified.delivery, &click, (effect, *saw)).await?
        }
    };
    let Some(why) = why else { return Ok(()) };
    tracing::info!(by = %click.by, says = ?click.says, why, "an answer was not taken");
    let input = card::whisper(&click.channel, click.thread_ts.as_deref(), &click.user, &why);
    let input = card::in_workspace(input, own.as_ref().map_or("", |own| own.team.as_str()));
    let duty = Duty {
        event: &id,
        kind: WHISPER,
        tool: card::TOOL_WHISPER,
        input,
        topic: None,
        label: label.join(&event.label),
        // Names and moments: no words of anybody's.
        of: BTreeSet::new(),
    };
    done(desk, duty).await
}

/// Hands a click to the gate; why it is not taken, when it is not.
async fn taken(
    desk: &Desk<'_>,
    click: &Click,
    (approval, yes): (&ApprovalId, bool),
) -> Result<Option<String>> {
    let gate = &desk.office.gate;
    let Some(row) = gate.approval(approval).await? else {
        return Ok(Some(CannotApprove::NotAsked.to_string()));
    };
    let told = told(desk, &row.asked_as, CARD).await?;
    // Before Slack's answer is on the record, or where it was lost, the card is known by its channel alone.
    let is = |card: &Value, key: &str, text: &str| card.get(key).and_then(Value::as_str) == Some(text);
    let is_at = match (&told.sent, &told.input) {
        (Some(card), _) => is(card, "channel", &click.channel) && is(card, "ts", &click.ts),
        // A direct message was posted to its one reader, whom the gate tells from others.
        (None, Some(_)) if row.discloses.is_some() => true,
        (None, Some(card)) => is(card, "channel", &click.channel),
        (None, None) => false,
    };
    if !is_at {
        return Ok(Some("this is not the card that asks for it".to_owned()));
    }
    let answer = if yes { Answer::Yes } else { Answer::No(String::new()) };
    match gate.answer(approval, &click.by, answer).await {
        Ok(_) => Ok(None),
        Err(AnswerError::Approval(CannotApprove::Answered(state))) if is_same(&state, (&click.by, yes)) => {
            Ok(None)
        }
        Err(AnswerError::Gate(error)) => Err(error.into()),
        Err(why) => Ok(Some(why.to_string())),
    }
}

/// Whether this person has said the same before.
fn is_same(state: &ApprovalState, (who, yes): (&PrincipalId, bool)) -> bool {
    match state {
        ApprovalState::Given { by } | ApprovalState::Spent { by } => yes && by == who,
        ApprovalState::Denied { by } => !yes && by == who,
        ApprovalState::Asked | ApprovalState::Expired => false,
    }
}

/// The owner, who answers at a terminal: whoever runs the program with its configuration.
pub struct Owner {
    office: Arc<Office>,
    person: PrincipalId,
}

impl Owner {
    /// The owner of `office`.
    ///
    /// # Errors
    /// When the configuration names no person.
    pub fn of(office: Arc<Office>) -> Result<Self> {
        let person = office.config.owner()?;
        Ok(Self { office, person })
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("person", &self.person).finish_non_exhaustive()
    }
}

impl front::Answers for Owner {
    fn answer(&self, approval: ApprovalId, no: Option<String>) -> front::Told {
        let (office, person) = (self.office.clone(), self.person.clone());
        Box::pin(async move {
            let answer = no.map_or(Answer::Yes, Answer::No);
            let answered = office.gate.answer(&approval, &person, answer).await;
            answered.map(|_| ()).map_err(|why| format!("{:#}", anyhow::Error::from(why)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_same;
    use event::PrincipalId;
    use fold::approval::ApprovalState;

    #[test]
    fn only_the_same_answer_of_the_same_person_is_the_same() {
        let person = |name: &str| PrincipalId::parse(name).unwrap();
        let (mine, theirs) = (person("person_slack.T1.U1"), person("person_slack.T1.U2"));
        for (state, yes, same) in [
            (ApprovalState::Given { by: mine.clone() }, true, true),
            (ApprovalState::Spent { by: mine.clone() }, true, true),
            (ApprovalState::Denied { by: mine.clone() }, false, true),
            (ApprovalState::Given { by: mine.clone() }, false, false),
            (ApprovalState::Denied { by: mine }, true, false),
            (ApprovalState::Given { by: theirs.clone() }, true, false),
            (ApprovalState::Denied { by: theirs }, false, false),
            (ApprovalState::Expired, true, false),
            (ApprovalState::Expired, false, false),
        ] {
            assert_eq!(is_same(&state, (&person("person_slack.T1.U1"), yes)), same, "{state:?} {yes}");
        }
    }
}
