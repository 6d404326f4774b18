//! Tells running turns what people say into them, as fast as the record has news.

use crate::serve::{may_pass, news};
use crate::wire::Office;
use anyhow::{Context, Result};
use converse::{Steerers, steer};
use event::PrincipalId;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long to wait before another try when the record does not answer.
const AGAIN_MS: u64 = 250;

/// Steers running turns until `stop` says so.
///
/// # Errors
/// When the record cannot be used at all.
pub async fn keep(office: Arc<Office>, mut stop: watch::Receiver<bool>) -> Result<()> {
    let mut head = office.record.news();
    let who = steerers(&office)?;
    let host = PrincipalId::host();
    loop {
        match steer(&office.record, &host, &who).await {
            Ok(0) => {
                if !news(&mut head, &mut stop).await {
                    return Ok(());
                }
            }
            Ok(_) => {}
            Err(error) if may_pass(&error) => {
                tracing::warn!(%error, "running turns wait to be told what people say");
                tokio::time::sleep(Duration::from_millis(AGAIN_MS)).await;
            }
            Err(error) => return Err(error).context("running turns cannot be told what people say"),
        }
    }
}

/// The owner, and those that the configuration names.
fn steerers(office: &Office) -> Result<Steerers> {
    let mut named = office.config.steering.named()?;
    named.insert(office.config.owner()?);
    Ok(Steerers { named, manner: office.manner.clone() })
}
