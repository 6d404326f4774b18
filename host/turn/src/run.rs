//! The loop: take up what people said, decide, record, pass the gate, record, again.
//!
//! A step is recorded as it starts and as it ends, under the lease. Between the two stands the gate's own
//! account of the call. The end of one and the start of the next are one commit, with what the gate says of both. A run that stops anywhere is taken up by calling [`run`] again.

use crate::act::{Moment, Planned, Stepped};
use crate::context::{Context, label};
use crate::door::Door;
use crate::erased::{WHY, is_erased};
use crate::error::Error;
use crate::inbox::{Unread, unread};
use crate::next::{End, Next, next};
use crate::pace::ATTEMPTS_MAX;
use crate::parts::TurnParts;
use crate::scene::Scene;
use crate::stream::{Said, TurnStream};
use crate::trail::Trail;
use event::{
    ApprovalId, EventId, Expected, FinishAccepted, Label, MomentSet, Personal, PrincipalId, Proposed,
    ReceiptId, StreamName, Timestamp, TurnEnded, TurnEnding, TurnId, TurnOpened,
};
use record::{Append, Fence};
use std::collections::BTreeSet;

/// How far a run of a turn came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// To its end.
    Ended(TurnEnding),
    /// To a call that waits for a person's yes. The step has no end; once somebody has answered, the turn goes on
    /// with it as its next attempt. Waiting costs no step and no lease.
    Waits(ApprovalId),
}

impl Ran {
    /// How the turn ended, when it has.
    #[must_use]
    pub fn ending(self) -> Option<TurnEnding> {
        match self {
            Self::Ended(ending) => Some(ending),
            Self::Waits(_) => None,
        }
    }
}

/// Runs `turn` to its end, or to a call that waits for a person, from wherever the record says it stands, under the lease that `fence` names. The
/// caller renews the lease meanwhile. A turn that has ended is not run again.
///
/// # Errors
/// [`Error::LeaseLost`] when another runs it; otherwise what stopped it, and the same turn can be run again.
pub async fn run<D: Door + ?Sized>(parts: &TurnParts<D>, turn: &TurnId, fence: Fence) -> Result<Ran, Error> {
    let mut stream = TurnStream::load(&parts.record, turn, fence, parts.files).await?;
    let opened = stream.state.opened.clone().ok_or_else(|| Error::NoTurn(turn.clone()))?;
    if let Some(ended) = &stream.state.ended {
        return Ok(Ran::Ended(ended.ending));
    }
    let scene = Scene::load(parts, &opened, &stream.state).await?;
    let running = Running { parts, opened: &opened, scene: &scene };
    match running.go_on(&mut stream).await {
        // Words of it were erased between two looks.
        Err(Error::Record(record::Error::Erased { .. })) => running.end_erased(&mut stream).await,
        other => other,
    }
}

/// What was decided.
struct Decided {
    next: Next,
    /// How the model is asked, when it is.
    planned: Option<Planned>,
    /// The label of everything read so far.
    label: Label,
    /// Steps that are left.
    left: u32,
}

/// A turn while this host runs it.
pub(crate) struct Running<'a, D: ?Sized> {
    pub parts: &'a TurnParts<D>,
    pub opened: &'a TurnOpened,
    pub scene: &'a Scene,
}

