//! The pure half of the gate: may this call be made?
//!
//! The order is shape, grant, policy, guards, standing refusal, budget; the first no is the answer. A policy
//! that does not know an action denies it, and a deny beats an allow. A call that policy denies only for want
//! of a person's yes waits for one ([`Verdict::Asks`]), and only when nothing else says no; one that it denies only since
//! it would tell others what was read with somebody's account waits for the yes of that person and of nobody else. Flow
//! comes after budget, when it exists.
//!
//! Nothing here writes, waits, or calls a model. [`crate::pass`] does that.

use crate::account::{AccountKind, Lacking, Own};
use crate::call::{Call, Payload};
use crate::catalogue::{Catalogue, EffectClass, ModelSpec, Resource, ToolSpec};
use crate::guard::{GuardNo, GuardedCall};
use crate::permit::{Admission, Price};
use crate::policy::{Asked, Decision, Flow, OriginKind, PolicySet};
use crate::purse::{InPlay, accounts, worst_case};
use crate::schema::INFER;
use crate::verdict::{Asking, Denial, Refusal, Verdict};
use event::{DeniedBy, EventId, Handle, PricesListed, PrincipalId, RefusalSubject, SeatCreated, Timestamp};
use fold::ahead::AheadRow;
use fold::approval::{ApprovalRow, ApprovalState, approval_id};
use fold::refusal::RefusalRow;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Everything the decision depends on, beside the call itself.
pub struct Facts<'a> {
    /// The seat that asks, when it exists.
    pub seat: Option<&'a SeatCreated>,
    /// The seats above it, nearest first.
    pub line: &'a [&'a SeatCreated],
    /// What can be called.
    pub catalogue: &'a dyn Catalogue,
    /// The policy set in force.
    pub policy: &'a PolicySet,
    /// Why the plugin may use none of its routes; nothing when it may, or has none.
    pub no_grant: Option<&'a str>,
    /// The price list in force.
    pub prices: Option<&'a PricesListed>,
    /// What stands against the subjects of the call ([`subjects`]), in their order.
    pub refusals: &'a [RefusalRow],
    /// The approval of exactly this call, when one was ever asked for.
    pub approval: Option<&'a ApprovalRow>,
    /// The accounts that the call may use, and where what is theirs may be told.
    pub own: &'a Own,
    /// What was given ahead to the seat for this tool on this resource.
    pub ahead: Option<&'a AheadRow>,
    /// What the call was judged to be, when its tool declares no class and somebody judged it.
    pub class: Option<EffectClass>,
    /// What the person said who said no to it.
    pub said_no: Option<&'a str>,
    /// The budgets in play.
    pub budgets: &'a [InPlay],
    /// How many times the worst case is held.
    pub headroom: u64,
    /// Now.
    pub at: Timestamp,
}

/// What is called, and what the call touches.
struct Target {
    plugin: String,
    digest: event::Digest,
    effect: EffectClass,
    /// Whether the tool declares no class, and `effect` is what was judged or assumed.
    judged: bool,
    resource: Resource,
    action: String,
    price_key: Option<String>,
}

/// What the first half of the order settled: shape, grant and policy let it through.
pub(crate) struct Weighed {
    target: Target,
    decision: Decision,
    /// The no of the policies when it is only for want of a person's yes.
    wants_yes: Option<Decision>,
    /// What flow found.
    flow: Flow,
    /// The person whose yes alone is wanted, when it is one person's.
    discloses: Option<PrincipalId>,
}

impl Weighed {
    /// The call as guards are shown it: one that shape, grant and policy let through.
    pub(crate) fn guarded(&self, call: &Call, input: &Value, facts: &Facts<'_>) -> GuardedCall {
        GuardedCall {
            tool: call.tool.clone(),
            plugin: self.target.plugin.clone(),
            effect: self.target.effect,
            resource: self.target.resource.clone(),
            arguments: input.clone(),
            seat: call.seat.clone(),
            role: facts.seat.map(|seat| seat.role.clone()).unwrap_or_default(),
            origin_kind: OriginKind::from(&call.origin),
            integrity: call.label.integrity,
            flow: self.flow,
            audience: None,
        }
    }
}

/// Whether `call` may be made, as far as that is pure: all of the order but the guards, who are asked in between by
/// [`crate::Gate::ask`].
#[must_use]
pub fn admit(call: &Call, facts: &Facts<'_>) -> Verdict {
    match weigh(call, call.input(), facts) {
        Ok(weighed) => rest(call, facts, weighed, None),
        Err(no) => *no,
    }
}

