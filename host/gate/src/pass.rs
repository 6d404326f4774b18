//! The acting half: ask the pure half, hold, record the intent, reach, and write down what came of it.
//!
//! Every call leaves its story on one stream, `call-<deed>`: admitted or not, the hold, the intent, the
//! outcome, the receipts. Whatever is intended and has no outcome is unknown, and is never tried again blind.

use crate::admit::{Facts, rest, subjects, weigh};
use crate::approval::ApprovalTimes;
use crate::begin::{Beginning, Begun, NotBegun};
use crate::call::Call;
use crate::catalogue::{Catalogue, EffectClass};
use crate::classify::Classifier;
use crate::deltas::Deltas;
use crate::effect::captured;
use crate::entities::LINE_SEATS_MAX;
use crate::guard::{self, Guards};
use crate::in_force::Kept;
use crate::outcome::{earlier_label, held_outcome, is_known, source_label};
use crate::permit::{Admission, Permit};
use crate::policy::PolicyError;
use crate::purse::{Moments, accounts_of};
use crate::reach::{Failure, Output, Reach, Reached};
use crate::story::Story;
use crate::verdict::{Denial, Refusal, Verdict};
use event::{ApprovalId, DeniedBy, Label, ReceiptId, SeatCreated, Timestamp};
use fold::setting;
use record::{Append, Clock, Decided, Record};
use std::sync::{Arc, RwLock};

/// How often an outcome is written again when the record does not take it: losing one would leave an effect
/// unknown that is known here.
const SETTLE_TRIES_MAX: u32 = 5;
/// How long to wait between those tries.
const SETTLE_WAIT_MS: u64 = 200;

/// How often a call that is about to begin looks its budgets up again: they change, or another day begins, between a
/// look and the decision, which is rare once and next to impossible twice.
const BEGIN_TRIES_MAX: u32 = 4;

