//! Tokens that end are exchanged for the next ones, two hours before: the moments stand in the one queue of the record.
//!
//! A refresh token is good for one exchange. So one host makes it, under a lease; what came back is kept before anything
//! else is done, the refresh token first: a host that dies in between begins with that one. A token that nobody could
//! exchange by its end is no token, and the workspace goes silent.

use super::{SOURCE, end, refresh_of, token_of};
use crate::seed;
use crate::serve::news;
use crate::socket::Sockets;
use crate::wire::Office;
use anyhow::{Context, Result};
use egress::{Asking, Offer, TokenRefused};
use event::{ConnectionRenewed, Expected, PrincipalId, Proposed, StreamName, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long after a try that did not work the next is made, in milliseconds.
const AGAIN_MS: u64 = 60_000;
/// How long an exchange may take, in milliseconds. The lease lasts longer.
const EXCHANGE_MS_MAX: u64 = 20_000;

pub(super) async fn keep(office: &Office, mut stop: watch::Receiver<bool>) {
    let mut head = office.record.news();
    let mut later: BTreeMap<String, Instant> = BTreeMap::new();
    while news(&mut head, &mut stop).await {
        later.retain(|_, at| *at > Instant::now());
        if let Err(error) = look(office, &mut later).await {
            tracing::warn!(error = format!("{error:#}"), "tokens wait to be exchanged");
        }
    }
}

async fn look(office: &Office, later: &mut BTreeMap<String, Instant>) -> Result<()> {
    for (source, team) in attention::renewals(&office.record, office.now()).await? {
        if source != SOURCE || later.contains_key(&team) {
            continue;
        }
        later.insert(team.clone(), Instant::now() + Duration::from_millis(AGAIN_MS));
        let name = format!("renewal/{team}");
        let Some(lease) = office.record.lease(&name, &office.node, office.config.office.lease_ms).await?
        else {
            continue;
        };
        let done = exchange(office, &team).await;
        if let Err(error) = office.record.release(lease).await {
            tracing::debug!(%error, "the lease on a token ends by itself");
        }
        if done? {
            later.remove(&team);
        }
    }
    Ok(())
}

/// Exchanges the token of `team`, unless another host has done so since it was looked at; whether nothing is left to do.
async fn exchange(office: &Office, team: &str) -> Result<bool> {
    let now = office.now();
    let due = attention::renewals(&office.record, now).await?;
    if !due.iter().any(|(_, one)| one == team) {
        return Ok(true);
    }
    let ends_at = ends_at(office, team).await?;
    let slack = office.config.slack.as_ref().context("there is no `[slack]`")?;
    let Some(install) = &slack.install else {
        tracing::warn!(
            team,
            "its token ends at {ends_at}, and without `[slack.install]` nobody exchanges it"
        );
        return Ok(false);
    };
    let address = format!("{}oauth.v2.access", Sockets::api_of(&office.config));
    let asking = Asking {
        address: &address,
        client_id: &install.client_id,
        client_secret: super::install::CLIENT_SECRET,
    };
    let reference = refresh_of(team);
    let deadline = Instant::now() + Duration::from_millis(EXCHANGE_MS_MAX);
    let given =
        match office.hands.egress().token(asking, Offer::Refresh { reference: &reference }, deadline).await {
            Ok(given) => given,
            Err(error) => return failed(office, team, ends_at, &error).await,
        };
    let vault = office.hands.vault();
    if let Some(refresh) = given.refresh {
        vault.keep(&reference, refresh)?;
    }
    vault.keep(&token_of(team), given.access)?;
    let expires_at = given.expires_in_s.map(|seconds| now.plus_ms(seconds.saturating_mul(1_000)));
    let renewed = ConnectionRenewed { source: SOURCE.to_owned(), team: team.to_owned(), expires_at };
    let event = Proposed {
        id: seed::fresh_event_id()?,
        actor: event::Actor { principal: PrincipalId::host(), seat: None },
        cause: None,
        label: event::Label::host(),
        fact: renewed.into(),
    };
    office.record.append(StreamName::new("connection", SOURCE), Expected::Any, vec![event]).await?;
    tracing::info!(team, "its token was exchanged for the next");
    Ok(true)
}

/// What Slack says of a refresh token that will never be good again. Whatever else it says, or that it says nothing, may be
/// another tomorrow: a wrong secret of the app is put right, and Slack comes back.
const LOST: [&str; 5] =
    ["invalid_refresh_token", "invalid_grant", "token_revoked", "token_expired", "account_inactive"];

/// Tries again until the token ends; then it is none, where Slack says that there will be no other.
async fn failed(office: &Office, team: &str, ends_at: Timestamp, error: &TokenRefused) -> Result<bool> {
    tracing::warn!(team, %error, "its token was not exchanged; it ends at {ends_at}");
    let is_lost = matches!(error, TokenRefused::No { code, .. } if LOST.contains(&code.as_str()));
    if !is_lost || office.now() < ends_at {
        return Ok(false);
    }
    let named = ends_at.to_string();
    end(office, team, "its token ended, and Slack did not give the next", (&named, None), true).await?;
    Ok(true)
}

/// When the token of `team` ends.
async fn ends_at(office: &Office, team: &str) -> Result<Timestamp> {
    let row = office.record.row("moment", &fold::moment::renewal_key(SOURCE, team)).await?;
    let row: Option<fold::moment::MomentRow> = fold::decode(row.as_ref());
    Ok(row.map(|row| row.at.plus_ms(fold::moment::RENEWAL_LEAD_MS)).unwrap_or_default())
}