impl<D: Door + ?Sized> Running<'_, D> {
    /// The persons whose words the turn has been shown: what it writes down may repeat them.
    pub fn of(&self, stream: &TurnStream) -> BTreeSet<PrincipalId> {
        let ended = stream.state.steps.values().filter_map(|step| step.ended.as_ref());
        let shown = ended.flat_map(|ended| ended.output.subjects());
        let said = stream.taken_up.values().flat_map(|event| event.fact.personal());
        let said = said.flat_map(|(_, field)| field.subjects().clone());
        self.scene.of.iter().chain(shown).cloned().chain(said).collect()
    }

    /// Step by step, to its end or to a call that waits for a person.
    async fn go_on(&self, stream: &mut TurnStream) -> Result<Ran, Error> {
        // Ends because every pass ends a step or takes up news, of which an inbox holds so many and no more, and
        // `next` ends the turn when the steps are spent.
        loop {
            if is_erased(self.scene, &stream.state) {
                return self.end_erased(stream).await;
            }
            // Before the inbox is read, so that nothing that comes after is missed.
            let news = self.parts.record.news();
            let looked = std::mem::take(&mut stream.must_look);
            if looked {
                self.drain(stream).await?;
            }
            let Decided { next, planned, label, left } = self.decide(stream)?;
            let moment = Moment { unread: Unread::of(stream, left), news };
            let finishes = self.finishes(stream, &next)?;
            let stepped = match next {
                // A call begins only where nothing came in meanwhile; an end has to look.
                Next::End(_) if !looked && stream.state.accepted.is_none() => {
                    stream.must_look = true;
                    continue;
                }
                Next::End(_) if finishes && !self.accept(stream, moment.unread.clone()).await? => continue,
                Next::End(end) => return self.end(stream, end, label).await.map(Ran::Ended),
                Next::Infer(asking) => {
                    self.wait(stream, asking.wait_ms).await?;
                    self.pass(stream, Vec::new(), planned.into_iter().collect(), moment).await?
                }
                Next::Tools(wanted) => self.tools(stream, wanted, &label, moment).await?,
                Next::Send { step, tool, input, wait_ms } => {
                    self.wait(stream, wait_ms).await?;
                    let before = if finishes { vec![self.accepted(stream)?] } else { Vec::new() };
                    self.send(stream, before, (step, tool, input), label, moment).await?
                }
            };
            if let Stepped::Waits(approval) = stepped {
                tracing::info!(turn = %stream.turn, %approval, "turn waits for a person");
                return Ok(Ran::Waits(approval));
            }
        }
    }

    /// Waits; whatever there is to write is written before.
    async fn wait(&self, stream: &mut TurnStream, ms: u64) -> Result<(), Error> {
        if ms > 0 {
            stream.flush(Vec::new()).await?;
            self.parts.pace.wait(ms).await;
        }
        Ok(())
    }

    /// What the turn has come to, those steps counted in that are not written yet.
    pub(crate) fn trail<'b>(&'b self, stream: &'b TurnStream) -> Result<Trail<'b>, Error> {
        let mut trail = Trail::of(self.opened, &stream.state)?;
        trail.active_ms = stream.active_ms();
        Ok(trail)
    }

    /// Takes up what lies in the inbox. With no step left to read it with, it stays there and wakes the seat again; once
    /// the finish stands, nothing but a stop lies there.
    async fn drain(&self, stream: &mut TurnStream) -> Result<(), Error> {
        let row = stream.inbox().await?;
        let trail = self.trail(stream)?;
        let before = (trail.last.saturating_add(1), trail.left());
        let Some(drained) = unread(stream, row.as_ref(), before) else { return Ok(()) };
        tracing::debug!(turn = %stream.turn, messages = drained.items.len(), "taken up");
        let name = vec![drained.revision.to_string()];
        stream.say(&self.scene.actor, vec![(name, Label::host(), drained.into())]);
        stream.read_taken_up(self.parts.files).await
    }

    /// What comes next.
    fn decide(&self, stream: &TurnStream) -> Result<Decided, Error> {
        let trail = self.trail(stream)?;
        let next = match next(&trail, self.parts.is_progress) {
            Next::End(end) => Next::End(end),
            step if stream.state.next_attempt(trail.last.saturating_add(1)) > ATTEMPTS_MAX => given_up(&step),
            step => step,
        };
        let calling = matches!(next, Next::Tools(_));
        let label = label(self.scene, &trail, &stream.taken_up, calling);
        let planned = match &next {
            Next::Infer(asking) => Some(self.planned(stream, &trail, asking, label.clone())),
            _ => None,
        };
        Ok(Decided { next, planned, label, left: trail.left() })
    }

    /// Whether what comes next is what the model finished with, and no finish stands yet.
    fn finishes(&self, stream: &TurnStream, next: &Next) -> Result<bool, Error> {
        let ends = match next {
            Next::Send { .. } => true,
            Next::End(end) => matches!(end.ending, TurnEnding::Silent | TurnEnding::DeniedAgain),
            Next::Infer(_) | Next::Tools(_) => false,
        };
        if !ends || stream.state.accepted.is_some() {
            return Ok(false);
        }
        let trail = self.trail(stream)?;
        Ok(trail.refused.is_none() && trail.finish_step().is_some())
    }

    /// That the finish stands.
    fn accepted(&self, stream: &TurnStream) -> Result<Said, Error> {
        let step = self.trail(stream)?.finish_step().unwrap_or_default();
        let fact = FinishAccepted { turn: stream.turn.clone(), step, revision: stream.state.revision() };
        Ok((vec![step.to_string()], Label::host(), fact.into()))
    }

    /// Lets the finish stand, unless people said more meanwhile; says whether it does.
    async fn accept(&self, stream: &mut TurnStream, unread: Unread) -> Result<bool, Error> {
        let accepted = self.accepted(stream)?;
        stream.say_unless(&self.scene.actor, accepted, unread).await
    }

    /// What the model is shown, apart from its tools.
    pub fn context<'b>(&'b self, trail: &'b Trail<'b>, stream: &'b TurnStream) -> Context<'b> {
        Context {
            scene: self.scene,
            trail,
            taken_up: &stream.taken_up,
            files: self.parts.files.map(|files| (&stream.files, files)),
            readable: self.parts.readable,
            is_progress: self.parts.is_progress,
        }
    }

    async fn end(&self, stream: &mut TurnStream, end: End, label: Label) -> Result<TurnEnding, Error> {
        let End { ending, summary, sources, look_again_minutes } = end;
        let summary = Personal::of(summary, self.of(stream));
        let look_again = look_again_minutes.and_then(|minutes| self.look_again(stream, minutes));
        self.end_as(stream, (ending, summary, sources), label, look_again).await
    }

    /// The moment at which the seat looks again, counted from the end of the turn.
    fn look_again(&self, stream: &TurnStream, minutes: u64) -> Option<Append> {
        let ms = i64::try_from(minutes.saturating_mul(60_000)).ok()?;
        let (Timestamp(now), seat, topic) =
            (stream.now(), self.opened.seat.clone(), self.opened.topic.clone());
        let name = StreamName::new("moment", format!("{seat}|{topic}"));
        let event = Proposed {
            id: EventId::derived(&[stream.turn.as_str(), "moment.set"]),
            actor: self.scene.actor.clone(),
            cause: Some(stream.newest().clone()),
            label: Label::host(),
            fact: MomentSet { seat, topic, at: Timestamp(now.saturating_add(ms)) }.into(),
        };
        Some(Append::new(name, Expected::Any, vec![event]))
    }

    /// Ends it with a sentence of the office's own: there is nothing left that it could say.
    async fn end_erased(&self, stream: &mut TurnStream) -> Result<Ran, Error> {
        stream.forget_waiting().await?;
        let end = (TurnEnding::Failed, WHY.into(), Vec::new());
        self.end_as(stream, end, Label::host(), None).await.map(Ran::Ended)
    }

    async fn end_as(
        &self,
        stream: &mut TurnStream,
        (ending, summary, sources): (TurnEnding, Personal<String>, Vec<ReceiptId>),
        label: Label,
        look_again: Option<Append>,
    ) -> Result<TurnEnding, Error> {
        tracing::info!(turn = %stream.turn, ?ending, "turn ended");
        let (turn, topic) = (stream.turn.clone(), self.opened.topic.clone());
        let fact = TurnEnded { turn, topic, ending, summary, sources };
        stream.say(&self.scene.actor, vec![(Vec::new(), label, fact.into())]);
        stream.flush(look_again.into_iter().collect()).await?;
        Ok(ending)
    }
}

/// A step that was begun again and again and never ended takes the host down with it, or is taken down by it.
fn given_up(step: &Next) -> Next {
    let what = match step {
        Next::Infer(_) => "asking the model",
        Next::Tools(_) => "a call of a tool",
        Next::Send { .. } | Next::End(_) => "the send of the answer",
    };
    Next::End(End {
        ending: TurnEnding::Failed,
        summary: format!("{what} was begun {ATTEMPTS_MAX} times and never ended"),
        sources: Vec::new(),
        look_again_minutes: None,
    })
}
