//! Guards, run: one call shown to one guard in a fresh instance, under the guards' own limits.
//!
//! What always holds: a guard is lent nothing, not a log and not a clock; whatever it does but answer is a fault
//! with a sentence, and the gate makes a no of it. Deliberately absent: any reading of the call or of the reason.

use crate::bindings::guard::exports::chancery::guard::checks;
use crate::guest;
use crate::hands::Hands;
use crate::manifest::World;
use crate::offer::Ready;
use crate::state::Lent;
use event::Integrity;
use gate::policy::{Flow, OriginKind};
use gate::{EffectClass, GuardFault, GuardSaid, GuardSpec, GuardedCall, Guards, Resource};
use std::time::Duration;
use tokio::time::Instant;

#[async_trait::async_trait]
impl Guards for Hands {
    fn guards(&self) -> Vec<GuardSpec> {
        self.plugins().guards()
    }

    async fn ask(&self, guard: &GuardSpec, call: &GuardedCall) -> Result<GuardSaid, GuardFault> {
        let loaded = self.admitted_component(&guard.name, &guard.digest);
        let Some(Ready::Guard { pre, .. }) = loaded.as_ref().map(|loaded| &loaded.ready) else {
            return Err(GuardFault(format!("its component {} is not loaded", guard.digest.short())));
        };
        let limits = self.engine.limits(World::Guard);
        let shown = shown(call);
        if bytes(&shown) > limits.input_bytes {
            let most = limits.input_bytes;
            return Err(GuardFault(format!(
                "the call is longer than {most} bytes, the most a guard is shown"
            )));
        }
        let deadline = Instant::now() + Duration::from_millis(limits.wall_ms);
        let (pre, lent) = (pre.clone(), Lent::nothing(&guard.name));
        let ran = guest::run(&self.engine, World::Guard, lent, deadline, move |store| {
            Box::pin(async move {
                let guard = pre.instantiate_async(&mut *store).await?;
                guard.chancery_guard_checks().call_check(store, &shown).await
            })
        });
        match ran.await {
            Err(ended) => Err(GuardFault(ended.failure(&guard.name, limits).message)),
            Ok(checks::Verdict::Pass) => Ok(GuardSaid::Pass),
            Ok(checks::Verdict::No(reason)) if reason.len() > limits.output_bytes => {
                let (long, most) = (reason.len(), limits.output_bytes);
                Err(GuardFault(format!("its reason has {long} bytes, and {most} is the most")))
            }
            Ok(checks::Verdict::No(reason)) => Ok(GuardSaid::No(reason)),
        }
    }
}

/// The call in the words of the WIT.
fn shown(call: &GuardedCall) -> checks::GuardedCall {
    let kind = match call.resource {
        Resource::Origin { .. } => checks::TouchedKind::Origin,
        Resource::Destination(_) => checks::TouchedKind::Destination,
        Resource::Model(_) => checks::TouchedKind::Model,
        Resource::Plugin(_) => checks::TouchedKind::Plugin,
    };
    checks::GuardedCall {
        tool: call.tool.clone(),
        plugin: call.plugin.clone(),
        effect: match call.effect {
            EffectClass::Read => checks::EffectClass::Read,
            EffectClass::Draft => checks::EffectClass::Draft,
            EffectClass::Write => checks::EffectClass::Write,
            EffectClass::External => checks::EffectClass::External,
            EffectClass::Destructive => checks::EffectClass::Destructive,
            // No call has no class; one that had would be shown as the widest.
            EffectClass::Privileged | EffectClass::Undeclared => checks::EffectClass::Privileged,
        },
        touches: checks::Touched { kind, text: call.resource.text().to_owned() },
        arguments: call.arguments.to_string(),
        seat: call.seat.as_str().to_owned(),
        role: call.role.clone(),
        origin: match call.origin_kind {
            OriginKind::Step => checks::OriginKind::Step,
            OriginKind::Duty => checks::OriginKind::Duty,
        },
        integrity: match call.integrity {
            Integrity::Trusted => checks::Integrity::Trusted,
            Integrity::Untrusted => checks::Integrity::Untrusted,
            Integrity::Unknown => checks::Integrity::Unknown,
        },
        flow: match call.flow {
            Flow::Ok => checks::Flow::Ok,
            // What its owner said of it is no reader's right.
            Flow::Violates | Flow::Disclosed => checks::Flow::Violates,
            Flow::Unknown => checks::Flow::Unknown,
        },
        audience: call.audience.clone(),
    }
}

/// All the text of a call.
fn bytes(call: &checks::GuardedCall) -> usize {
    let audience = call.audience.iter().flatten().map(String::len).sum::<usize>();
    let parts = [&call.tool, &call.plugin, &call.touches.text, &call.arguments, &call.seat, &call.role];
    parts.into_iter().map(String::len).sum::<usize>() + audience
}
