//! How the gate writes down a call: every fact of one deed, on one stream, under names derived from the
//! origin, so that writing it again is the same event.

use crate::account::Lacking;
use crate::begin::HeldCall;
use crate::call::Call;
use crate::outcome::HoldEnd;
use crate::permit::Admission;
use crate::reach::{Output, Reading};
use crate::verdict::{Denial, Refusal};
use event::{
    AccountWanted, Actor, CallAdmitted, CallClassified, CallDenied, CallRefused, Digest, EffectCaptured,
    EffectFailed, EffectId, EffectIntended, EffectLeftUnknown, EffectSent, EventId, Fact, HoldId,
    HoldLeftUnknown, HoldReleased, HoldSettled, HoldStarted, HoldTaken, Label, Origin, Personal, PrincipalId,
    Proposed, ReceiptId, ReceiptRecorded, RefusalRaised, RefusalSubject, StreamName,
};
use fold::purse::{HoldRow, HoldState};
use serde_json::Value;
use std::collections::BTreeSet;

/// Whose call it is: what each of its facts has in common.
#[derive(Clone)]
pub(crate) struct Story {
    origin: Origin,
    tool: String,
    content: Digest,
    actor: Actor,
    cause: EventId,
    label: Label,
    of: BTreeSet<PrincipalId>,
}

impl Story {
    pub(crate) fn of(call: &Call) -> Self {
        Self::with(call, call.content())
    }

    /// The same where the digest of the call's arguments is known already.
    pub(crate) fn with(call: &Call, content: Digest) -> Self {
        let actor = Actor { principal: PrincipalId::gate(), seat: Some(call.seat.clone()) };
        Self {
            origin: call.origin.clone(),
            tool: call.tool.clone(),
            content,
            actor,
            cause: call.cause.clone(),
            label: call.label.clone(),
            of: call.of.clone(),
        }
    }

    /// The digest of the call's arguments.
    pub(crate) fn content(&self) -> &Digest {
        &self.content
    }

    /// What may repeat the words that the asker has read.
    fn personal<T>(&self, value: T) -> Personal<T> {
        Personal::of(value, self.of.iter().cloned())
    }

    /// The stream that one deed's story stands on.
    pub(crate) fn stream(origin: &Origin) -> StreamName {
        StreamName::new("call", origin.deed())
    }

    fn id(&self, what: &str) -> EventId {
        EventId::derived(&[&self.origin.to_string(), what])
    }

    /// The names of the facts with which a call begins.
    pub(crate) fn begins(&self, is_paid: bool, is_effect: bool) -> Vec<EventId> {
        let paid: &[&str] = if is_paid { &["hold.taken", "hold.started"] } else { &[] };
        let effect: &[&str] = if is_effect { &["effect.intended"] } else { &[] };
        ["admitted"].iter().chain(paid).chain(effect).map(|what| self.id(what)).collect()
    }

    fn say(&self, what: &str, label: Label, fact: impl Into<Fact>) -> Proposed {
        Proposed {
            id: self.id(what),
            actor: self.actor.clone(),
            cause: Some(self.cause.clone()),
            label,
            fact: fact.into(),
        }
    }

    pub(crate) fn admitted(&self, admission: &Admission) -> Proposed {
        let fact = CallAdmitted {
            origin: self.origin.clone(),
            tool: self.tool.clone(),
            resource: self.personal(admission.resource.text().to_owned()),
            content: self.content.clone(),
            component: admission.digest.clone(),
            policies: admission.policies.clone(),
            policy_set: admission.policy_set.clone(),
            ahead: admission.ahead.clone(),
            account: admission.account.clone(),
            violates_flow: admission.violates_flow,
        };
        self.say("admitted", self.label.clone(), fact)
    }