/// Shape, grant and policy. `input` is the call's.
pub(crate) fn weigh(call: &Call, input: &Value, facts: &Facts<'_>) -> Result<Weighed, Box<Verdict>> {
    let target = shape(call, input, facts)
        .map_err(|reason| Box::new(denied(DeniedBy::Shape, &call.tool, facts, Vec::new(), reason)))?;
    let resource = target.resource.text().to_owned();
    let seat = granted(call, facts)
        .map_err(|reason| Box::new(denied(DeniedBy::Grant, &resource, facts, Vec::new(), reason)))?;
    if let Some(reason) = facts.no_grant {
        return Err(Box::new(denied(DeniedBy::Grant, &resource, facts, Vec::new(), reason.to_owned())));
    }
    let routes = facts.catalogue.routes(&target.plugin);
    let untold = facts.own.untold(call, &target.resource, target.effect);
    let flow = flow(&untold, facts.approval);
    let is_general = |row: &ApprovalRow| given(row) && row.discloses.is_none();
    let approved = facts.approval.is_some_and(is_general) || ahead(call, facts).is_some();
    let asked = |flow: Flow, approved: bool, account: AccountKind, account_of: String| Asked {
        seat,
        tool: &target.action,
        resource: &target.resource,
        plugin: &target.plugin,
        input,
        effect: target.effect,
        line: facts.line,
        origin_kind: OriginKind::from(&call.origin),
        flow,
        integrity: call.label.integrity,
        account,
        account_of,
        approved,
        granted_text: routes.iter().map(|route| route.origin.clone()).collect(),
    };
    let (account, account_of) = (facts.own.kind(&routes), facts.own.person());
    let account_of = account_of.map(ToString::to_string).unwrap_or_default();
    let decision = facts.policy.decide(&asked(flow, approved, account, account_of.clone()));
    if decision.allowed {
        let wants_yes = if approved { None } else { undeclared(call, &target, facts.class) };
        return Ok(Weighed { target, decision, wants_yes, flow, discloses: None });
    }
    // Only a no of a policy that was evaluated can be for want of a yes.
    if !approved && decision.errors.is_empty() {
        let with_yes = facts.policy.decide(&asked(flow, true, account, account_of.clone()));
        if with_yes.allowed {
            let wants_yes = Some(decision);
            return Ok(Weighed { target, decision: with_yes, wants_yes, flow, discloses: None });
        }
    }
    let asks = call.origin.turn().is_some() && !facts.own.is_refused() && decision.errors.is_empty();
    if let Some(owner) = untold_owner(untold).filter(|_| asks && flow == Flow::Violates) {
        let told = facts.policy.decide(&asked(Flow::Disclosed, approved, account, account_of));
        if told.allowed {
            let reason = discloses(&owner, &resource);
            let (wants_yes, discloses) = (Some(Decision { reason, ..decision }), Some(owner));
            return Ok(Weighed { target, decision: told, wants_yes, flow, discloses });
        }
    }
    let lacking = facts.own.lacking().filter(|lacking| {
        let account_of = lacking.owner.to_string();
        decision.errors.is_empty()
            && facts.policy.decide(&asked(flow, true, AccountKind::Personal, account_of)).allowed
    });
    if let Some(lacking) = lacking {
        return Err(Box::new(lacks(lacking, call, &resource, facts, decision.policies)));
    }
    let no = denied(DeniedBy::Policy, &resource, facts, decision.policies, decision.reason);
    Err(Box::new(match no {
        Verdict::Denied(denial) => {
            Verdict::Denied(Denial { violates_flow: flow == Flow::Violates, ..denial })
        }
        other => other,
    }))
}

/// What flow found, and what became of it: `untold` are those with whose accounts something was read that would be told
/// to others.
fn flow(untold: &BTreeSet<PrincipalId>, approval: Option<&ApprovalRow>) -> Flow {
    let owner = approval.filter(|row| given(row)).and_then(|row| row.discloses.as_ref());
    match owner {
        _ if untold.is_empty() => Flow::Unknown,
        Some(owner) if untold.len() == 1 && untold.contains(owner) => Flow::Disclosed,
        _ => Flow::Violates,
    }
}

