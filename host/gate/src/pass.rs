//! The acting half: ask the pure half, hold, record the intent, reach, and write down what came of it.
//!
//! Every call leaves its story on one stream, `call-<deed>`: admitted or not, the hold, the intent, the
//! outcome, the receipts. Whatever is intended and has no outcome is unknown, and is never tried again blind.

use crate::admit::{Facts, admit};
use crate::call::Call;
use crate::catalogue::{Catalogue, Resource};
use crate::permit::{Admission, Permit};
use crate::policy::{PolicyError, PolicySet};
use crate::purse::{InPlay, accounts};
use crate::reach::{Deltas, Failure, FailureKind, Output, Reach, Reached};
use crate::story::Story;
use crate::verdict::{Denial, Refusal, Verdict};
use event::{
    BudgetSet, Digest, EffectId, HoldId, Label, NanoUsd, PolicyApplied, PricesListed, ReceiptId, SeatCreated,
    Timestamp,
};
use fold::effect::{EffectRow, EffectState, effect_id};
use fold::purse::{AccountRow, HoldRow, account_at, cost};
use fold::setting;
use record::{Append, Clock, Decided, Record, RowKey, Rows};
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};

/// How often an outcome is written again when the record does not take it: losing one would leave an effect
/// unknown that is known here.
const SETTLE_TRIES_MAX: u32 = 5;
/// How long to wait between those tries.
const SETTLE_WAIT_MS: u64 = 200;
/// Earlier tries of a deed whose holds are looked for; a deed has at most this many.
pub const ATTEMPTS_MAX: u32 = 16;

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

/// What was set aside and intended for one call.
struct Begun {
    hold: Option<HeldCall>,
    effect: Option<EffectId>,
    at: Timestamp,
}

struct HeldCall {
    hold: HoldId,
    key: String,
    amount: NanoUsd,
    accounts: Vec<event::Account>,
}

/// Why a call that was admitted did not begin.
enum NotBegun {
    Refused(Refusal),
    AlreadySent(Value),
    OutcomeUnknown(String),
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
        let mut reads: Vec<RowKey> =
            earlier_holds(call).iter().map(|id| RowKey::new("hold", id.as_str())).collect();
        reads.extend(effect.iter().map(|id| RowKey::new("effect", id.as_str())));
        let now = self.parts.clock.now();
        reads.extend(budgets.iter().map(|budget| RowKey::new("account", account_at(budget, now).key())));
        let beginning = Beginning {
            call: call.clone(),
            admission: admission.clone(),
            story: story.clone(),
            budgets,
            effect,
        };
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

/// What is decided inside the writer when a call begins.
struct Beginning {
    call: Call,
    admission: Admission,
    story: Story,
    budgets: Vec<BudgetSet>,
    effect: Option<EffectId>,
}

type Begin = Result<(Vec<Append>, Result<Begun, NotBegun>), NotBegun>;

impl Beginning {
    fn decide(self, rows: &Rows, now: Timestamp) -> Begin {
        let mut facts = self.ended_holds(rows);
        if let Some(not_begun) = self.earlier_effect(rows, &mut facts) {
            return Ok((self.append(facts), Err(not_begun)));
        }
        facts.push(self.story.admitted(&self.admission));
        let hold = self.hold(rows, now)?;
        if let Some(held) = &hold {
            facts.push(self.story.hold_taken(&held.hold, &held.key, held.amount, &held.accounts));
        }
        if let Some(effect) = &self.effect {
            facts.push(self.story.effect_intended(effect, &self.call));
        }
        let begun = Begun { hold, effect: self.effect.clone(), at: now };
        Ok((self.append(facts), Ok(begun)))
    }

    fn append(&self, events: Vec<event::Proposed>) -> Vec<Append> {
        if events.is_empty() {
            return Vec::new();
        }
        let stream = Story::stream(&self.call.origin);
        vec![Append { stream, expected: event::Expected::Any, events, fence: self.call.fence.clone() }]
    }

    /// A retry ends its earlier holds first: released when no paid call began, unknown when one may have.
    fn ended_holds(&self, rows: &Rows) -> Vec<event::Proposed> {
        earlier_holds(&self.call)
            .iter()
            .filter_map(|id| {
                let row: HoldRow = fold::decode(rows.get("hold", id.as_str()))?;
                self.story.hold_abandoned(id, &row)
            })
            .collect()
    }

