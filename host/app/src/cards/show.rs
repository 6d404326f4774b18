//! The card of a call, where it is about to be answered, and the same card once it was decided.

use super::Desk;
use super::duty::{Duty, done, told};
use crate::show::printable_json;
use anyhow::Result;
use converse::card;
use event::{
    ApprovalAsked, ApprovalId, Audience, EffectRecalled, Event, Fact, Label, Origin, Position, PrincipalId,
    ReplyTo, TurnId, personal::ERASED,
};
use fold::approval::ApprovalState;
use serde_json::Value;
use std::collections::BTreeSet;

/// What a card is to the gate: the kind of the duty that shows or changes it.
pub(super) const CARD: &str = "card";
/// What stands in place of the arguments on a private card that was answered.
const GONE: &str = "(no longer shown; `chancery approval show` has it)";
/// Events of one call's stream that are read: a try leaves about four.
const STORY_EVENTS_MAX: usize = 256;

/// The exact arguments of a call as JSON text, of which nothing steers whoever shows it.
#[must_use]
pub fn arguments(asked: &ApprovalAsked) -> String {
    let Some(input) = asked.input.value() else { return ERASED.to_owned() };
    let text = serde_json::to_string_pretty(input).unwrap_or_default();
    // A pretty-printed JSON text has line ends of its own making only.
    text.lines().map(printable_json).collect::<Vec<_>>().join("\n")
}

/// Shows the card of a call that waits, in the thread that its turn answers; to the one person who may answer, alone,
/// where it would tell others what is theirs.
pub(super) async fn card(desk: &Desk<'_>, event: &Event, asked: &ApprovalAsked) -> Result<()> {
    let Some(row) = desk.office.gate.approval(&asked.approval).await? else { return Ok(()) };
    // It was decided elsewhere meanwhile, or its words are gone: nothing is left to be shown.
    let waits = row.state == ApprovalState::Asked && row.expires_at > desk.office.now();
    let Some(turn) = asked.origin.turn().filter(|_| waits && asked.input.value().is_some()) else {
        return Ok(());
    };
    let place = match &asked.discloses {
        Some(owner) => card::direct(owner).map(|alone| (alone, None)),
        None => in_thread(desk, turn).await?,
    };
    let Some((destination, mention)) = place else { return Ok(()) };
    let mention: Vec<String> = mention.into_iter().collect();
    let input = card::asking(asked, &arguments(asked), &destination, &mention);
    done(desk, duty(event, event, asked, card::TOOL_CARD, input)).await
}

/// The thread that a turn answers in Slack, and whom a card mentions there.
async fn in_thread(desk: &Desk<'_>, turn: &TurnId) -> Result<Option<(Value, Option<String>)>> {
    let Some(reply_to) = reply_to(desk, turn).await? else { return Ok(None) };
    let Some(destination) = card::destination(&reply_to) else { return Ok(None) };
    Ok(Some((destination, owner(desk, &reply_to).await?)))
}

/// Changes the card of a call that was decided, where there is one.
pub(super) async fn outcome(desk: &Desk<'_>, event: &Event, fact: &Fact) -> Result<()> {
    let Some(approval) = decided(fact) else { return Ok(()) };
    let Some(row) = desk.office.gate.approval(approval).await? else { return Ok(()) };
    let given_by = match (&row.state, fact) {
        // The call was made already: the card will say that instead.
        (ApprovalState::Spent { .. }, Fact::ApprovalGiven(_)) => return Ok(()),
        (ApprovalState::Spent { by }, _) => Some(by),
        _ => None,
    };
    let Some(state) = card::outcome(fact, given_by) else { return Ok(()) };
    let told = told(desk, &row.asked_as, CARD).await?;
    let at = |key: &str| told.sent.as_ref()?.get(key)?.as_str();
    let (Some(channel), Some(ts)) = (at("channel"), at("ts")) else { return Ok(()) };
    let Some(Event { fact: Fact::ApprovalAsked(asked), label, .. }) =
        desk.office.record.event(&row.asked_as).await?
    else {
        return Ok(());
    };
    let is_private = asked.discloses.is_some();
    let shown = if is_private { GONE.to_owned() } else { arguments(&asked) };
    let input = card::decided(&asked, &shown, channel, ts, &state);
    let input = card::where_it_was(input, told.input.as_ref());
    let by = match fact {
        Fact::ApprovalGiven(body) => Some(&body.by),
        Fact::ApprovalDenied(body) => Some(&body.by),
        _ => given_by,
    };
    let input = card::by_member(input, by);
    let mut duty = duty(event, event, &asked, card::TOOL_CARD_UPDATE, input);
    // Without the arguments nothing of it was read with anybody's account.
    duty.label = if is_private { Label::host() } else { label.join(&event.label) };
    if let Fact::ApprovalDenied(body) = fact
        && body.reason.value().is_some()
    {
        duty.of.extend(body.reason.subjects().iter().cloned());
    }
    done(desk, duty).await
}

