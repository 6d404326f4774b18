//! The pure half of the gate: may this call be made?
//!
//! The order is shape, grant, policy, standing refusal, budget; the first no is the answer. A policy that
//! does not know an action denies it, and a deny beats an allow. Guards come between policy and refusal,
//! flow after budget, when they exist.
//!
//! Nothing here writes, waits, or calls a model. [`crate::pass`] does that.

use crate::call::{Call, Payload};
use crate::catalogue::{Catalogue, EffectClass, ModelSpec, Resource, ToolSpec};
use crate::permit::Admission;
use crate::policy::{Asked, Flow, OriginKind, PolicySet};
use crate::purse::{InPlay, accounts, worst_case};
use crate::schema::INFER;
use crate::verdict::{Denial, Verdict};
use event::{DeniedBy, PricesListed, SeatCreated, Timestamp};
use serde_json::Value;
use std::sync::Arc;

/// Everything the decision depends on, beside the call itself.
pub struct Facts<'a> {
    /// The seat that asks, when it exists.
    pub seat: Option<&'a SeatCreated>,
    /// What can be called.
    pub catalogue: &'a dyn Catalogue,
    /// The policy set in force.
    pub policy: &'a PolicySet,
    /// The price list in force.
    pub prices: Option<&'a PricesListed>,
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
    resource: Resource,
    action: String,
    price_key: Option<String>,
}

/// Whether `call` may be made.
#[must_use]
pub fn admit(call: &Call, facts: &Facts<'_>) -> Verdict {
    let input = call.input();
    let target = match shape(call, &input, facts.catalogue) {
        Ok(target) => target,
        Err(reason) => return denied(DeniedBy::Shape, &call.tool, facts, Vec::new(), reason),
    };
    let resource = target.resource.text().to_owned();
    let seat = match granted(call, facts) {
        Ok(seat) => seat,
        Err(reason) => return denied(DeniedBy::Grant, &resource, facts, Vec::new(), reason),
    };
    let routes = facts.catalogue.routes(&target.plugin);
    let decision = facts.policy.decide(&Asked {
        seat,
        tool: &target.action,
        resource: &target.resource,
        plugin: &target.plugin,
        input: &input,
        effect: target.effect,
        line: &[],
        origin_kind: OriginKind::from(&call.origin),
        flow: Flow::Unknown,
        integrity: call.label.integrity,
        granted_text: routes.iter().map(|route| route.origin.clone()).collect(),
    });
    if !decision.allowed {
        return denied(DeniedBy::Policy, &resource, facts, decision.policies, decision.reason);
    }
    let hold = match target.price_key.as_deref() {
        None => None,
        Some(key) => match worst_case(facts.prices, key, &call.payload, facts.headroom) {
            Ok(price) => Some(price),
            Err(refusal) => return Verdict::Refused(refusal),
        },
    };
    if let Some(price) = &hold
        && let Err(refusal) = accounts(facts.budgets, price.amount, facts.at)
    {
        return Verdict::Refused(refusal);
    }
    Verdict::Admitted(Admission {
        plugin: target.plugin,
        digest: target.digest,
        resource: target.resource,
        effect: target.effect,
        routes,
        hold,
        policy_set: facts.policy.digest().clone(),
        policies: decision.policies,
    })
}

fn denied(by: DeniedBy, resource: &str, facts: &Facts<'_>, policies: Vec<String>, reason: String) -> Verdict {
    let policy_set = facts.policy.digest().clone();
    Verdict::Denied(Denial { by, resource: resource.to_owned(), policies, policy_set, reason })
}

fn shape(call: &Call, input: &Value, catalogue: &dyn Catalogue) -> Result<Target, String> {
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
            Ok(tool_target(&spec, resource))
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

fn tool_target(spec: &Arc<ToolSpec>, resource: Resource) -> Target {
    Target {
        plugin: spec.plugin.clone(),
        digest: spec.digest.clone(),
        effect: spec.effect,
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
    if fold::seat::holds_grant(seat, &call.tool) {
        Ok(seat)
    } else {
        Err(format!(
            "`{}` holds no grant for `{}`; it holds {}",
            seat.seat,
            call.tool,
            if seat.grants.is_empty() { "none".to_owned() } else { seat.grants.join(", ") }
        ))
    }
}