/// The one person who is asked whether a step of a turn may tell others what is theirs, unless they said no in this turn.
/// What the host does by itself is not worth a question, and what is two persons' own is told on the word of neither.
fn untold_owner(untold: BTreeSet<PrincipalId>) -> Option<PrincipalId> {
    let mut owners = untold.into_iter();
    owners.next().filter(|_| owners.next().is_none())
}

/// Why that person is asked.
fn discloses(owner: &PrincipalId, resource: &str) -> String {
    format!(
        "it would tell `{resource}` what was read with an account of `{owner}`: only they may say so, and for this call \
         alone"
    )
}

/// The no to a call that policy lets through with an account of whoever asked, and they have connected none.
fn lacks(
    lacking: &Lacking,
    call: &Call,
    resource: &str,
    facts: &Facts<'_>,
    policies: Vec<String>,
) -> Verdict {
    match denied(DeniedBy::Account, resource, facts, policies, lacking.reason(&call.tool)) {
        Verdict::Denied(denial) => Verdict::Denied(Denial { lacking: Some(lacking.clone()), ..denial }),
        other => other,
    }
}

/// The no to a call that policy lets through and whose tool declares no class: without a person's yes it goes only where
/// it was judged to change nothing.
fn undeclared(call: &Call, target: &Target, class: Option<EffectClass>) -> Option<Decision> {
    if !target.judged || class == Some(EffectClass::Read) {
        return None;
    }
    let judged = class.map_or("nobody could judge this call".to_owned(), |class| {
        format!("this call was judged to be `{}`", class.word())
    });
    let reason = format!(
        "`{}` does not declare what it may do outside, and {judged}: without a person's yes only a read goes",
        call.tool
    );
    Some(Decision { allowed: false, policies: Vec::new(), errors: Vec::new(), reason })
}

/// What the guards said, standing refusal and budget, and the person whose yes is wanted.
pub(crate) fn rest(call: &Call, facts: &Facts<'_>, weighed: Weighed, guards: Option<GuardNo>) -> Verdict {
    let Weighed { target, decision, wants_yes, flow, discloses } = weighed;
    if let Some(no) = guards {
        return denied(DeniedBy::Guard, target.resource.text(), facts, no.policies, no.reason);
    }
    if let Some(refusal) = standing(facts.refusals, facts.at) {
        return Verdict::Refused(refusal);
    }
    let hold = match price(call, facts, &target) {
        Ok(hold) => hold,
        Err(refusal) => return Verdict::Refused(refusal),
    };
    let approval = match (&wants_yes, facts.approval) {
        (Some(no), row) => {
            if let Some(reason) = row.and_then(|row| answered_no(row, facts.said_no)) {
                let policies = no.policies.clone();
                let no = denied(DeniedBy::Approval, target.resource.text(), facts, policies, reason);
                return quoting(no, row);
            }
            let approval = approval_id(&call.origin, &call.tool, &call.content(), &target.digest);
            return Verdict::Asks(Asking {
                approval,
                resource: target.resource,
                component: target.digest,
                effect: target.effect,
                policies: no.policies.clone(),
                reason: no.reason.clone(),
                discloses,
            });
        }
        // Policy may have come to let it through meanwhile: a person's no to this very call still stands.
        (None, Some(row)) if matches!(row.state, ApprovalState::Denied { .. }) => {
            let reason = answered_no(row, facts.said_no).unwrap_or_default();
            let no = denied(DeniedBy::Approval, target.resource.text(), facts, Vec::new(), reason);
            return quoting(no, Some(row));
        }
        (None, row) => row.filter(|row| given(row)).map(|row| row.approval.clone()),
    };
    let ahead = if approval.is_none() { ahead(call, facts) } else { None };
    Verdict::Admitted(Admission {
        routes: facts.own.on(facts.catalogue.routes(&target.plugin)),
        handles: handles(call, facts.catalogue),
        account: facts.own.person().cloned(),
        connectable: facts.own.connectable().cloned(),
        violates_flow: matches!(flow, Flow::Violates | Flow::Disclosed),
        plugin: target.plugin,
        digest: target.digest,
        resource: target.resource,
        effect: target.effect,
        hold,
        policy_set: facts.policy.digest().clone(),
        policies: decision.policies,
        approval,
        ahead,
    })
}

