//! `chancery purse review`: a person has looked at an overrun, and its budgets are open again.

use crate::config::Config;
use crate::owner::{Acting, print_stated};
use crate::seat::ActArgs;
use anyhow::{Context, Result, bail};
use event::{HoldId, RefusalSubject, StreamName};
use fold::purse::{HoldRow, Holds};
use fold::refusal::{Command, RefusalRow, Refusals, decide, key, refusal_id};
use fold::{Projection, decode};
use record::RowKey;

/// Lifts what stands against the budgets that paid for `hold`, where it stands because of `hold`.
///
/// # Errors
/// When there is no such hold or nothing stands because of it, with what stands instead.
pub(super) async fn review(config: &Config, hold: HoldId, reason: String, act: ActArgs) -> Result<()> {
    let acting = Acting::open(config, act.as_seat).await?;
    let row = acting.record.row(Holds.name(), hold.as_str()).await?;
    let row: HoldRow = decode(row.as_ref()).with_context(|| {
        format!("the record has no hold `{hold}`: `chancery purse show` names what waits for a look")
    })?;
    let subjects: Vec<RefusalSubject> =
        row.accounts.iter().map(|account| RefusalSubject::Budget(account.budget.clone())).collect();
    let reads = subjects.iter().map(|subject| RowKey::new(Refusals.name(), key(subject))).collect();
    let events = acting.state(reads, move |rows, now| {
        let (mut lifted, mut others) = (Vec::new(), Vec::new());
        for subject in subjects {
            let stands: Option<RefusalRow> = rows.state(Refusals.name(), &key(&subject));
            let Some(stands) = stands.filter(|stands| stands.stands(now)) else { continue };
            if stands.raised.refusal == refusal_id(&subject, hold.as_str()) {
                let fact = decide(Some(&stands), Command::Lift { reason: reason.clone() }, now)?;
                lifted.push((StreamName::new("refusal", &subject), fact));
            } else {
                others.push(format!("`{subject}`: {}", stands.raised.reason));
            }
        }
        match (lifted.is_empty(), others.is_empty()) {
            (true, true) => bail!("nothing stands refused because of `{hold}`"),
            (true, false) => bail!("nothing stands refused because of `{hold}`, but {}", others.join("; ")),
            (false, _) => Ok(lifted),
        }
    });
    print_stated(&events.await?);
    Ok(())
}