/// What may go wrong with the door itself. What goes wrong behind it is data in [`Passed`].
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The record did not take or give what was asked.
    #[error("the record could not be used by the gate")]
    Record(#[from] record::Error),
    /// There is no policy set in the record: nothing may be decided.
    #[error("no policy set is in force: `chancery serve` applies the one its configuration names")]
    NoPolicy,
    /// The record's policy set does not load beside the installed plugins.
    #[error("the policy set in force does not load")]
    Policy(#[source] PolicyError),
    /// There is no budget: an office without a purse does not start.
    #[error("no budget is set: give the office at least a budget for the day in `[purse]`")]
    NoPurse,
    /// The record moved on each time the call was about to begin.
    #[error("the budgets of the call changed {BEGIN_TRIES_MAX} times while it was about to begin: try again")]
    MovedOn,
}

/// What a gate is made of.
pub struct GateParts {
    /// The one history.
    pub record: Record,
    /// What can be called.
    pub catalogue: Arc<dyn Catalogue>,
    /// The guards that are asked about a call.
    pub guards: Arc<dyn Guards>,
    /// What runs a component.
    pub reach: Arc<dyn Reach>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// How many times the worst case is held.
    pub headroom: u64,
    /// How long a call waits for a person's yes.
    pub approvals: ApprovalTimes,
    /// Whether every effect is captured and none is sent, whatever its call says.
    pub drill: bool,
}

/// The one door.
pub struct Gate {
    pub(crate) parts: GateParts,
    pub(crate) kept: RwLock<Option<Kept>>,
    pub(crate) moments: Moments,
    /// Who judges the calls of tools that declare no effect class.
    pub(crate) classifier: Option<Classifier>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Passed {
    /// It was made and gave this.
    Done {
        /// What the component gave back.
        output: Output,
        /// The label of what it gave back.
        label: Label,
        /// What was read on the way.
        receipts: Vec<ReceiptId>,
    },
    /// It was tried and did not work.
    Failed {
        /// Why, as data.
        failure: Failure,
        /// What was read on the way.
        receipts: Vec<ReceiptId>,
    },
    /// Not this call.
    Denied(Denial),
    /// A standing no.
    Refused(Refusal),
    /// It waits for a person's yes: pass it again once somebody has answered. Nothing was held or intended.
    Waits {
        /// What was asked.
        approval: ApprovalId,
        /// When no answer becomes a no.
        expires_at: Timestamp,
    },
    /// An effect whose outcome nobody knows; trying again could do it twice.
    Unknown {
        /// Why it is not known.
        reason: String,
    },
}

impl Gate {
    /// A gate over these parts.
    ///
    /// # Errors
    /// [`GateError::NoPurse`] when there is no budget; [`GateError::NoPolicy`] and [`GateError::Policy`] when
    /// the record has no policy set that loads.
    pub async fn new(parts: GateParts) -> Result<Self, GateError> {
        let (kept, moments) = (RwLock::new(None), Moments::default());
        let gate = Self { parts, kept, moments, classifier: None };
        gate.has_purse().await?;
        let (head, _) = gate.parts.record.head().await?;
        gate.parts.record.events_at(&[head]).await?.iter().for_each(|event| gate.moments.saw(event.at));
        gate.policy().await?;
        Ok(gate)
    }

    /// What can be called.
    #[must_use]
    pub fn catalogue(&self) -> &Arc<dyn Catalogue> {
        &self.parts.catalogue
    }

    /// Makes `call`, if it may be made, and writes down what came of it.
    ///
    /// # Errors
    /// [`GateError`] when the record cannot be used or no policy is in force. A no and a failure are no errors.
    pub async fn pass(&self, call: Call, deltas: Option<Arc<dyn Deltas>>) -> Result<Passed, GateError> {
        let story = Story::of(&call);
        // What nobody holds any more must not stand in this call's way.
        self.clear_holds().await?;
        match self.verdict(&call, &story).await? {
            Verdict::Denied(denial) => {
                self.tell(&call, story.denied(&denial)).await?;
                Ok(Passed::Denied(denial))
            }
            Verdict::Refused(refusal) => {
                self.tell(&call, story.refused(&refusal)).await?;
                Ok(Passed::Refused(refusal))
            }
            Verdict::Asks(asking) => self.ask_person(&call, asking, &story).await,
            Verdict::Admitted(admission) => self.act(call, admission, deltas, &story).await,
        }
    }

    /// What the pure half and the guards say to `call` now. Reads, writes nothing, calls no model.
    ///
    /// # Errors
    /// As [`Gate::pass`].
    pub async fn ask(&self, call: &Call) -> Result<Verdict, GateError> {
        self.ask_as(call, None).await
    }

    /// The same for a call that is taken to be of `class` where its tool declares none; of what it was judged to be when
    /// nothing is said.
    pub(crate) async fn ask_as(&self, call: &Call, class: Option<EffectClass>) -> Result<Verdict, GateError> {
        let at = self.now();
        let looked = self.look(call, at).await?;
        let line: Vec<&SeatCreated> = looked.line.iter().collect();
        let said_no = self.said_no(looked.approval.as_ref()).await?;
        let facts = Facts {
            seat: looked.seat.as_ref(),
            line: &line,
            catalogue: self.parts.catalogue.as_ref(),
            policy: &looked.policy,
            no_grant: looked.no_grant.as_deref(),
            prices: looked.prices.as_ref(),
            refusals: &looked.refusals,
            approval: looked.approval.as_ref(),
            own: &looked.own,
            ahead: looked.ahead.as_ref(),
            class: class.or(looked.class),
            said_no: said_no.as_deref(),
            budgets: &looked.budgets,
            headroom: self.parts.headroom,
            at,
        };
        let weighed = match weigh(call, &facts) {
            Ok(weighed) => weighed,
            Err(no) => return Ok(*no),
        };
        let guards = guard::no_to(self.parts.guards.as_ref(), &weighed.guarded(call, &facts)).await;
        Ok(rest(call, &facts, weighed, guards))
    }

    async fn act(
        &self,
        call: Call,
        admission: Admission,
        deltas: Option<Arc<dyn Deltas>>,
        story: &Story,
    ) -> Result<Passed, GateError> {
        let begun = match self.begin(&call, &admission, story).await? {
            Ok(begun) => begun,
            Err(NotBegun::Refused(refusal)) => {
                self.tell(&call, story.refused(&refusal)).await?;
                return Ok(Passed::Refused(refusal));
            }
            Err(NotBegun::Denied(reason)) => {
                let denial = Denial {
                    by: DeniedBy::Approval,
                    resource: admission.resource.text().to_owned(),
                    policies: Vec::new(),
                    policy_set: admission.policy_set.clone(),
                    reason,
                    quotes: None,
                    account: admission.account.clone(),
                    violates_flow: admission.violates_flow,
                };
                self.tell(&call, story.denied(&denial)).await?;
                return Ok(Passed::Denied(denial));
            }
            Err(NotBegun::AlreadySent(reference)) => {
                let label = earlier_label(&admission).join(&call.label);
                return Ok(Passed::Done { output: Output::Tool(reference), label, receipts: Vec::new() });
            }
            Err(NotBegun::Captured(effect)) => {
                let output = Output::Tool(captured(&effect));
                return Ok(Passed::Done { output, label: call.label.clone(), receipts: Vec::new() });
            }
            Err(NotBegun::OutcomeUnknown(reason)) => return Ok(Passed::Unknown { reason }),
            Err(NotBegun::MovedOn(_)) => return Err(GateError::MovedOn),
        };
        let permit = Permit {
            call: call.clone(),
            admission: admission.clone(),
            effect_id: begun.effect.clone(),
            at: begun.at,
            deltas,
        };
        let began = self.parts.clock.now();
        let reached = self.parts.reach.reach(permit).await;
        let lasted_ms = self.parts.clock.now().since_ms(began);
        self.settle(&call, &admission, &begun, (reached, lasted_ms), story).await
    }

    /// Takes the hold on every budget in play, or on none, and records the intent of an effect, in one commit.
    async fn begin(
        &self,
        call: &Call,
        admission: &Admission,
        story: &Story,
    ) -> Result<Result<Begun, NotBegun>, GateError> {
        let effect = self.effect_of(call, admission);
        let mut accounts = admission.hold.as_ref().map(|price| price.accounts.clone()).unwrap_or_default();
        for _ in 0..BEGIN_TRIES_MAX {
            let names = accounts.iter().map(|account| account.budget.clone()).collect();
            let beginning = Beginning {
                call: call.clone(),
                admission: admission.clone(),
                story: story.clone(),
                subjects: subjects(call, self.parts.catalogue.as_ref(), names),
                accounts,
                effect: effect.clone(),
                drill: self.parts.drill || call.drill,
            };
            let (record, foreseen) = (&self.parts.record, beginning.foreseen());
            let decided =
                record.decide_foreseen(foreseen, move |rows, at| beginning.decide(rows, at)).await?;
            match decided {
                Decided::Appended { value, .. } => {
                    value.iter().for_each(|begun| self.moments.saw(begun.at));
                    return Ok(value);
                }
                Decided::Rejected(NotBegun::MovedOn(at)) => {
                    self.moments.saw(at);
                    accounts = accounts_of(&self.in_play(call, at).await?);
                }
                Decided::Rejected(not_begun) => return Ok(Err(not_begun)),
            }
        }
        Err(GateError::MovedOn)
    }

    async fn settle(
        &self,
        call: &Call,
        admission: &Admission,
        begun: &Begun,
        (reached, lasted_ms): (Reached, i64),
        story: &Story,
    ) -> Result<Passed, GateError> {
        let receipts: Vec<ReceiptId> = (0..reached.readings.len()).map(|n| story.receipt_id(n)).collect();
        let mut facts = story.receipts(&reached.readings);
        let held = begun.hold.as_ref().map(|held| (held, held_outcome(held, call, &reached, lasted_ms)));
        let label = source_label(admission, &reached).join(&call.label);
        let outcome_known = is_known(&reached);
        let passed = match (&begun.effect, reached.outcome) {
            (None, Ok(Output::Unusable { failure, .. })) => Passed::Failed { failure, receipts },
            (None, Ok(output)) => Passed::Done { output, label, receipts },
            (None, Err(failure)) => Passed::Failed { failure, receipts },
            (Some(effect), Ok(output)) => {
                facts.push(story.effect_sent(effect, &output));
                Passed::Done { output, label, receipts }
            }
            (Some(effect), Err(failure)) if outcome_known => {
                facts.push(story.effect_failed(effect, &failure.message));
                Passed::Failed { failure, receipts }
            }
            (Some(effect), Err(failure)) => {
                let reason = format!("the request left, and then: {}", failure.message);
                facts.push(story.effect_unknown(effect, &reason));
                Passed::Unknown { reason }
            }
        };
        self.tell_outcome(call, story, facts, held).await?;
        Ok(passed)
    }

    /// Appends to the call's stream. What came of a call is too dear to lose to a busy disk: a few tries.
    pub(crate) async fn tell(
        &self,
        call: &Call,
        facts: impl Into<Vec<event::Proposed>>,
    ) -> Result<(), GateError> {
        let events: Vec<event::Proposed> = facts.into();
        if events.is_empty() {
            return Ok(());
        }
        let stream = Story::stream(&call.origin);
        let append = Append { stream, expected: event::Expected::Any, events, fence: call.fence.clone() };
        self.append_patiently(vec![append]).await.map_err(GateError::Record)
    }

    /// Appends all or none, as often as a busy disk takes.
    pub(crate) async fn append_patiently(&self, mut appends: Vec<Append>) -> Result<(), record::Error> {
        for _ in 1..SETTLE_TRIES_MAX {
            match self.parts.record.append_all(appends.clone()).await {
                Err(record::Error::Unavailable { .. }) => {
                    tokio::time::sleep(std::time::Duration::from_millis(SETTLE_WAIT_MS)).await;
                }
                // What came of the call is told without words that were erased meanwhile.
                Err(record::Error::Erased { .. }) => {
                    appends.iter_mut().flat_map(|append| &mut append.events).for_each(without_words);
                }
                other => return other.map(|_| ()),
            }
        }
        self.parts.record.append_all(appends).await.map(|_| ())
    }

    pub(crate) async fn setting<T: serde::de::DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<Option<T>, GateError> {
        Ok(fold::decode(self.parts.record.row("setting", key).await?.as_ref()))
    }

    /// The seats above `seat`, nearest first, as far as the record knows them.
    pub(crate) async fn line(&self, seat: Option<&SeatCreated>) -> Result<Vec<SeatCreated>, GateError> {
        let mut line = Vec::new();
        let mut next = seat.and_then(|seat| seat.line.clone());
        while let Some(above) = next.filter(|_| line.len() <= LINE_SEATS_MAX) {
            let Some(seat) = self.setting::<SeatCreated>(&setting::seat(&above)).await? else { break };
            next = seat.line.clone();
            line.push(seat);
        }
        Ok(line)
    }
}

fn without_words(event: &mut event::Proposed) {
    event.fact.personal_mut().into_iter().for_each(|(_, field)| field.erase());
}
