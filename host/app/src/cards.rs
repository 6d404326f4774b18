//! Cards in Slack: what waits for a person's yes, and what became of an effect that only a person can know, is shown in
//! the thread it is about; a click on it is an answer, and the card says what was answered. Beside it, what is left of a
//! turn when it has ended, and of a message when it broke off.
//!
//! Three followers of the record, each with a cursor of its own, so that a click never waits for Slack to take a card.
//! A host that works on one holds its lease meanwhile; whatever is done for an event bears being done again: a card
//! is one effect, and an answer that stands is not taken twice. So a host that is killed between two steps loses
//! nothing, and leaves at worst a card whose posting nobody knows the outcome of. That one is never posted again: it is
//! read back, and once it is found it is changed like any other.
//! Deliberately absent: who may answer, which the gate decides, and the look of a card, which is the plugin's.

mod answer;
mod connect;
mod duty;
mod finish;
mod lines;
mod show;
mod unknown;

pub use answer::Owner;
pub use show::arguments;

use crate::lease::renewed;
use crate::serve::{may_pass, news};
use crate::wire::Office;
use anyhow::Result;
use converse::Reason;
use event::{Event, Fact, GlobalPosition, ReadBack};
use record::Fence;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Events read in one go: bounds the memory of a step.
const EVENTS_MAX: usize = 256;
/// Events that concern nobody here after which the cursor is moved all the same: bounds what a start reads again.
const UNSAVED_MAX: u64 = 1_024;
/// How long to leave an event alone whose work another host does, or the record could not take, in milliseconds.
const AGAIN_MS: u64 = 1_000;

/// What a follower does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Shows cards and how they were decided.
    Cards,
    /// Takes clicks as answers.
    Answers,
    /// Takes lines of progress away, and tells what came of drills.
    Lines,
}

impl Work {
    /// The name of its cursor and its lease.
    fn name(self) -> &'static str {
        match self {
            Self::Cards => "cards",
            Self::Answers => "card-answers",
            Self::Lines => "lines",
        }
    }

    fn concerns(self, fact: &Fact) -> bool {
        match (self, fact) {
            (
                Self::Cards,
                Fact::ApprovalAsked(_)
                | Fact::ApprovalGiven(_)
                | Fact::ApprovalDenied(_)
                | Fact::ApprovalExpired(_)
                | Fact::ApprovalSpent(_),
            ) => true,
            // It may be a card, or a line, whose posting nobody knew the outcome of.
            (Self::Cards | Self::Lines, Fact::EffectRecalled(body)) => {
                matches!(body.said, ReadBack::Found { .. })
            }
            (Self::Cards, Fact::EffectSent(body)) => finish::broke_off(&body.reference),
            (Self::Cards, Fact::AccountWanted(_)) => true,
            (Self::Cards, Fact::RequestAsked(body)) => unknown::is_about_effect(body),
            (Self::Cards, Fact::EffectStated(_)) | (Self::Lines, Fact::TurnEnded(_)) => true,
            (Self::Answers, Fact::DeliveryClassified(body)) => [Reason::ApprovalAnswer, Reason::EffectAnswer]
                .iter()
                .any(|reason| body.reason == reason.word()),
            _ => false,
        }
    }
}

/// What one piece of work is done with.
struct Desk<'a> {
    office: &'a Office,
    /// The lease under which it is done.
    fence: Fence,
    stop: watch::Receiver<bool>,
}

/// Shows cards and takes clicks until `stop` says so; at once done where the office has no Slack.
///
/// # Errors
/// None: a card is no reason to stop an office. What goes wrong is logged and, where that can help, tried again.
pub async fn keep(office: Arc<Office>, stop: watch::Receiver<bool>) -> Result<()> {
    if office.config.slack.is_some() {
        tokio::join!(
            follow(&office, Work::Cards, stop.clone()),
            follow(&office, Work::Answers, stop.clone()),
            follow(&office, Work::Lines, stop)
        );
    }
    Ok(())
}

/// How far a follower has come.
#[derive(Default)]
struct Place {
    /// What it has read.
    read: GlobalPosition,
    /// What its cursor says.
    saved: GlobalPosition,
}

async fn follow(office: &Office, work: Work, mut stop: watch::Receiver<bool>) {
    let mut head = office.record.news();
    let mut place = Place::default();
    while news(&mut head, &mut stop).await {
        if let Err(error) = catch_up(office, work, &mut place, &stop).await {
            tracing::warn!(work = work.name(), error = format!("{error:#}"), "approval cards wait");
            pause(AGAIN_MS, &mut stop).await;
        }
    }
}

