//! Why a call was decided as it was, or how one would be: told from the record alone, without any plugin.
//!
//! Always holds: a past call is put to the set that decided it, with what was revoked by then. Where the record says
//! less than it takes, that is said, and what the record itself says of the decision is shown. Nothing is run.

use super::past::{Past, PastCall, Said, touched};
use super::{WhyArgs, printable, sets, typed};
use crate::config::Config;
use crate::show::{one_line, short};
use anyhow::{Context, Result, bail};
use event::{Digest, GlobalPosition, Integrity, PolicyText, SeatId};
use gate::policy::{Explained, Flow, Held, Known, OriginKind, PolicySet, Question, Shown};
use gate::{EffectClass, Resource, Touches};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// After every event there is.
const NOW: GlobalPosition = GlobalPosition(u64::MAX);

/// The answer, as text.
///
/// # Errors
/// When there is no such call, or the record cannot be read.
pub(super) async fn run(config: &Config, args: &WhyArgs) -> Result<String> {
    let record = super::read(config).await?;
    let plugins = config.plugins.iter().map(|plugin| plugin.name.clone());
    let mut past = Past::open(record.clone(), plugins).await?;
    match (&args.call, &args.tool) {
        (Some(call), _) => {
            let call = past.named(call).await?;
            told(&mut past, &call).await
        }
        (None, Some(tool)) => supposed(&mut past, tool, args).await,
        (None, None) => bail!("name a call, or `--seat` and `--tool`"),
    }
}

async fn told(past: &mut Past, call: &PastCall) -> Result<String> {
    let at = call.event.global_position;
    let mut text = String::new();
    line(&mut text, "call", &format!("{} on {}", call.question.tool, call.question.resource.text()));
    line(
        &mut text,
        "told",
        &format!("{} at {} (event {}, position {at})", call.event.fact.kind(), call.event.at, call.event.id),
    );
    line(&mut text, "for", &call.origin.to_string());
    recorded(&mut text, &call.said);
    for note in &call.notes {
        line(&mut text, "note", note);
    }
    let then = match &call.set {
        Some(digest) => sets::named(&past.policies, digest.as_str()).ok(),
        None => sets::applied_before(&past.policies, at)
            .map(|applied| (applied.digest.clone(), applied.files.clone())),
    };
    let Some((digest, files)) = then else {
        line(&mut text, "set", "the set that decided is not on the record");
        return Ok(text);
    };
    line(&mut text, "set", &set_text(past, &digest));
    let revoked = sets::revoked_before(&past.policies, at);
    let Some(set) = load(&mut text, &files, &call.known, &revoked) else { return Ok(text) };
    let explained = call.question.explained_by(&set);
    explain(&mut text, &explained);
    if let Some(allowed) = call.said.allowed().filter(|allowed| *allowed != explained.decision.allowed) {
        let word = if allowed { "allowed" } else { "denied" };
        line(
            &mut text,
            "note",
            &format!("the record says that policy {word} it: what is shown above is not whole"),
        );
    }
    today(&mut text, past, call, &explained, &digest, &revoked).await?;
    Ok(text)
}

fn recorded(text: &mut String, said: &Said) {
    let by =
        |policies: &[String]| if policies.is_empty() { "no policy".to_owned() } else { policies.join(", ") };
    let told = match said {
        Said::Admitted { policies } => format!("admitted; permitted by {}", by(policies)),
        Said::Denied { by: check, policies, reason } => {
            let word = serde_json::to_value(check).unwrap_or_default();
            format!("denied by {}, {}: {reason}", word.as_str().unwrap_or("a check"), by(policies))
        }
        Said::Asked { policies, reason } => {
            format!("waits for a person's yes, because of {}: {reason}", by(policies))
        }
        Said::Refused { reason } => format!("refused, after policy had let it pass: {reason}"),
    };
    line(text, "said", &told);
}

