//! Turns: which stand open, and, from a turn's own events, what a replay returns and where it goes on.

use crate::projection::{Projection, Row, taken};
use event::{
    ApprovalId, Event, Fact, FinishAccepted, InboxDrained, SeatId, Steering, StepEnded, StepStarted,
    Timestamp, Topic, TurnEnded, TurnEnding, TurnId, TurnOpened,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One turn, shortly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRow {
    /// The turn.
    pub turn: TurnId,
    /// Whose.
    pub seat: SeatId,
    /// About what.
    pub topic: Topic,
    /// When it began.
    pub opened_at: Timestamp,
    /// How it ended, when it has.
    pub ending: Option<TurnEnding>,
    /// The approvals it waits for: nobody runs it until each is answered.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub waits_for: BTreeSet<ApprovalId>,
}

/// The rows under a turn's id, ranked by when they began while somebody should run them: open, and waiting for
/// no person. Holds [`TurnRow`]s.
pub struct Turns;

impl Projection for Turns {
    fn name(&self) -> &'static str {
        "turn"
    }

    fn keys(&self, event: &Event) -> Vec<String> {
        match &event.fact {
            Fact::TurnOpened(body) => vec![body.turn.as_str().to_owned()],
            Fact::TurnEnded(body) => vec![body.turn.as_str().to_owned()],
            Fact::TurnSteered(body) if interrupts(body.steering) => vec![body.turn.as_str().to_owned()],
            fact => waited(fact).map(|(turn, _, _)| turn.as_str().to_owned()).into_iter().collect(),
        }
    }

    fn evolve(&self, _key: &str, row: Option<Row>, event: &Event) -> Option<Row> {
        let row = match &event.fact {
            Fact::TurnOpened(body) => TurnRow {
                turn: body.turn.clone(),
                seat: body.seat.clone(),
                topic: body.topic.clone(),
                opened_at: event.at,
                ending: None,
                waits_for: BTreeSet::new(),
            },
            Fact::TurnEnded(body) => TurnRow { ending: Some(body.ending), ..taken(row)? },
            // It waits no more: it is run, takes up what was said, and goes on or ends.
            Fact::TurnSteered(_) => TurnRow { waits_for: BTreeSet::new(), ..taken(row)? },
            fact => {
                let Some((_, approval, asked)) = waited(fact) else { return row };
                let mut row: TurnRow = taken(row)?;
                if asked {
                    row.waits_for.insert(approval.clone());
                } else {
                    row.waits_for.remove(approval);
                }
                row
            }
        };
        let runs = row.ending.is_none() && row.waits_for.is_empty();
        let rank = runs.then_some(row.opened_at.0);
        Some(Row::of(&row, rank))
    }
}

/// Whether such a message ends the waiting for a person's yes.
fn interrupts(steering: Steering) -> bool {
    matches!(steering, Steering::Replace | Steering::Stop)
}

/// The turn a fact about an approval concerns, the approval, and whether it waits from now on.
fn waited(fact: &Fact) -> Option<(&TurnId, &ApprovalId, bool)> {
    let (origin, approval, asked) = match fact {
        Fact::ApprovalAsked(body) => (&body.origin, &body.approval, true),
        Fact::ApprovalGiven(body) => (&body.origin, &body.approval, false),
        Fact::ApprovalDenied(body) => (&body.origin, &body.approval, false),
        Fact::ApprovalExpired(body) => (&body.origin, &body.approval, false),
        _ => return None,
    };
    origin.turn().map(|turn| (turn, approval, asked))
}

/// The longest time between two events of a turn that counts as its work, in milliseconds: no call takes longer, so
/// what is longer is a clock that was set forward.
pub const GAP_MS_MAX: u64 = 120_000;

/// What one step has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct StepState {
    /// The newest try.
    pub started: StepStarted,
    /// Its end, when it has one.
    pub ended: Option<StepEnded>,
}

/// A turn as its own events tell it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnState {
    /// How it began.
    pub opened: Option<TurnOpened>,
    /// Its steps by number.
    pub steps: BTreeMap<u32, StepState>,
    /// What it took up of its inbox, in order.
    pub drains: Vec<InboxDrained>,
    /// The finish that stands, once one does.
    pub accepted: Option<FinishAccepted>,
    /// How long it has worked, in milliseconds.
    pub active_ms: u64,
    /// When its newest event happened.
    pub newest_at: Option<Timestamp>,
    /// How it ended, when it has.
    pub ended: Option<TurnEnded>,
}

impl TurnState {
    /// Folds a turn's stream.
    #[must_use]
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut state = Self::default();
        for event in events {
            state.happened(event);
        }
        state
    }

    /// The state after one more event, with the time it took.
    pub fn happened(&mut self, event: &Event) {
        self.passed(event);
        self.evolve(&event.fact);
    }

    /// The time that an event took whose fact is counted in already: it was known before it was written.
    pub fn passed(&mut self, event: &Event) {
        let gap_ms = self.newest_at.map_or(0, |newest| event.at.since_ms(newest));
        // A step that begins again was waited for: a person's yes, or another host.
        let waited = matches!(&event.fact, Fact::StepStarted(body) if body.attempt > 1);
        if !waited {
            let worked_ms = u64::try_from(gap_ms).unwrap_or(0).min(GAP_MS_MAX);
            self.active_ms = self.active_ms.saturating_add(worked_ms);
        }
        self.newest_at = Some(event.at);
    }

    /// How long it has worked by `now`, when it has worked on since its newest event.
    #[must_use]
    pub fn active_ms_at(&self, now: Timestamp) -> u64 {
        let gap_ms = self.newest_at.map_or(0, |newest| now.since_ms(newest));
        self.active_ms.saturating_add(u64::try_from(gap_ms).unwrap_or(0).min(GAP_MS_MAX))
    }

    /// How many messages of its inbox it has taken up.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.drains.last().map_or(0, |drained| drained.revision)
    }

    /// The state after one more fact.
    pub fn evolve(&mut self, fact: &Fact) {
        match fact {
            Fact::TurnOpened(body) => self.opened = Some(body.clone()),
            Fact::StepStarted(body) => {
                self.steps.insert(body.step, StepState { started: body.clone(), ended: None });
            }
            Fact::StepEnded(body) => {
                if let Some(step) = self.steps.get_mut(&body.step) {
                    step.ended = Some(body.clone());
                }
            }
            Fact::InboxDrained(body) => self.drains.push(body.clone()),
            Fact::FinishAccepted(body) => self.accepted = Some(body.clone()),
            Fact::TurnEnded(body) => self.ended = Some(body.clone()),
            _ => {}
        }
    }

    /// The try that comes next for `step`: one after the newest, 1 when there was none.
    #[must_use]
    pub fn next_attempt(&self, step: u32) -> u32 {
        self.steps.get(&step).map_or(1, |s| s.started.attempt.saturating_add(1))
    }
}
