//! The acting half: ask the pure half, hold, record the intent, reach, and write down what came of it.
//!
//! Every call leaves its story on one stream, `call-<deed>`: admitted or not, the hold, the intent, the
//! outcome, the receipts. Whatever is intended and has no outcome is unknown, and is never tried again blind.

use crate::admit::{Facts, admit};
use crate::begin::{Beginning, Begun, NotBegun};
use crate::call::Call;
use crate::catalogue::Catalogue;
use crate::deltas::Deltas;
use crate::outcome::{held_outcome, is_known, source_label};
use crate::permit::{Admission, Permit};
use crate::policy::{PolicyError, PolicySet};
use crate::purse::InPlay;
use crate::reach::{Failure, Output, Reach, Reached};
use crate::story::Story;
use crate::verdict::{Denial, Refusal, Verdict};
use event::{BudgetSet, Digest, Label, PolicyApplied, PricesListed, ReceiptId, SeatCreated};
use fold::effect::effect_id;
use fold::purse::{AccountRow, account_at};
use fold::setting;
use record::{Append, Clock, Decided, Record};
use std::sync::{Arc, PoisonError, RwLock};

/// How often an outcome is written again when the record does not take it: losing one would leave an effect
/// unknown that is known here.
const SETTLE_TRIES_MAX: u32 = 5;
/// How long to wait between those tries.
const SETTLE_WAIT_MS: u64 = 200;

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
}

/// What a gate is made of.
pub struct GateParts {
    /// The one history.
    pub record: Record,
    /// What can be called.
    pub catalogue: Arc<dyn Catalogue>,
    /// What runs a component.
    pub reach: Arc<dyn Reach>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Names of the budgets that every paid call is held on.
    pub budgets: Vec<String>,
    /// How many times the worst case is held.
    pub headroom: u64,
}