/// Waits, or less long when it is time to stop.
async fn pause(ms: u64, stop: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(ms)) => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// Goes past every event there is.
async fn catch_up(
    office: &Office,
    work: Work,
    place: &mut Place,
    stop: &watch::Receiver<bool>,
) -> Result<()> {
    if place.read == GlobalPosition::default() {
        place.read = office.record.cursor(work.name()).await?;
        place.saved = place.read;
    }
    while !*stop.borrow() {
        let events = office.record.read_all(place.read, EVENTS_MAX).await?;
        let Some(last) = events.last().map(|event| event.global_position) else { break };
        if let Some(first) = events.iter().find(|event| work.concerns(&event.fact)) {
            // What came before it concerns nobody.
            place.read = GlobalPosition(first.global_position.0.saturating_sub(1));
            under_lease(office, work, place, stop).await?;
        } else {
            place.read = last;
            if last.0.saturating_sub(place.saved.0) >= UNSAVED_MAX {
                office.record.set_cursor(work.name(), last).await?;
                place.saved = last;
            }
        }
    }
    Ok(())
}

/// Does the next piece of work, unless another host does it now or has done it.
async fn under_lease(
    office: &Office,
    work: Work,
    place: &mut Place,
    stop: &watch::Receiver<bool>,
) -> Result<()> {
    let ttl_ms = office.config.office.lease_ms;
    let Some(lease) = office.record.lease(work.name(), &office.node, ttl_ms).await? else {
        pause(AGAIN_MS, &mut stop.clone()).await;
        return Ok(());
    };
    let desk = Desk { office, fence: lease.fence(), stop: stop.clone() };
    let done = tokio::select! {
        done = next(&desk, work, place) => done,
        () = renewed(office, &lease, ttl_ms) => Ok(()),
    };
    if let Err(error) = office.record.release(lease).await {
        tracing::debug!(work = work.name(), %error, "the lease on cards ends by itself");
    }
    done
}

/// The first event behind the cursor that concerns this work, and what is done for it.
async fn next(desk: &Desk<'_>, work: Work, place: &mut Place) -> Result<()> {
    let record = &desk.office.record;
    // Another host may have come further before this one got the lease.
    let cursor = record.cursor(work.name()).await?;
    let after = if cursor > place.read { cursor } else { place.read };
    let events = record.read_all(after, EVENTS_MAX).await?;
    let Some(last) = events.last().map(|event| event.global_position) else {
        place.read = after;
        return Ok(());
    };
    let reached = match events.iter().find(|event| work.concerns(&event.fact)) {
        Some(event) => {
            if let Err(error) = handle(desk, work, event).await {
                if error.chain().any(|cause| cause.downcast_ref().is_some_and(passes)) {
                    return Err(error);
                }
                // Trying again would not help, and whatever comes behind it would wait for ever.
                tracing::error!(event = %event.id, error = format!("{error:#}"), "an approval card is left as it is");
            }
            event.global_position
        }
        None => last,
    };
    record.set_cursor(work.name(), reached).await?;
    *place = Place { read: reached, saved: reached };
    Ok(())
}

/// Whether the same may work later, here or at another host.
fn passes(error: &record::Error) -> bool {
    may_pass(error) || matches!(error, record::Error::LeaseLost { .. })
}

async fn handle(desk: &Desk<'_>, work: Work, event: &Event) -> Result<()> {
    match (work, &event.fact) {
        (Work::Answers, Fact::DeliveryClassified(body)) => answer::click(desk, event, body).await,
        (Work::Cards, Fact::ApprovalAsked(asked)) => show::card(desk, event, asked).await,
        (Work::Cards, Fact::EffectRecalled(body)) => show::recalled(desk, body).await,
        (Work::Cards, Fact::EffectSent(body)) => {
            finish::completed(desk, event, (&body.effect, &body.reference)).await
        }
        (Work::Cards, Fact::AccountWanted(body)) => connect::wanted(desk, event, body).await,
        (Work::Cards, Fact::RequestAsked(body)) => unknown::ask(desk, event, body).await,
        (Work::Cards, Fact::EffectStated(body)) => unknown::stated(desk, event, body).await,
        (Work::Cards, fact) => show::outcome(desk, event, fact).await,
        (Work::Lines, Fact::TurnEnded(body)) => lines::ended(desk, event, body).await,
        (Work::Lines, Fact::EffectRecalled(body)) => lines::recalled(desk, event, body).await,
        (Work::Answers | Work::Lines, _) => Ok(()),
    }
}