/// Whether the set in force now decides otherwise.
async fn today(
    text: &mut String,
    past: &mut Past,
    call: &PastCall,
    then: &Explained,
    digest: &Digest,
    revoked: &BTreeSet<String>,
) -> Result<()> {
    let Some(applied) = sets::applied_before(&past.policies, NOW).cloned() else { return Ok(()) };
    let revoked_now = sets::revoked_before(&past.policies, NOW);
    if applied.digest == *digest && revoked_now == *revoked {
        line(text, "today", "the same set is in force, and nothing was revoked since");
        return Ok(());
    }
    let known = past.known(NOW).await?;
    let Some(set) = load(text, &applied.files, &known, &revoked_now) else { return Ok(()) };
    let now = call.question.decided_by(&set);
    let (word, name) = (if now.allowed { "allows" } else { "denies" }, applied.digest.short());
    let compared = if now.allowed == then.decision.allowed { "as then" } else { "and then it was otherwise" };
    line(text, "today", &format!("the set {name} {word} it, {compared}: {}", now.reason));
    Ok(())
}

/// A call that nobody makes.
async fn supposed(past: &mut Past, tool: &str, args: &WhyArgs) -> Result<String> {
    let seat = SeatId::parse(args.seat.as_deref().unwrap_or_default())?;
    let seat = past.seat(&seat, NOW).await?.with_context(|| format!("the record has no seat `{seat}`"))?;
    let line_of = past.line(&seat, NOW).await?;
    let known = past.known(NOW).await?;
    let typed = typed(&args.input)?;
    let applied =
        sets::applied_before(&past.policies, NOW).cloned().context("no policy set was ever applied")?;
    let revoked = sets::revoked_before(&past.policies, NOW);
    let mut text = String::new();
    let grant = if fold::seat::holds_grant(&seat, tool) {
        format!("{} holds the grant for `{tool}`", seat.seat)
    } else {
        format!("{} holds no grant for `{tool}`: the gate says no before any policy is asked", seat.seat)
    };
    line(&mut text, "grant", &grant);
    line(&mut text, "set", &set_text(past, &applied.digest));
    let (action, plugin, effect) = action(tool, &known)?;
    let granted = past.granted(&plugin, NOW).await?;
    let resource = resource(tool, &typed, &known, &plugin, &granted)?;
    let input = match &resource {
        Resource::Model(name) => {
            let tokens = typed.get("output_tokens_max").cloned().unwrap_or_else(|| Value::from(1));
            serde_json::json!({"model": name, "output_tokens_max": tokens})
        }
        _ => typed,
    };
    let question = Question {
        seat,
        line: line_of,
        tool: action,
        resource,
        plugin,
        input,
        effect,
        origin_kind: if args.duty { OriginKind::Duty } else { OriginKind::Step },
        flow: Flow::Unknown,
        integrity: match args.integrity.as_str() {
            "trusted" => Integrity::Trusted,
            "untrusted" => Integrity::Untrusted,
            _ => Integrity::Unknown,
        },
        account: if args.account_of.is_some() {
            gate::AccountKind::Personal
        } else {
            gate::AccountKind::None
        },
        account_of: args.account_of.clone().map(String::from).unwrap_or_default(),
        approved: args.approved,
        granted_text: granted,
    };
    if let Some(set) = load(&mut text, &applied.files, &known, &revoked) {
        let explained = question.explained_by(&set);
        explain(&mut text, &explained);
        let with_yes = Question { approved: true, ..question.clone() }.decided_by(&set);
        if !explained.decision.allowed && !question.approved && with_yes.allowed {
            line(&mut text, "yes", "with a person's yes it would be allowed: the gate would ask for one");
        }
    }
    Ok(text)
}

fn action(tool: &str, known: &Known) -> Result<(String, String, EffectClass)> {
    if let Some(model) = known.model(tool) {
        return Ok((gate::schema::INFER.to_owned(), model.plugin.clone(), EffectClass::Read));
    }
    let names = || known.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ");
    let spec = known.tool(tool).with_context(|| {
        format!("the record knows no tool or model `{}` whole; it knows {}", tool.escape_debug(), names())
    })?;
    Ok((tool.to_owned(), spec.plugin.clone(), spec.effect.assumed()))
}