    pub(crate) fn denied(&self, denial: &Denial) -> Vec<Proposed> {
        let fact = CallDenied {
            origin: self.origin.clone(),
            tool: self.tool.clone(),
            resource: self.personal(denial.resource.clone()),
            content: self.content.clone(),
            by: denial.by,
            policies: denial.policies.clone(),
            policy_set: denial.policy_set.clone(),
            reason: Personal::of(denial.reason.clone(), self.of.iter().chain(&denial.quotes).cloned()),
            account: denial.account.clone(),
            violates_flow: denial.violates_flow,
        };
        let wanted = denial.lacking.as_ref().map(|lacking| self.account_wanted(lacking));
        [self.say("denied", self.label.clone(), fact)].into_iter().chain(wanted).collect()
    }

    /// That whoever asked has no account for it.
    pub(crate) fn account_wanted(&self, lacking: &Lacking) -> Proposed {
        let fact = AccountWanted {
            origin: self.origin.clone(),
            tool: self.tool.clone(),
            credential: lacking.credential.clone(),
            service: lacking.service.clone(),
            owner: lacking.owner.clone(),
        };
        self.say("account.wanted", Label::host(), fact)
    }

    pub(crate) fn refused(&self, refusal: &Refusal) -> [Proposed; 1] {
        let fact = CallRefused {
            origin: self.origin.clone(),
            tool: self.tool.clone(),
            subject: refusal.subject.clone(),
            reason: refusal.reason.clone(),
            lifts_at: refusal.lifts_at,
        };
        [self.say("refused", Label::host(), fact)]
    }

    /// What the call was judged to be.
    pub(crate) fn classified(&self, fact: CallClassified) -> Proposed {
        self.say("classified", self.label.clone(), fact)
    }

    /// A fact about the approval of this call, named after what it says.
    pub(crate) fn approval(&self, what: &str, fact: Fact) -> Proposed {
        self.say(what, self.label.clone(), fact)
    }

    pub(crate) fn hold_taken(&self, held: &HeldCall) -> Proposed {
        let fact = HoldTaken {
            hold: held.hold.clone(),
            origin: self.origin.clone(),
            price_key: held.price.key.clone(),
            amount: held.price.amount,
            accounts: held.accounts.clone(),
            worst: Some(held.price.worst.clone()),
        };
        self.say("hold.taken", Label::host(), fact)
    }

    pub(crate) fn hold_started(&self, hold: &HoldId) -> Proposed {
        self.say("hold.started", Label::host(), HoldStarted { hold: hold.clone() })
    }

    pub(crate) fn hold_ended(&self, end: HoldEnd) -> Proposed {
        let fact: Fact = match end {
            HoldEnd::Settled { hold, held, accounts, charged, usage, seconds } => {
                HoldSettled { hold, held, accounts, charged, usage, seconds }.into()
            }
            HoldEnd::Released { hold, held, accounts, reason } => {
                HoldReleased { hold, held, accounts, reason }.into()
            }
            HoldEnd::Unknown { hold, held, accounts, reason } => {
                HoldLeftUnknown { hold, held, accounts, reason }.into()
            }
        };
        self.say(HOLD_ENDED, Label::host(), fact)
    }

    /// The refusal of a budget that paid for a call which cost more than was held.
    pub(crate) fn overrun(&self, hold: &HoldId, subject: RefusalSubject, reason: &str) -> Proposed {
        let refusal = fold::refusal::refusal_id(&subject, hold.as_str());
        let what = format!("refusal/{subject}");
        let fact = RefusalRaised { refusal, subject, reason: reason.to_owned(), lifts_at: None };
        self.say(&what, Label::host(), fact)
    }

    /// The end of a hold that an earlier try left open; nothing when it has one.
    pub(crate) fn hold_abandoned(&self, hold: &HoldId, row: &HoldRow) -> Option<Proposed> {
        hold_abandoned(hold, row, self.actor.clone(), self.cause.clone())
    }