/// Changes a card that was found when it was read back, if it was decided meanwhile.
pub(super) async fn recalled(desk: &Desk<'_>, recalled: &EffectRecalled) -> Result<()> {
    let Some(effect) = desk.office.gate.effect(&recalled.effect).await? else { return Ok(()) };
    let Origin::Duty { event, kind, .. } = &effect.origin else { return Ok(()) };
    if kind != CARD || effect.tool != card::TOOL_CARD {
        return Ok(());
    }
    let record = &desk.office.record;
    let Some(Event { fact: Fact::ApprovalAsked(asked), .. }) = record.event(event).await? else {
        return Ok(());
    };
    let stream = fold::approval::stream(&asked.origin);
    let story = record.read_stream(&stream, Position(1), STORY_EVENTS_MAX).await?;
    let last = story.iter().rev().find(|event| decided(&event.fact) == Some(&asked.approval));
    match last {
        Some(event) => outcome(desk, event, &event.fact).await,
        None => Ok(()),
    }
}

fn duty<'a>(
    event: &'a Event,
    labelled: &Event,
    asked: &ApprovalAsked,
    tool: &'static str,
    input: Value,
) -> Duty<'a> {
    Duty {
        event: &event.id,
        kind: CARD,
        tool,
        input,
        topic: asked.topic.clone(),
        label: labelled.label.clone(),
        of: words_of(asked),
    }
}

/// The persons whose words a card repeats: words that are erased are not repeated.
fn words_of(asked: &ApprovalAsked) -> BTreeSet<PrincipalId> {
    let mut of = BTreeSet::new();
    if asked.input.value().is_some() {
        of.extend(asked.input.subjects().iter().cloned());
    }
    for text in [&asked.resource, &asked.reason] {
        if text.value().is_some() {
            of.extend(text.subjects().iter().cloned());
        }
    }
    of
}

fn decided(fact: &Fact) -> Option<&ApprovalId> {
    match fact {
        Fact::ApprovalGiven(body) => Some(&body.approval),
        Fact::ApprovalDenied(body) => Some(&body.approval),
        Fact::ApprovalExpired(body) => Some(&body.approval),
        Fact::ApprovalSpent(body) => Some(&body.approval),
        _ => None,
    }
}

/// Where a turn answers.
pub(super) async fn reply_to(desk: &Desk<'_>, turn: &TurnId) -> Result<Option<ReplyTo>> {
    Ok(crate::live::opening(desk.office, turn).await?.and_then(|(_, body)| body.reply_to))
}

/// The owner as Slack names them, when they are a member of the workspace that is answered: whom a card asks.
pub(super) async fn owner(desk: &Desk<'_>, reply_to: &ReplyTo) -> Result<Option<String>> {
    let Audience::SlackChannel { team, .. } = &reply_to.audience else { return Ok(None) };
    let ours = format!("person_{}.{team}.", converse::SOURCE_SLACK);
    Ok(desk.office.config.owner()?.as_str().strip_prefix(&ours).map(str::to_owned))
}
