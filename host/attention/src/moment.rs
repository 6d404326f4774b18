//! What has come due: the head of the next-moment queue, turned into facts.
//!
//! Two hosts may do it at once: each decision looks at the queue in its own transaction, so a moment comes once.

use event::{
    Actor, EffectFailed, EffectId, EffectLeftUnknown, Event, EventId, Expected, Fact, Label, MomentPassed,
    PrincipalId, Proposed, StreamName, Timestamp,
};
use fold::approval::{ApprovalRow, Approvals};
use fold::effect::{EffectRow, EffectState, Effects};
use fold::moment::{Due, MomentRow, Moments, approval_key, effect_key, look_key, renewal_key, request_key};
use fold::request::{Command, RequestRow, Requests};
use fold::{Projection, Row, decode};
use record::{Append, Decided, Record, RowKey, Rows};

/// Moments looked at in one go: the rest comes with the next look, a fraction of a second later.
pub const MOMENTS_MAX: usize = 256;

/// Lets everything happen whose moment is not after `now`. Returns how much that was.
///
/// # Errors
/// Whatever the record answers; what has happened by then stands.
pub async fn pass_moments(record: &Record, now: Timestamp) -> Result<usize, record::Error> {
    let queue = record.ranked(Moments.name(), i64::MIN, MOMENTS_MAX).await?;
    let mut passed = 0;
    for (key, row) in due(queue, now) {
        passed += usize::from(!pass(record, key, row, now).await?.is_empty());
    }
    Ok(passed)
}

/// The effects that are to be read back now, longest due first: a call is wanted for each, so whoever has the gate
/// makes it. They stay in the queue until what came of it is on the record.
///
/// # Errors
/// Whatever the record answers.
pub async fn recalls(record: &Record, now: Timestamp) -> Result<Vec<EffectId>, record::Error> {
    let queue = record.ranked(Moments.name(), i64::MIN, MOMENTS_MAX).await?;
    let effects = due(queue, now).filter_map(|(_, row)| match row.due {
        Due::Recall(effect) => Some(effect),
        _ => None,
    });
    Ok(effects.collect())
}

/// The workspaces whose token is to be exchanged now, longest due first, as service and workspace. They stay in the queue
/// until the next token is there.
///
/// # Errors
/// Whatever the record answers.
pub async fn renewals(record: &Record, now: Timestamp) -> Result<Vec<(String, String)>, record::Error> {
    let queue = record.ranked(Moments.name(), i64::MIN, MOMENTS_MAX).await?;
    let workspaces = due(queue, now).filter_map(|(_, row)| match row.due {
        Due::Renewal { source, team } => Some((source, team)),
        _ => None,
    });
    Ok(workspaces.collect())
}

/// When to look again: the first moment that has not come, if there is one.
///
/// # Errors
/// Whatever the record answers.
pub async fn next_moment(record: &Record) -> Result<Option<Timestamp>, record::Error> {
    let head = record.ranked(Moments.name(), i64::MIN, 1).await?;
    Ok(head.first().and_then(|(_, row)| decode::<MomentRow>(Some(row))).map(|row| row.at))
}

fn due(queue: Vec<(String, Row)>, now: Timestamp) -> impl Iterator<Item = (String, MomentRow)> {
    let rows = queue.into_iter().filter_map(|(key, row)| Some((key, decode::<MomentRow>(Some(&row))?)));
    rows.take_while(move |(_, row)| row.at <= now)
}

async fn pass(
    record: &Record,
    key: String,
    seen: MomentRow,
    now: Timestamp,
) -> Result<Vec<Event>, record::Error> {
    let mut reads = vec![RowKey::new(Moments.name(), &key)];
    match &seen.due {
        Due::Request(request) => reads.push(RowKey::new(Requests.name(), request.as_str())),
        Due::Approval(approval) => reads.push(RowKey::new(Approvals.name(), approval.as_str())),
        Due::Outcome(effect) => reads.push(RowKey::new(Effects.name(), effect.as_str())),
        Due::Recall(_) | Due::Renewal { .. } => return Ok(Vec::new()),
        Due::Look { .. } => {}
    }
    let decided = record
        .decide(reads, move |rows, _| {
            // Another host may have done it, or a later moment may have taken its place.
            let stands: Option<MomentRow> = rows.state(Moments.name(), &key);
            let append = if stands.as_ref() == Some(&seen) { happening(&seen, rows, now) } else { None };
            Ok::<_, std::convert::Infallible>((append.into_iter().collect(), ()))
        })
        .await?;
    match decided {
        Decided::Appended { events, .. } => Ok(events),
        Decided::Rejected(never) => match never {},
    }
}

fn happening(row: &MomentRow, rows: &Rows, now: Timestamp) -> Option<Append> {
    let (stream, fact, cause): (StreamName, Fact, Option<EventId>) = match &row.due {
        Due::Request(request) => {
            let state: Option<RequestRow> = rows.state(Requests.name(), request.as_str());
            let fact = fold::request::decide(state.as_ref(), Command::Lapse, now).ok()?;
            (StreamName::new("request", request), fact, None)
        }
        Due::Approval(approval) => {
            let state: Option<ApprovalRow> = rows.state(Approvals.name(), approval.as_str());
            let fact = fold::approval::decide(state.as_ref(), fold::approval::Command::Expire, now).ok()?;
            let asked = state?;
            (fold::approval::stream(&asked.origin), fact, Some(asked.asked_as))
        }
        Due::Outcome(effect) => {
            let state: Option<EffectRow> = rows.state(Effects.name(), effect.as_str());
            let state = state.filter(|state| state.state == EffectState::Intended)?;
            let effect = effect.clone();
            let fact = if state.inside {
                let reason = "whoever meant it was gone before it was kept".to_owned();
                EffectFailed { effect, reason: reason.into() }.into()
            } else {
                let reason = "it was intended, and nobody wrote down what came of it".to_owned();
                EffectLeftUnknown { effect, reason: reason.into() }.into()
            };
            (fold::effect::stream(&state.origin), fact, state.intended_as)
        }
        Due::Recall(_) | Due::Renewal { .. } => return None,
        Due::Look { seat, topic, set_by } => {
            let passed =
                MomentPassed { seat: seat.clone(), topic: topic.clone(), at: row.at, set_by: set_by.clone() };
            (StreamName::new("moment", format!("{seat}|{topic}")), passed.into(), Some(set_by.clone()))
        }
    };
    let named = match &row.due {
        Due::Request(request) => request_key(request),
        Due::Approval(approval) => approval_key(approval),
        Due::Outcome(effect) | Due::Recall(effect) => format!("{}|{}", effect_key(effect), row.at.0),
        Due::Renewal { source, team } => format!("{}|{}", renewal_key(source, team), row.at.0),
        Due::Look { seat, topic, set_by } => format!("{}|{set_by}", look_key(seat, topic)),
    };
    let event = Proposed {
        id: EventId::derived(&["moment", &named]),
        actor: Actor { principal: PrincipalId::host(), seat: None },
        cause,
        label: Label::host(),
        fact,
    };
    Some(Append { stream, expected: Expected::Any, events: vec![event], fence: None })
}
