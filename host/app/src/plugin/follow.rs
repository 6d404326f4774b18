//! A running host takes up what the record says of plugins: installed, granted, taken back, removed, revoked.
//!
//! Always holds: the whole set changes in one move, between calls; a call that runs finishes on the component it began
//! with. A set that does not load here leaves the one that does, without what was revoked, and is tried again.

use super::load;
use crate::serve::{may_pass, news};
use crate::wire::Office;
use anyhow::Result;
use event::{Fact, GlobalPosition};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Events read at a time.
const PAGE_EVENTS: usize = 500;
/// How long after a set that does not load it is tried again: somebody may have put a missing file into its place.
const AGAIN_MS: u64 = 5_000;

/// Follows the record until `stop` says so.
///
/// # Errors
/// When the record cannot be used any more.
pub async fn keep(office: Arc<Office>, mut stop: watch::Receiver<bool>) -> Result<()> {
    let mut head = office.record.news();
    let mut at = office.plugins_at;
    let mut again: Option<Instant> = None;
    while news(&mut head, &mut stop).await {
        let is_news = match has_news(&office, &mut at).await {
            Ok(is_news) => is_news,
            Err(error) if may_pass(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        if is_news || again.is_some_and(|again| again <= Instant::now()) {
            again = match take_up(&office).await {
                Ok(()) => None,
                Err(error) => {
                    tracing::error!(
                        "the plugins stay as they are on this host: {error:#}; it is tried again, and `chancery plugin \
                         verify` says what is missing"
                    );
                    Some(Instant::now() + Duration::from_millis(AGAIN_MS))
                }
            };
        }
    }
    Ok(())
}

/// Whether the record says something of plugins after `at`, which moves to its end.
async fn has_news(office: &Office, at: &mut GlobalPosition) -> Result<bool, record::Error> {
    let mut is_news = false;
    loop {
        let events = office.record.read_all(*at, PAGE_EVENTS).await?;
        let Some(last) = events.last() else { return Ok(is_news) };
        *at = last.global_position;
        is_news |= events.iter().any(|event| speaks_of_plugins(&event.fact));
    }
}

fn speaks_of_plugins(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::PluginInstalled(_)
            | Fact::PluginGranted(_)
            | Fact::PluginRevoked(_)
            | Fact::PluginRemoved(_)
            | Fact::ComponentRevoked(_)
    )
}

async fn take_up(office: &Office) -> Result<()> {
    let (hands, record) = (&office.hands, &office.record);
    let now = hands.plugins();
    let (plugins, trouble) = match load::reload(&office.config, record, hands.engine(), &now).await {
        Ok(plugins) => (plugins, None),
        Err(error) => (load::without_revoked(record, hands.engine(), &now).await?, Some(error)),
    };
    if !plugins.is(&now) {
        let names: Vec<String> = plugins
            .loaded()
            .map(|loaded| format!("{}@{}", loaded.manifest().name, loaded.digest().short()))
            .collect();
        tracing::info!("plugins now: {}", names.join(", "));
        hands.replace(plugins);
    }
    trouble.map_or(Ok(()), Err)
}
