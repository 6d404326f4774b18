//! The emoji that a workspace made itself, asked for when the office learns who it is there and when they change.

use super::{Desk, weigh};
use anyhow::Result;
use event::{EmojiListed, Event, Fact};
use fold::setting;
use gate::{Output, Passed, Payload};
use serde_json::{Value, json};

/// What the duty is called.
const LIST: &str = "emoji";
/// The most names that are kept: several times what a large workspace has made.
const NAMES_MAX: usize = 10_000;

/// Asks for them and puts what is new on the record. Without them, the emoji that every workspace has are used.
///
/// # Errors
/// When the record cannot be used.
pub(super) async fn list(desk: &Desk, event: &Event) -> Result<()> {
    let own = match &event.fact {
        Fact::ConnectionIdentified(own) => Some(own.clone()),
        Fact::DeliveryReceived(received) => desk.own(received).await?,
        _ => None,
    };
    let Some(own) = own else { return Ok(()) };
    let payload = Payload::Tool(json!({ "team": own.team }));
    let call = weigh::call(desk, (&event.id, LIST, 1), "slack.emoji", payload)?;
    let names = match desk.office.gate.pass(call, None).await? {
        Passed::Done { output: Output::Tool(answer), .. } => names(&answer),
        other => {
            tracing::info!(outcome = ?other, "the workspace's own emoji are not known");
            return Ok(());
        }
    };
    let fact = EmojiListed { team: own.team.clone(), names };
    let wanted = crate::seed::Wanted::new(setting::emoji(&own.team), "emoji", &own.team, fact);
    crate::seed::put_in_force(&desk.office.record, vec![wanted]).await?;
    Ok(())
}

fn names(answer: &Value) -> Vec<String> {
    let names = answer.get("names").and_then(Value::as_array).into_iter().flatten();
    let mut names: Vec<String> = names.filter_map(Value::as_str).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names.truncate(NAMES_MAX);
    names
}