    pub(crate) fn effect_intended(&self, effect: &EffectId, call: &Call, admission: &Admission) -> Proposed {
        let fact = EffectIntended {
            effect: effect.clone(),
            origin: self.origin.clone(),
            tool: self.tool.clone(),
            input: self.personal(call.input().clone()),
            content: self.content.clone(),
            account: admission.account.clone(),
            inside: !admission.handles.is_empty(),
            workspace: call.unnamed_workspace().map(str::to_owned),
        };
        self.say("effect.intended", self.label.clone(), fact)
    }

    pub(crate) fn effect_captured(&self, effect: &EffectId, call: &Call) -> Proposed {
        let fact = EffectCaptured {
            effect: effect.clone(),
            origin: self.origin.clone(),
            tool: self.tool.clone(),
            input: self.personal(call.input().clone()),
            content: self.content.clone(),
        };
        self.say("effect.captured", self.label.clone(), fact)
    }

    /// `label` is that of what it gave back.
    pub(crate) fn effect_sent(&self, effect: &EffectId, output: &Output, label: Label) -> Proposed {
        let reference = match output {
            Output::Tool(value) => value.clone(),
            Output::Model(_) | Output::Unusable { .. } => Value::Null,
        };
        self.say("effect.ended", label, EffectSent { effect: effect.clone(), reference })
    }

    pub(crate) fn effect_failed(&self, effect: &EffectId, reason: &str) -> Proposed {
        let fact = EffectFailed { effect: effect.clone(), reason: self.personal(reason.to_owned()) };
        self.say("effect.ended", self.label.clone(), fact)
    }

    pub(crate) fn effect_unknown(&self, effect: &EffectId, reason: &str) -> Proposed {
        let fact = EffectLeftUnknown { effect: effect.clone(), reason: self.personal(reason.to_owned()) };
        self.say("effect.ended", self.label.clone(), fact)
    }

    pub(crate) fn receipt_id(&self, ordinal: usize) -> ReceiptId {
        ReceiptId::derived(&[&self.origin.to_string(), &ordinal.to_string()])
    }

    pub(crate) fn receipts(&self, readings: &[Reading]) -> Vec<Proposed> {
        readings.iter().enumerate().map(|(ordinal, reading)| self.receipt(ordinal, reading)).collect()
    }

    fn receipt(&self, ordinal: usize, reading: &Reading) -> Proposed {
        let fact = ReceiptRecorded {
            receipt: self.receipt_id(ordinal),
            origin: self.origin.clone(),
            method: reading.method.clone(),
            address: self.personal(reading.address.clone()),
            status: reading.status,
            sha256: reading.sha256.clone(),
            bytes: reading.bytes,
            read_at: reading.read_at,
            untrusted: true,
        };
        let label = Label { integrity: event::Integrity::Untrusted, ..self.label.clone() };
        self.say(&format!("receipt/{ordinal}"), label, fact)
    }
}

/// What names the end of a hold, with the call it was taken for: a hold has one end.
const HOLD_ENDED: &str = "hold.ended";

/// The end of a hold that whoever took it left open; nothing when it has one. It is named as its own end would be, so
/// the record takes only one of the two.
pub(crate) fn hold_abandoned(hold: &HoldId, row: &HoldRow, actor: Actor, cause: EventId) -> Option<Proposed> {
    let id = EventId::derived(&[&row.origin.to_string(), HOLD_ENDED]);
    let (hold, held, accounts) = (hold.clone(), row.held, row.accounts.clone());
    let fact: Fact = match row.state {
        HoldState::Taken => {
            let reason = "whoever took it was gone before a paid call began".to_owned();
            HoldReleased { hold, held, accounts, reason }.into()
        }
        HoldState::Started => {
            let reason = "whoever took it was gone while a paid call was under way".to_owned();
            HoldLeftUnknown { hold, held, accounts, reason }.into()
        }
        HoldState::Settled | HoldState::Released | HoldState::Unknown => return None,
    };
    Some(Proposed { id, actor, cause: Some(cause), label: Label::host(), fact })
}