    /// What an earlier try of the same effect came to, when that settles the matter.
    fn earlier_effect(&self, rows: &Rows, facts: &mut Vec<event::Proposed>) -> Option<NotBegun> {
        let effect = self.effect.as_ref()?;
        let row: EffectRow = fold::decode(rows.get("effect", effect.as_str()))?;
        match row.state {
            EffectState::Sent => Some(NotBegun::AlreadySent(row.reference.unwrap_or(Value::Null))),
            EffectState::Failed => None,
            EffectState::Unknown => Some(NotBegun::OutcomeUnknown(row.reason.unwrap_or_default())),
            EffectState::Intended => {
                let reason = "an earlier try was intended and its outcome was never recorded".to_owned();
                facts.push(self.story.effect_unknown(effect, &reason));
                Some(NotBegun::OutcomeUnknown(reason))
            }
        }
    }

    fn hold(&self, rows: &Rows, now: Timestamp) -> Result<Option<HeldCall>, NotBegun> {
        let Some(price) = &self.admission.hold else { return Ok(None) };
        let in_play: Vec<InPlay> = self
            .budgets
            .iter()
            .map(|budget| {
                let row = rows.get("account", &account_at(budget, now).key());
                InPlay { budget: budget.clone(), stands: fold::decode(row).unwrap_or_default() }
            })
            .collect();
        let accounts = accounts(&in_play, price.amount, now).map_err(NotBegun::Refused)?;
        let hold = hold_id(&self.call.origin.deed(), self.call.origin.attempt());
        Ok(Some(HeldCall { hold, key: price.key.clone(), amount: price.amount, accounts }))
    }
}

fn hold_id(deed: &str, attempt: u32) -> HoldId {
    HoldId::derived(&[deed, &attempt.to_string()])
}

fn earlier_holds(call: &Call) -> Vec<HoldId> {
    let attempt = call.origin.attempt().min(ATTEMPTS_MAX);
    let deed = call.origin.deed();
    (1..attempt).map(|earlier| hold_id(&deed, earlier)).collect()
}

/// How a hold ends.
pub(crate) enum HoldEnd {
    Settled {
        hold: HoldId,
        held: NanoUsd,
        accounts: Vec<event::Account>,
        charged: NanoUsd,
        usage: event::Usage,
    },
    Released {
        hold: HoldId,
        held: NanoUsd,
        accounts: Vec<event::Account>,
        reason: String,
    },
    Unknown {
        hold: HoldId,
        held: NanoUsd,
        accounts: Vec<event::Account>,
        reason: String,
    },
}

/// Usage that is missing after the call may have left is unknown, never zero.
fn held_outcome(held: &HeldCall, reached: &Reached, prices: Option<&PricesListed>) -> HoldEnd {
    let (hold, amount, accounts) = (held.hold.clone(), held.amount, held.accounts.clone());
    let usage = match &reached.outcome {
        Ok(Output::Model(response)) => response.usage,
        Ok(Output::Tool(_)) => Some(event::Usage::default()),
        Err(failure) if !reached.request_sent => {
            let reason = format!("no request left: {}", failure.message);
            return HoldEnd::Released { hold, held: amount, accounts, reason };
        }
        Err(_) => None,
    };
    let price = prices.and_then(|list| list.prices.get(&held.key));
    match usage.zip(price).and_then(|(usage, price)| cost(price, usage).map(|charged| (usage, charged))) {
        Some((usage, charged)) => HoldEnd::Settled { hold, held: amount, accounts, charged, usage },
        None => {
            let reason = "the call may have been charged and no usage came back".to_owned();
            HoldEnd::Unknown { hold, held: amount, accounts, reason }
        }
    }
}

/// Whether a failed effect surely did not happen: nothing left, or the other side answered in full and the
/// failure is one that an answer states.
fn is_known(reached: &Reached) -> bool {
    let Err(failure) = &reached.outcome else { return true };
    let stated = matches!(
        failure.kind,
        FailureKind::InvalidInput
            | FailureKind::NotFound
            | FailureKind::NotAllowed
            | FailureKind::RateLimited
            | FailureKind::TooLarge
            | FailureKind::ProviderRefused
            | FailureKind::TooLong
    );
    !reached.request_sent || (stated && !reached.readings.is_empty())
}

/// The label of what came from outside: a page that anyone could fetch is public and untrusted; what was read
/// with a credential has readers nobody has named yet.
fn source_label(admission: &Admission, reached: &Reached) -> Label {
    let with_credential = admission.routes.iter().any(|route| route.credential.is_some());
    match (&admission.resource, reached.readings.is_empty()) {
        (_, true) => Label::join_all([]),
        (Resource::Origin { .. }, false) if !with_credential => Label::public_untrusted(),
        (_, false) => Label { readers: event::Readers::Unknown, integrity: event::Integrity::Untrusted },
    }
}