/// What of the office a call is given.
fn handles(call: &Call, catalogue: &dyn Catalogue) -> Vec<Handle> {
    match &call.payload {
        Payload::Tool(_) => catalogue.handles(&call.tool),
        Payload::Infer(_) => Vec::new(),
    }
}

/// Whether a person said yes to exactly this call.
fn given(row: &ApprovalRow) -> bool {
    matches!(row.state, ApprovalState::Given { .. } | ApprovalState::Spent { .. })
}

/// The yes given ahead that covers this call.
fn ahead(call: &Call, facts: &Facts<'_>) -> Option<EventId> {
    let row = facts.ahead.filter(|row| row.seat == call.seat && row.tool == call.tool)?;
    row.covers(&call.content(), facts.at).then(|| row.given_as.clone())
}

fn price(call: &Call, facts: &Facts<'_>, target: &Target) -> Result<Option<Box<Price>>, Refusal> {
    let Some(key) = target.price_key.as_deref() else { return Ok(None) };
    let call_ms_max = facts.catalogue.call_ms_max(&call.tool);
    let mut price = worst_case(facts.prices, key, &call.payload, call_ms_max, facts.headroom)?;
    price.accounts = accounts(facts.budgets, price.amount)?;
    Ok(Some(Box::new(price)))
}

/// The reason when a person said no, or nobody said yes in time.
fn answered_no(row: &ApprovalRow, said: Option<&str>) -> Option<String> {
    match (&row.state, said.map(str::trim).filter(|said| !said.is_empty())) {
        (ApprovalState::Denied { by }, None) => Some(format!("`{by}` said no")),
        (ApprovalState::Denied { by }, Some(said)) => Some(format!("`{by}` said no: {said}")),
        (ApprovalState::Expired, _) => {
            Some(format!("nobody said yes before {}; no answer is a no", row.expires_at))
        }
        (ApprovalState::Asked | ApprovalState::Given { .. } | ApprovalState::Spent { .. }, _) => None,
    }
}

/// The first refusal that stands at `at`.
pub(crate) fn standing(refusals: &[RefusalRow], at: Timestamp) -> Option<Refusal> {
    refusals.iter().find(|row| row.stands(at)).map(|row| Refusal {
        subject: row.raised.subject.to_string(),
        reason: row.raised.reason.clone(),
        lifts_at: row.raised.lifts_at,
    })
}

/// The plugin that would be called, and the digest of its component.
pub(crate) fn component(call: &Call, catalogue: &dyn Catalogue) -> Option<(String, event::Digest)> {
    match &call.payload {
        Payload::Tool(_) => catalogue.tool(&call.tool).map(|spec| (spec.plugin.clone(), spec.digest.clone())),
        Payload::Infer(_) => {
            catalogue.model(&call.tool).map(|spec| (spec.plugin.clone(), spec.digest.clone()))
        }
    }
}

/// Everything a refusal may stand against that this call comes under, widest first; `budgets` are the names of those
/// it would be held on.
#[must_use]
pub fn subjects(call: &Call, catalogue: &dyn Catalogue, budgets: Vec<String>) -> Vec<RefusalSubject> {
    let (plugin, paid) = match &call.payload {
        Payload::Tool(_) => {
            catalogue.tool(&call.tool).map(|spec| (spec.plugin.clone(), spec.price_key.is_some()))
        }
        Payload::Infer(_) => catalogue.model(&call.tool).map(|spec| (spec.plugin.clone(), true)),
    }
    .unzip();
    let mut subjects = vec![RefusalSubject::Office, RefusalSubject::Seat(call.seat.clone())];
    subjects.extend(plugin.map(RefusalSubject::Plugin));
    subjects.push(RefusalSubject::Tool(call.tool.clone()));
    // Both: what is said in one workspace may be about another.
    let workspaces = [call.workspace(), call.topic.as_ref().and_then(|topic| topic.workspace())];
    let workspaces: BTreeSet<&str> = workspaces.into_iter().flatten().collect();
    subjects.extend(workspaces.into_iter().map(|team| RefusalSubject::Workspace(team.to_owned())));
    if let Some(topic) = &call.topic {
        subjects.push(RefusalSubject::Topic(topic.clone()));
        subjects.push(RefusalSubject::SeatTopic { seat: call.seat.clone(), topic: topic.clone() });
    }
    if paid.unwrap_or_default() {
        subjects.extend(budgets.into_iter().map(RefusalSubject::Budget));
    }
    subjects
}

