//! The acting half: ask the pure half, hold, record the intent, reach, and write down what came of it.
//!
//! Every call leaves its story on one stream, `call-<deed>`: admitted or not, the hold, the intent, the
//! outcome, the receipts. Whatever is intended and has no outcome is unknown, and is never tried again blind.

use crate::admit::{Facts, rest, weigh};
use crate::approval::ApprovalTimes;
use crate::call::Call;
use crate::catalogue::{Catalogue, EffectClass};
use crate::classify::Classifier;
use crate::deltas::Deltas;
use crate::entities::LINE_SEATS_MAX;
use crate::guard::{self, Guards};
use crate::in_force::Kept;
use crate::known::{Known, Trust};
use crate::look::Seen;
use crate::office::Readable;
use crate::owed::{Owed, tell_alone};
use crate::policy::PolicyError;
use crate::purse::Moments;
use crate::reach::{Failure, Output, Reach};
use crate::ready::Ready;
use crate::together::{BEGIN_TRIES_MAX, Began, Begins, Carried, GuardsSaid};
use crate::verdict::{Denial, Refusal, Verdict};
use event::{ApprovalId, Label, PrincipalId, ReceiptId, SeatCreated, Timestamp};
use fold::setting;
use record::{Clock, Record};
use std::collections::BTreeSet;
use std::sync::{Arc, RwLock};

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
    pub(crate) known: Known,
    pub(crate) moments: Moments,
    /// Who judges the calls of tools that declare no effect class.
    pub(crate) classifier: Option<Classifier>,
    /// What is taken from a source's notation where what was said is read again.
    pub(crate) readable: Readable,
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
        /// The persons whose words it may repeat that its asker had not read.
        of: BTreeSet<PrincipalId>,
    },
    /// It was tried and did not work.
    Failed {
        /// Why, as data.
        failure: Failure,
        /// The label of what it may repeat.
        label: Label,
        /// What was read on the way.
        receipts: Vec<ReceiptId>,
        /// The persons whose words it may repeat that its asker had not read.
        of: BTreeSet<PrincipalId>,
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
        let (kept, known, moments) = (RwLock::new(None), Known::default(), Moments::default());
        let gate = Self { parts, kept, known, moments, classifier: None, readable: str::to_owned };
        gate.has_purse().await?;
        let (head, _) = gate.parts.record.head().await?;
        gate.parts.record.events_at(&[head]).await?.iter().for_each(|event| gate.moments.saw(event.at));
        gate.policy().await?;
        Ok(gate)
    }

    /// The same, where `readable` turns the notation of a source into plain text.
    #[must_use]
    pub fn with_readable(self, readable: Readable) -> Self {
        Self { readable, ..self }
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
        let Began::Judged { mut calls, .. } = self.begin(vec![call], Carried::default()).await? else {
            // Nothing was carried, so nothing could overtake it.
            return Err(GateError::MovedOn);
        };
        match calls.pop() {
            Some(Begins::Goes(going)) => {
                let came = self.go(*going, deltas).await;
                self.settle(came).await
            }
            Some(Begins::Came(came)) => self.settle(*came).await,
            Some(Begins::Waits { approval, expires_at }) => Ok(Passed::Waits { approval, expires_at }),
            Some(Begins::Behind) | None => Err(GateError::MovedOn),
        }
    }

    /// What the pure half and the guards say to `call` now. Reads, writes nothing, calls no model.
    ///
    /// # Errors
    /// As [`Gate::pass`].
    pub async fn ask(&self, call: &Call) -> Result<Verdict, GateError> {
        let ready = Ready::of(call.clone());
        Ok(self.ask_as(&ready, None, Trust::Record, &mut None).await?.0)
    }

    /// The same for a call that is taken to be of `class` where its tool declares none; of what it was judged to be when
    /// nothing is said. With the rows it was judged by. By what is known, only a yes is said: whatever else it comes to
    /// is asked of the record. `guards` is what they said before to this call, and what they say now.
    pub(crate) async fn ask_as(
        &self,
        ready: &Ready,
        class: Option<EffectClass>,
        trust: Trust,
        guards: &mut GuardsSaid,
    ) -> Result<(Verdict, Seen), GateError> {
        let (verdict, seen) = self.asked(ready, class, trust, guards).await?;
        match verdict {
            admitted @ Verdict::Admitted(_) => Ok((admitted, seen)),
            other if trust == Trust::Record => Ok((other, seen)),
            _ => self.asked(ready, class, Trust::Record, guards).await,
        }
    }

    async fn asked(
        &self,
        ready: &Ready,
        class: Option<EffectClass>,
        trust: Trust,
        guards: &mut GuardsSaid,
    ) -> Result<(Verdict, Seen), GateError> {
        let (at, call) = (self.now(), &ready.call);
        let looked = self.look(ready, at, trust).await?;
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
        let weighed = match weigh(call, call.input(), &facts) {
            Ok(weighed) => weighed,
            Err(no) => return Ok((*no, looked.seen)),
        };
        let no = if self.parts.guards.guards().is_empty() {
            None
        } else {
            let guarded = weighed.guarded(call, call.input(), &facts);
            match guards {
                // They were shown exactly this.
                Some((shown, said)) if *shown == guarded => said.clone(),
                _ => {
                    let said = guard::no_to(self.parts.guards.as_ref(), &guarded).await;
                    *guards = Some((guarded, said.clone()));
                    said
                }
            }
        };
        Ok((rest(call, &facts, weighed, no), looked.seen))
    }

    /// Writes down facts of a call, by themselves.
    pub(crate) async fn tell(
        &self,
        call: &Call,
        facts: impl Into<Vec<event::Proposed>>,
    ) -> Result<(), GateError> {
        tell_alone(&self.parts.record, vec![Owed::facts(call, facts)]).await.map_err(GateError::Record)
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
