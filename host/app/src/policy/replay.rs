//! The calls of one turn put to what is in force today: the seat's grants and the policies. Decisions only; no guard,
//! budget or person is asked, no component runs and nothing is sent.

use super::past::{Past, PastCall, Said, decided};
use super::sets;
use crate::config::Config;
use crate::show::short;
use crate::turn::Told;
use anyhow::{Context, Result};
use event::{Fact, GlobalPosition};
use gate::policy::PolicySet;
use record::Record;
use std::fmt::Write as _;
use std::process::ExitCode;

/// After every event there is.
const NOW: GlobalPosition = GlobalPosition(u64::MAX);
/// The exit code when something would be decided otherwise.
const OTHERWISE: u8 = 3;

/// What would be decided today, as text, and the exit code.
///
/// # Errors
/// When no set is in force, the one in force does not load from the record, or the record cannot be read.
pub(crate) async fn replay(config: &Config, record: &Record, told: &Told) -> Result<(String, ExitCode)> {
    let plugins = config.plugins.iter().map(|plugin| plugin.name.clone());
    let mut past = Past::open(record.clone(), plugins).await?;
    let applied =
        sets::applied_before(&past.policies, NOW).cloned().context("no policy set was ever applied")?;
    let revoked = sets::revoked_before(&past.policies, NOW);
    let known = past.known(NOW).await?;
    let set = PolicySet::valid(&applied.files, &known.tools, &known.models)
        .and_then(|set| set.without(&revoked))
        .context("the set in force cannot be rebuilt from what the record says of the tools")?;
    let mut text = format!("{}  by set {}; nothing is called or sent\n", told.turn, applied.digest.short());
    let mut otherwise = 0;
    for (step, events) in &told.calls {
        let newest = events
            .iter()
            .rev()
            .find(|event| !matches!(event.fact, Fact::CallRefused(_)) && decided(&event.fact).is_some());
        let Some(event) = newest else { continue };
        let call = past.call(event.clone()).await?;
        otherwise += usize::from(one(&mut text, &mut past, *step, call, &set).await?);
    }
    let _ = writeln!(text, "{otherwise} would be decided otherwise");
    Ok((text, if otherwise > 0 { ExitCode::from(OTHERWISE) } else { ExitCode::SUCCESS }))
}

/// One call; says whether it would be decided otherwise.
async fn one(text: &mut String, past: &mut Past, step: u32, call: PastCall, set: &PolicySet) -> Result<bool> {
    let then = match &call.said {
        Said::Admitted { .. } => "admitted".to_owned(),
        Said::Denied { by, .. } => format!("denied by {by:?}").to_lowercase(),
        Said::Asked { .. } => "asked a person".to_owned(),
        Said::Refused { .. } => "refused".to_owned(),
    };
    let mut question = call.question;
    let asks_for = format!("{} on {}", short(&question.tool), short(question.resource.text()));
    // The seat as it is today; a seat that is there no more may call nothing.
    let seat = past.seat(&question.seat.seat, NOW).await?;
    let tool = match question.tool.as_str() {
        gate::schema::INFER => question.resource.text().to_owned(),
        tool => tool.to_owned(),
    };
    let (allowed, why) = match seat.filter(|seat| fold::seat::holds_grant(seat, &tool)) {
        None => (false, format!("the seat holds no grant for `{}`", short(&tool))),
        Some(seat) => {
            question.line = past.line(&seat, NOW).await?;
            question.seat = seat;
            question.granted_text = past.granted(&question.plugin, NOW).await?;
            if let gate::Resource::Origin { origin, granted } = &mut question.resource {
                *granted = question.granted_text.contains(origin);
            }
            let decision = question.decided_by(set);
            (decision.allowed, decision.reason)
        }
    };
    let differs = call.said.allowed().is_some_and(|was| was != allowed);
    let word = if allowed { "allowed" } else { "denied" };
    let mark = if differs { "  OTHERWISE" } else { "" };
    let _ = writeln!(
        text,
        "  {step:>3}. {asks_for}\n       then   {then}\n       today  {word}: {}{mark}",
        short(&why)
    );
    for note in &call.notes {
        let _ = writeln!(text, "       note   {}", short(note));
    }
    Ok(differs)
}
