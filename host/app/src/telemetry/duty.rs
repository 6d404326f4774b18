//! A call that the host makes outside a turn, as a span: triage, the classifier, a card, a reading back.
//!
//! A duty has no event that says it ended. A try of one has when the last of what the gate owes of it stands: its no, or
//! its receipt, the end of its hold, what became of its effect. What is learned of that effect later is another duty's.
//! One that is made for an event of a turn is a span of that turn's trace, below the turn; any other is a trace itself.

use super::span::{
    Attributes, Kind, Money, NAME_CHARS_MAX, Span, decision, id, marked, model, money, of_attempt, origin,
    provider, root_id, trace_id, usage,
};
use anyhow::Result;
use event::{Event, EventId, Fact, Origin, Position, TurnId};
use record::Record;

/// Events of one call that are read: far more than the tries of a duty leave.
const STORY_EVENTS_MAX: usize = 500;
/// How the streams of calls begin.
const CALLS: &str = "call-";

/// Whether `event` may be the last that a try of a call leaves.
pub(super) fn may_close(event: &Event) -> bool {
    let closes = matches!(
        event.fact,
        Fact::CallDenied(_)
            | Fact::CallRefused(_)
            | Fact::ReceiptRecorded(_)
            | Fact::HoldSettled(_)
            | Fact::HoldReleased(_)
            | Fact::HoldLeftUnknown(_)
            | Fact::EffectSent(_)
            | Fact::EffectFailed(_)
            | Fact::EffectLeftUnknown(_)
            | Fact::EffectCaptured(_)
    );
    closes && event.stream.as_str().starts_with(CALLS)
}

/// The trace and the span of the try of a duty that ended with `closing`; nothing when that is no duty's, or not its
/// last.
///
/// # Errors
/// When the record cannot be read.
pub(super) async fn span(record: &Record, closing: &Event) -> Result<Option<([u8; 16], Span)>> {
    let story = record.read_stream(&closing.stream, Position(1), STORY_EVENTS_MAX).await?;
    let mut of = None;
    for event in &story {
        of = origin(&event.fact).or(of);
        if event.id == closing.id {
            break;
        }
    }
    let Some(Origin::Duty { event: made_for, kind, attempt }) = of else { return Ok(None) };
    let learned_later =
        |event: &&Event| matches!(event.fact, Fact::EffectRecalled(_) | Fact::EffectStated(_));
    let tried = of_attempt(&story, *attempt);
    let tried: Vec<&Event> = tried.into_iter().take_while(|event| !learned_later(event)).collect();
    let last = tried.iter().rev().find(|event| may_close(event));
    let (Some(first), Some(last)) = (tried.first(), last.filter(|last| last.id == closing.id)) else {
        return Ok(None);
    };
    let turn = turn_of(record, made_for).await?;
    let deed = Origin::Duty { event: made_for.clone(), kind: kind.clone(), attempt: *attempt }.deed();
    let trace = turn.as_ref().map_or_else(|| id(&["trace", &deed]), trace_id);
    let (name, side, mut attributes) = called(&tried);
    let kind: String = kind.chars().take(NAME_CHARS_MAX).collect();
    attributes.extend([("chancery.duty", kind.into()), ("chancery.step.attempt", (*attempt).into())]);
    attributes.extend(first.actor.seat.as_ref().map(|seat| ("gen_ai.agent.name", seat.as_str().into())));
    attributes.extend(money([tried.iter().fold(Money::default(), |money, event| money.and(&event.fact))]));
    let decision = decision(&tried, &mut attributes);
    let error = error(&tried, decision);
    attributes.extend(error.map(|error| ("error.type", error.into())));
    let span = Span {
        id: id(&["duty", &deed, &attempt.to_string()]),
        parent: turn.as_ref().map(root_id),
        name,
        kind: side,
        began: first.at,
        ended: last.at,
        attributes,
        marked: tried.iter().map(|event| marked(event)).collect(),
        is_error: error.is_some(),
    };
    Ok(Some((trace, span)))
}

/// What was called, in the words of the conventions.
fn called(tried: &[&Event]) -> (String, Kind, Attributes) {
    let tool = tried.iter().find_map(|event| match &event.fact {
        Fact::CallAdmitted(body) => Some(&body.tool),
        Fact::CallDenied(body) => Some(&body.tool),
        Fact::CallRefused(body) => Some(&body.tool),
        _ => None,
    });
    let tool: String = tool.map(String::as_str).unwrap_or_default().chars().take(NAME_CHARS_MAX).collect();
    // A model is `plugin/name`; no tool has a slash.
    if !tool.contains('/') {
        let attributes = vec![
            ("gen_ai.operation.name", "execute_tool".into()),
            ("gen_ai.tool.name", tool.as_str().into()),
            ("gen_ai.tool.type", "function".into()),
        ];
        return (format!("execute_tool {tool}"), Kind::Internal, attributes);
    }
    let mut attributes: Attributes = vec![
        ("gen_ai.operation.name", "chat".into()),
        ("gen_ai.provider.name", provider(&tool).into()),
        ("gen_ai.request.model", model(&tool).into()),
    ];
    let used = tried.iter().find_map(|event| match &event.fact {
        Fact::HoldSettled(body) => Some(body.usage),
        _ => None,
    });
    attributes.extend(used.into_iter().flat_map(usage));
    (format!("chat {}", model(&tool)), Kind::Client, attributes)
}

/// Why it is an error, if it is one.
fn error(tried: &[&Event], decision: Option<&'static str>) -> Option<&'static str> {
    if let Some(no @ ("denied" | "refused")) = decision {
        return Some(no);
    }
    tried.iter().find_map(|event| match &event.fact {
        Fact::EffectFailed(_) => Some("failed"),
        Fact::EffectLeftUnknown(_) | Fact::HoldLeftUnknown(_) => Some("unknown"),
        _ => None,
    })
}

/// The turn that an event is of.
async fn turn_of(record: &Record, event: &EventId) -> Result<Option<TurnId>> {
    let Some(event) = record.event(event).await? else { return Ok(None) };
    let own = match &event.fact {
        Fact::TurnOpened(body) => Some(&body.turn),
        Fact::TurnEnded(body) => Some(&body.turn),
        Fact::TurnSteered(body) => Some(&body.turn),
        Fact::StepStarted(body) => Some(&body.turn),
        Fact::StepEnded(body) => Some(&body.turn),
        fact => origin(fact).and_then(Origin::turn),
    };
    if own.is_some() || !event.stream.as_str().starts_with(CALLS) {
        return Ok(own.cloned());
    }
    // What became of a call does not say whose call it was; what stands before it on its stream does.
    let story = record.read_stream(&event.stream, Position(1), STORY_EVENTS_MAX).await?;
    Ok(story.iter().find_map(|event| origin(&event.fact).and_then(Origin::turn)).cloned())
}