fn denied(by: DeniedBy, resource: &str, facts: &Facts<'_>, policies: Vec<String>, reason: String) -> Verdict {
    let policy_set = facts.policy.digest().clone();
    let (resource, account) = (resource.to_owned(), facts.own.person().cloned());
    let violates_flow = false;
    Verdict::Denied(Denial {
        by,
        resource,
        policies,
        policy_set,
        reason,
        quotes: None,
        account,
        violates_flow,
        lacking: None,
    })
}

/// The same, in words of the person who said no.
fn quoting(verdict: Verdict, row: Option<&ApprovalRow>) -> Verdict {
    match (verdict, row.map(|row| &row.state)) {
        (Verdict::Denied(denial), Some(ApprovalState::Denied { by })) => {
            Verdict::Denied(Denial { quotes: Some(by.clone()), ..denial })
        }
        (verdict, _) => verdict,
    }
}

fn shape(call: &Call, input: &Value, facts: &Facts<'_>) -> Result<Target, String> {
    let catalogue = facts.catalogue;
    if let Some(pointer) = event::inexact(input) {
        return Err(format!(
            "the number at `{pointer}` is beyond ±(2^53-1) and would not be kept exactly: write it as a string"
        ));
    }
    match &call.payload {
        Payload::Tool(value) => {
            let spec = catalogue.tool(&call.tool).ok_or_else(|| unknown_tool(&call.tool, catalogue))?;
            catalogue.check_input(&spec, value)?;
            let resource = catalogue.resource(&spec, value)?;
            Ok(tool_target(&spec, resource, facts.class))
        }
        Payload::Infer(request) => {
            let spec = catalogue.model(&call.tool).ok_or_else(|| unknown_model(&call.tool, catalogue))?;
            if request.output_tokens_max == 0 || request.output_tokens_max > spec.output_tokens_max {
                return Err(format!(
                    "`{}` writes between 1 and {} tokens in one response, not {}",
                    spec.name, spec.output_tokens_max, request.output_tokens_max
                ));
            }
            Ok(model_target(&spec))
        }
    }
}

fn tool_target(spec: &Arc<ToolSpec>, resource: Resource, class: Option<EffectClass>) -> Target {
    let judged = spec.effect == EffectClass::Undeclared;
    Target {
        plugin: spec.plugin.clone(),
        digest: spec.digest.clone(),
        effect: class.filter(|_| judged).unwrap_or(spec.effect).assumed(),
        judged,
        resource,
        action: spec.name.clone(),
        price_key: spec.price_key.clone(),
    }
}

fn model_target(spec: &Arc<ModelSpec>) -> Target {
    Target {
        plugin: spec.plugin.clone(),
        digest: spec.digest.clone(),
        effect: EffectClass::Read,
        judged: false,
        resource: Resource::Model(spec.name.clone()),
        action: INFER.to_owned(),
        price_key: Some(spec.price_key.clone()),
    }
}

fn unknown_tool(name: &str, catalogue: &dyn Catalogue) -> String {
    let known: Vec<String> = catalogue.tools().iter().map(|tool| format!("`{}`", tool.name)).collect();
    format!("there is no tool `{name}`; there are {}", known.join(", "))
}

fn unknown_model(name: &str, catalogue: &dyn Catalogue) -> String {
    let known: Vec<String> = catalogue.models().iter().map(|model| format!("`{}`", model.name)).collect();
    format!("there is no model `{name}`; there are {}", known.join(", "))
}

fn granted<'a>(call: &Call, facts: &Facts<'a>) -> Result<&'a SeatCreated, String> {
    let seat = facts.seat.ok_or_else(|| format!("`{}` is not a seat of this office", call.seat))?;
    let listed = |grants: &[String]| if grants.is_empty() { "none".to_owned() } else { grants.join(", ") };
    if !fold::seat::holds_grant(seat, &call.tool) {
        return Err(format!(
            "`{}` holds no grant for `{}`; it holds {}",
            seat.seat,
            call.tool,
            listed(&seat.grants)
        ));
    }
    let without =
        call.within.iter().find(|grants| !grants.iter().any(|grant| fold::seat::gives(grant, &call.tool)));
    match without {
        None => Ok(seat),
        Some(grants) => Err(format!(
            "the call it is made for was not given `{}`; it was given {}",
            call.tool,
            listed(grants)
        )),
    }
}