/// What the arguments say is touched.
fn resource(tool: &str, input: &Value, known: &Known, plugin: &str, granted: &[String]) -> Result<Resource> {
    let at = |pointer: &String| {
        let found = input.pointer(pointer).and_then(Value::as_str);
        found.with_context(|| format!("`{tool}` needs a text at `{pointer}`: it says what the call touches"))
    };
    let text = match known.tool(tool).map(|spec| &spec.touches) {
        None => tool.to_owned(),
        Some(Touches::Plugin) => plugin.to_owned(),
        Some(Touches::Destination(pointers)) => {
            pointers.iter().map(at).collect::<Result<Vec<_>>>()?.join(":")
        }
        Some(Touches::OriginOf(pointer)) => {
            let granted: Vec<egress::Origin> =
                granted.iter().filter_map(|o| egress::Origin::parse(o).ok()).collect();
            let loopback: Vec<_> = granted.into_iter().filter(egress::Origin::names_loopback).collect();
            let target = egress::judge_url(at(pointer)?, &loopback);
            target.with_context(|| format!("`{pointer}` can never be reached"))?.origin().to_string()
        }
    };
    Ok(touched(tool, known, plugin, text, granted))
}

fn load(
    text: &mut String,
    files: &[PolicyText],
    known: &Known,
    revoked: &BTreeSet<String>,
) -> Option<PolicySet> {
    let loaded = PolicySet::valid(files, &known.tools, &known.models).and_then(|set| set.without(revoked));
    match loaded {
        Ok(set) => Some(set),
        Err(error) => {
            let why = format!("the set cannot be rebuilt from what the record says of the tools: {error}");
            line(text, "note", &why);
            None
        }
    }
}

fn set_text(past: &Past, digest: &Digest) -> String {
    let applied = past.policies.iter().rev().find_map(|event| match &event.fact {
        event::Fact::PolicyApplied(body) if body.digest == *digest => Some((event, body)),
        _ => None,
    });
    applied.map_or_else(
        || digest.short().to_owned(),
        |(event, body)| {
            let by = event.actor.seat.as_ref().map_or(event.actor.principal.to_string(), ToString::to_string);
            format!("{}, applied {} by {by}: {}", digest.short(), event.at, short(&body.reason))
        },
    )
}

fn explain(text: &mut String, explained: &Explained) {
    match &explained.request {
        Some(shown) => request(text, shown),
        None => line(text, "request", "it cannot be put to the policies, which is a no"),
    }
    let word = if explained.decision.allowed { "allow" } else { "deny" };
    line(text, "decision", &format!("{word}: {}", explained.decision.reason));
    for looked in &explained.policies {
        let outline = &looked.outline;
        let word = if outline.forbids { "forbid" } else { "permit" };
        let held = match &looked.held {
            Held::Matched => "matched".to_owned(),
            Held::OtherScope => "is about others".to_owned(),
            Held::OtherConditions => "is about this, and its conditions do not hold".to_owned(),
            Held::Erred(why) => format!("failed, which is a no: {why}"),
            Held::Revoked => "was revoked".to_owned(),
        };
        line(text, word, &format!("`{}` {held} ({}:{})", outline.id, outline.file, outline.line));
        if matches!(looked.held, Held::Matched | Held::Erred(_) | Held::OtherConditions) {
            for part in printable(&looked.text).lines() {
                // Writing to a string cannot fail.
                _ = writeln!(text, "             | {part}");
            }
        }
    }
}

fn request(text: &mut String, shown: &Shown) {
    let within =
        |above: &[String]| if above.is_empty() { String::new() } else { format!(" in {}", above.join(", ")) };
    line(text, "principal", &format!("{}{}", shown.principal, within(&shown.principal_in)));
    line(text, "action", &shown.action);
    line(text, "resource", &format!("{}{}", shown.resource, within(&shown.resource_in)));
    line(text, "context", &shown.context.to_string());
}

fn line(text: &mut String, name: &str, said: &str) {
    // Writing to a string cannot fail.
    _ = writeln!(text, "{name:<10} {}", one_line(said));
}