/// The one door.
pub struct Gate {
    parts: GateParts,
    policy: RwLock<Option<(Digest, Arc<PolicySet>)>>,
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
        if parts.budgets.is_empty() {
            return Err(GateError::NoPurse);
        }
        let gate = Self { parts, policy: RwLock::new(None) };
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
        match self.ask(&call).await? {
            Verdict::Denied(denial) => {
                self.tell(&call, story.denied(&denial)).await?;
                Ok(Passed::Denied(denial))
            }
            Verdict::Refused(refusal) => {
                self.tell(&call, story.refused(&refusal)).await?;
                Ok(Passed::Refused(refusal))
            }
            Verdict::Admitted(admission) => self.act(call, admission, deltas, &story).await,
        }
    }

    /// What the pure half says to `call` now. Reads, writes nothing, calls no model.
    ///
    /// # Errors
    /// As [`Gate::pass`].
    pub async fn ask(&self, call: &Call) -> Result<Verdict, GateError> {
        let policy = self.policy().await?;
        let seat: Option<SeatCreated> = self.setting(&setting::seat(&call.seat)).await?;
        let prices: Option<PricesListed> = self.setting(setting::PRICES).await?;
        let at = self.parts.clock.now();
        let mut budgets = Vec::new();
        for budget in self.budgets().await? {
            let key = account_at(&budget, at).key();
            let row = self.parts.record.row("account", &key).await?;
            budgets.push(InPlay {
                budget,
                stands: fold::decode::<AccountRow>(row.as_ref()).unwrap_or_default(),
            });
        }
        Ok(admit(
            call,
            &Facts {
                seat: seat.as_ref(),
                catalogue: self.parts.catalogue.as_ref(),
                policy: &policy,
                prices: prices.as_ref(),
                budgets: &budgets,
                headroom: self.parts.headroom,
                at,
            },
        ))
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
            Err(NotBegun::AlreadySent(reference)) => {
                let label = call.label.clone();
                return Ok(Passed::Done { output: Output::Tool(reference), label, receipts: Vec::new() });
            }
            Err(NotBegun::OutcomeUnknown(reason)) => return Ok(Passed::Unknown { reason }),
        };
        if let Some(held) = &begun.hold {
            self.tell(&call, story.hold_started(&held.hold)).await?;
        }
        let permit = Permit {
            call: call.clone(),
            admission: admission.clone(),
            effect_id: begun.effect.clone(),
            at: begun.at,
            deltas,
        };
        let reached = self.parts.reach.reach(permit).await;
        self.settle(&call, &admission, &begun, reached, story).await
    }

    /// Takes the hold on every budget in play, or on none, and records the intent of an effect, in one commit.
    async fn begin(
        &self,
        call: &Call,
        admission: &Admission,
        story: &Story,
    ) -> Result<Result<Begun, NotBegun>, GateError> {
        let budgets = if admission.hold.is_some() { self.budgets().await? } else { Vec::new() };
        let effect =
            admission.effect.is_effect().then(|| effect_id(&call.origin, &call.tool, &call.content()));
        let now = self.parts.clock.now();
        let beginning = Beginning {
            call: call.clone(),
            admission: admission.clone(),
            story: story.clone(),
            budgets,
            effect,
        };
        let reads = beginning.reads(now);
        let decided = self.parts.record.decide(reads, move |rows, _| beginning.decide(rows, now)).await?;
        match decided {
            Decided::Appended { value, .. } => Ok(value),
            Decided::Rejected(not_begun) => Ok(Err(not_begun)),
        }
    }

    async fn settle(
        &self,
        call: &Call,
        admission: &Admission,
        begun: &Begun,
        reached: Reached,
        story: &Story,
    ) -> Result<Passed, GateError> {
        let prices: Option<PricesListed> = self.setting(setting::PRICES).await?;
        let receipts: Vec<ReceiptId> = (0..reached.readings.len()).map(|n| story.receipt_id(n)).collect();
        let mut facts = story.receipts(&reached.readings);
        if let Some(held) = &begun.hold {
            facts.push(story.hold_ended(held_outcome(held, &reached, prices.as_ref())));
        }
        let label = source_label(admission, &reached).join(&call.label);
        let outcome_known = is_known(&reached);
        let passed = match (&begun.effect, reached.outcome) {
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
        self.tell(call, facts).await?;
        Ok(passed)
    }

    /// Appends to the call's stream. What came of a call is too dear to lose to a busy disk: a few tries.
    async fn tell(&self, call: &Call, facts: impl Into<Vec<event::Proposed>>) -> Result<(), GateError> {
        let events: Vec<event::Proposed> = facts.into();
        if events.is_empty() {
            return Ok(());
        }
        let append = Append {
            stream: Story::stream(&call.origin),
            expected: event::Expected::Any,
            events,
            fence: call.fence.clone(),
        };
        for _ in 1..SETTLE_TRIES_MAX {
            match self.parts.record.append_all(vec![append.clone()]).await {
                Err(record::Error::Unavailable { .. }) => {
                    tokio::time::sleep(std::time::Duration::from_millis(SETTLE_WAIT_MS)).await;
                }
                other => return other.map(|_| ()).map_err(GateError::Record),
            }
        }
        self.parts.record.append_all(vec![append]).await?;
        Ok(())
    }

    async fn setting<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<Option<T>, GateError> {
        Ok(fold::decode(self.parts.record.row("setting", key).await?.as_ref()))
    }

    async fn budgets(&self) -> Result<Vec<BudgetSet>, GateError> {
        let mut budgets = Vec::new();
        for name in &self.parts.budgets {
            budgets.push(self.setting(&setting::budget(name)).await?.ok_or(GateError::NoPurse)?);
        }
        Ok(budgets)
    }

    /// The policy set in force: the record's newest, loaded anew only when it is another than the last one.
    async fn policy(&self) -> Result<Arc<PolicySet>, GateError> {
        let applied: PolicyApplied = self.setting(setting::POLICY).await?.ok_or(GateError::NoPolicy)?;
        let known = self.policy.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((digest, set)) = known
            && digest == applied.digest
        {
            return Ok(set);
        }
        let catalogue = &self.parts.catalogue;
        let set = PolicySet::load(&applied.files, &catalogue.tools(), &catalogue.models())
            .map_err(GateError::Policy)?;
        let set = Arc::new(set);
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Some((applied.digest, set.clone()));
        Ok(set)
    }
}
